/* What the files of a reader share: reader.c, its steps and chunks, reader_drain.c, reader_retention.c,
 * reader_return.c, reader_shed.c and reader_wait.c. Reader thread, but for init. */
#ifndef WEIR_ENGINE_DRAIN_READER_INTERNAL_H
#define WEIR_ENGINE_DRAIN_READER_INTERNAL_H

#include "base/copy.h"
#include "engine/drain/reader.h"
#include "engine/drain/record_rename.h"

/* ---- reader.c ---- */

/* A chunk from the pool, or NULL. is_first: of what it is for; the others are not from the reserve. */
struct weir_chunk *weir_reader_take_chunk(struct weir_reader *reader, bool is_first);

/* Pushes a chunk that holds records into the queue of the writer. */
void weir_reader_push(struct weir_reader *reader, struct weir_chunk *chunk);

/* Pushes a train, behind the chunk for the file if that holds anything, so that no switch comes between them.
 * weir_reader_note_holding() is to follow. */
void weir_reader_push_train(struct weir_reader *reader, struct weir_chunk *train);

/* Pushes the chunk for the file, which is there and holds records. */
void weir_reader_hand_over(struct weir_reader *reader);

/* Its chunk holds no records: tells whether there is something else that a round would have to wait for. (K) */
void weir_reader_note_holding(struct weir_reader *reader);

/* The same if there is one, and takes another from the pool. False: the pool is empty, there is none. */
bool weir_reader_change_chunk(struct weir_reader *reader);

/* Makes the chunk for the file have room for that much; 0: there is to be one. False: the pool is empty. */
static inline bool weir_reader_make_room(struct weir_reader *reader, uint64_t bytes)
{
    bool has_room = reader->chunk && reader->chunk->capacity - reader->chunk->used >= bytes;
    return has_room || weir_reader_change_chunk(reader);
}

/* (N) acquire: who sees the ring awake sees it mapped. Sequentially consistent, as (M) is: the coordinator ends the
 * dormancy and then looks whether a wake was taken; a reader takes it and then looks here. */
static inline bool weir_reader_is_dormant(const struct weir_reader_ring *r)
{
    return atomic_load_explicit(&r->dormant, memory_order_seq_cst);
}

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

/* Before a chunk is given away that may have been written past the caches. (On x86-64 the exchange of the queue's push
 * would do; C11 says nothing of such stores.) */
static inline void weir_reader_settle(const struct weir_reader *reader)
{
    if (reader->past_caches)
        weir_copy_fence();
}

/* ---- reader_drain.c ---- */

/* Drains one ring, which is mapped, up to the head that it has on entry. STARVED: come again, the pool is empty or the
 * ring is left alone. */
enum weir_reader_state weir_reader_drain(struct weir_reader *reader, struct weir_reader_ring *r);

/* Reads a ring of the newest records, newest first. False: come again, the pool is empty. The kernel does not write to
 * it meanwhile. */
bool weir_reader_read_newest(struct weir_reader *reader, struct weir_reader_ring *r);

/* ---- reader_aux.c ---- */

/* 0 or -ENOMEM; makes room for the AUX areas of its data rings. */
int weir_reader_init_aux(struct weir_reader *reader, const struct weir_reader_setup *setup);
void weir_reader_free_aux(struct weir_reader *reader, struct weir_reader_ring *r);

/* Whether AUX records were copied that tell of more than was copied of the area. */
bool weir_reader_owes_aux(const struct weir_reader *reader);

/* Pushes the chunk, which is not empty, in one with what its AUX records tell of, if that was not read yet. False:
 * there is none, or it cannot be had now, and the chunk is still there. */
bool weir_reader_push_with_aux(struct weir_reader *reader);

/* Drains a ring and what belongs to it of its AUX area. False: come again. */
bool weir_reader_drain_with_aux(struct weir_reader *reader, struct weir_reader_ring *r);

/* Copies the snapshot of an area of the newest bytes, once until end_newest_aux(). False: come again, the pool is
 * empty. The kernel does not write to it meanwhile. */
bool weir_reader_read_newest_aux(struct weir_reader *reader, struct weir_reader_ring *r);

/* All areas of the reader have been read: the next call is for another snapshot. */
void weir_reader_end_newest_aux(struct weir_reader_ring *r);

/* ---- reader_retention.c ---- */

/* 0 or -ENOMEM; what it allocates is freed with the reader. */
int weir_reader_init_retention(struct weir_reader *reader, const struct weir_reader_setup *setup);

/* Opens another chunk to retain samples in: from the pool, or the oldest one, evicted. NULL: come again. None is open.
 */
struct weir_chunk *weir_reader_open_retained(struct weir_reader *reader);

/* The open chunk is full. */
void weir_reader_seal_retained(struct weir_reader *reader);

/* The open chunk covers its share of the span: seals it, and evicts what is older than the span. */
void weir_reader_end_slice(struct weir_reader *reader);

/* A block was added to the open chunk; side_bytes of it are not of samples. */
static inline void weir_reader_note_retained(struct weir_reader *reader, uint64_t side_bytes)
{
    if (weir_retention_note(reader->retention, side_bytes))
        weir_reader_end_slice(reader);
}

/* The epoch is about to be passed: hands over all that is retained, when a snapshot asks for it, and evicts the rest at
 * the stop epoch. False: come again. */
bool weir_reader_pass_retained(struct weir_reader *reader, uint64_t epoch, bool hands_over);

/* ---- round_mark.c ---- */

/* All rings were drained by a step that began then: makes a mark if there has been none for a while. */
void weir_reader_mark_drained(struct weir_reader *reader, uint64_t began_ns);

/* The same while a ring is being drained, when it is the only one with records. */
void weir_reader_mark_within(struct weir_reader *reader, const struct weir_reader_ring *r);

/* Whether that may make one before the reader has so many bytes more: it would lie where they have been copied to. */
bool weir_reader_marks_soon(const struct weir_reader *reader, uint64_t bytes);

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

/* Whether what is copied from a ring goes past the caches: no step behind the copy looks at it again. */
static inline bool weir_reader_passes_caches(const struct weir_reader *reader, const struct weir_reader_ring *r)
{
    return reader->past_caches && !r->sideband && !weir_reader_renames(r) && !weir_reader_trims(reader);
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
