/*
 * The feature sections behind the data: a table with (offset, size) for each set bit in ascending order, then the
 * payloads. A feature without information gets no section, because an empty section confuses consumers. Source of all
 * layouts: the write_*() functions of tools/perf/util/header.c, Linux 6.12.
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

struct weir_build_id_entry { /* an entry of the BUILD_ID table */
    const char *name;        /* as the recording's maps spell the file's name; borrowed */
    struct weir_build_id id;
    uint16_t cpumode; /* PERF_RECORD_MISC_KERNEL or _USER */
};

struct weir_compression { /* COMPRESSED */
    int level;            /* of zstd; 0: the data is not compressed */
    uint32_t ratio;       /* bytes before compression divided by bytes after, rounded; at least 1 */
    uint32_t room_bytes;  /* the most bytes that a record expands to */
};

struct weir_features_input {
    const struct weir_machine *machine; /* borrowed */
    const struct weir_event_desc *events;
    size_t event_count;
    const char *const *command; /* CMDLINE: the recorder's own arguments, argv[0] resolved to a path */
    size_t command_count;
    const struct weir_buf *tracing_data; /* built by weir_tracing_data_build(); NULL without tracepoints */
    uint64_t first_sample_ns;            /* SAMPLE_TIME, by the recording's own clock; both 0: no sample */
    uint64_t last_sample_ns;
    const struct weir_build_id_entry *build_ids; /* BUILD_ID: the kernel's entry first; borrowed */
    size_t build_id_count;
    const struct weir_bpf_image *const *bpf_programs; /* BPF_PROG_INFO; ascending by id; borrowed */
    size_t bpf_program_count;
    const struct weir_bpf_image *const *bpf_btfs; /* BPF_BTF; ascending by id; borrowed */
    size_t bpf_btf_count;
    const struct weir_aux_index_entry *aux_index; /* AUXTRACE: in the order of the records in the file; borrowed */
    size_t aux_index_count;
    struct weir_compression compression;
    bool directory;    /* DIR_FORMAT: the data is in other files of the directory */
    bool branch_stack; /* BRANCH_STACK: some event samples branches */
    bool use_clock;    /* CLOCKID, CLOCK_DATA: the user chose the clock of the time stamps */
    int32_t clock_id;
    uint64_t clock_resolution_ns; /* 0: unknown, no CLOCKID */
    uint64_t clock_day_ns;        /* CLOCK_REALTIME, nanoseconds since 1970, at one moment */
    uint64_t clock_ns;            /* the chosen clock at the same moment */
};

/*
 * Appends table and payloads for a file whose data ends at file offset `offset`, and sets the bits of the features
 * written. 0 or -ENOMEM. VERSION is "<kernel release>-weir-<version>" (it must begin with a number >= 3.17).
 */
int weir_features_build(struct weir_buf *out, uint64_t offset, const struct weir_features_input *input,
                        uint64_t features[4]);

/* Returns the number of set bits, which is the number of entries in their table. */
size_t weir_features_count(const uint64_t features[4]);

/*
 * Appends the features in the form of a stream: a FEATURE record for each, and the record that ends them. tracing_data,
 * build_ids, branch_stack and aux_index are not used: the first two have records of their own, and aux_index has
 * offsets in a file. CACHE is not written, as perf has no record for it. *left_out counts features that are too large
 * for a record (65519 bytes). Not all records' sizes are multiples of 8. 0 or -ENOMEM. Source:
 * perf_event__synthesize_features() in tools/perf/util/synthetic-events.c.
 */
int weir_features_append_records(struct weir_buf *out, const struct weir_features_input *input, unsigned *left_out);

/* Appends a BUILD_ID record for each entry, for a stream; the size of each is a multiple of 8. 0 or -ENOMEM. */
int weir_features_append_build_id_records(struct weir_buf *out, const struct weir_build_id_entry *entries,
                                          size_t count);

#endif
