/* `weir info`: describes a recording and counts its contents, as text or JSON. One thread; allocates. */
#ifndef WEIR_FORMAT_INFO_H
#define WEIR_FORMAT_INFO_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/perf_input.h"

/* Appends the description of the recording at path ("-": standard input), read behind gate (NULL: none). 0; or with
 * err, as weir_dump_run(), and out has the part that could be read. */
int weir_info_append(const char *path, const struct weir_input_gate *gate, bool json, struct weir_buf *out,
                     struct weir_error *err);

#endif
