/* A report as pprof reads it: a serialized Profile of profile.proto, not compressed. One thread; out has an error if
 * memory ran out. */
#ifndef WEIR_REPORT_PPROF_FORM_H
#define WEIR_REPORT_PPROF_FORM_H

#include "base/buf.h"
#include "report/digest.h"

/* Appends a profile. Each event has two values in a sample: the number of samples, and their weight. A sample that was
 * lost is one of the function [lost]; notes and losses are comments, too. */
void weir_pprof_append(struct weir_buf *out, const struct weir_digest *digest);

#endif
