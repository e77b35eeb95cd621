/*
 * The modes of a recording. A mode is a choice that bears on other choices. modes.c has two tables: the modes, and the
 * pairs of modes that are refused. The functions below answer which properties follow from a set of modes.
 *
 * The check of options, the plan, the drain, docs/modes.md and tests/record/composition.sh read the tables or call the
 * functions. The model is the configuration of LTTng's ring buffer (lttng-ust,
 * src/common/ringbuffer/ringbuffer-config.h): each degree of freedom is data. One place refuses an impossible set,
 * before weir opens anything.
 *
 * Pure; any thread.
 */
#ifndef WEIR_ENGINE_MODES_MODES_H
#define WEIR_ENGINE_MODES_MODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* In the order in which refusals name the modes. */
enum weir_mode {
    /* The output. */
    WEIR_MODE_STREAM,
    WEIR_MODE_KCORE,
    WEIR_MODE_APPEND,
    WEIR_MODE_FORCE,
    WEIR_MODE_COMPRESSED,
    WEIR_MODE_SYNC,
    WEIR_MODE_MAX_SIZE,

    /* Several files. */
    WEIR_MODE_SNAPSHOT_FILES,
    WEIR_MODE_ROTATION_EVENT,
    WEIR_MODE_ROTATION,
    WEIR_MODE_TIME_NAMES,
    WEIR_MODE_ON_ROTATE,
    WEIR_MODE_MAX_FILES,
    WEIR_MODE_ONE_FILE,

    /* A full file system. */
    WEIR_MODE_FULL_SUSPENDS,
    WEIR_MODE_FULL_ROTATES,
    WEIR_MODE_KEEP_FREE,

    /* The place of samples until they go to the file. */
    WEIR_MODE_MEMORY,
    WEIR_MODE_OVERWRITE,

    /* Snapshots, apart from those that a signal or the control channel requests. */
    WEIR_MODE_SNAPSHOT_ON,
    WEIR_MODE_SNAPSHOT_ON_EXIT,
    WEIR_MODE_FTRACE_SNAPSHOT,

    /* AUX areas. */
    WEIR_MODE_AUX,
    WEIR_MODE_AUX_SNAPSHOT,
    WEIR_MODE_AUX_SAMPLE,

    /* Rings and their readers. */
    WEIR_MODE_PER_THREAD,
    WEIR_MODE_THREADS,
    WEIR_MODE_SHED_CPUS,

    /* The recorded events and tasks. */
    WEIR_MODE_SYSTEM_WIDE,
    WEIR_MODE_SEVERAL_EVENTS,
    WEIR_MODE_READ_COUNTS,
    WEIR_MODE_ALL_TASKS,
    WEIR_MODE_THREAD_COUNTS,
    WEIR_MODE_DELAY,
    WEIR_MODE_IDENTIFIERS,
    WEIR_MODE_CONTINUES_WITH_IDS,
    WEIR_MODE_CONTINUES_WITHOUT_IDS,
    WEIR_MODE_TAIL,
    WEIR_MODE_AGGREGATE,
    WEIR_MODE_UNWIND,
    WEIR_MODE_DEFER,
    WEIR_MODE_OFF_CPU,

    WEIR_MODE_COUNT
};

struct weir_modes {
    uint64_t set; /* of WEIR_MODE_BIT() */
};

#define WEIR_MODE_BIT(mode) (UINT64_C(1) << (mode))

_Static_assert(WEIR_MODE_COUNT <= 64, "a set of modes is 64 bits");

/* One mode. */
struct weir_mode_row {
    const char *name;    /* name of the mode in docs and tests */
    const char *subject; /* subject of the choice */
    const char *option;  /* the option in messages; NULL: no single option makes the mode */
    uint64_t implies;    /* modes that the mode brings along */
    /* Options that have the mode and lose nothing on purpose. NULL: the mode needs a property of the machine, or
     * differs from another mode in a number only. */
    const char *example;
    uint64_t example_modes; /* modes of the example beside the mode and its implied modes */
};

