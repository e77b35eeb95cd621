/*
 * The registers that samples can hold, by perf's names: -I and --user-regs. A register's number is its bit in
 * attr.sample_regs_intr and attr.sample_regs_user.
 *
 * Constant tables for each architecture, on every machine (so that all are tested on one); pure functions but one, any
 * thread; no allocation.
 */
#ifndef WEIR_ENGINE_EVENTS_REGISTERS_H
#define WEIR_ENGINE_EVENTS_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "engine/kernel/kernel.h"

struct weir_register {
    const char *name;
    uint64_t bits; /* one bit, or the pair of bits of a register of 128 bits */
};

struct weir_register_set {
    const struct weir_register *registers; /* in perf's order */
    size_t count;
    uint64_t usual;         /* what any kernel gives: all of it without a list */
    uint64_t extended;      /* what a sample taken at an interrupt may hold besides, where CPU and kernel can */
    uint64_t user_extended; /* what those of user space may hold besides, likewise */
    uint64_t unwind;        /* the least that --call-graph=dwarf needs: instruction and stack pointer */
};

extern const struct weir_register_set weir_registers_x86_64;
extern const struct weir_register_set weir_registers_arm64;

/* Those of the machine that weir was built for; none (count 0) where there is no table. */
const struct weir_register_set *weir_registers_here(void);

/*
 * Turns names with commas between them, in any case, into bits; only those of `allowed` (set->usual, with
 * set->extended) are known. 0, or -EINVAL with err (the hint lists the names); then bits is untouched.
 */
int weir_registers_parse(const struct weir_register_set *set, uint64_t allowed, const char *text, uint64_t *bits,
                         struct weir_error *err);

/* Those of set->extended that samples of this machine can hold at an interrupt: found out by opening an event, which
 * counts nothing, and closing it. Main thread; blocks. */
uint64_t weir_registers_probe_extended(const struct weir_register_set *set, const struct weir_kernel *kernel);

/* The same for set->user_extended. */
uint64_t weir_registers_probe_user_extended(const struct weir_register_set *set, const struct weir_kernel *kernel);

/* Appends the names of the registers in bits with blanks between them. */
void weir_registers_format(const struct weir_register_set *set, uint64_t bits, struct weir_buf *text);

#endif
