/* A report as one page of HTML, which needs no other file and no network. One thread; out has an error if memory ran
 * out.
 */
#ifndef WEIR_REPORT_HTML_FORM_H
#define WEIR_REPORT_HTML_FORM_H

#include <stddef.h>

#include "base/buf.h"
#include "report/digest.h"

/* Appends the page of report/web with the JSON of report/json_form.h in it. Names of the recording stand in that JSON
 * only, and never as HTML. */
void weir_html_append(struct weir_buf *out, const struct weir_digest *digests, size_t count,
                      const struct weir_buf *sweep);

#endif
