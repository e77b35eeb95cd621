/*
 * A stack of this program, copied as the kernel copies a stack into a sample. The source gives the mappings and files
 * that unwinding needs. For benches of unwinding. The main thread makes and frees the object. Meanwhile any thread may
 * use the source.
 */
#ifndef WEIR_ENGINE_SIM_SIM_STACK_H
#define WEIR_ENGINE_SIM_SIM_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/drain/unwind_source.h"

#define WEIR_SIM_STACK_BYTES        8192u /* the kernel copies as much by default */
#define WEIR_SIM_STACK_MAPPINGS_MAX 64u
#define WEIR_SIM_STACK_OPENS_MAX    16u /* of each file: one for each thread of the stage */

struct weir_sim_mapping {
    uint64_t start, end, offset;
    char path[256];
    int fds[WEIR_SIM_STACK_OPENS_MAX]; /* of the file: the source hands them out, as threads of the stage open none */
    unsigned fd_count;                 /* the first ones have been opened */
    _Atomic unsigned taken; /* the first ones are those of the source's users; relaxed: nothing else with it */
};

struct weir_sim_stack {
    uint64_t ip;
    uint64_t regs[64];                                             /* by their bits in sample_regs_user */
    uint8_t data[WEIR_SIM_STACK_BYTES];                            /* zeros behind the end of the stack */
    size_t bytes;                                                  /* of the stack that was copied */
    struct weir_sim_mapping mappings[WEIR_SIM_STACK_MAPPINGS_MAX]; /* with code */
    unsigned mapping_count;
};

/* Copies the stack of the caller, `frames` calls deeper, and opens the files that have its code `opens` times each. The
 * caller owns *made. 0; -ENOMEM; -ENOTSUP: not on this machine. Blocks. */
int weir_sim_stack_new(struct weir_sim_stack **made, unsigned frames, unsigned opens);

/* Closes the files that nobody has asked for. NULL is allowed. */
void weir_sim_stack_free(struct weir_sim_stack *stack);

/* Returns the source, which borrows the stack. Its mappings are those of any process at any time. */
struct weir_unwind_source weir_sim_stack_source(struct weir_sim_stack *stack);

#endif
