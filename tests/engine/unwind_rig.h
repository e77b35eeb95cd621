/* Chunks of samples with copied stacks for tests of the unwinding step, and a made-up source of mappings and files. One
 * place without ids, told apart by CPU: CPU 0 has the event with copied stacks, CPU 1 one without. No Criterion here:
 * race programs and fuzz targets use it, too. */
#ifndef WEIR_TESTS_ENGINE_UNWIND_RIG_H
#define WEIR_TESTS_ENGINE_UNWIND_RIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/drain/unwind_step.h"

#define UNWIND_RIG_EVENTS 3u              /* with the sideband event */
#define UNWIND_RIG_PID    10u             /* whose memory is known */
#define UNWIND_RIG_BASE   0x555500000000u /* where offset 0 of the file is mapped */
#define UNWIND_RIG_STACK  0x7ffc00001000u
#define UNWIND_RIG_LEAF   (UNWIND_RIG_BASE + 0x1110)
#define UNWIND_RIG_KERNEL 0xffffffff81000000u

struct unwind_rig {
    struct weir_event events[UNWIND_RIG_EVENTS];
    struct weir_event_list list;
    struct weir_id_entry by_cpu[2];
    struct weir_buf table;
    struct weir_unwind_step step;
    struct weir_clock clock;
    uint64_t now_ns; /* of that clock */

    /* How the source behaves; written before the step runs. */
    uint64_t known_from_ns;  /* the mapping covers samples from that time on */
    bool knows_after_a_wait; /* it is known once somebody has waited */
    uint64_t keys_from;      /* of the file of addresses below UNWIND_RIG_BASE + 0x1200; that of others is one more */
    int open_error;          /* of open(); 0: none */
    uint64_t open_ns;        /* time that passes while a file is opened */

    /* Calls; any worker. */
    _Atomic unsigned finds, waits, opens;
};

struct unwind_sample {
    uint32_t pid, cpu;
    uint64_t time_ns, ip, abi;
    unsigned depth;       /* callers of the leaf */
    unsigned stack_words; /* copied; 0: as many as the callers need */
    bool has_no_frame;    /* pointer, so that only tables help */
    bool is_cycle;        /* the second caller's frame is that of the first one again; with 5 stack_words */
    unsigned kernel;      /* frames of the kernel, behind their mark */
};

/* workers: of the stage that is to use the step. False: no memory. */
bool unwind_rig_init(struct unwind_rig *rig, unsigned workers);
void unwind_rig_fini(struct unwind_rig *rig);

/* Appends to a chunk whose data has room: a leaf, `depth` callers, of which the last one is the outermost. */
void unwind_rig_append(struct weir_chunk *chunk, const struct unwind_sample *sample);

/* An unwound sample. */
struct unwound {
    uint32_t cpu;
    uint64_t time_ns, period, weight, frames;
    uint64_t chain[160]; /* the first `frames` words */
};

/* Reads the record at *at and moves on. 1: a sample of the event with stacks; 0: another record; -1: the end. */
int unwind_rig_next(const struct weir_chunk *chunk, uint32_t *at, struct unwound *sample);

#endif
