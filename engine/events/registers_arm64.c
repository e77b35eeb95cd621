/*
 * Registers of arm64, in perf's order. Constant data.
 *
 * Source: enum perf_event_arm_regs, arch/arm64/include/uapi/asm/perf_regs.h, Linux 6.1; names as in
 * tools/perf/arch/arm64/util/perf_regs.c. vg is the length of vectors in units of 64 bits. It exists with SVE only, and
 * from Linux 6.1 on.
 */
#include "base/bits.h"
#include "engine/events/registers.h"

#define BIT(number) (1ull << (number))

#define SP 31
#define PC 32
#define VG 46

static const struct weir_register registers[] = {
    {"x0", BIT(0)},   {"x1", BIT(1)},   {"x2", BIT(2)},   {"x3", BIT(3)},   {"x4", BIT(4)},   {"x5", BIT(5)},
    {"x6", BIT(6)},   {"x7", BIT(7)},   {"x8", BIT(8)},   {"x9", BIT(9)},   {"x10", BIT(10)}, {"x11", BIT(11)},
    {"x12", BIT(12)}, {"x13", BIT(13)}, {"x14", BIT(14)}, {"x15", BIT(15)}, {"x16", BIT(16)}, {"x17", BIT(17)},
    {"x18", BIT(18)}, {"x19", BIT(19)}, {"x20", BIT(20)}, {"x21", BIT(21)}, {"x22", BIT(22)}, {"x23", BIT(23)},
    {"x24", BIT(24)}, {"x25", BIT(25)}, {"x26", BIT(26)}, {"x27", BIT(27)}, {"x28", BIT(28)}, {"x29", BIT(29)},
    {"lr", BIT(30)},  {"sp", BIT(SP)},  {"pc", BIT(PC)},  {"vg", BIT(VG)},
};

const struct weir_register_set weir_registers_arm64 = {
    .registers = registers,
    .count = WEIR_ARRAY_COUNT(registers),
    .usual = 0x1ffffffff,
    .user_extended = BIT(VG),
    .unwind = BIT(PC) | BIT(SP),
};
