/*
 * The places of the fields in an event's records, computed once from its attr, and the parsing of samples by them.
 *
 * A sample has fixed fields of 8 bytes, whose offsets only the attr decides, then fields that contain their own size.
 * Other records end in the sample_id trailer; offsets of its fields count from its start. Pure functions, any thread,
 * no allocation; results point into the record. Source: perf_event_open(2), "MMAP layout", and perf_output_sample() in
 * kernel/events/core.c of Linux 6.18.
 */
#ifndef WEIR_FORMAT_SAMPLE_LAYOUT_H
#define WEIR_FORMAT_SAMPLE_LAYOUT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_LAYOUT_ABSENT (-1)

struct weir_sample_layout {
    uint64_t sample_type, read_format, branch_sample_type, regs_user, regs_intr; /* of the attr */
    /* Offsets from the record's start; WEIR_LAYOUT_ABSENT: no such field. */
    int identifier, ip, tid, time, addr, id, stream_id, cpu, period;
    uint32_t variable;      /* offset of the first field that contains its own size */
    uint32_t trailer_bytes; /* 0 without sample_id_all */
    /* Offsets from the trailer's start; WEIR_LAYOUT_ABSENT: no such field. */
    int trailer_tid, trailer_time, trailer_id, trailer_stream_id, trailer_cpu, trailer_identifier;
};

void weir_sample_layout_init(struct weir_sample_layout *layout, const struct perf_event_attr *attr);

/* The values of a trailer, or of a sample's fixed fields; 0 for fields that the attr does not ask for. */
struct weir_sample_id {
    uint32_t pid, tid;
    uint64_t time, id, stream_id;
    uint32_t cpu;
};

/* Elements in a record. The field's comment names the kind of element. */
struct weir_sample_array {
    const uint8_t *data; /* borrowed from the record; any alignment; NULL: no such field */
    uint64_t count;
};

#define WEIR_BRANCH_ENTRY_BYTES 24u

struct weir_sample {
    uint64_t fields; /* PERF_SAMPLE_* of the fields that are there */
    struct weir_sample_id id;
    uint64_t ip, addr, period;
    struct weir_sample_array read;                 /* u64 words of read_format */
    struct weir_sample_array callchain;            /* u64 */
    struct weir_sample_array raw;                  /* bytes */
    struct weir_sample_array branches;             /* entries of WEIR_BRANCH_ENTRY_BYTES */
    uint64_t user_abi, intr_abi;                   /* PERF_SAMPLE_REGS_ABI_* */
    struct weir_sample_array user_regs, intr_regs; /* u64, one per bit of the masks; none with ABI_NONE */
    struct weir_sample_array user_stack;           /* the used bytes of the dump */
    uint64_t user_stack_offset; /* offset of the dump's size word from the record's start, as perf prints it */
    uint64_t weight;            /* the whole word of WEIGHT or WEIGHT_STRUCT */
    uint64_t data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
    struct weir_sample_array aux; /* bytes */
};

/*
 * Parses a PERF_RECORD_SAMPLE of `bytes` bytes. 0, or -EBADMSG: a field is not inside the record. *bad_offset is then
 * the start of that field, and *sample holds the fields before it.
 */
int weir_sample_parse(struct weir_sample *sample, const struct weir_sample_layout *layout, const uint8_t *record,
                      size_t bytes, size_t *bad_offset);

/* Returns the n-th of the fields behind the fixed ones in the kernel's order, a PERF_SAMPLE_ bit; 0: there are no more.
 */
uint64_t weir_sample_varying(size_t n);

/* Reads the trailer of a record other than a sample. False: the layout has no trailer, or the record is too short for
 * it. */
bool weir_sample_id_parse(struct weir_sample_id *id, const struct weir_sample_layout *layout, const uint8_t *record,
                          size_t bytes);

/* Returns the words of one value: of the event in a read_format without GROUP, or of one member with it. */
unsigned weir_read_words(uint64_t read_format);

#endif
