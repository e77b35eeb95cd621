/*
 * A copy of the kernel's code as it is in memory, with its symbols: the folder `kcore_dir` beside the data of a
 * recording. From it, perf disassembles and annotates the running kernel with all its patches.
 *
 *     kallsyms   a copy
 *     modules    a copy; empty if the kernel has no such file
 *     kcore      an ELF core file: the code ranges of /proc/kcore (kcore_ranges.h) one behind the other, whole pages;
 *                pages of zeros (nothing lies there) are holes
 *
 * The source is opened before privileges are dropped, because /proc/kcore needs CAP_SYS_RAWIO. It is copied once
 * TEXT_POKE records arrive, so that each change of the code is in the copy or in a later record.
 *
 * Set-up only: one thread; blocks, allocates. Source: kcore_copy() in tools/perf/util/symbol-elf.c of Linux 6.1.
 */
#ifndef WEIR_FORMAT_KCORE_H
#define WEIR_FORMAT_KCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct weir_kcore {        /* all zeros: not open */
    const char *proc_root; /* borrowed; NULL: not open */
    int fd;                /* owned; of kcore; -1: cannot be opened */
};

struct weir_kcore_copied {
    uint64_t bytes;    /* of code */
    unsigned segments; /* in the copy */
    bool changed;      /* symbols came or went during every copy: some may not fit the code */
};

/* Opens PROC_ROOT/kcore ("/proc/kcore"). proc_root: borrowed until close. 0, or -errno with err: -ENOENT (a kernel
 * without it), -EPERM (no CAP_SYS_RAWIO, or lockdown), -ENOEXEC (no ELF file). */
int weir_kcore_open(struct weir_kcore *kcore, const char *proc_root, struct weir_error *err);

/*
 * Writes the three files with mode 0400 into the folder of folder_fd, where none of them exists. If kallsyms changes
 * meanwhile, everything is copied again, three times at most. 0, or -errno with err: -EACCES (the kernel hides its
 * addresses), -ENODATA (kcore does not hold the kernel's code), or of reading or writing; files written so far stay.
 */
int weir_kcore_copy(const struct weir_kcore *kcore, int folder_fd, struct weir_kcore_copied *copied,
                    struct weir_error *err);

/* Closes kcore; allowed in any state. */
void weir_kcore_close(struct weir_kcore *kcore);

#endif
