/* Names events that a recording does not name: perf's names of the kernel's generic events. Pure, any thread. */
#ifndef WEIR_FORMAT_ATTR_NAME_H
#define WEIR_FORMAT_ATTR_NAME_H

#include <linux/perf_event.h>
#include <stddef.h>

#define WEIR_ATTR_NAME_BYTES 64

/* Writes "cycles", "cpu-clock", "tracepoint:316", "raw 0x1a2" ... and a modifier such as ":u". */
void weir_attr_name(const struct perf_event_attr *attr, char name[WEIR_ATTR_NAME_BYTES]);

#endif
