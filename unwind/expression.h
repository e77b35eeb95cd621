/*
 * Evaluates the DWARF expressions of unwind tables, which anybody may have written. An expression has at most
 * WEIR_EXPRESSION_STEPS_MAX operations on a stack of WEIR_EXPRESSION_DEPTH words, and reads memory of the sampled stack
 * only.
 *
 * Pure, no allocation, any thread. Source: "DWARF Debugging Information Format 5", 2.5.1 and 6.4.2.
 */
#ifndef WEIR_UNWIND_EXPRESSION_H
#define WEIR_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/machine.h"

#define WEIR_EXPRESSION_STEPS_MAX 256u
#define WEIR_EXPRESSION_DEPTH     32u

/* The values of the registers of a frame. */
struct weir_unwind_regs {
    uint64_t value[WEIR_UNWIND_REGS_MAX];
    uint64_t known; /* bit n: value[n] is known */
};

/* The bytes of the user's stack in a sample. */
struct weir_unwind_stack {
    uint64_t start; /* address */
    size_t bytes;
    const uint8_t *data; /* borrowed from the sample; any alignment */
};

/* Reads a word of the stack. False: the sample does not have it. */
bool weir_unwind_stack_read(const struct weir_unwind_stack *stack, uint64_t address, uint64_t *value);

struct weir_expression_frame { /* what an expression may ask for; borrowed */
    const struct weir_unwind_regs *regs;
    const struct weir_unwind_stack *stack;
    const uint64_t *cfa; /* pushed first; NULL: the expression is that of the CFA */
};

/* Evaluates the expression of `bytes` bytes. False: it has an operation that tables do not use, or one that fails. */
bool weir_expression_run(const uint8_t *data, size_t bytes, const struct weir_expression_frame *frame,
                         uint64_t *result);

#endif
