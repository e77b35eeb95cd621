/* A report as speedscope reads it (speedscope.app, file-format-schema.json). One thread; out has an error if memory ran
 * out. */
#ifndef WEIR_REPORT_SPEEDSCOPE_FORM_H
#define WEIR_REPORT_SPEEDSCOPE_FORM_H

#include "base/buf.h"
#include "report/digest.h"

/* Appends a file with a sampled profile per event; the outermost frame is the name of the task. Losses are a sample of
 * the frame [lost], whose weight is the mean weight of the event's samples, times their number. */
void weir_speedscope_append(struct weir_buf *out, const struct weir_digest *digest);

#endif
