/*
 * Turns records of a machine with the other byte order into this machine's order, in place, before any other module
 * reads them. Bytes that have no order stay as they are: texts, build ids, AUX areas, compressed bytes. So does data
 * with an order of its own: the raw bytes of tracepoints, whose order TRACING_DATA tells (format/trace_decode.h), and
 * weir's EVENT_TYPE records. weir writes on machines of this order only.
 *
 * Nothing here trusts a byte: a number is turned only where all of it is inside, and a count leads no further than the
 * bytes do. Pure but for the events' order of ids; any thread that has the events for itself; no allocation.
 * Source: perf_event__swap_ops[] in tools/perf/util/session.c, perf_file_header__read() in tools/perf/util/header.c and
 * evsel__bitfield_swap_branch_flags() in tools/perf/util/evsel.c of Linux 6.12.
 */
#ifndef WEIR_FORMAT_BYTE_ORDER_H
#define WEIR_FORMAT_BYTE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "format/input_events.h"
#include "format/perf_file.h"

/* Turns the header of a file. The feature bits are words of the recorder's long, u64 or u32: those that have HOSTNAME,
 * which perf always writes. */
void weir_byte_order_turn_header(struct weir_perf_header *header);

/* Turns the u64 words in `bytes` bytes of any alignment; what is less than a word stays. */
void weir_byte_order_turn_words(void *data, size_t bytes);

/* Turns a perf_event_attr of `bytes` bytes; fields that are not whole stay. */
void weir_byte_order_turn_attr(uint8_t *attr, size_t bytes);

/* Turns the payload of a feature. */
void weir_byte_order_turn_feature(unsigned bit, uint8_t *payload, size_t bytes);

/* Turns a record of `bytes` bytes, at least 8, with its header. A sample has the layout of its event, the trailer of
 * another record that of the first one. events: those that the recording has brought before the record. */
void weir_byte_order_turn_record(struct weir_input_events *events, uint8_t *record, size_t bytes);

#endif
