/*
 * Marks: rounds (rounds.h) without a barrier, for the time that one reader is the only one with something to do.
 *
 * Whoever reads a file holds two rounds of it in memory. Short rounds by epochs would cost the recorder a wake-up of
 * the coordinator and a chunk that is cut short for each; but while a single ring gets records, as with one task, its
 * own order is that of the file. So a reader leaves a mark now and then: eight bytes of padding, and at which moments.
 * The writer, which alone knows what stands where in the file, makes a FINISHED_ROUND of those marks that are one, and
 * leaves the others as they are. "Published" is when the kernel has moved data_head; a record's time is that moment or
 * at most WEIR_ROUND_GRACE_NS (G) before it (rounds.h). The bound of a marker is a moment before which all was
 * published that stands before it in the file: from handed_ns of the chunks, and ended_ns where it was a mark.
 *
 *     A mark becomes a marker when
 *         all other readers are idle, looked at by the writer: their rings drained, nothing held
 *         then the queue holds only chunks of that reader, and markers
 *         and either   began_ns >= bound of the last marker + G
 *         or           alone_ns >= what others handed over last + G, the last marker was a mark of this reader
 *                      with a sample_ns, and sample_ns >= that one + 2 G
 *
 * Proof. Let M be the newest time before the last marker, and x a record that does not stand before the mark. If x is
 * of another reader's ring, it was published after the writer had looked: that ring was idle then, so what it had
 * published had been pushed, and it was not behind the chunk in the queue. All that stands before the last marker had
 * been handed over by then, or stands in the chunk; so x is not older than M (but for G, which began_ns and alone_ns
 * keep).
 *
 *     began_ns    All rings of the reader were drained by a step that began then. If x is of one of them it was
 *                 published later: its time is > began_ns - G >= the bound >= M.
 *     alone_ns    The mark stands within what is drained of one ring, or behind it. The other rings of the reader
 *                 are empty, and have had nothing since G before alone_ns, when the last step began that drained
 *                 all of them; x is thus of this ring, or newer than all before the mark. It was published after
 *                 alone_ns, so it is not older than what others handed over G before that, nor than what the other
 *                 rings of the reader had.
 *     sample_ns   Of this ring itself: the mark stands behind a sample of that time, so x, published behind that, is
 *                 > sample_ns - G; and the newest record before the last marker, which stood behind a sample of
 *                 this ring, too, was published before that one and is < its sample_ns + G.
 *
 * What was found of the queue holds of all chunks that stood in it, so that they are not looked at again (cleared_to).
 *
 * A ring that is being mapped while its events are on is not seen by who looks whether readers are idle, so nothing is
 * cleared meanwhile (control.mapping); what is published in one that is mapped later is newer than the mark.
 *
 * The coordinator's marker behind a mark that became one has to keep to the same bound, with the moment that its epoch
 * was opened at instead of began_ns; otherwise it becomes padding. Behind another marker of the coordinator's it keeps
 * to it by itself.
 *
 * What an output begins with that begins in the middle of a recording has the times that it was recorded at before.
 * Rounds are cut until it stands there (rounds.h), and so are those of marks: from the switch to the coordinator's next
 * marker, whose epoch was opened after that.
 *
 * Other records of weir's own have no time, but for those that tell of what was shed: while a reader owes one it makes
 * no mark.
 */
#ifndef WEIR_ENGINE_DRAIN_ROUND_MARK_H
#define WEIR_ENGINE_DRAIN_ROUND_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/reader.h"

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
    bool closed;                         /* no mark becomes a marker until the next one of the coordinator's */
    unsigned busy;                       /* index of the reader that was found not to be idle last */
    uint64_t appended_ns;                /* what was appended was published before that */
    uint32_t appended_reader;            /* whose chunk was handed over then */
    uint64_t others_ns;                  /* as appended_ns, of all others */
    uint64_t marker_ns;                  /* bound of the last marker */
    uint32_t marker_reader;              /* whose mark it was, as in chunks; 0: it was the coordinator's, or none yet */
    uint64_t marker_sample_ns;           /* its sample_ns, when it was a mark */
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

/* An output has begun in the middle of the recording. Writer thread. */
void weir_round_marks_close(struct weir_round_marks *marks);

/* Whether a marker of the coordinator's, whose handed_ns is when its epoch was opened (0: nothing comes behind it), is
 * to be one. Writer thread, before it is appended. */
bool weir_round_marks_let_pass(struct weir_round_marks *marks, const struct weir_chunk *marker);

/* How many of the markers in a chunk that was settled, or of the one that it is, lie in its first bytes. */
uint32_t weir_round_marks_within(const struct weir_chunk *chunk, size_t bytes);

#endif
