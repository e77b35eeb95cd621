/*
 * The options of `perf record`. For an option that weir lacks, the parser names weir's replacement, and
 * docs/perf-options.md says of each whether weir has it. Constant data; any thread.
 */
#ifndef WEIR_CLI_PERF_OPTIONS_H
#define WEIR_CLI_PERF_OPTIONS_H

#include <stddef.h>

/* Versions of perf that have an option; a set. */
enum weir_perf_version {
    WEIR_PERF_2_6_38 = 1u << 0,
    WEIR_PERF_4_8 = 1u << 1,
    WEIR_PERF_6_1 = 1u << 2,
    WEIR_PERF_6_12 = 1u << 3,
    WEIR_PERF_7_1 = 1u << 4, /* the newest */
};

enum weir_perf_argument {
    WEIR_PERF_ARGUMENT_NONE,
    WEIR_PERF_ARGUMENT_NEEDED,
    WEIR_PERF_ARGUMENT_OPTIONAL,
};

/* The versions whose abbreviations weir takes: an option that came later takes none of them away. */
#define WEIR_PERF_ABBREVIATED (WEIR_PERF_2_6_38 | WEIR_PERF_4_8 | WEIR_PERF_6_1 | WEIR_PERF_6_12)

struct weir_perf_option {
    char short_name; /* 0: none */
    const char *long_name;
    enum weir_perf_argument argument;
    unsigned versions;   /* set of enum weir_perf_version */
    const char *instead; /* weir's behavior or replacement: one line; NULL: weir has nothing similar */
};

#define WEIR_PERF_OPTION_COUNT 89

extern const struct weir_perf_option weir_perf_options[WEIR_PERF_OPTION_COUNT];

#endif