/* One refusal. */
struct weir_mode_rule {
    enum weir_mode mode;
    enum weir_mode other; /* refused together with this mode; WEIR_MODE_COUNT: refused by itself ... */
    uint64_t unless;      /* ... unless the set has one of these; 0: always refused */
    const char *what;     /* NULL: "option 'MODE' cannot be used with 'OTHER'" */
    const char *hint;
};

/* Returns the row of a mode. */
const struct weir_mode_row *weir_mode_row(enum weir_mode mode);

/* Returns a rule, in the order in which the rules apply; NULL behind the last. */
const struct weir_mode_rule *weir_mode_rule(unsigned index);

/* Returns -EINVAL, with the text of the rule in err. aux_event: the name of the event with an AUX area, for rules of
 * WEIR_MODE_AUX. */
int weir_mode_rule_tell(const struct weir_mode_rule *rule, const char *aux_event, struct weir_error *err);

/* Adds a mode, with all modes that it implies. */
void weir_modes_add(struct weir_modes *modes, enum weir_mode mode);

/* Removes a mode, without the modes that it implies. */
void weir_modes_remove(struct weir_modes *modes, enum weir_mode mode);

static inline bool weir_modes_have(const struct weir_modes *modes, enum weir_mode mode)
{
    return (modes->set & WEIR_MODE_BIT(mode)) != 0;
}

/* Returns 0; or -EINVAL, with the text of the first rule that refuses the set in err. aux_event: the name of the event
 * with an AUX area; NULL without such an event. */
int weir_modes_check(const struct weir_modes *modes, const char *aux_event, struct weir_error *err);

/* Whether a rule refuses the set once the mode is added. */
bool weir_modes_exclude(const struct weir_modes *modes, enum weir_mode mode);

/* ---- properties of a set that no rule refuses ---- */

/* Whether samples stay in memory or in rings until a request for a snapshot. */
bool weir_modes_keep_samples(const struct weir_modes *modes);

/* Whether a request for a snapshot is possible: memory, rings or AUX areas hold the newest data. */
bool weir_modes_take_snapshots(const struct weir_modes *modes);

/* Whether a snapshot of the pair ends its file, which then replaces the file of the former snapshot
 * (docs/control.md). */
bool weir_modes_pair_ends_files(const struct weir_modes *modes);

/* Whether snapshots end their files: all of them, or those of the pair. */
bool weir_modes_snapshots_end_files(const struct weir_modes *modes);

/* Whether the output may be rotated. */
bool weir_modes_rotate(const struct weir_modes *modes);

/* Whether the output gets its name, or a command learns of it, only once it is finished. */
bool weir_modes_finish_files(const struct weir_modes *modes);

/* Whether the tasks and maps of before the recording are described at its end only. A file that ends earlier needs
 * these descriptions at its start. */
bool weir_modes_describe_at_end_only(const struct weir_modes *modes);

/* Whether rings or AUX areas hold the newest data, and pause while a snapshot copies them. */
bool weir_modes_pause_for_snapshots(const struct weir_modes *modes);

/* Whether readers put marks of rounds between records. Marks need data that goes to one file unchanged, in the order of
 * the marks. Compressed data has no marks in it. Kept samples are not written in the order of marks. Nothing may stand
 * between an AUX record and its data. */
bool weir_modes_make_marks(const struct weir_modes *modes);

/* Whether only the device reads the copies that readers make, if the output bypasses the page cache
 * (weir_output_is_unread()). */
bool weir_modes_copy_past_caches(const struct weir_modes *modes);

/* Whether the consumer copies each round into memory of its own. Rounds are then no longer than they must be. */
bool weir_modes_consumer_holds_rounds(const struct weir_modes *modes);

/* Whether the output may stand still for an unlimited time: while the consumer of a stream, or the removal of old
 * files, takes its time. */
bool weir_modes_may_wait_for_output(const struct weir_modes *modes);

/* Whether the recording needs an event for all tasks of a CPU, beside the events of the recorded tasks. */
bool weir_modes_need_event_of_all_tasks(const struct weir_modes *modes);

/* Whether records have no ids, as in perf's own files of one event of tasks (docs/format.md, "One event"). */
bool weir_modes_leave_out_ids(const struct weir_modes *modes);

#endif
