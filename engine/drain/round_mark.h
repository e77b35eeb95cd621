/*
 * Marks: rounds (rounds.h) without a barrier, while only one reader has something to do.
 *
 * A consumer holds two rounds of the file in memory. Short rounds by epochs would cost the recorder a wake-up of the
 * coordinator and a short chunk each. But while a single ring gets records, as with one task, the order of that ring is
 * the order of the file. So the reader leaves a mark now and then (mark_maker.h): 24 bytes of padding, and the
 * moments that belong to it. The writer alone knows the order of records in the file. It turns the marks that keep the
 * rule of rounds into FINISHED_ROUND and 16 bytes of padding, and leaves the others as padding.
 *
 * Terms. A record is *published* when the kernel moves data_head over it; a record's time is at most G
 * (WEIR_ROUND_GRACE_NS) before that moment. The *bound* of a marker is a moment before which every record that stands
 * before the marker was published. It comes from handed_ns of the chunks, and from ended_ns if the marker was a mark.
 *
 *     A mark becomes a marker when
 *         the writer looks and finds all other readers idle: their rings drained, nothing held
 *         after that the writer finds in the queue only chunks of the mark's reader, and markers
 *         and either   began_ns >= bound of the last marker + G
 *         or           alone_ns >= what others handed over last + G, the last marker was a mark of this reader
 *                      with a sample_ns, and sample_ns >= that one + 2 G
 *
 * Proof. Let M be the time of the newest record before the last marker, and x a record that does not stand before the
 * mark. The claim is that x is not older than M. If x is from a ring of another reader, x was published after the
 * writer had looked. That ring was idle at the look. So its reader had pushed everything published there, and the queue
 * held nothing of that ring behind the chunk. Every record before the last marker had been handed over by then, or
 * stands in the chunk. So x is not older than M, but for G, which the bounds on began_ns and alone_ns keep. If x is
 * from a ring of the mark's reader:
 *
 *     began_ns    A step that began then drained all rings of the reader. So x was published after began_ns: its time
 *                 is > began_ns - G >= the bound >= M.
 *     alone_ns    The mark stands among the records of one ring, or behind them. The reader's other rings are empty,
 *                 and had no records since G before alone_ns, when the last step began that drained all rings. So x is
 *                 from this ring, or newer than every record before the mark. x was published after alone_ns. So x is
 *                 not older than the records of the reader's other rings, nor than the records that other readers
 *                 handed over G before alone_ns.
 *     sample_ns   Against the ring's own records: the mark stands behind a sample of that time. x was published behind
 *                 that sample, so x has a time > sample_ns - G. The last marker stood behind a sample of this ring,
 *                 too. No record of this ring before the last marker was published after the last marker's sample. So
 *                 the times of these records are < the last marker's sample_ns + G <= sample_ns - G.
 *
 * The writer's look at the queue holds for every chunk that stood in the queue: the writer does not look again before
 * it has appended these (cleared_to).
 *
 * A ring that is being mapped while its events are enabled is in no reader's idle test. So the writer clears no mark
 * meanwhile (control.mapping); a record published in a ring that is mapped later is newer than the mark.
 *
 * A marker of the coordinator may follow a mark that became a marker. It then has to keep the same bound, with the
 * opening of its epoch in place of began_ns. Otherwise the writer turns the coordinator's marker into padding. Behind
 * another marker of the coordinator the bound holds by itself.
 *
 * An output that begins in the middle of a recording begins with records that carry earlier times. Rounds are cut until
 * these records stand there (rounds.h), and so are marks: from the rotation to the coordinator's next marker, whose
 * epoch was opened later.
 *
 * Weir's own records have no time, but for those that report shed samples: a reader that owes one makes no mark.
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
    struct weir_reader *const *readers; /* NULL: readers make no marks */
    unsigned reader_count;
    const struct weir_reader_control *control;
};

/* Writer thread only. */
struct weir_round_marks {
    struct weir_round_marks_setup setup;
    struct weir_chunk_queue *queue;      /* borrowed */
    const struct weir_chunk *cleared_to; /* up to this chunk, in the queue, there are none of others; NULL: not known */
    bool closed;                         /* no mark becomes a marker until the coordinator's next marker */
    unsigned busy;                       /* index of the reader that was not idle at the last look */
    uint64_t appended_ns;                /* every appended record was published before that */
    uint32_t appended_reader;            /* the reader whose chunk was handed over then */
    uint64_t others_ns;                  /* as appended_ns, for the chunks of all other readers */
    uint64_t marker_ns;                  /* bound of the last marker */
    uint32_t marker_reader;    /* the reader whose mark it was, as in chunks; 0: the coordinator's, or none yet */
    uint64_t marker_sample_ns; /* of the last marker, if it was a mark */
    uint64_t made;             /* marks that became markers */
    uint64_t made_within;      /* of these, by alone_ns and sample_ns */
    uint64_t turned_down;      /* markers of the coordinator's that became padding */
};

/* setup: NULL when readers make no marks. */
void weir_round_marks_init(struct weir_round_marks *marks, struct weir_chunk_queue *queue,
                           const struct weir_round_marks_setup *setup);

/* Decides which marks of a chunk of data become markers. The chunk has left the queue and is appended next. Returns the
 * offset behind its last marker; 0: it has none. Writer thread. */
uint32_t weir_round_marks_decide(struct weir_round_marks *marks, struct weir_chunk *chunk);

/* Notes that an output begins in the middle of the recording. Writer thread. */
void weir_round_marks_close(struct weir_round_marks *marks);

/* Whether a marker of the coordinator stays one. Its handed_ns is when its epoch was opened; 0: nothing comes behind
 * it. Writer thread, before the marker is appended. */
bool weir_round_marks_let_pass(struct weir_round_marks *marks, const struct weir_chunk *marker);

/* Number of markers in the first `bytes` of a chunk whose marks are decided, or of a chunk that is a marker. */
uint32_t weir_round_marks_within(const struct weir_chunk *chunk, size_t bytes);

#endif
