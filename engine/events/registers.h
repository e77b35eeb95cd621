/*
 * The registers that samples can hold, by perf's names: -I and --user-regs. A register's number is its bit in
 * attr.sample_regs_intr and attr.sample_regs_user.
 *
 * Every build has the tables of all architectures, so that one machine tests them all. Any thread; no allocation.
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
    uint64_t usual;         /* every kernel has these; the default without a list */
    uint64_t extended;      /* only with -I, where CPU and kernel have them */
    uint64_t user_extended; /* only with --user-regs, where CPU and kernel have them */
    uint64_t unwind;        /* instruction and stack pointer: the least for --call-graph=dwarf */
};

extern const struct weir_register_set weir_registers_x86_64;
extern const struct weir_register_set weir_registers_arm64;

/* The set of the architecture that weir was built for; count is 0 where there is no table. */
const struct weir_register_set *weir_registers_here(void);

/*
 * Turns names, separated by commas, in any case, into bits. allowed: the registers that may be named (set->usual, and
 * set->extended where samples can hold them). 0; or -EINVAL with err (the hint lists the names), and *bits is
 * unchanged.
 */
int weir_registers_parse(const struct weir_register_set *set, uint64_t allowed, const char *text, uint64_t *bits,
                         struct weir_error *err);

/* Returns the part of set->extended that samples of this machine can hold with -I. Opens and closes an event, which
 * counts nothing. Main thread; blocks. */
uint64_t weir_registers_probe_extended(const struct weir_register_set *set, const struct weir_kernel *kernel);

/* Returns the part of set->user_extended that samples of this machine can hold with --user-regs. Opens and closes an
 * event. Main thread; blocks. */
uint64_t weir_registers_probe_user_extended(const struct weir_register_set *set, const struct weir_kernel *kernel);

/* Appends the names of the registers in bits, separated by blanks. */
void weir_registers_format(const struct weir_register_set *set, uint64_t bits, struct weir_buf *text);

#endif
