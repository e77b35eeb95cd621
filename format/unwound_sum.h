/*
 * How the stacks of a recording were unwound while it was recorded (--call-graph dwarf,unwind): counts, as users and
 * programs read them. The ledger keeps them (format/ledger_record.h). Pure; any thread.
 */
#ifndef WEIR_FORMAT_UNWOUND_SUM_H
#define WEIR_FORMAT_UNWOUND_SUM_H

#include <stdint.h>

#include "base/buf.h"

#define WEIR_UNWOUND_ENDS 8u /* causes for which a chain ends, in the order of enum weir_unwind_end */

struct weir_unwound_sum { /* the order stands in files */
    uint64_t samples;     /* with copied stacks, all that follow among them */
    uint64_t unwound;     /* samples with user registers of 64 bits; the rest are of threads of the kernel and others */
    uint64_t frames;      /* user frames in the file */
    uint64_t clipped;     /* samples whose record had no room for all frames */
    uint64_t hurried;     /* samples that have their innermost frames only, because weir was behind */
    uint64_t waits;       /* for mappings that were not known yet */
    uint64_t late;        /* times that weir went on without a file */
    uint64_t malformed;   /* samples that are in the file as the kernel wrote them */
    uint64_t ends[WEIR_UNWOUND_ENDS]; /* chains by cause: of `unwound`, and as no_regs of programs of 32 bits */
};

/* Returns why a chain ends, in words for users: "... reach the outermost frame". */
const char *weir_unwound_end_text(unsigned end);

/* Appends "NUMBER stacks to NUMBER frames", and what ended chains early, on one line without a newline. */
void weir_unwound_append_text(const struct weir_unwound_sum *sum, struct weir_buf *out);

/* Appends a JSON object. */
void weir_unwound_append_json(const struct weir_unwound_sum *sum, struct weir_buf *out);

#endif
