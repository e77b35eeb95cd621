/* A report as Perfetto reads it: a serialized Trace with samples of call stacks. One thread; out has an error if memory
 * ran out. */
#ifndef WEIR_REPORT_PERFETTO_FORM_H
#define WEIR_REPORT_PERFETTO_FORM_H

#include "base/buf.h"
#include "report/digest.h"

/* Appends a trace: names of tasks, and per cell of the digest a packet with its time, task, CPU and stack. Losses are
 * packets that count the records which the kernel lost. */
void weir_perfetto_append(struct weir_buf *out, const struct weir_digest *digest);

#endif
