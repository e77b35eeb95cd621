/*
 * What an unfinished, cut or damaged perf.data file has to become so that perf reads it whole: where its data ends, the
 * features behind it, the header before it. Reads the file and this machine's tracefs; writes nothing.
 *
 * Records end with the last whole one, an AUXTRACE record with the last one that has all of its bytes behind it. Their
 * index, the feature AUXTRACE, is made of those that are kept, unless the one that is there is of just these.
 *
 * A stream that was saved to a file has its features in records, before its samples: only its end may be missing.
 *
 * A recorder tells at its end how many samples of each event were lost (LOST_SAMPLES). Where that is missing it is made
 * of the kernel's LOST records, so that both agree again.
 *
 * weir's own files hold a copy of most features in their head (format/early_features.h), which is taken whatever
 * machine this is. Without it there is no TRACING_DATA, but the ids of its tracepoints are there, and this machine's
 * tracefs describes the tracepoints that its kernel has now. They are taken from there only when the file was
 * recorded under this very boot, for which all of this has to hold: the kernel's map in the file is the one that would
 * be recorded now (address, length, symbol); the file was last written after this boot; its newest sample is not of the
 * future; every id is a tracepoint here; and every sample's own type is its event's id. (Ids are given out at boot and
 * when modules are loaded, and never change while they are in use.)
 */
#ifndef WEIR_FORMAT_RECOVERY_H
#define WEIR_FORMAT_RECOVERY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/machine.h"
#include "format/perf_file.h"
#include "format/perf_input.h"

/* Features that are kept take no more in all: those that come last by their bits are made anew or left out. (What
 * recorders write is some MiB. Sections of a made-up file may be of the same bytes, each of WEIR_FEATURE_MAX_BYTES.) */
#define WEIR_RECOVERY_FEATURES_MAX_BYTES (128ull << 20)

struct weir_recovery_options {
    const char *path;                   /* borrowed, as all here; a file, or perf's directory */
    const struct weir_machine *machine; /* this one, for the features that describe the recording machine */
    const char *tracefs_root;           /* NULL: found */
    const char *proc_root;              /* NULL: "/proc" */
    const struct weir_input_gate *gate; /* may be NULL. tracefs, proc and the input again are opened behind it */
    bool assume_same_boot;              /* the checks of kernel map and times are left out */
};

struct weir_recovery_part { /* of a directory: DIR/data.N */
    uint64_t kept_bytes;    /* whole records; it is to end behind them */
    uint64_t dropped_bytes; /* behind these */
};

struct weir_recovery {
    bool is_whole;                    /* nothing has to be changed */
    bool is_same_boot;                /* as above: machine and tracefs were used */
    bool is_directory;                /* data_end to tail are of DIR/data */
    bool is_stream;                   /* one that was saved: header, said_end and features are not used */
    struct weir_recovery_part *parts; /* owned; those of a directory, by their numbers */
    size_t part_count;
    uint64_t records, samples;      /* in the data that is kept, and in the tail */
    uint64_t data_end;              /* of what is kept, in the file */
    uint64_t said_end;              /* what its header says; 0: nothing */
    uint64_t dropped_bytes;         /* behind data_end that are no records */
    struct weir_error cause;        /* what ended the data; code 0: nothing was wrong with it */
    struct weir_perf_header header; /* to be written at 0 */
    struct weir_buf tail; /* owned: records, then features; to be written at data_end, the file ends behind it */
    uint64_t features[4];
};

/*
 * Makes the plan. 0, to be freed; or with err: as weir_perf_input_open(); -ENOTSUP (a stream that is no
 * regular file, or attrs that stand behind the data); -ENODATA (no record at all); -ESTALE (tracepoints of another boot
 * or kernel: err says which check failed); -errno of reading tracefs; -ENOMEM.
 */
int weir_recovery_plan(struct weir_recovery *recovery, const struct weir_recovery_options *options,
                       struct weir_error *err);
void weir_recovery_fini(struct weir_recovery *recovery);

/* DIR/data, or with a number DIR/data.NUMBER. 0 or -ENAMETOOLONG. */
int weir_recovery_path(char path[PATH_MAX], const char *directory, const size_t *number);

#endif
