/* Stacks as flamegraph.pl reads them. One thread; out has an error if memory ran out. */
#ifndef WEIR_REPORT_FOLDED_FORM_H
#define WEIR_REPORT_FOLDED_FORM_H

#include "base/buf.h"
#include "report/digest.h"

/* Appends lines "TASK;CALLER;...;CALLED COUNT". Losses are the stack "[lost]". With more than one event that has
 * samples, the event is the outermost frame. */
void weir_folded_append(struct weir_buf *out, const struct weir_digest *digest);

#endif
