/*
 * Registers of x86-64, in perf's order. Constant data.
 *
 * Source: enum perf_event_x86_regs, arch/x86/include/uapi/asm/perf_regs.h, Linux 6.1; the names are those that
 * `perf record -I?` prints. DS, ES, FS and GS have numbers, but the kernel refuses them on 64 bits.
 */
#include "base/bits.h"
#include "engine/events/registers.h"

#define BIT(number)  (1ull << (number))
#define PAIR(number) (3ull << (number)) /* 128 bits take two numbers */

#define SP 7
#define IP 8

static const struct weir_register registers[] = {
    {"AX", BIT(0)},      {"BX", BIT(1)},      {"CX", BIT(2)},      {"DX", BIT(3)},      {"SI", BIT(4)},
    {"DI", BIT(5)},      {"BP", BIT(6)},      {"SP", BIT(7)},      {"IP", BIT(8)},      {"FLAGS", BIT(9)},
    {"CS", BIT(10)},     {"SS", BIT(11)},     {"R8", BIT(16)},     {"R9", BIT(17)},     {"R10", BIT(18)},
    {"R11", BIT(19)},    {"R12", BIT(20)},    {"R13", BIT(21)},    {"R14", BIT(22)},    {"R15", BIT(23)},
    {"XMM0", PAIR(32)},  {"XMM1", PAIR(34)},  {"XMM2", PAIR(36)},  {"XMM3", PAIR(38)},  {"XMM4", PAIR(40)},
    {"XMM5", PAIR(42)},  {"XMM6", PAIR(44)},  {"XMM7", PAIR(46)},  {"XMM8", PAIR(48)},  {"XMM9", PAIR(50)},
    {"XMM10", PAIR(52)}, {"XMM11", PAIR(54)}, {"XMM12", PAIR(56)}, {"XMM13", PAIR(58)}, {"XMM14", PAIR(60)},
    {"XMM15", PAIR(62)},
};

const struct weir_register_set weir_registers_x86_64 = {
    .registers = registers,
    .count = WEIR_ARRAY_COUNT(registers),
    .usual = 0xff0fff,              /* AX to SS and R8 to R15 */
    .extended = 0xffffffff00000000, /* XMM */
    .unwind = BIT(IP) | BIT(SP),
};
