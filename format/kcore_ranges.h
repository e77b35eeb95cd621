/*
 * Which parts of /proc/kcore are the kernel's code: worked out from the lines of kallsyms and modules and from kcore's
 * program headers. Pure, but for the list of segments, which is the caller's; any thread.
 *
 * Two ranges are code: the kernel proper, from _stext (or its lowest function) to _etext (or its highest), and that of
 * modules and of what is compiled at run time (BPF programs, trampolines), from the lowest module or such symbol to the
 * highest. Both are widened to whole pages, and by one more page where only the start of the last function is known.
 *
 * Source: kcore_copy_info, kcore_copy__calc_maps() in tools/perf/util/symbol-elf.c of Linux 6.1. The trampolines in
 * each CPU's entry area, which kernels before 4.20 had on x86 and perf copies too, are left out.
 */
#ifndef WEIR_FORMAT_KCORE_RANGES_H
#define WEIR_FORMAT_KCORE_RANGES_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_kcore_symbols { /* addresses; 0: none was seen */
    uint64_t stext, etext;
    uint64_t first, last;               /* functions of the kernel proper */
    uint64_t first_module, last_module; /* functions of all else */
    uint64_t first_module_start;        /* of /proc/modules */
};

/* A line of kallsyms: "ADDRESS TYPE NAME", with "\t[MODULE]" behind it for what is not the kernel's own. Others, and
 * symbols that are no functions, say nothing. */
void weir_kcore_note_symbol(struct weir_kcore_symbols *symbols, const char *line);

/* A line of modules: "NAME BYTES USES USERS STATE ADDRESS". */
void weir_kcore_note_module(struct weir_kcore_symbols *symbols, const char *line);

#define WEIR_KCORE_RANGES_MAX 2

struct weir_kcore_range { /* [start, end), whole pages */
    uint64_t start, end;
};

/* The ranges: their count; 0 when the symbols tell no kernel (its addresses are hidden). */
unsigned weir_kcore_ranges(const struct weir_kcore_symbols *symbols, uint64_t page_bytes,
                           struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX]);

struct weir_kcore_segment {
    uint64_t address; /* in the kernel */
    uint64_t bytes;
    uint64_t offset; /* in kcore */
};

/* The part of a range that a program header of kcore holds; false when it holds no start of it, or is no code. */
bool weir_kcore_segment_of(const GElf_Phdr *header, const struct weir_kcore_range *range,
                           struct weir_kcore_segment *segment);

#endif
