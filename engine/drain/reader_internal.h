/* What the files of a reader share: reader.c, the drain path, reader_return.c and reader_shed.c. Reader thread, but for
 * init. */
#ifndef WEIR_ENGINE_DRAIN_READER_INTERNAL_H
#define WEIR_ENGINE_DRAIN_READER_INTERNAL_H

#include "engine/drain/reader.h"
#include "engine/drain/record_rename.h"

/* ---- reader.c ---- */

/* Makes the chunk for the file have room for that much, at least one byte. False: the pool is empty. */
bool weir_reader_make_room(struct weir_reader *reader, uint64_t bytes);

/* Whether what a ring holds stays in memory (retention.h). */
static inline bool weir_reader_retains(const struct weir_reader *reader, const struct weir_reader_ring *r)
{
    return reader->retention && !r->sideband;
}

/* Whether its records have to be put under the ids of the file. Relaxed: it was set before the events were enabled that
 * need it, so who has read a record of theirs (C) sees it. */
static inline bool weir_reader_renames(const struct weir_reader_ring *r)
{
    return atomic_load_explicit(&r->renames, memory_order_relaxed);
}

/* ---- reader_return.c ---- */

/* The oldest return of the ring's CPU that the file does not have yet; NULL: none. After a look at the ring's head. */
const struct weir_reader_return *weir_reader_next_return(const struct weir_reader_ring *r);

void weir_reader_free_returns(struct weir_reader_ring *r);

/* ---- reader_shed.c ---- */

/* 0 or -ENOMEM; what it allocates is freed with the rings. */
int weir_reader_init_shedding(struct weir_reader *reader, const struct weir_reader_setup *setup);

/* The pressure as it was seen last. Our own word; relaxed for who looks on. */
static inline enum weir_pressure weir_reader_pressure(const struct weir_reader *reader)
{
    return atomic_load_explicit(&reader->pressure, memory_order_relaxed);
}

/* Looks at the pool. */
void weir_reader_note_pressure(struct weir_reader *reader);

/* Its chunks that are on their way to the disk. */
uint64_t weir_reader_chunks_outside(const struct weir_reader *reader);

/* Whether it is time to cut stack dumps. */
static inline bool weir_reader_trims(const struct weir_reader *reader)
{
    return weir_reader_pressure(reader) >= WEIR_PRESSURE_HIGH && reader->shed &&
           reader->shed->most >= WEIR_SHED_STACKS && reader->shed->has_stacks;
}

/* Cuts those in whole records that were copied to data from the ring. Returns the bytes that are left. */
uint64_t weir_reader_trim(struct weir_reader *reader, const struct weir_reader_ring *r, uint8_t *data, uint64_t bytes);

/* Whether a ring is to be left alone: its reader has more than its share on the way, and the pool is nearly full. */
bool weir_reader_holds_back(const struct weir_reader *reader, const struct weir_reader_ring *r);

/* Drops samples until the ring is half empty, or something else stands first. False: nothing was dropped. */
bool weir_reader_drop(struct weir_reader *reader, struct weir_reader_ring *r, uint64_t head);

/* Puts what tells of the gaps in a ring, or in all rings, into the file's chunk. False: come again, there is no room.
 */
bool weir_reader_tell(struct weir_reader *reader, struct weir_reader_ring *r);
bool weir_reader_tell_all(struct weir_reader *reader);

#endif
