/*
 * Writes the records with which each file begins, after its head. Index records say which id belongs to which CPU and
 * task. Synthesized records describe the kernel, its modules, BPF programs, control groups, and tasks with their maps.
 * FINISHED_INIT closes the beginning.
 *
 *     first file    written by the coordinator and by threads of the synthesis, from /proc; the sideband thread's task
 *                   map gets the same records
 *     later files   written by the sideband thread, from the task map; /proc fills in the processes about which the
 *                   task map is incomplete
 *
 * The map of the kernel itself never changes, so later files get a copy from the first file. Modules come and go
 * without a record: a later file lists the modules loaded at its start. Where /proc no longer shows modules, the later
 * file gets those of the first file.
 */
#ifndef WEIR_ENGINE_FILES_BEGINNING_H
#define WEIR_ENGINE_FILES_BEGINNING_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/events/targets.h"
#include "engine/files/file_facts.h"
#include "engine/plan/recording_plan.h"
#include "engine/tasks/proc_reader.h"
#include "engine/tasks/sideband.h"
#include "format/synth.h"

struct weir_beginning_setup { /* all pointers are borrowed until fini() */
    const struct weir_recording_plan *plan;
    const struct weir_file_facts *facts;
    const struct weir_event_set *events;
    struct weir_targets *targets; /* write_first() adds the tasks that the targets have started */
    struct weir_pipeline *pipeline;
    struct weir_sideband *sideband; /* NULL: nobody keeps a task map */
    const pid_t *workload;          /* process id of the workload, once the workload is prepared */
    /* Appends the records that decoders of AUX data expect first. 0 or -errno. NULL: no AUX data. */
    int (*append_aux_info)(void *ctx, struct weir_buf *out);
    void *aux_ctx;
};

struct weir_beginning {
    struct weir_beginning_setup setup;
    /* Owned; records of kernel and modules. The coordinator writes them with the first file; const from then on. */
    struct weir_buf kernel_records;
    struct weir_buf guest_records; /* owned; likewise of guests */
};

/* Processes that the beginning of a later file describes incompletely. */
struct weir_beginning_gaps {
    size_t unread_processes; /* the task map was incomplete, and reading /proc took too long */
    uint64_t cut_processes;  /* reading the maps took longer than --proc-map-timeout */
};

void weir_beginning_init(struct weir_beginning *beginning, const struct weir_beginning_setup *setup);

/* NULL-safe. */
void weir_beginning_fini(struct weir_beginning *beginning);

/* Fills *options for this recording; the caller sets emit and emit_ctx. */
void weir_beginning_synth_options(const struct weir_beginning *beginning, struct weir_synth_options *options);

/* Writes the beginning of the first file. Leaves out the synthesized records that --tail-synthesize puts at the end.
 * 0 or -errno with err. Coordinator; blocks. */
int weir_beginning_write_first(struct weir_beginning *beginning, struct weir_error *err);

/* Writes the synthesized records and FINISHED_INIT: at the start, or with --tail-synthesize at the end. 0 or -errno
 * with err. Coordinator; blocks. */
int weir_beginning_synthesize(struct weir_beginning *beginning, struct weir_error *err);

/*
 * Writes the beginning of a later file. view: the task map; NULL when the task map did not reach the rotation in time.
 * Sets *gaps in any case. 0; -ETIMEDOUT without a view; -ENOMEM; the error of a failed output. Sideband thread. Waits
 * for free chunks. Gives up on /proc after a second in which no process was read completely.
 */
int weir_beginning_write_next(const struct weir_beginning *beginning, const struct weir_sideband_view *view,
                              struct weir_proc_reader *proc_reader, struct weir_beginning_gaps *gaps);

#endif
