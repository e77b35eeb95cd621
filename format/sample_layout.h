/*
 * Where the fields of an event's records stand, worked out once from its attr, and samples taken apart by it.
 *
 * A sample is: fixed fields of 8 bytes at offsets that only the attr decides, then fields that say their own size.
 * Other records end in the sample_id trailer, whose fields are counted from its start. Pure functions, any thread, no
 * allocation; what they return points into the record. Source: perf_event_open(2), "MMAP layout", and
 * perf_output_sample() in kernel/events/core.c of Linux 6.18.
 */
#ifndef WEIR_FORMAT_SAMPLE_LAYOUT_H
#define WEIR_FORMAT_SAMPLE_LAYOUT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of sample_type and branch_sample_type that are newer than some kernel headers (Linux 6.8). */
#define WEIR_SAMPLE_BRANCH_COUNTERS (1ull << 19)

#define WEIR_LAYOUT_ABSENT (-1)

struct weir_sample_layout {
    uint64_t sample_type, read_format, branch_sample_type, regs_user, regs_intr; /* of the attr */
    /* From the record's start; WEIR_LAYOUT_ABSENT without the field. */
    int identifier, ip, tid, time, addr, id, stream_id, cpu, period;
    uint32_t variable;      /* where the first field of a size of its own would stand */
    uint32_t trailer_bytes; /* 0 without sample_id_all */
    /* From the trailer's start; WEIR_LAYOUT_ABSENT likewise. */
    int trailer_tid, trailer_time, trailer_id, trailer_stream_id, trailer_cpu, trailer_identifier;
};

void weir_sample_layout_init(struct weir_sample_layout *layout, const struct perf_event_attr *attr);

/* What a trailer, or a sample's fixed fields, say; what the attr does not ask for is 0. */
struct weir_sample_id {
    uint32_t pid, tid;
    uint64_t time, id, stream_id;
    uint32_t cpu;
};

/* Bytes in a record, with their count in units of what they are. */
struct weir_sample_array {
    const uint8_t *data; /* borrowed from the record; any alignment; NULL: the field is not there */
    uint64_t count;
};

#define WEIR_BRANCH_ENTRY_BYTES 24u

struct weir_sample {
    uint64_t fields; /* PERF_SAMPLE_* that are there */
    struct weir_sample_id id;
    uint64_t ip, addr, period;
    struct weir_sample_array read;                 /* u64 words of read_format */
    struct weir_sample_array callchain;            /* u64 */
    struct weir_sample_array raw;                  /* bytes */
    struct weir_sample_array branches;             /* entries of WEIR_BRANCH_ENTRY_BYTES */
    uint64_t branch_hw_index;                      /* with PERF_SAMPLE_BRANCH_HW_INDEX */
    uint64_t user_abi, intr_abi;                   /* PERF_SAMPLE_REGS_ABI_* */
    struct weir_sample_array user_regs, intr_regs; /* u64, one per bit of the masks; none with ABI_NONE */
    struct weir_sample_array user_stack;           /* bytes that are used of the dump */
    uint64_t user_stack_offset;                    /* of the dump's size word, from the record's start: perf's */
    uint64_t weight;                               /* the whole word of WEIGHT or WEIGHT_STRUCT */
    uint64_t data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
    struct weir_sample_array aux; /* bytes */
};

/*
 * Takes a PERF_RECORD_SAMPLE of bytes apart. 0, or -EBADMSG: some field is not inside it; *bad_offset is then where
 * that field begins, from the record's start. *sample holds what came before.
 */
int weir_sample_parse(struct weir_sample *sample, const struct weir_sample_layout *layout, const uint8_t *record,
                      size_t bytes, size_t *bad_offset);

/* Reads the trailer of a record that is no sample. False: the layout has none, or the record is too short for it. */
bool weir_sample_id_parse(struct weir_sample_id *id, const struct weir_sample_layout *layout, const uint8_t *record,
                          size_t bytes);

/* The words of one event's value in a read_format without GROUP, and of one member's with it. */
unsigned weir_read_words(uint64_t read_format);

#endif
