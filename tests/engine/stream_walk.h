/*
 * What simulated kernels were asked for, and whether a file holds exactly that: an independent reader of the data
 * section. It knows the layout of samples of "bpf-output" events and of COMM records by heart instead of asking the
 * code under test. No Criterion here: race programs use it too. One thread for each struct.
 */
#ifndef WEIR_TESTS_ENGINE_STREAM_WALK_H
#define WEIR_TESTS_ENGINE_STREAM_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one event on one CPU has produced: attempts, numbered from 0, of which some found no room. */
struct stream {
    uint64_t id; /* of the file, also the payload's mark */
    unsigned cpu;
    bool sideband;
    uint32_t stack_bytes;    /* its samples have a chain of none, so many registers and a dump of so many bytes; 0: */
    unsigned register_count; /* neither */
    bool may_miss;           /* records that have landed may have been evicted from memory */
    /* It is in a ring of the newest records, which is read at snapshots: the records of each stand newest first, and
     * none is older than those of the snapshot before. */
    bool newest_first;
    bool may_have_gaps; /* with newest_first: records of a snapshot may be missing between others of it */
    uint8_t *landed;    /* owned; by attempt: 1 when it is in the ring */
    uint64_t attempts, capacity;

    uint64_t next;         /* the walk: attempts before this one were seen or are missing */
    uint64_t last, floor;  /* with newest_first: the last one seen, and the first that its snapshot may hold */
    uint64_t seen;         /* records of it in the file */
    uint64_t lost_reports; /* LOST_SAMPLES records */
    uint64_t lost_samples; /* their sum */
    uint64_t shed_samples; /* sum of the LOST_SAMPLES records that tell of what weir has dropped */
    uint64_t missed;       /* of these, found to be missing */
};

/* Notes the next attempt. Aborts without memory. */
void stream_note(struct stream *stream, bool landed);
void stream_fini(struct stream *stream);

/* Fills the raw payload of the attempt of that number. bytes: 4 more than a multiple of 8, as the kernel pads it to. */
void stream_fill_payload(const struct stream *stream, uint64_t attempt, uint8_t *payload, uint32_t bytes);

/* Fills the dump of the user stack, a multiple of 8. */
void stream_fill_stack(const struct stream *stream, uint64_t attempt, uint8_t *stack, uint32_t bytes);

struct walk_input {
    const uint8_t *data; /* the data section */
    uint64_t bytes;
    struct stream *streams; /* the walk's fields are reset */
    size_t stream_count;
    bool without_ids;            /* one event, whose records are told apart by their CPU */
    bool goes_on;                /* they are not: this output follows on the one that was walked before */
    const uint64_t *checkpoints; /* ascending values of data.size that the header had at some time */
    size_t checkpoint_count;
};

struct walk_result {
    uint64_t rounds;
    uint64_t synthesized; /* records without an id */
    uint64_t padding_bytes;
    uint64_t lost_reported; /* sum of the kernel's LOST records */
    uint64_t lost_silent;   /* of these, of side records in a recording without ids */
    uint64_t trimmed;       /* samples with less than their stack */
    uint64_t returns;       /* of CPUs */
    char failure[256];      /* empty: the file is as it should be */
};

/*
 * Walks the data and checks that every record is whole and of a kind that may be there; that every record of an event
 * is one that landed, once, in order, with no other that landed missing before it (but for streams that may miss some,
 * and for what a record before it tells to have been shed; of a snapshot of the newest records the oldest are missing,
 * but none between those that are there); that stacks are whole or cut;
 * that rounds are barriers; and that every checkpoint is a record boundary. True when all that holds.
 */
bool stream_walk(const struct walk_input *input, struct walk_result *result);

#endif
