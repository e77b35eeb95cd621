/*
 * Call frame information: the sections .eh_frame and .debug_frame, which say for each instruction where its caller's
 * registers are.
 *
 * A section is indexed once: the range of addresses and the place of each of its entries, ascending. A search then runs
 * the entry's program up to the address and returns a rule: a few numbers, to be kept for the next sample at that
 * address. No byte is trusted. A search costs at most WEIR_CFI_STEPS_MAX instructions.
 *
 * Indexing allocates; all else is pure. Any thread. Source: "DWARF Debugging Information Format 5", 6.4; "Linux
 * Standard Base Core Specification 5.0", 10.6 (.eh_frame).
 */
#ifndef WEIR_UNWIND_CFI_H
#define WEIR_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/machine.h"

#define WEIR_CFI_STEPS_MAX         8192u       /* compilers need some hundred */
#define WEIR_CFI_SECTION_MAX_BYTES (64u << 20) /* of a larger one, nothing is used */

struct weir_cfi_entry {
    uint64_t start; /* address in the file's own numbering */
    uint32_t bytes;
    uint32_t offset; /* of the entry in its section */
};

struct weir_cfi_section {
    uint8_t *data; /* owned, with malloc(3); NULL: the file has no such section */
    size_t bytes;
    uint64_t address;
    bool is_eh;                     /* .eh_frame; otherwise .debug_frame */
    struct weir_cfi_entry *entries; /* owned; ascending by start */
    size_t count, capacity;
};

enum weir_cfi_place { /* where the caller's value of a register is */
    WEIR_CFI_UNDEFINED,
    WEIR_CFI_SAME,
    WEIR_CFI_AT_CFA,        /* in memory at CFA + value */
    WEIR_CFI_CFA_PLUS,      /* it is CFA + value */
    WEIR_CFI_IN_REG,        /* in register number value */
    WEIR_CFI_AT_EXPRESSION, /* in memory; value: offset of the expression in its section */
    WEIR_CFI_BY_EXPRESSION, /* the result of that expression */
    WEIR_CFI_UNSPECIFIED,   /* the table does not say */
};

struct weir_cfi_reg_rule {
    uint8_t reg;
    uint8_t place; /* enum weir_cfi_place */
    int32_t value;
};

struct weir_cfi_rule {
    bool cfa_is_expression;
    bool is_signal;  /* the frame is that of a signal's trampoline: its caller was interrupted and has called nothing */
    bool is_eh;      /* the section of its expressions */
    uint8_t cfa_reg; /* the CFA is that register + cfa_value; or cfa_value is the offset of an expression */
    uint8_t return_reg;
    uint8_t count;
    int32_t cfa_value;
    struct weir_cfi_reg_rule regs[WEIR_UNWIND_REGS_MAX]; /* the first count; registers that the table does not name are
                                                            not in it */
};

/* Makes the index of a section whose other fields are set. 0 or -ENOMEM. Malformed entries are left out. */
int weir_cfi_section_index(struct weir_cfi_section *section);
void weir_cfi_section_fini(struct weir_cfi_section *section);

/* Finds the rule of an address. False: the section does not have it, or what it has is malformed. */
bool weir_cfi_find(const struct weir_cfi_section *section, const struct weir_unwind_machine *machine, uint64_t address,
                   struct weir_cfi_rule *rule);

/* Returns the expression at an offset that a rule of the section holds, and its length. NULL: malformed. */
const uint8_t *weir_cfi_expression(const struct weir_cfi_section *section, int32_t offset, size_t *bytes);

#endif
