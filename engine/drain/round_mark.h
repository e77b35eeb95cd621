/*
 * Marks: rounds (rounds.h) without a barrier, for the time that one reader is the only one with something to do.
 *
 * Whoever reads a file holds two rounds of it in memory. Short rounds by epochs would cost the recorder a wake-up of
 * the coordinator and a chunk that is cut short for each; but while a single ring gets records, as with one task, its
 * own order is that of the file. So a reader that has drained all its rings leaves a mark now and then: eight bytes of
 * padding, and when that was. The writer, which alone knows what stands where in the file, makes a FINISHED_ROUND of it
 * where that is one, and leaves the padding where it is not:
 *
 *     mark     drained from began_ns on: all that its rings held then stands before it; what stands before it in its
 *              chunk was published before ended_ns
 *     bound    of a marker: what stands before it in the file was published before that. handed_ns of the chunks before
 *              it, and ended_ns when it was a mark
 *
 *     A mark becomes a marker when
 *         began_ns >= bound of the last marker + WEIR_ROUND_GRACE_NS
 *         all other readers are idle, looked at now: their rings drained, nothing held
 *         then the queue has only chunks of that reader (and markers)
 *
 * Proof. Let M be the newest time before the last marker: M < its bound. A record older than M was published before the
 * bound + grace (rounds.h), so before began_ns. Of the reader's own rings it stands before the mark. Of another ring it
 * was published before we looked, and as that ring was idle then, it had been pushed; it is not behind the chunk in the
 * queue, so it stands before it. What this says of the chunk holds of those in the queue at that moment, too: they are
 * not looked at again (cleared_to).
 *
 * A ring that is being mapped is not seen by who looks whether readers are idle, so nothing is cleared meanwhile
 * (control.mapping): what is published in one that is mapped later is newer than began_ns.
 *
 * The coordinator's marker behind a mark that became one has to keep to the same bound, with the moment that its epoch
 * was opened at instead of began_ns; otherwise it becomes padding. Behind another marker of the coordinator's it keeps
 * to it by itself.
 *
 * What weir writes itself, and the kernel did not, has no time.
 */
#ifndef WEIR_ENGINE_DRAIN_ROUND_MARK_H
#define WEIR_ENGINE_DRAIN_ROUND_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/reader.h"

/* What a reader drains between two marks at least: a step of it through the default ring is twice as much. */
#define WEIR_ROUND_MARK_BYTES (128u * 1024)

/* All borrowed. */
struct weir_round_marks_setup {
    struct weir_reader *const *readers; /* NULL: they make no marks */
    unsigned reader_count;
    const struct weir_reader_control *control;
};

/* The writer's. */
struct weir_round_marks {
    struct weir_round_marks_setup setup;
    struct weir_chunk_queue *queue;      /* borrowed */
    const struct weir_chunk *cleared_to; /* up to this chunk, in the queue, there are none of others; NULL: not known */
    unsigned busy;                       /* index of the reader that was found not to be idle last */
    uint32_t appended_reader;            /* that filled the last chunk which was appended */
    uint64_t appended_ns;                /* what was appended was published before that */
    uint64_t others_ns;                  /* the same, without what that reader has filled since others have */
    uint64_t marker_ns;                  /* bound of the last marker */
    uint64_t own_marker_ns;              /* the same, when it was a mark; 0: it was the coordinator's */
    uint64_t marker_sample_ns;           /* its sample_ns */
    uint64_t made;                       /* marks that became markers */
    uint64_t made_within;                /* of these, by the order of their own ring alone */
    uint64_t turned_down;                /* markers of the coordinator's that became padding */
};

/* setup: NULL is for none. */
void weir_round_marks_init(struct weir_round_marks *marks, struct weir_chunk_queue *queue,
                           const struct weir_round_marks_setup *setup);

/* Settles what becomes of the marks of a chunk of data, which was taken out of the queue and is appended next. Returns
 * the offset behind its last marker; 0: there is none. Writer thread. */
uint32_t weir_round_marks_settle(struct weir_round_marks *marks, struct weir_chunk *chunk);

/* Whether a marker of the coordinator's, whose handed_ns is when its epoch was opened (0: nothing comes behind it), is
 * to be one. Writer thread, before it is appended. */
bool weir_round_marks_let_pass(struct weir_round_marks *marks, const struct weir_chunk *marker);

/* How many of the markers in a chunk that was settled, or of the one that it is, lie in its first bytes. */
uint32_t weir_round_marks_within(const struct weir_chunk *chunk, size_t bytes);

#endif
