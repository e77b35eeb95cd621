/*
 * The outcome of a recording: how it ended, what its files hold, and the ledger of losses. The coordinator fills it
 * while the recording ends; afterwards it is plain values.
 */
#ifndef WEIR_ENGINE_PLAN_RECORD_RESULT_H
#define WEIR_ENGINE_PLAN_RECORD_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/aux/aux_sum.h"
#include "engine/drain/drain_watch.h"
#include "engine/drain/pressure.h"
#include "format/ledger_record.h"

enum weir_record_end {        /* why it ended */
    WEIR_RECORD_END_WORKLOAD, /* the command exited or was killed: workload_status is its wait status */
    WEIR_RECORD_END_SIGNAL,   /* a signal asked for the end */
    WEIR_RECORD_END_TARGETS,  /* all tasks of -p, -t or -u have ended */
    WEIR_RECORD_END_SCHEDULE, /* the last window of the schedule is over */
    WEIR_RECORD_END_ASKED,    /* the trigger "stop" asked for the end */
    WEIR_RECORD_END_LEASE,    /* nobody has renewed the lease */
    WEIR_RECORD_END_CONSUMER, /* the consumer of the stream has gone; the workload ran on to workload_status */
    WEIR_RECORD_END_SIZE,     /* the output has reached max_bytes */
    WEIR_RECORD_END_SPACE,    /* less was free than keep_free_bytes; the workload ran on to workload_status */
    WEIR_RECORD_END_OUTPUT,   /* the output failed: the returned code says how; the file holds the data from before */
    WEIR_RECORD_END_DRY_RUN,
};

struct weir_record_result {
    enum weir_record_end end;
    int signal;          /* 0, or a signal for the caller to raise again: it ended the recording, or came at the end */
    int workload_status; /* of waitpid(2), valid when has_workload_status */
    bool has_workload_status;
    /* How often readers saw the pool rise into each level. */
    uint64_t pressure_rises[WEIR_PRESSURE_COUNT];
    uint64_t wakeups;          /* times a reader woke with data */
    uint64_t samples;          /* samples in the file, exact */
    uint64_t merged_samples;   /* --aggregate: for which others in the file stand */
    uint64_t unplaced_samples; /* of samples, those that found no place in a table of equal ones */
    bool joins;                /* --call-graph fp,defer: `joined` is set */
    struct weir_joined_sum joined;
    bool unwinds; /* --call-graph dwarf,unwind: `unwound` is set */
    struct weir_unwound_sum unwound;
    uint64_t evicted_samples;       /* sum of the ledger; these samples are not lost: nobody asked for them */
    uint64_t left_samples;          /* of evicted_samples, still in memory at the end */
    uint64_t snapshots;             /* in all files, removed ones included */
    uint64_t replaced_snapshots;    /* of snapshots, replaced ones of the pair; all sums here include them */
    uint64_t replaced_samples;      /* samples in replaced_snapshots */
    uint64_t replaced_bytes;        /* bytes of the files of replaced_snapshots */
    bool overwritten;               /* --overwrite: the kernel kept the samples in its rings */
    uint64_t overwritten_bytes;     /* of older records that newer ones overwrote in the rings */
    uint64_t retained_bytes;        /* -M: memory for samples; 0: none */
    uint64_t filtered_samples;      /* sum of the ledger: sample filters dropped them, as asked */
    uint64_t lost_samples;          /* sum over all causes, shedding among them */
    uint64_t shed_samples;          /* of lost_samples, dropped under pressure */
    uint64_t trimmed_samples;       /* in the file, with a shorter stack than the kernel dumped */
    uint64_t trimmed_bytes;         /* bytes of stack dumps that are not in the file */
    uint64_t lost_before_ring;      /* of lost_samples, before a late CPU had its ring; events of period 1 */
    uint64_t lost_damaged;          /* of lost_samples, in rings that -s damaged (engine/files/ledger.c) */
    uint64_t sleeper_counts;        /* of cut_off, the part of events that count occurrences in sleeping tasks */
    uint64_t lost_suspended;        /* of lost_samples, while the output had no room (WEIR_RECORD_ON_FULL_SUSPEND) */
    uint64_t lost_while_pool_empty; /* of lost_samples, in full rings whose reader waited for the disk */
    uint64_t lost_sideband;         /* mmap, comm and task records: no room in a ring, or a failed write */
    uint64_t discarded_bytes;       /* skipped in rings without a valid record: a kernel bug; 0 otherwise */
    uint64_t unknown_samples;       /* in the file, with the id of no recorded event; 0 otherwise */
    uint64_t file_bytes;            /* of all files; 0: no file was made */
    uint64_t files;
    bool stamped; /* the files have their times in their names */
    uint64_t rounds;
    uint64_t throttled;  /* PERF_RECORD_THROTTLE seen */
    uint64_t ring_bytes; /* data bytes per ring that were used */
    uint64_t rings;
    uint64_t pool_bytes;
    uint64_t off_cpu_sums;     /* --off-cpu: samples in the file that hold sums of short stretches */
    uint64_t off_cpu_unsummed; /* --off-cpu: short stretches for which the sums had no room */
    struct weir_aux_sum aux;   /* all 0 without AUX areas */
    uint64_t left_out_samples; /* recorded after max_bytes was reached; lost_samples does not include them */
    uint64_t compressed_in_bytes, compressed_out_bytes; /* -z: input and output, for the data in the files */
    uint64_t compressor_bytes;     /* input of all compression; with max_bytes more than compressed_in_bytes */
    uint64_t compressed_raw_bytes; /* bytes left uncompressed because the threads were behind */
    uint64_t compressed_cpu_ns;    /* CPU time of the threads that compress */
    struct weir_drain_summary drains[WEIR_DRAIN_MOMENTS]; /* how the readers kept up */
    uint64_t longest_delay_ns;                            /* of a timer of the coordinator; it expires every second */
    struct weir_ledger_row *ledger;                       /* owned; by place, then event */
    size_t ledger_count;
    char **event_names;   /* owned; by event index */
    bool *event_is_clock; /* owned; by event index: its counts are nanoseconds; NULL: none is known to be */
    size_t event_count;
    int deferred_event; /* a side event whose records were in the data rings; -1: none */
    size_t side_event;  /* index of the first side event; from this event on, rows are not of samples */
    struct weir_loss losses[WEIR_LOSS_CAUSES]; /* lost_samples by cause, with hints (loss_advice.h) */
};

/* Returns a view of the ledger, borrowed from result. */
struct weir_ledger_content weir_record_result_ledger(const struct weir_record_result *result);

/* Frees the ledger and the names of events, and clears their pointers and counts. NULL-safe. */
void weir_record_result_fini(struct weir_record_result *result);

#endif
