/*
 * What became of a recording: how it ended, what its files hold, and the ledger of losses. Filled by the coordinator
 * while a recording ends; plain values afterwards.
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_RESULT_H
#define WEIR_ENGINE_SESSION_RECORD_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/aux/aux_sum.h"
#include "engine/drain/drain_watch.h"
#include "engine/drain/pressure.h"

enum weir_record_end {        /* why it ended */
    WEIR_RECORD_END_WORKLOAD, /* the command exited or was killed: status is its wait status */
    WEIR_RECORD_END_SIGNAL,   /* a signal that asked for it */
    WEIR_RECORD_END_TARGETS,  /* all tasks of -p, -t or -u are gone */
    WEIR_RECORD_END_SCHEDULE, /* the last window of the schedule is over */
    WEIR_RECORD_END_ASKED,    /* the trigger "stop" */
    WEIR_RECORD_END_READER,   /* the reader of the stream has gone: the workload ran on, status as above */
    WEIR_RECORD_END_SIZE,     /* the output has reached max_bytes */
    WEIR_RECORD_END_SPACE,    /* less was free than keep_free_bytes: the workload ran on, status as above */
    WEIR_RECORD_END_OUTPUT,   /* the output failed: code says how; the file holds what was good */
    WEIR_RECORD_END_DRY_RUN,
};

/* One row of the loss ledger: produced = written + evicted + shed + lost, by cause, and counted = produced + cut off
 * for events that count their samples (weir_event_counts_samples()). */
struct weir_ledger_row {
    int cpu;                    /* -1: of a task, wherever it ran */
    pid_t task;                 /* -1: of a CPU */
    unsigned event;             /* index into the recording's events; side events are the last ones */
    uint64_t written;           /* samples of it that are in the file (sideband: records) */
    uint64_t evicted;           /* -M, --overwrite: made room for newer ones in memory, and never asked for */
    uint64_t shed;              /* dropped under pressure, as --shed=cpus allows (engine/drain/shed.h) */
    uint64_t lost_ring_full;    /* the kernel found no room in the ring (PERF_FORMAT_LOST), or there was none yet */
    uint64_t lost_write_failed; /* drained, but the output failed */
    uint64_t left_out;          /* drained after max_bytes was reached */
    /* Counted in the moment in which the event was being disabled, or while the task slept that it happened to: the
     * kernel makes no sample of that, and loses none. Known for events that count their samples only
     * (engine/session/ledger.c). */
    uint64_t cut_off;
    uint64_t counted; /* the event's own count, PERF_EVENT read(2) value */
};

struct weir_record_result {
    enum weir_record_end end;
    int signal;          /* 0, or to be re-raised by the caller: it ended the recording, or came at its end */
    int workload_status; /* of waitpid(2), valid when a command was given and has_workload_status */
    bool has_workload_status;
    /* How often readers saw the pool enter each level from below. */
    uint64_t pressure_rises[WEIR_PRESSURE_COUNT];
    uint64_t wakeups;               /* times a reader woke with data */
    uint64_t samples;               /* samples in the file, exact */
    uint64_t evicted_samples;       /* see the ledger; not lost: nobody asked for them */
    uint64_t left_samples;          /* of these, in memory at the end: no newer ones wanted their room */
    uint64_t snapshots;             /* in the files, also in those that were removed since */
    uint64_t replaced_snapshots;    /* of these, of the pair, by newer ones; they count in all that is told here */
    uint64_t replaced_samples;      /* in these */
    uint64_t replaced_bytes;        /* of their files */
    bool overwritten;               /* --overwrite: samples were kept by the kernel */
    uint64_t overwritten_bytes;     /* of older records, by newer ones, in its rings */
    uint64_t retained_bytes;        /* -M: memory for samples; 0: none */
    uint64_t lost_samples;          /* all causes, shed among them */
    uint64_t shed_samples;          /* of these, dropped under pressure */
    uint64_t trimmed_samples;       /* in the file, with a shorter stack than the kernel had dumped */
    uint64_t trimmed_bytes;         /* of stack dumps that are not in the file */
    uint64_t lost_before_ring;      /* of these, on CPUs that came online, before their rings did; of period 1 events */
    uint64_t lost_damaged;          /* of these, in rings that -s had the kernel damage (engine/session/ledger.c) */
    uint64_t sleeper_counts;        /* of what is cut off, that of events that count what happens to tasks that sleep */
    uint64_t lost_suspended;        /* of these, while there was no room for the output (WEIR_RECORD_ON_FULL_SUSPEND) */
    uint64_t lost_while_pool_empty; /* of these, ring-full losses in rings whose reader was waiting for the disk */
    uint64_t lost_sideband;         /* mmap, comm and task records that the kernel had no room for */
    uint64_t discarded_bytes;       /* skipped in rings that held no valid record: a kernel bug; 0 otherwise */
    uint64_t unknown_samples;       /* in the file, but with an id of no event of ours; 0 otherwise */
    uint64_t file_bytes;            /* of all files; 0: none was made */
    uint64_t files;
    bool stamped; /* they have their times in their names */
    uint64_t rounds;
    uint64_t throttled;  /* PERF_RECORD_THROTTLE seen */
    uint64_t ring_bytes; /* data bytes per ring that were used */
    uint64_t rings;
    uint64_t pool_bytes;
    struct weir_aux_sum aux;   /* all 0 without AUX areas */
    uint64_t left_out_samples; /* recorded after max_bytes was reached; not among the lost ones */
    uint64_t compressed_in_bytes, compressed_out_bytes;   /* -z: of what was compressed and is in the files */
    uint64_t compressor_bytes;                            /* all that its threads were given: more with max_bytes */
    uint64_t compressed_raw_bytes;                        /* of what was not, because the threads were behind */
    uint64_t compressed_cpu_ns;                           /* of its threads */
    struct weir_drain_summary drains[WEIR_DRAIN_MOMENTS]; /* how the readers kept up */
    struct weir_ledger_row *ledger;                       /* owned; by place, then event */
    size_t ledger_count;
    char **event_names; /* owned; by event index */
    size_t event_count;
    size_t side_event; /* index of the first side event: its rows, and those of the events behind it, are no samples */
};

/* Frees the ledger and the names of events, and forgets them. NULL-safe. */
void weir_record_result_fini(struct weir_record_result *result);

#endif
