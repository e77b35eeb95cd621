/*
 * The feature sections behind the data: a table of (offset, size) per set bit in ascending order, then the payloads.
 * Which bits are written: only those that have something to say (an empty section confuses readers).
 * Source of every layout: tools/perf/util/header.c of Linux 6.12, write_*() functions.
 */
#ifndef WEIR_FORMAT_FEATURES_H
#define WEIR_FORMAT_FEATURES_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/machine.h"
#include "format/aux_records.h"
#include "format/bpf_object.h"
#include "format/build_id.h"
#include "format/event_desc.h"
#include "format/perf_file.h"

struct weir_build_id_entry { /* of the BUILD_ID table */
    const char *name;        /* as the maps of the recording spell it; borrowed */
    struct weir_build_id id;
    uint16_t cpumode; /* PERF_RECORD_MISC_KERNEL or _USER */
};

struct weir_compression { /* COMPRESSED */
    int level;            /* of zstd; 0: data is as it was recorded */
    uint32_t ratio;       /* bytes before by bytes behind, rounded; at least 1 */
    uint32_t room_bytes;  /* no record expands to more */
};

struct weir_features_input {
    const struct weir_machine *machine; /* borrowed */
    const struct weir_event_desc *events;
    size_t event_count;
    const char *const *command; /* CMDLINE: the recorder's own arguments, argv[0] resolved to a path */
    size_t command_count;
    const struct weir_buf *tracing_data; /* built by weir_tracing_data_build(); NULL without tracepoints */
    uint64_t first_sample_ns;            /* SAMPLE_TIME, the recording's own clock; both 0: no sample */
    uint64_t last_sample_ns;
    const struct weir_build_id_entry *build_ids; /* BUILD_ID: the kernel's first; borrowed */
    size_t build_id_count;
    const struct weir_bpf_image *const *bpf_programs; /* BPF_PROG_INFO; ascending by id, as the next; borrowed */
    size_t bpf_program_count;
    const struct weir_bpf_image *const *bpf_btfs; /* BPF_BTF */
    size_t bpf_btf_count;
    const struct weir_aux_index_entry *aux_index; /* AUXTRACE: as the records stand in the file; borrowed */
    size_t aux_index_count;
    struct weir_compression compression;
    bool directory;    /* DIR_FORMAT: the data of the readers is in files beside this one */
    bool branch_stack; /* BRANCH_STACK: some event samples branches */
    bool use_clock; /* CLOCKID, CLOCK_DATA: samples are stamped by a clock that was named, and not the kernel's own */
    int32_t clock_id;
    uint64_t clock_resolution_ns; /* 0: not known, no CLOCKID */
    uint64_t clock_day_ns;        /* CLOCK_REALTIME, nanoseconds since 1970, at the moment when ... */
    uint64_t clock_ns;            /* ... that clock showed this */
};

/*
 * Appends table and payloads to out for a file whose data ends at file offset `offset`; sets the bits that were
 * written. 0 or -ENOMEM. VERSION is "<kernel release>-weir-<version>" (it must begin with a number >= 3.17).
 */
int weir_features_build(struct weir_buf *out, uint64_t offset, const struct weir_features_input *input,
                        uint64_t features[4]);

/* How many bits are set, which is how many entries their table has. */
size_t weir_features_count(const uint64_t features[4]);

/*
 * Appends what a stream has in the place of these sections: a FEATURE record for each, and the one that ends them.
 * tracing_data, build_ids, branch_stack and aux_index are not looked at (the first two have records of their own, and
 * the last one is of offsets in a file), nor is CACHE written, for which perf has no record. What a record cannot hold
 * (65519 bytes) is left out: *left_out counts that. The records' sizes are not all multiples of 8. 0 or -ENOMEM.
 * Source: perf_event__synthesize_features() in tools/perf/util/synthetic-events.c.
 */
int weir_features_append_records(struct weir_buf *out, const struct weir_features_input *input, unsigned *left_out);

/* Appends a BUILD_ID record, a multiple of 8 bytes, for each entry, for a stream. 0 or -ENOMEM. */
int weir_features_append_build_id_records(struct weir_buf *out, const struct weir_build_id_entry *entries,
                                          size_t count);

#endif
