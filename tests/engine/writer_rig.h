/*
 * A writer on a disk in memory and a fake clock, one step at a time: the test plays the readers. One thread.
 */
#ifndef WEIR_TESTS_ENGINE_WRITER_RIG_H
#define WEIR_TESTS_ENGINE_WRITER_RIG_H

#include <stdint.h>

#include "engine/drain/writer.h"
#include "tests/engine/fake_clock.h"
#include "tests/io/fake_io.h"

#define WRITER_RIG_HEAD_BYTES    4096u
#define WRITER_RIG_START_NS      (7 * WEIR_NS_PER_S)
#define WRITER_RIG_ROUND_BYTES   1000u
#define WRITER_RIG_PATIENT_BYTES 6000u
#define WRITER_RIG_CPUS          2u
#define WRITER_RIG_EVENTS        3u
#define WRITER_RIG_SIDEBAND      2u /* the event that is */
#define WRITER_RIG_CHUNKS        7u

struct writer_rig {
    struct fake_clock fake_clock;
    struct weir_clock clock;
    struct fake_io *disk;
    struct weir_pool pool;
    struct weir_chunk_queue queue;
    struct weir_id_map ids;
    struct weir_output *output;
    struct weir_writer writer;
    struct weir_chunk marker;
    _Atomic uint64_t returned;
    int kick_fd;
};

void writer_rig_init(struct writer_rig *f, const struct fake_io_options *disk);

/* Asserts that all chunks are back. */
void writer_rig_fini(struct writer_rig *f);

/* The id of an event on a CPU. */
uint64_t writer_rig_id(unsigned cpu, unsigned event);

/* A chunk from the pool, of which there is one. */
struct weir_chunk *writer_rig_take(struct writer_rig *f);

void writer_rig_add_sample(struct weir_chunk *chunk, uint64_t id, uint16_t bytes);

/* Pushes a chunk with one sample of that size, of event 0 on CPU 0. */
void writer_rig_push_sample(struct writer_rig *f, uint16_t bytes);

/* Pushes the rig's marker, which is free. */
void writer_rig_push_marker(struct writer_rig *f);

/* How often the coordinator was kicked since the last look. */
uint64_t writer_rig_kicks(const struct writer_rig *f);

/* Steps until nothing is left to do; a checkpoint may still be due later. */
void writer_rig_settle(struct writer_rig *f);

#endif
