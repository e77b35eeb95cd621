/* What ledger.c has of ledger_told.c. Coordinator only. */
#ifndef WEIR_ENGINE_SESSION_LEDGER_INTERNAL_H
#define WEIR_ENGINE_SESSION_LEDGER_INTERNAL_H

#include "engine/session/ledger.h"

/* Room for all that the set has, once: its slots stay as many. 0 or -ENOMEM. */
int weir_told_losses_make_room(const struct weir_event_set *set, struct weir_told_losses *told);

/* All that telling allocates. told: NULL-safe. 0 or -ENOMEM, and then nothing is told. */
int weir_told_losses_prepare(const struct weir_event_set *set, struct weir_told_losses *told, struct weir_buf *lost);

/* Appends a LOST_SAMPLES record for what was lost beyond `before`. lost: NULL, or with room. */
void weir_ledger_append_lost(const struct weir_event_set *set, unsigned event, unsigned place,
                             const struct weir_event_count *count, uint64_t before, struct weir_buf *lost);

/* What was told of a descriptor, and is to be from now on. told: NULL, or with room. */
uint64_t weir_told_losses_exchange(struct weir_told_losses *told, size_t slot, const struct weir_event_count *count);

/* Losses of CPUs that have gone. Before those that are there, which may have their slots. told: NULL, or with room. */
void weir_told_losses_tell_retired(const struct weir_event_set *set, struct weir_told_losses *told,
                                   struct weir_buf *lost);

#endif
