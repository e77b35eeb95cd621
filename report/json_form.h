/*
 * The JSON that the page of a report holds; docs/json.md describes it. One thread; out has an error if memory ran out.
 */
#ifndef WEIR_REPORT_JSON_FORM_H
#define WEIR_REPORT_JSON_FORM_H

#include <stddef.h>

#include "base/buf.h"
#include "report/digest.h"

/* Appends one object: recordings (one, or two to compare), and the results of `weir bench drain --sweep --json` (sweep;
 * NULL: none). The text holds no '<', '>', '&', U+2028 and U+2029: it may stand in a script element of HTML. */
void weir_json_append(struct weir_buf *out, const struct weir_digest *digests, size_t count,
                      const struct weir_buf *sweep);

#endif
