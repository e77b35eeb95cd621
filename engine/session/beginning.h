/*
 * What a file begins with besides its head: records that say which id is of which CPU and task, and what was there
 * before: kernel, modules, BPF programs, control groups, tasks and their maps, closed by FINISHED_INIT.
 *
 *     first file    by the coordinator and threads of the synthesis, from /proc; what is synthesised also feeds the
 *                   sideband thread's task map
 *     later files   by the sideband thread, from the task map; from /proc only processes that the map does not know
 *                   whole
 *
 * The kernel's own map does not change: later files get a copy of the first file's. Modules come and go without a
 * record: they are those of the moment, or of the start where the kernel does not show them any more.
 */
#ifndef WEIR_ENGINE_SESSION_BEGINNING_H
#define WEIR_ENGINE_SESSION_BEGINNING_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/events/targets.h"
#include "engine/session/file_facts.h"
#include "engine/session/recording_plan.h"
#include "engine/tasks/proc_reader.h"
#include "engine/tasks/sideband.h"
#include "format/synth.h"

struct weir_beginning_setup {
    const struct weir_recording_plan *plan; /* borrowed until fini, as all pointers here */
    const struct weir_file_facts *facts;
    const struct weir_event_set *events;
    struct weir_targets *targets; /* the first file adds the tasks that the targets have started */
    struct weir_pipeline *pipeline;
    struct weir_sideband *sideband; /* NULL: nobody keeps a task map */
    const pid_t *workload;          /* its process id, once it is prepared */
    /* Appends what decoders of AUX data want to see first. 0 or -errno. NULL: there is none. */
    int (*append_aux_info)(void *ctx, struct weir_buf *out);
    void *aux_ctx;
};

struct weir_beginning {
    struct weir_beginning_setup setup;
    struct weir_buf
        kernel_records; /* owned; by the coordinator for the first file, then const; of kernel and modules */
};

/* What a later file's beginning lacks. */
struct weir_beginning_gaps {
    size_t unread_processes; /* that the map does not know whole, and /proc did not tell in time */
    uint64_t cut_processes;  /* whose maps took longer than --proc-map-timeout */
};

void weir_beginning_init(struct weir_beginning *beginning, const struct weir_beginning_setup *setup);

/* NULL-safe. */
void weir_beginning_fini(struct weir_beginning *beginning);

/* Says what synthesis is to do, but for emit. */
void weir_beginning_synth_options(const struct weir_beginning *beginning, struct weir_synth_options *options);

/* Writes the first file's beginning, but for what --tail-synthesize puts at its end. 0 or -errno with err. Coordinator;
 * blocks. */
int weir_beginning_write_first(struct weir_beginning *beginning, struct weir_error *err);

/* Writes what was there before, closed by FINISHED_INIT: what --tail-synthesize puts at the end. 0 or -errno with err.
 * Coordinator; blocks. */
int weir_beginning_synthesize(struct weir_beginning *beginning, struct weir_error *err);

/*
 * Writes the beginning of a later file. view: NULL when the task map did not come so far in time. 0; -ETIMEDOUT without
 * a view; -ENOMEM; the error of a failed output. *gaps is set in any case. Sideband thread; waits for chunks, and for
 * /proc a second at most without news from it.
 */
int weir_beginning_write_next(const struct weir_beginning *beginning, const struct weir_sideband_view *view,
                              struct weir_proc_reader *proc_reader, struct weir_beginning_gaps *gaps);

#endif
