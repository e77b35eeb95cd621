/*
 * Plans how an unfinished, cut or damaged perf.data file becomes one that perf reads whole. The plan has the end of the
 * data, the features behind the data, and the header. Reads the file and this machine's tracefs; writes nothing.
 *
 * The data ends behind its last whole record; an AUXTRACE record is whole if all its bytes are behind it. The index of
 * AUXTRACE records, the feature AUXTRACE, is rebuilt from the records that are kept, unless it matches them already.
 *
 * A stream that was saved to a file has its features in records before its samples, so only its end may be missing. The
 * plan may also turn it into a file (makes_file): head, the stream's records but those that describe it
 * (format/stream_cuts.h), and the features behind them.
 *
 * A recorder writes the lost samples of each event at its end (LOST_SAMPLES). If these records are missing, they are
 * rebuilt from the kernel's LOST records, so that both agree.
 *
 * weir's own files hold a copy of most features in their head (format/early_features.h), which is used on any machine.
 * A file without that copy has the ids of its tracepoints, but no TRACING_DATA to decode them. This machine's tracefs
 * describes the tracepoints of the running kernel, so it is used only if this very boot recorded the file. That holds
 * if:
 *
 * - the kernel's map in the file is the one that would be recorded now (address, length, symbol),
 *
 * - the file was last written after this boot, and its newest sample is not in the future,
 *
 * - every id is a tracepoint here, and every sample's own type is its event's id.
 *
 * (The kernel assigns ids at boot and when modules are loaded, and never changes them while they are in use.)
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
#include "format/stream_cuts.h"

/* Limit of all kept features together. Features beyond it, by ascending bit, are rebuilt or left out. (Recorders write
 * some MiB. In a forged file many sections may name the same bytes, up to WEIR_FEATURE_MAX_BYTES each.) */
#define WEIR_RECOVERY_FEATURES_MAX_BYTES (128ull << 20)

struct weir_recovery_options {
    const char *path;                   /* borrowed, as all pointers here; a file, or perf's directory */
    const struct weir_machine *machine; /* this machine, for the features that describe the recording machine */
    const char *tracefs_root;           /* NULL: the mounted tracefs */
    const char *proc_root;              /* NULL: "/proc" */
    const struct weir_input_gate
        *gate;             /* may be NULL; called before tracefs and proc are opened, and the input again */
    bool makes_file;       /* a saved stream becomes a file, in a new file; false: it stays a stream */
    bool assume_same_boot; /* skips the checks of kernel map and times */
    struct weir_input_progress progress; /* for engine/upkeep/recovery_child.h, which makes the gate */
};

struct weir_recovery_part { /* a file DIR/data.N of a directory */
    uint64_t kept_bytes;    /* whole records; the file is to end behind them */
    uint64_t dropped_bytes; /* bytes behind kept_bytes */
};

struct weir_recovery {
    bool is_whole;                  /* nothing has to be changed */
    bool is_same_boot;              /* this boot recorded the file: machine and tracefs were used */
    bool is_directory;              /* data_end to tail are of DIR/data */
    bool is_stream;                 /* a saved stream: header and said_end are not used */
    struct weir_buf head;           /* owned: of a file that is made of a stream; empty: none is made */
    struct weir_stream_range *kept; /* owned; the bytes of the stream behind the head, before the tail */
    size_t kept_count;
    struct weir_recovery_part *parts; /* owned; the files of a directory, by number */
    size_t part_count;
    uint64_t device, inode;         /* which file the plan is for; of DIR/data */
    uint64_t records, samples;      /* in the kept data and in the tail */
    uint64_t data_end;              /* end of the kept data in the file */
    uint64_t said_end;              /* end of the data by the file's header; 0: unknown */
    uint64_t dropped_bytes;         /* bytes behind data_end that are no records */
    bool dropped_is_blank;          /* these are zeros: space that the recorder had reserved */
    struct weir_error cause;        /* why the data ends at data_end; code 0: no damage */
    struct weir_perf_header header; /* to be written at 0 */
    struct weir_buf tail; /* owned: records, then features; to be written at data_end, or behind the kept bytes; the
                             file ends behind it */
    uint64_t features[4];
};

/*
 * Makes the plan. 0: release it with weir_recovery_fini(). Or with err: as weir_perf_input_open(); -ENOTSUP (a stream
 * that is not a regular file, or attrs behind the data); -ENODATA (no record at all); -ESTALE (tracepoints of another
 * boot or kernel: err names the failed check); -errno of reading tracefs; -ENOMEM.
 */
int weir_recovery_plan(struct weir_recovery *recovery, const struct weir_recovery_options *options,
                       struct weir_error *err);
void weir_recovery_fini(struct weir_recovery *recovery);

/* Writes the path of DIR/data, or with a number of DIR/data.NUMBER. 0 or -ENAMETOOLONG. */
int weir_recovery_path(char path[PATH_MAX], const char *directory, const size_t *number);

#endif
