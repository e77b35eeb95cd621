/*
 * Readers over hand-filled rings, with the pool and the queue that they feed; the test plays kernel, coordinator and
 * writer. One thread. Ids: event 0 has the id RIG_ID, the sideband event RIG_SIDE_ID.
 */
#ifndef WEIR_TESTS_ENGINE_READER_RIG_H
#define WEIR_TESTS_ENGINE_READER_RIG_H

#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/reader.h"
#include "engine/kernel/id_map.h"
#include "tests/engine/raw_kernel.h"

#define RIG_ID          21u
#define RIG_SIDE_ID     22u
#define RIG_EVENT_COUNT 2u
#define RIG_READERS_MAX 4
#define RIG_CHUNK_BYTES WEIR_CHUNK_MIN_BYTES

struct rig_options {
    unsigned readers;          /* 0: 1 */
    unsigned rings_per_reader; /* 0: 1 */
    uint64_t ring_bytes;       /* 0: 4096 */
    unsigned retained_chunks;  /* of each reader; 0: it retains nothing */
    uint64_t retained_span_ns;
    const struct weir_shed_plan *shed; /* NULL: nothing is shed */
    uint64_t start;                    /* head and tail of every ring at first */
    uint64_t aux_bytes;                /* of the AUX area of each ring; 0: none has one */
    bool aux_newest;                   /* they are overwritten */
    bool past_caches;                  /* chunks are written past the caches */
    unsigned chunks;                   /* of RIG_CHUNK_BYTES, at least two per reader; 0: seven */
    unsigned ready_chunks;             /* of these, from the start; 0: all */
};

struct reader_rig {
    struct raw_kernel raw; /* reader r's ring n is ring r * rings_per_reader + n */
    struct weir_pool pool;
    struct weir_chunk_queue queue;
    struct weir_reader_control control;
    struct weir_id_map ids;
    struct weir_reader readers[RIG_READERS_MAX];
    struct weir_reader *reader_list[RIG_READERS_MAX];
    unsigned reader_count;
    int poll_fds[RAW_RINGS_MAX]; /* stand-ins for event descriptors */
    _Atomic unsigned live_readers;
    int ended_fd; /* owned */
    int aux_fd;   /* owned */
};

void rig_init(struct reader_rig *rig, const struct rig_options *options);

/* Puts everything back, also what still lies in the queue. */
void rig_fini(struct reader_rig *rig);

/* One sample of RIG_ID with that sequence number, which is also its time. */
void rig_put_sample(struct reader_rig *rig, unsigned ring, uint64_t sequence, uint16_t bytes);

/* Opens the next epoch, as the coordinator does. */
void rig_open_epoch(struct reader_rig *rig);

/* The next chunk, or NULL. It is the test's until rig_return(). */
struct weir_chunk *rig_pop(struct reader_rig *rig);
void rig_return(struct reader_rig *rig, struct weir_chunk *chunk);

/* Asserts that the chunk holds exactly the whole samples with these sequence numbers, then returns it. */
void rig_expect_samples(struct reader_rig *rig, struct weir_chunk *chunk, uint64_t first_sequence, unsigned count);

#endif
