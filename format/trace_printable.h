/*
 * Whether libtraceevent's printing of a sample by its event's print format stays inside of the sample: it trusts the
 * format, and what the sample says of lengths. One thread; pure but for fields that libtraceevent looks up.
 */
#ifndef WEIR_FORMAT_TRACE_PRINTABLE_H
#define WEIR_FORMAT_TRACE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tep_event;

/* raw: of so many bytes, with zeros behind them, so that a text that fills them ends. False: to be shown field by field
 * (what is not inside is among the fields then, or the format has something that is not known to be harmless). */
bool weir_trace_is_printable(struct tep_event *event, const uint8_t *raw, size_t bytes);

#endif
