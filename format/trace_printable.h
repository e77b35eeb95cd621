/*
 * Checks that libtraceevent stays inside of a sample when it prints the sample by its event's print format.
 * libtraceevent trusts the format and the lengths in the sample. One thread; pure but for fields that libtraceevent
 * looks up.
 */
#ifndef WEIR_FORMAT_TRACE_PRINTABLE_H
#define WEIR_FORMAT_TRACE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tep_event;

/* Returns whether the sample can be printed. False: a field is not inside, or the format has a construct that may be
 * harmful. The caller then shows the sample field by field. raw: `bytes` bytes with zeros behind them, so that a text
 * up to the end is terminated. */
bool weir_trace_is_printable(struct tep_event *event, const uint8_t *raw, size_t bytes);

#endif
