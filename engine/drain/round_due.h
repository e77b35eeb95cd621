/*
 * When the writer asks the coordinator for a round (rounds.h): by the raw bytes appended since the last marker.
 *
 *     full       bytes, and a 64th of the output's bytes (more_bytes at most): the writer asks
 *     overdue    patient_bytes more: the writer asks again, and the coordinator wakes sleeping readers at once
 *
 * Under pressure `full` is WEIR_SHED_ROUND_FACTOR times as much.
 *
 * A consumer holds two rounds in memory, raw. With the 64th two rounds are a small part of a small file. Markers of
 * readers (round_mark.h) count as well: while readers make enough of them, the writer asks for none.
 *
 * Writer thread; any thread may read `overdue`, which is a hint.
 */
#ifndef WEIR_ENGINE_DRAIN_ROUND_DUE_H
#define WEIR_ENGINE_DRAIN_ROUND_DUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct weir_round_due_setup {
    uint64_t bytes;
    uint64_t more_bytes;
    uint64_t patient_bytes;
};

struct weir_round_due {
    struct weir_round_due_setup setup;
    uint64_t bytes;       /* since the last marker */
    bool asked;           /* for a marker, because the round was full */
    _Atomic bool overdue; /* by the writer, before it asks again */
};

void weir_round_due_init(struct weir_round_due *due, const struct weir_round_due_setup *setup);

/* Notes appended bytes. marker_end: where among them the last marker ends; 0: none is among them. */
void weir_round_due_append(struct weir_round_due *due, uint64_t bytes, uint64_t marker_end);

/* The coordinator's marker has come, as a marker or as padding: a wish for it is granted. */
void weir_round_due_grant(struct weir_round_due *due);

/* A round begins with the next byte. */
void weir_round_due_begin(struct weir_round_due *due);

/* Whether to ask the coordinator now. True once for a full round, and once for an overdue one: call it until false.
 * output_bytes: of the output so far. is_pressed: the pool is short. */
bool weir_round_due_asks(struct weir_round_due *due, uint64_t output_bytes, bool is_pressed);

#endif
