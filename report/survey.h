/*
 * The first pass over a recording: everything that samples need to be understood, and everything that is counted
 * without them. Side records become the history of tasks and the list of objects; losses, times, CPUs and features are
 * noted. One thread.
 *
 * The clock of a recording is the time of its records. Where samples have none, it is the number of the record in the
 * file, which both passes count alike.
 */
#ifndef WEIR_REPORT_SURVEY_H
#define WEIR_REPORT_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "format/perf_input.h"
#include "format/timeline_text.h"
#include "report/deferred_chains.h"
#include "report/objects.h"
#include "report/string_table.h"
#include "report/task_history.h"
#include "unwind/machine.h"

#define WEIR_LOSS_ROWS_MAX      65536u
#define WEIR_TIMELINE_MAX_BYTES (16u << 20) /* of the timeline as JSON; what comes later is left out */

enum weir_loss_cause {
    WEIR_LOSS_RING,   /* LOST: no room in the ring, counted by record */
    WEIR_LOSS_KERNEL, /* LOST_SAMPLES: the kernel's own count */
    WEIR_LOSS_SHED,   /* dropped by weir under pressure */
};

struct weir_loss {
    uint64_t time, count;
    uint32_t event; /* UINT32_MAX: unknown */
    uint32_t cpu;   /* UINT32_MAX: unknown */
    enum weir_loss_cause cause;
};

struct weir_survey_event {
    uint64_t samples; /* each counts for those that were merged into it (format/merge_record.h) */
    uint64_t lost, lost_samples, shed, throttled;
    bool has_chains, has_dumps; /* dumps: of user stacks (--call-graph dwarf) */
};

struct weir_survey {
    const struct weir_input_events *input_events; /* borrowed from the input, complete after the pass */
    struct weir_string_table strings;
    struct weir_objects objects;
    struct weir_task_history history;
    struct weir_deferred_chains deferred;
    struct weir_survey_event *events; /* owned; one per event of the input */
    size_t event_count;
    uint64_t samples;            /* records of samples */
    uint64_t lost, lost_samples; /* of all events, by LOST and by LOST_SAMPLES: the same losses, told twice */
    bool has_times;              /* the clock is time in ns */
    uint64_t first_ns, last_ns;  /* of samples and of records with a time; both 0: none */
    struct weir_cpuset cpus;     /* of samples */
    struct weir_loss *losses;    /* owned; beyond WEIR_LOSS_ROWS_MAX those of the same kind and second are one */
    size_t loss_count, loss_capacity;
    struct weir_timeline_text timeline_state;
    struct weir_buf timeline;                  /* owned; JSON, if timeline_state.intervals is not 0 */
    const struct weir_unwind_machine *machine; /* that recorded: by the feature ARCH, or this one. NULL: weir does not
                                                  unwind its stacks */
    uint32_t machine_name;                     /* number of a string */
    struct weir_error end;                     /* the damage at which the data ends; code 0: none */
};

/* Reads all of input. places: see report/objects.h; its texts, and input, are borrowed as long as the survey is used.
 * 0; -ENOMEM, or -errno of read(2), with err; damage is a finding (end), not an error. Release with weir_survey_fini()
 * in any case.
 */
int weir_survey_run(struct weir_survey *survey, struct weir_perf_input *input, const struct weir_object_places *places,
                    struct weir_error *err);
void weir_survey_fini(struct weir_survey *survey);

/* Returns the clock of a record of an event; number: how many records came before it. */
uint64_t weir_survey_clock(const struct weir_survey *survey, const struct weir_input_event *event,
                           const struct weir_record_view *record, uint64_t number);

#endif
