/* The tables of a report as text. One thread; out has an error if memory ran out. */
#ifndef WEIR_REPORT_STDIO_FORM_H
#define WEIR_REPORT_STDIO_FORM_H

#include "base/buf.h"
#include "report/digest.h"

/* Appends tables: per event, samples by task, file and symbol, the heaviest first. */
void weir_stdio_append(struct weir_buf *out, const struct weir_digest *digest);

#endif
