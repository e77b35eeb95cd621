/* Chunks of samples with deferred call chains, and the records of their user parts, for tests of the joining step. One
 * place without ids, told apart by CPU: CPU 0 has the event with deferred chains, CPU 1 one without. No Criterion here:
 * race programs and fuzz targets use it, too. */
#ifndef WEIR_TESTS_ENGINE_JOIN_RIG_H
#define WEIR_TESTS_ENGINE_JOIN_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/join_step.h"

#define JOIN_RIG_EVENTS 3u /* with the event that the records come from */
#define JOIN_RIG_KERNEL 0xffffffff81000000u
#define JOIN_RIG_CHAIN  512u /* words of a chain at most */

struct join_rig {
    struct weir_event events[JOIN_RIG_EVENTS];
    struct weir_event_list list;
    struct weir_id_entry by_cpu[2];
    struct weir_join_step step;
};

struct join_sample {
    uint32_t tid, cpu;
    uint64_t time_ns, ip, cookie; /* cookie 0: the chain is not deferred */
    unsigned kernel;              /* frames of the kernel, behind their mark; 0: taken in user space */
    bool has_no_cookie;           /* the chain ends with the mark */
};

/* False: no memory. */
bool join_rig_init(struct join_rig *rig);
void join_rig_fini(struct join_rig *rig);

/* Append to a chunk whose data has room. A record has `frames` words: first_frame, first_frame + 1, ... */
void join_rig_append(struct weir_chunk *chunk, const struct join_sample *sample);
void join_rig_append_record(struct weir_chunk *chunk, uint32_t tid, uint64_t cookie, uint64_t first_frame,
                            unsigned frames);

struct joined { /* a sample */
    uint32_t tid, cpu;
    uint64_t time_ns, weight, frames;
    uint64_t chain[JOIN_RIG_CHAIN]; /* the first `frames` words */
};

/* Reads the record at *at and moves on. 1: a sample; 0: another record; -1: the end. */
int join_rig_next(const struct weir_chunk *chunk, uint32_t *at, struct joined *sample);

#endif
