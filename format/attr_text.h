/* A perf_event_attr as text, as `perf evlist -v` prints it (perf_event_attr__fprintf() of Linux 6.1). Any thread. */
#ifndef WEIR_FORMAT_ATTR_TEXT_H
#define WEIR_FORMAT_ATTR_TEXT_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends the fields that are not zero: "type: 1, size: 128, { sample_period, sample_freq }: 4000, sample_type: IP|TID,
 * ...". Flags without a name are "bit 40: 1". */
void weir_attr_append_text(struct weir_buf *out, const struct perf_event_attr *attr);

/* Returns the flags of an attr as one word: bit 0 is disabled. */
uint64_t weir_attr_flags(const struct perf_event_attr *attr);

/* Appends "IP|TID|TIME"; "none" for 0. */
void weir_attr_append_sample_type(struct weir_buf *out, uint64_t sample_type);

/* Appends "ID|LOST"; "none" for 0. */
void weir_attr_append_read_format(struct weir_buf *out, uint64_t read_format);

#endif
