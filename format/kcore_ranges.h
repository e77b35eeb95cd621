/*
 * Finds the parts of /proc/kcore that hold the kernel's code, from the lines of kallsyms and modules and from kcore's
 * program headers. Pure, but for the caller's list of segments; any thread.
 *
 * Two ranges are code. One is the kernel proper, from _stext (or its lowest function) to _etext (or its highest). The
 * other holds modules and code compiled at run time (BPF programs, trampolines), from the lowest module or such symbol
 * to the highest. Both are widened to whole pages. If only the start of a range's last function is known, the range
 * gets one more page.
 *
 * Source: kcore_copy_info, kcore_copy__calc_maps() in tools/perf/util/symbol-elf.c of Linux 6.1. perf also copies
 * trampolines in each CPU's entry area, which x86 kernels before 4.20 had; weir does not.
 */
#ifndef WEIR_FORMAT_KCORE_RANGES_H
#define WEIR_FORMAT_KCORE_RANGES_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_kcore_symbols { /* addresses; 0: not seen */
    uint64_t stext, etext;
    uint64_t first, last;               /* functions of the kernel proper */
    uint64_t first_module, last_module; /* functions of modules and of code compiled at run time */
    uint64_t first_module_start;        /* lowest address in /proc/modules */
};

/* Takes a line of kallsyms: "ADDRESS TYPE NAME", followed by "\t[MODULE]" for symbols outside of the kernel proper.
 * Other lines, and symbols that are not functions, change nothing. */
void weir_kcore_note_symbol(struct weir_kcore_symbols *symbols, const char *line);

/* Takes a line of modules: "NAME BYTES USES USERS STATE ADDRESS". */
void weir_kcore_note_module(struct weir_kcore_symbols *symbols, const char *line);

#define WEIR_KCORE_RANGES_MAX 2

struct weir_kcore_range { /* [start, end), whole pages */
    uint64_t start, end;
};

/* Computes the ranges. Returns their number; 0: the symbols contain no kernel (its addresses are hidden). */
unsigned weir_kcore_ranges(const struct weir_kcore_symbols *symbols, uint64_t page_bytes,
                           struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX]);

struct weir_kcore_segment {
    uint64_t address; /* in the kernel */
    uint64_t bytes;
    uint64_t offset; /* in kcore */
};

/* Returns the part of a range that a program header of kcore holds; false: it does not hold the part's start, or is not
 * code. */
bool weir_kcore_segment_of(const GElf_Phdr *header, const struct weir_kcore_range *range,
                           struct weir_kcore_segment *segment);

#endif
