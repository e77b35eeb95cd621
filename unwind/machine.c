#include "unwind/machine.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "base/bits.h"

#define NONE UINT8_MAX

/* rax rdx rcx rbx rsi rdi rbp rsp r8 to r15, and the return address */
static const uint8_t bits_x86_64[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, NONE};

/* x0 to x30, sp */
static const uint8_t bits_arm64[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                     16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static const struct weir_unwind_machine machines[] = {
    {
        .name = "x86_64",
        .elf = EM_X86_64,
        .reg_count = sizeof(bits_x86_64),
        .stack_reg = 7,
        .frame_reg = 6,
        .pc_reg = 16,
        .pc_bit = 8,
        .sample_bits = bits_x86_64,
        .kept = 1u << 3 | 1u << 6 | 0xf000u, /* rbx rbp r12 to r15 */
        .address_bits = UINT64_MAX,
    },
    {
        .name = "aarch64",
        .elf = EM_AARCH64,
        .reg_count = sizeof(bits_arm64),
        .stack_reg = 31,
        .frame_reg = 29,
        .pc_reg = NONE,
        .pc_bit = 32,
        .sample_bits = bits_arm64,
        .kept = 0x7ff80000u, /* x19 to x30 */
        .address_bits = (1ull << 48) - 1,
    },
};

_Static_assert(sizeof(bits_x86_64) <= WEIR_UNWIND_REGS_MAX && sizeof(bits_arm64) <= WEIR_UNWIND_REGS_MAX, "room");

const struct weir_unwind_machine *weir_unwind_machine_find(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(machines); i++) {
        if (strcmp(machines[i].name, name) == 0)
            return &machines[i];
    }
    return NULL;
}
