/*
 * Unwinds user stacks that the kernel has copied into samples: registers and the top of the stack become the addresses
 * that a call chain would have had.
 *
 * An unwinder is a function of a sample and the mappings of its time, and caches: tables of files
 * (unwind/table_cache.h) and rules of addresses. It trusts neither stack, table nor file. A sample costs at most
 * WEIR_UNWIND_FRAMES_MAX frames, each at most the limits of unwind/cfi.h and unwind/expression.h, and the reading of
 * WEIR_UNWIND_LOADS_MAX files. Memory: the tables' limit, and WEIR_UNWIND_RULES rules (4 MiB).
 *
 * The addresses are those of `perf script`: of the sampled instruction, then of each call, which is the return address
 * less one. So an address lies in the caller also if the call is its last instruction. The frame that a signal
 * interrupted has the address of the interrupted instruction.
 *
 * For an address without a rule the unwinder uses the frame pointer, as libunwind's unw_step() does. The frame pointer
 * must point into the stack, a little above the frame. Generated code and Go keep frame pointers, and have no tables.
 *
 * One thread per unwinder; a file that is new blocks and allocates.
 */
#ifndef WEIR_UNWIND_UNWINDER_H
#define WEIR_UNWIND_UNWINDER_H

#include "unwind/expression.h"
#include "unwind/table_cache.h"

#define WEIR_UNWIND_FRAMES_MAX 127u /* of a stack: the kernel's limit for call chains, kernel.perf_event_max_stack */
#define WEIR_UNWIND_LOADS_MAX  32u  /* files that one sample may cause to be read */
#define WEIR_UNWIND_RULES      16384u

struct weir_unwind_mapping {
    uint64_t start, offset; /* address; offset of start in the file */
    bool has_file;          /* false: anonymous memory, generated code */
    uint64_t key;           /* of the file, for the cache */
};

/* The mappings as of the present sample. */
struct weir_unwind_mappings {
    /* Finds the mapping that covers an address. False: none is known. */
    bool (*find)(void *ctx, uint64_t address, struct weir_unwind_mapping *mapping);
    void *ctx; /* borrowed */
};

enum weir_unwind_end {      /* why a chain ends; in words: weir_unwound_end_text() */
    WEIR_UNWIND_OUTERMOST,  /* the stack is at its end */
    WEIR_UNWIND_STACK_CUT,  /* the sample does not hold the caller's part of the stack */
    WEIR_UNWIND_NO_MAPPING, /* no known mapping has the address */
    WEIR_UNWIND_NO_TABLE,   /* the file is missing, or another one, or has no table */
    WEIR_UNWIND_NO_RULE,    /* the table does not have the address, or is malformed there */
    WEIR_UNWIND_LIMIT,      /* max_frames */
    WEIR_UNWIND_LOOP,       /* the caller would be the frame itself */
    WEIR_UNWIND_NO_REGS,    /* the sample has no user registers, or those of a program of 32 bits */
    WEIR_UNWIND_ENDS,
};

struct weir_unwind_input { /* of one sample; borrowed */
    uint64_t regs_mask;    /* sample_regs_user */
    const uint8_t *regs;   /* a word for each bit, ascending; any alignment */
    uint64_t reg_count;
    const uint8_t *stack;
    size_t stack_bytes;
    unsigned max_frames; /* of the chain; 0 and more than WEIR_UNWIND_FRAMES_MAX: that many */
};

struct weir_unwind_chain {
    uint64_t frames[WEIR_UNWIND_FRAMES_MAX];
    unsigned count;
    enum weir_unwind_end end;
};

struct weir_unwind_known_rule;

struct weir_unwinder {
    const struct weir_unwind_machine *machine; /* borrowed */
    struct weir_table_cache tables;
    struct weir_unwind_known_rule *rules; /* owned; WEIR_UNWIND_RULES */
};

/* max_bytes: limit of the tables. 0 or -ENOMEM. */
int weir_unwinder_init(struct weir_unwinder *unwinder, const struct weir_unwind_machine *machine,
                       const struct weir_table_source *files, size_t max_bytes);
void weir_unwinder_fini(struct weir_unwinder *unwinder);

/* Returns the memory of an unwinder without tables. */
size_t weir_unwinder_bytes(void);

void weir_unwinder_run(struct weir_unwinder *unwinder, const struct weir_unwind_input *input,
                       const struct weir_unwind_mappings *mappings, struct weir_unwind_chain *chain);

#endif
