/*
 * The modes of a recording: each choice that bears on others, the pairs of modes that are refused, and what follows
 * from a set of modes. The check of options, the plan, the drain, docs/modes.md and tests/record/composition.sh read
 * the two tables of modes.c, and ask the questions below.
 *
 * After the configuration of LTTng's ring buffer (lttng-ust, src/common/ringbuffer/ringbuffer-config.h): every degree
 * of freedom is data, and a set that cannot be is refused in one place, before anything is opened.
 *
 * Pure; any thread.
 */
#ifndef WEIR_ENGINE_MODES_MODES_H
#define WEIR_ENGINE_MODES_MODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* In the order in which refusals name them. */
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

    /* Where samples are kept. */
    WEIR_MODE_MEMORY,
    WEIR_MODE_OVERWRITE,

    /* Snapshots, beside those that a signal or the control channel asks for. */
    WEIR_MODE_SNAPSHOT_ON,
    WEIR_MODE_SNAPSHOT_ON_EXIT,
    WEIR_MODE_FTRACE_SNAPSHOT,

    /* AUX areas. */
    WEIR_MODE_AUX,
    WEIR_MODE_AUX_SNAPSHOT,
    WEIR_MODE_AUX_SAMPLE,

    /* Rings and who drains them. */
    WEIR_MODE_PER_THREAD,
    WEIR_MODE_THREADS,
    WEIR_MODE_SHED_CPUS,

    /* What is recorded. */
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

    WEIR_MODE_COUNT
};

struct weir_modes {
    uint64_t set; /* of WEIR_MODE_BIT() */
};

#define WEIR_MODE_BIT(mode) (UINT64_C(1) << (mode))

_Static_assert(WEIR_MODE_COUNT <= 64, "a set of modes is 64 bits");

/* One mode. */
struct weir_mode_row {
    const char *name;    /* of the mode, in docs and tests */
    const char *subject; /* what it is a choice about */
    const char *option;  /* as messages call it; NULL: no option alone makes the mode */
    uint64_t implies;    /* modes that come with it */
    const char *example; /* options that have the mode lose nothing on purpose; NULL: it needs something of the machine,
                          * or differs from another mode in a number only */
    uint64_t example_modes; /* that the example has beside the mode and what it implies */
};

/* One refusal. */
struct weir_mode_rule {
    enum weir_mode mode;
    enum weir_mode other; /* refused together with this; WEIR_MODE_COUNT: refused by itself ... */
    uint64_t unless;      /* ... without one of these; 0: always */
    const char *what;     /* NULL: "option 'MODE' cannot be used with 'OTHER'" */
    const char *hint;
};

/* The row of a mode. */
const struct weir_mode_row *weir_mode_row(enum weir_mode mode);

/* The rules, in the order in which they are applied; NULL behind the last. */
const struct weir_mode_rule *weir_mode_rule(unsigned index);

/* -EINVAL with err: what the rule says. aux_event: the name of the event with an AUX area, for WEIR_MODE_AUX. */
int weir_mode_rule_tell(const struct weir_mode_rule *rule, const char *aux_event, struct weir_error *err);

/* The mode, with those that it implies. */
void weir_modes_add(struct weir_modes *modes, enum weir_mode mode);

/* The mode alone. */
void weir_modes_remove(struct weir_modes *modes, enum weir_mode mode);

static inline bool weir_modes_have(const struct weir_modes *modes, enum weir_mode mode)
{
    return (modes->set & WEIR_MODE_BIT(mode)) != 0;
}

/* 0, or -EINVAL with err: what the first rule says that refuses the set. aux_event: as above, NULL without such an
 * event. */
int weir_modes_check(const struct weir_modes *modes, const char *aux_event, struct weir_error *err);

/* Whether a rule refuses the set once the mode is added. */
bool weir_modes_exclude(const struct weir_modes *modes, enum weir_mode mode);

/* ---- what follows from a set that no rule refuses ---- */

/* Samples stay in memory or in rings until a snapshot is asked for. */
bool weir_modes_keep_samples(const struct weir_modes *modes);

/* A snapshot may be asked for: samples or AUX areas hold the newest. */
bool weir_modes_take_snapshots(const struct weir_modes *modes);

/* A snapshot of the pair ends its file, which replaces the file of the snapshot before (docs/control.md). */
bool weir_modes_pair_ends_files(const struct weir_modes *modes);

/* Each snapshot ends its file, or those of the pair do. */
bool weir_modes_snapshots_end_files(const struct weir_modes *modes);

/* The output may be rotated. */
bool weir_modes_rotate(const struct weir_modes *modes);

/* The output gets its name, or somebody is told of it, only once it is finished. */
bool weir_modes_finish_files(const struct weir_modes *modes);

/* The tasks and maps of before the recording are described at its end only: a file that ends earlier needs them at its
 * start. */
bool weir_modes_describe_at_end_only(const struct weir_modes *modes);

/* Rings or AUX areas hold the newest, and stand still while a snapshot of them is taken. */
bool weir_modes_pause_for_snapshots(const struct weir_modes *modes);

/* Readers mark rounds between records: what is written goes to one place as it is, in the order of marks. Compressed
 * data has no marks in it, what is kept is not written in their order, and nothing stands between an AUX record and its
 * data. */
bool weir_modes_make_marks(const struct weir_modes *modes);

/* Only the device reads what a reader copied, if the output is written past the page cache (weir_output_is_unread()).
 */
bool weir_modes_copy_past_caches(const struct weir_modes *modes);

/* The consumer copies each round into memory of its own: rounds are not to be longer than they must. */
bool weir_modes_consumer_holds_rounds(const struct weir_modes *modes);

/* The output may stand still for as long as the consumer of a stream, or the removal of old files, takes. */
bool weir_modes_may_wait_for_output(const struct weir_modes *modes);

/* An event for all tasks of a CPU is needed beside those of the recorded tasks. */
bool weir_modes_need_event_of_all_tasks(const struct weir_modes *modes);

/* Records have no ids, as in perf's own files of one event of tasks (docs/format.md, "One event"). */
bool weir_modes_leave_out_ids(const struct weir_modes *modes);

#endif
