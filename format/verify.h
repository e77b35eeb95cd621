/* `weir verify`: checks the rules that consumers of a recording rely on. One thread; allocates. */
#ifndef WEIR_FORMAT_VERIFY_H
#define WEIR_FORMAT_VERIFY_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/perf_input.h"

/*
 * Reads path behind gate (NULL: none). Appends one line per rule: "ok", "FAIL" or "note", the rule, and the finding
 * with its place. *failures: the number of broken rules.
 *
 * Rules: boundaries, finished, features, types, shapes, ids, raw, order, events, rounds, balance, and of AUX areas:
 * areas, index. Notes: gaps, aux, clock, order, sizes. 0; or -errno with err when the recording cannot be opened or
 * read, as weir_perf_input_open().
 */
int weir_verify_append(const char *path, const struct weir_input_gate *gate, struct weir_buf *out, unsigned *failures,
                       struct weir_error *err);

/* Does the same, and appends one JSON object (docs/json.md, "weir verify"). */
int weir_verify_append_json(const char *path, const struct weir_input_gate *gate, struct weir_buf *out,
                            unsigned *failures, struct weir_error *err);

#endif
