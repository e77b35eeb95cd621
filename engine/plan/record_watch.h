/*
 * What a front end may hear of a running recording: its figures now and then, and the steps of its end. Coordinator
 * thread; a callback must not block. A recording without a watch makes no timer.
 */
#ifndef WEIR_ENGINE_PLAN_RECORD_WATCH_H
#define WEIR_ENGINE_PLAN_RECORD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_record_figures { /* of one moment; the sums as of the last chunk or round that readers handed over */
    const char *state;       /* as `state` of docs/json.md, "status" */
    uint64_t elapsed_ns;     /* since the events were first enabled */
    uint64_t samples, bytes; /* that readers have handed over */
    uint64_t lost;           /* samples, as the LOST records of data rings report */
    uint64_t shed;           /* samples that weir dropped under pressure */
    uint64_t lease_left_ns;  /* 0: the recording has no lease */
    uint64_t files;          /* so far, including the present file */
    uint32_t fill_per_mille; /* of the fullest data ring, now */
    uint32_t pool_per_mille; /* of the memory between readers and writer, in use now */
};

enum weir_ending_step {
    WEIR_ENDING_DRAIN,     /* events are disabled, and the rings are emptied */
    WEIR_ENDING_BUILD_IDS, /* build ids of mapped files are read */
    WEIR_ENDING_WRITE,     /* the last chunks go to the output */
    WEIR_ENDING_FEATURES,  /* the header is written */
    WEIR_ENDING_SYNC,      /* fsync(2) */
    WEIR_ENDING_FILES,     /* earlier files get their ends and names */
    WEIR_ENDING_CACHE,     /* mapped files are copied to the build-id cache */
    WEIR_ENDING_COMMAND,   /* the file is whole; the command still runs */
};

struct weir_record_watch {
    void (*started)(
        void *ctx);     /* events count, unless they start disabled, and the file has its name; NULL: not wanted */
    uint64_t period_ms; /* between two calls of a tell_ function; 0: no calls */
    void (*tell_figures)(void *ctx, const struct weir_record_figures *figures); /* NULL: not wanted */
    void (*tell_line)(void *ctx, const char *line, size_t bytes); /* the status (docs/json.md); NULL: not wanted */
    void (*enter_step)(void *ctx, enum weir_ending_step step);    /* NULL: not wanted */
    int ready_fd;             /* borrowed; the coordinator polls it while data flows; -1: none */
    void (*ready)(void *ctx); /* it is readable; with ready_fd */
    void *ctx;                /* borrowed */
};

#endif
