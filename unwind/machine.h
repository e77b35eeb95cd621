/*
 * The registers of a machine, as its unwind tables number them: facts of its ABI, const. Any thread.
 *
 * Source: "System V Application Binary Interface, AMD64", figure 3.36; "DWARF for the Arm 64-bit Architecture", 4.1;
 * arch/{x86,arm64}/include/uapi/asm/perf_regs.h of Linux 6.18.
 */
#ifndef WEIR_UNWIND_MACHINE_H
#define WEIR_UNWIND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_UNWIND_REGS_MAX 33u /* of any machine below */

struct weir_unwind_machine {
    const char *name;  /* as uname(2) spells it */
    uint16_t elf;      /* e_machine */
    uint8_t reg_count; /* numbered from 0; tables may name more, which no return address needs */
    uint8_t stack_reg, frame_reg;
    uint8_t pc_reg;             /* that tables call the program counter; UINT8_MAX: none */
    uint8_t pc_bit;             /* of the program counter in sample_regs_user */
    const uint8_t *sample_bits; /* per register, its bit in sample_regs_user; UINT8_MAX: none */
    uint64_t kept;              /* bit n: a function that says nothing of register n keeps it */
    uint64_t address_bits;      /* of a return address; others sign it (pointer authentication) */
};

/* Returns the machine of that name; NULL: weir does not unwind its stacks. */
const struct weir_unwind_machine *weir_unwind_machine_find(const char *name);

#endif
