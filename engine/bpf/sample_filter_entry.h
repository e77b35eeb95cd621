/*
 * The form of a sample filter in the kernel: weir writes it, the BPF program reads it (sample_filter.bpf.c).
 *
 * A filter is a conjunction of clauses. A clause is a disjunction of comparisons, which stand one behind the other; the
 * last one has `ends_clause`. A sample passes when each clause has a comparison that holds.
 *
 * The header has no #include, as compilers for BPF have no C library.
 */
#ifndef WEIR_ENGINE_BPF_SAMPLE_FILTER_ENTRY_H
#define WEIR_ENGINE_BPF_SAMPLE_FILTER_ENTRY_H

#define WEIR_SAMPLE_FILTER_MAX 64 /* comparisons; as in perf (MAX_FILTERS, util/bpf_skel/sample-filter.h) */

enum weir_sample_op {
    WEIR_SAMPLE_EQ,
    WEIR_SAMPLE_NE,
    WEIR_SAMPLE_GT,
    WEIR_SAMPLE_GE,
    WEIR_SAMPLE_LT,
    WEIR_SAMPLE_LE,
    WEIR_SAMPLE_AND, /* the two numbers have a bit in common */
};

enum weir_sample_term {
    WEIR_SAMPLE_IP,
    WEIR_SAMPLE_ID,
    WEIR_SAMPLE_TID,
    WEIR_SAMPLE_PID,
    WEIR_SAMPLE_CPU,
    WEIR_SAMPLE_TIME,
    WEIR_SAMPLE_ADDR,
    WEIR_SAMPLE_PERIOD,
    WEIR_SAMPLE_TXN,
    WEIR_SAMPLE_WEIGHT,
    WEIR_SAMPLE_WEIGHT1,
    WEIR_SAMPLE_WEIGHT2,
    WEIR_SAMPLE_WEIGHT3,
    WEIR_SAMPLE_PHYS_ADDR,
    WEIR_SAMPLE_CODE_PGSZ,
    WEIR_SAMPLE_DATA_PGSZ,
    WEIR_SAMPLE_MEM_OP,
    WEIR_SAMPLE_MEM_LVLNUM,
    WEIR_SAMPLE_MEM_SNOOP, /* snoopx << 5 | snoop, as in perf */
    WEIR_SAMPLE_MEM_REMOTE,
    WEIR_SAMPLE_MEM_LOCK,
    WEIR_SAMPLE_MEM_DTLB,
    WEIR_SAMPLE_MEM_BLK,
    WEIR_SAMPLE_MEM_HOPS,
    WEIR_SAMPLE_UID,
    WEIR_SAMPLE_GID,
    WEIR_SAMPLE_CGROUP,
    WEIR_SAMPLE_TERMS,
};

struct weir_sample_comparison {
    unsigned char op;   /* enum weir_sample_op */
    unsigned char term; /* enum weir_sample_term */
    unsigned char ends_clause;
    unsigned char reserved[5];
    unsigned long long value;
};

struct weir_sample_filter {
    unsigned count;
    unsigned owner;                     /* process that entered the filter; 0 before */
    unsigned long long owner_namespace; /* inode of the owner's PID namespace */
    struct weir_sample_comparison comparisons[WEIR_SAMPLE_FILTER_MAX];
};

_Static_assert(sizeof(struct weir_sample_comparison) == 16, "the same for weir and for the program");
_Static_assert(sizeof(struct weir_sample_filter) == 16 + 16 * WEIR_SAMPLE_FILTER_MAX,
               "the same for weir and for the program");

/* What the program knows of one event, by its id. */
struct weir_sample_event {
    unsigned filter; /* key of its filter */
    unsigned reserved;
    unsigned long long filtered; /* samples that the filter rejected */
};

#endif
