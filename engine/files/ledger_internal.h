/* Functions of ledger_told.c for ledger.c. Coordinator only. */
#ifndef WEIR_ENGINE_FILES_LEDGER_INTERNAL_H
#define WEIR_ENGINE_FILES_LEDGER_INTERNAL_H

#include "engine/files/ledger.h"

/* Allocates a slot in `told` for every descriptor of the set. Only the first call allocates: the number of slots stays.
 * Returns 0 or -ENOMEM. */
int weir_told_losses_make_room(const struct weir_event_set *set, struct weir_told_losses *told);

/* Allocates all memory that reporting losses needs, in `told` (NULL-safe) and in `lost`. Returns 0; or -ENOMEM, and
 * then no loss is reported. */
int weir_told_losses_prepare(const struct weir_event_set *set, struct weir_told_losses *told, struct weir_buf *lost);

/* Appends a LOST_SAMPLES record for the losses beyond `before`. lost: NULL, or with room. */
void weir_ledger_append_lost(const struct weir_event_set *set, unsigned event, unsigned place,
                             const struct weir_event_count *count, uint64_t before, struct weir_buf *lost);

/* Returns the losses that outputs already report of a descriptor, and notes `count` as reported from now on. told:
 * NULL, or with room. */
uint64_t weir_told_losses_exchange(struct weir_told_losses *told, size_t slot, const struct weir_event_count *count);

/* Appends records for the losses of CPUs that have gone. Call before CPUs that are there are reported: the latter may
 * have the slots of the former. told: NULL, or with room. */
void weir_told_losses_tell_retired(const struct weir_event_set *set, struct weir_told_losses *told,
                                   struct weir_buf *lost);

#endif
