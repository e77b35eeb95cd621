/* The tables of modes and of their refusals, and the properties of a set. Pure; any thread. */
#include "engine/modes/modes.h"

#include <errno.h>

#include "base/assert.h"
#include "base/bits.h"

#define BIT  WEIR_MODE_BIT
#define NONE WEIR_MODE_COUNT

#define KEEPS_SAMPLES (BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_OVERWRITE))
/* Chunks are read and rewritten before they go to the file. */
#define REWRITES   (BIT(WEIR_MODE_AGGREGATE) | BIT(WEIR_MODE_UNWIND) | BIT(WEIR_MODE_DEFER))
#define HAS_NEWEST (KEEPS_SAMPLES | BIT(WEIR_MODE_AUX_SNAPSHOT))

static const struct weir_mode_row rows[WEIR_MODE_COUNT] = {
    [WEIR_MODE_STREAM] = {"stream", "output", "-o -", .example = "-o -"},
    [WEIR_MODE_KCORE] = {"kcore", "output", "--kcore", BIT(WEIR_MODE_ALL_TASKS), "--kcore"},
    [WEIR_MODE_APPEND] = {"append", "output", "--append", .example = "--append"},
    [WEIR_MODE_FORCE] = {"force", "output", "--force"},
    [WEIR_MODE_COMPRESSED] = {"compressed", "output", "-z", .example = "-z"},
    [WEIR_MODE_SYNC] = {"sync", "output", "--sync", .example = "--sync"},
    [WEIR_MODE_MAX_SIZE] = {"max-size", "output", "--max-size", .example = "--max-size=256M"},

    [WEIR_MODE_SNAPSHOT_FILES] = {"snapshot-files", "files", "--snapshot-keep", BIT(WEIR_MODE_ROTATION),
                                  "-M 32M --snapshot-on-exit --snapshot-keep 9",
                                  BIT(WEIR_MODE_MEMORY) | BIT(WEIR_MODE_SNAPSHOT_ON_EXIT)},
    [WEIR_MODE_ROTATION_EVENT] = {"rotation-event", "files", "--switch-output-event", BIT(WEIR_MODE_ROTATION)},
    [WEIR_MODE_ROTATION] = {"rotation", "files", "--switch-output", BIT(WEIR_MODE_TIME_NAMES), "--switch-output"},
    [WEIR_MODE_TIME_NAMES] = {"time-names", "files", "--timestamp-filename"},
    [WEIR_MODE_ON_ROTATE] = {"on-rotate", "files", "--on-rotate", .example = "--on-rotate true"},
    [WEIR_MODE_MAX_FILES] = {"max-files", "files", "--switch-max-files"},
    [WEIR_MODE_ONE_FILE] = {"one-file", "files", NULL}, /* set by simulations only */

    [WEIR_MODE_FULL_SUSPENDS] = {"on-full-suspend", "full disk", "--on-full", .example = "--on-full=suspend"},
    [WEIR_MODE_FULL_ROTATES] = {"on-full-rotate", "full disk", "--on-full"},
    [WEIR_MODE_KEEP_FREE] = {"keep-free", "full disk", "--keep-free"},

    [WEIR_MODE_MEMORY] = {"memory", "samples", "--memory", .example = "-M 32M --snapshot-on-exit",
                          .example_modes = BIT(WEIR_MODE_SNAPSHOT_ON_EXIT)},
    [WEIR_MODE_OVERWRITE] = {"overwrite", "samples", "--overwrite", .example = "--overwrite"},

    [WEIR_MODE_SNAPSHOT_ON] = {"snapshot-on", "snapshots", "--snapshot-on"},
    [WEIR_MODE_SNAPSHOT_ON_EXIT] = {"snapshot-on-exit", "snapshots", "--snapshot-on-exit"},
    [WEIR_MODE_FTRACE_SNAPSHOT] = {"ftrace-snapshot", "snapshots", "--ftrace-snapshot"},

    [WEIR_MODE_AUX] = {"aux", "AUX areas", NULL},
    [WEIR_MODE_AUX_SNAPSHOT] = {"aux-snapshot", "AUX areas", "--snapshot"},
    [WEIR_MODE_AUX_SAMPLE] = {"aux-sample", "AUX areas", "--aux-sample"},

    [WEIR_MODE_PER_THREAD] = {"per-thread", "rings", "--per-thread", .example = "--per-thread"},
    [WEIR_MODE_THREADS] = {"threads", "rings", "--threads", .example = "--threads=package"},
    [WEIR_MODE_SHED_CPUS] = {"shed-cpus", "rings", "--shed", .example = "--shed=cpus"},

    [WEIR_MODE_SYSTEM_WIDE] = {"system-wide", "events", "--all-cpus"},
    [WEIR_MODE_SEVERAL_EVENTS] = {"several-events", "events", NULL},
    [WEIR_MODE_READ_COUNTS] = {"read-counts", "events", NULL},
    [WEIR_MODE_ALL_TASKS] = {"all-tasks", "events", NULL},
    [WEIR_MODE_THREAD_COUNTS] = {"thread-counts", "events", "--stat"},
    [WEIR_MODE_DELAY] = {"delay", "events", "--delay"},
    [WEIR_MODE_IDENTIFIERS] = {"identifiers", "events", "--sample-identifier"},
    [WEIR_MODE_CONTINUES_WITH_IDS] = {"continues-with-ids", "events", NULL},
    [WEIR_MODE_CONTINUES_WITHOUT_IDS] = {"continues-without-ids", "events", NULL},
    [WEIR_MODE_TAIL] = {"tail", "events", "--tail-synthesize", .example = "--tail-synthesize"},
    [WEIR_MODE_AGGREGATE] = {"aggregate", "events", "--aggregate"},
    [WEIR_MODE_UNWIND] = {"unwind", "events", "--call-graph=dwarf,unwind",
                          .example = "--call-graph=dwarf,unwind,stack=512"},
    [WEIR_MODE_DEFER] = {"defer", "events", "--call-graph=fp,defer", BIT(WEIR_MODE_SEVERAL_EVENTS)},
    [WEIR_MODE_OFF_CPU] = {"off-cpu", "events", "--off-cpu", BIT(WEIR_MODE_SEVERAL_EVENTS)},
};

static const char hint_append_aux[] = "only a recording without AUX areas can be continued: name another file (-o)";
static const char hint_overwrite_aux[] = "-S has the kernel keep the newest trace";
static const char hint_kept[] = "-M 64M keeps the newest 64 MiB of samples, -M 30s those of half a minute";
static const char hint_off_cpu_kept[] = "the sums of short stretches are of the whole time, not of the newest samples";
static const char hint_append[] = "a recording in one file that is not compressed can be continued";
static const char hint_full_stream[] = "a stream takes no disk space; weir waits for its consumer in any case";
static const char hint_full_kcore[] =
    "only a single file can wait for room; --keep-free 1G acts before the disk is full";
static const char what_full_kcore[] = "option '--on-full' needs --keep-free with '--kcore'";
static const char what_series_stream[] = "a stream ('-o -') cannot be rotated or renamed";
static const char what_series_kcore[] = "the folder of '--kcore' cannot be rotated or renamed";
static const char hint_series[] =
    "--switch-output, --snapshot-keep, --timestamp-filename and --on-rotate are for -o FILE";

static const struct weir_mode_rule rules[] = {
    {WEIR_MODE_AUX_SNAPSHOT, WEIR_MODE_APPEND, .hint = hint_append_aux},
    {WEIR_MODE_AUX_SNAPSHOT, WEIR_MODE_OVERWRITE, .hint = hint_overwrite_aux},
    {WEIR_MODE_AUX_SAMPLE, WEIR_MODE_APPEND, .hint = hint_append_aux},
    {WEIR_MODE_AUX_SAMPLE, WEIR_MODE_OVERWRITE, .hint = hint_overwrite_aux},
    {WEIR_MODE_AUX, WEIR_MODE_APPEND, .hint = hint_append_aux},
    {WEIR_MODE_AUX, WEIR_MODE_OVERWRITE, .hint = hint_overwrite_aux},
    {WEIR_MODE_AUX, WEIR_MODE_AGGREGATE, .hint = "a trace is decoded together with each sample: leave out --aggregate"},
    {WEIR_MODE_AUX, WEIR_MODE_UNWIND, .hint = "a trace is decoded together with each sample: --call-graph=dwarf"},
    {WEIR_MODE_AUX, WEIR_MODE_MEMORY, BIT(WEIR_MODE_AUX_SNAPSHOT),
     .hint = "add -S: the kernel keeps the newest trace, and a snapshot takes trace and samples"},

    {WEIR_MODE_OVERWRITE, WEIR_MODE_MEMORY,
     .hint = "--overwrite keeps samples in the kernel's rings (-m), -M in weir's memory"},
    {WEIR_MODE_SNAPSHOT_ON, NONE, HAS_NEWEST | BIT(WEIR_MODE_FTRACE_SNAPSHOT),
     "option '--snapshot-on' needs -M, --overwrite or -S: nothing else is kept in memory", hint_kept},
    {WEIR_MODE_SNAPSHOT_ON_EXIT, NONE, HAS_NEWEST | BIT(WEIR_MODE_FTRACE_SNAPSHOT),
     "option '--snapshot-on-exit' needs -M or -S: nothing else is kept in memory", hint_kept},
    {WEIR_MODE_SNAPSHOT_FILES, NONE, HAS_NEWEST,
     "option '--snapshot-keep' needs -M, --overwrite or -S: there are no snapshots", hint_kept},
    {WEIR_MODE_SNAPSHOT_FILES, WEIR_MODE_MAX_FILES,
     .hint = "both say how many files stay; with --snapshot-keep each file ends with a snapshot"},

    {WEIR_MODE_APPEND, WEIR_MODE_FORCE, 0, "cannot overwrite and append at the same time", "choose between -f and -A"},
    {WEIR_MODE_APPEND, WEIR_MODE_STREAM, .hint = hint_append},
    {WEIR_MODE_APPEND, WEIR_MODE_KCORE, .hint = hint_append},
    {WEIR_MODE_APPEND, WEIR_MODE_COMPRESSED, .hint = hint_append},
    {WEIR_MODE_APPEND, WEIR_MODE_SNAPSHOT_FILES, .hint = hint_append},
    {WEIR_MODE_APPEND, WEIR_MODE_ROTATION_EVENT, .hint = hint_append},
    {WEIR_MODE_APPEND, WEIR_MODE_ROTATION, .hint = hint_append},
    {WEIR_MODE_APPEND, WEIR_MODE_TIME_NAMES, .hint = hint_append},
    {WEIR_MODE_APPEND, WEIR_MODE_ON_ROTATE, .hint = hint_append},
    {WEIR_MODE_SYNC, WEIR_MODE_STREAM, .hint = "a stream cannot be synced: leave out --sync"},
    {WEIR_MODE_FULL_SUSPENDS, WEIR_MODE_STREAM, .hint = hint_full_stream},
    {WEIR_MODE_FULL_ROTATES, WEIR_MODE_STREAM, .hint = hint_full_stream},
    {WEIR_MODE_FULL_SUSPENDS, WEIR_MODE_KCORE, BIT(WEIR_MODE_KEEP_FREE), what_full_kcore, hint_full_kcore},
    {WEIR_MODE_FULL_ROTATES, WEIR_MODE_KCORE, BIT(WEIR_MODE_KEEP_FREE), what_full_kcore, hint_full_kcore},
    {WEIR_MODE_FULL_ROTATES, NONE, BIT(WEIR_MODE_ROTATION),
     "option '--on-full=rotate' needs --switch-output: there is one file only",
     "--switch-output=100M --on-full=rotate --keep-free 1G"},
    {WEIR_MODE_KEEP_FREE, WEIR_MODE_STREAM, .hint = "a stream takes no disk space"},
    {WEIR_MODE_KCORE, WEIR_MODE_STREAM, .hint = "a directory cannot go to standard output: name one with -o"},
    {WEIR_MODE_KCORE, WEIR_MODE_PER_THREAD,
     .hint = "the kernel reports changes of its code by CPU: leave out --per-thread"},
    {WEIR_MODE_OFF_CPU, WEIR_MODE_PER_THREAD,
     .hint = "a task is away when its time is known: only rings of CPUs take it; leave out --per-thread"},
    {WEIR_MODE_OFF_CPU, WEIR_MODE_APPEND, .hint = "name another file (-o)"},
    {WEIR_MODE_OFF_CPU, WEIR_MODE_AGGREGATE, .hint = "--off-cpu-thresh says which stretches off the CPUs are summed"},
    {WEIR_MODE_OFF_CPU, WEIR_MODE_MEMORY, .hint = hint_off_cpu_kept},
    {WEIR_MODE_OFF_CPU, WEIR_MODE_OVERWRITE, .hint = hint_off_cpu_kept},
    {WEIR_MODE_TIME_NAMES, WEIR_MODE_STREAM, 0, what_series_stream, hint_series},
    {WEIR_MODE_ON_ROTATE, WEIR_MODE_STREAM, 0, what_series_stream, hint_series},
    {WEIR_MODE_TIME_NAMES, WEIR_MODE_KCORE, 0, what_series_kcore, hint_series},
    {WEIR_MODE_ON_ROTATE, WEIR_MODE_KCORE, 0, what_series_kcore, hint_series},
};

const struct weir_mode_row *weir_mode_row(enum weir_mode mode)
{
    weir_assert(mode < WEIR_MODE_COUNT);
    return &rows[mode];
}

const struct weir_mode_rule *weir_mode_rule(unsigned index)
{
    return index < WEIR_ARRAY_COUNT(rules) ? &rules[index] : NULL;
}

void weir_modes_add(struct weir_modes *modes, enum weir_mode mode)
{
    uint64_t more = BIT(mode);
    for (uint64_t before = 0; more != before;) {
        before = more;
        for (unsigned i = 0; i < WEIR_MODE_COUNT; i++)
            more |= before & BIT(i) ? rows[i].implies : 0;
    }
    modes->set |= more;
}

void weir_modes_remove(struct weir_modes *modes, enum weir_mode mode)
{
    modes->set &= ~BIT(mode);
}

static const struct weir_mode_rule *find_refusal(uint64_t set)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rules); i++) {
        const struct weir_mode_rule *rule = &rules[i];
        bool meets = (set & BIT(rule->mode)) && (rule->other == NONE || (set & BIT(rule->other)));
        if (meets && !(set & rule->unless))
            return rule;
    }
    return NULL;
}

int weir_mode_rule_tell(const struct weir_mode_rule *rule, const char *aux_event, struct weir_error *err)
{
    if (rule->what)
        weir_error_set(err, -EINVAL, "%s", rule->what);
    else if (rule->mode == WEIR_MODE_AUX)
        weir_error_set(err, -EINVAL, "event %s has an AUX area, which cannot be recorded with '%s'", aux_event,
                       rows[rule->other].option);
    else
        weir_error_set(err, -EINVAL, "option '%s' cannot be used with '%s'", rows[rule->mode].option,
                       rows[rule->other].option);
    weir_error_hint(err, "%s", rule->hint);
    return -EINVAL;
}

int weir_modes_check(const struct weir_modes *modes, const char *aux_event, struct weir_error *err)
{
    const struct weir_mode_rule *rule = find_refusal(modes->set);
    return rule ? weir_mode_rule_tell(rule, aux_event, err) : 0;
}

bool weir_modes_exclude(const struct weir_modes *modes, enum weir_mode mode)
{
    struct weir_modes both = *modes;
    weir_modes_add(&both, mode);
    return find_refusal(both.set) != NULL;
}

/* ---- properties ---- */

static bool has_any(const struct weir_modes *modes, uint64_t of)
{
    return (modes->set & of) != 0;
}

bool weir_modes_keep_samples(const struct weir_modes *modes)
{
    return has_any(modes, KEEPS_SAMPLES);
}

bool weir_modes_take_snapshots(const struct weir_modes *modes)
{
    return has_any(modes, HAS_NEWEST);
}

bool weir_modes_pair_ends_files(const struct weir_modes *modes)
{
    return weir_modes_keep_samples(modes) &&
           !has_any(modes, BIT(WEIR_MODE_STREAM) | BIT(WEIR_MODE_KCORE) | BIT(WEIR_MODE_APPEND) |
                               BIT(WEIR_MODE_ROTATION) | BIT(WEIR_MODE_TIME_NAMES) | BIT(WEIR_MODE_ON_ROTATE) |
                               BIT(WEIR_MODE_ONE_FILE));
}

bool weir_modes_snapshots_end_files(const struct weir_modes *modes)
{
    return weir_modes_have(modes, WEIR_MODE_SNAPSHOT_FILES) || weir_modes_pair_ends_files(modes);
}

bool weir_modes_rotate(const struct weir_modes *modes)
{
    return weir_modes_have(modes, WEIR_MODE_ROTATION) || weir_modes_pair_ends_files(modes);
}

bool weir_modes_finish_files(const struct weir_modes *modes)
{
    return weir_modes_rotate(modes) || has_any(modes, BIT(WEIR_MODE_TIME_NAMES) | BIT(WEIR_MODE_ON_ROTATE));
}

bool weir_modes_describe_at_end_only(const struct weir_modes *modes)
{
    return weir_modes_have(modes, WEIR_MODE_TAIL) && !weir_modes_rotate(modes);
}

bool weir_modes_pause_for_snapshots(const struct weir_modes *modes)
{
    return has_any(modes, BIT(WEIR_MODE_OVERWRITE) | BIT(WEIR_MODE_AUX_SNAPSHOT));
}

/* In a stream quipper takes a mark that becomes no round for the name of an event, and aborts. */
bool weir_modes_make_marks(const struct weir_modes *modes)
{
    return !has_any(modes,
                    BIT(WEIR_MODE_COMPRESSED) | BIT(WEIR_MODE_STREAM) | KEEPS_SAMPLES | BIT(WEIR_MODE_AUX) | REWRITES);
}

bool weir_modes_copy_past_caches(const struct weir_modes *modes)
{
    return !has_any(modes, BIT(WEIR_MODE_COMPRESSED) | BIT(WEIR_MODE_STREAM) | REWRITES);
}

bool weir_modes_consumer_holds_rounds(const struct weir_modes *modes)
{
    return has_any(modes, BIT(WEIR_MODE_COMPRESSED) | BIT(WEIR_MODE_STREAM));
}

bool weir_modes_may_wait_for_output(const struct weir_modes *modes)
{
    return has_any(modes, BIT(WEIR_MODE_STREAM) | BIT(WEIR_MODE_FULL_ROTATES));
}

bool weir_modes_need_event_of_all_tasks(const struct weir_modes *modes)
{
    return weir_modes_have(modes, WEIR_MODE_ALL_TASKS) && !weir_modes_have(modes, WEIR_MODE_SYSTEM_WIDE);
}

/* Whether records need ids. Ids tell records apart where records carry counts, and where tasks have rings, so that the
 * CPU says nothing. They also mark side records that a rotation repeats at the beginning of the next file. */
static bool need_ids(const struct weir_modes *modes)
{
    return weir_modes_rotate(modes) || weir_modes_need_event_of_all_tasks(modes) ||
           has_any(modes, BIT(WEIR_MODE_SEVERAL_EVENTS) | BIT(WEIR_MODE_READ_COUNTS) | BIT(WEIR_MODE_THREAD_COUNTS) |
                              BIT(WEIR_MODE_PER_THREAD) | BIT(WEIR_MODE_AUX));
}

bool weir_modes_leave_out_ids(const struct weir_modes *modes)
{
    if (weir_modes_have(modes, WEIR_MODE_CONTINUES_WITH_IDS) || need_ids(modes))
        return false;
    return weir_modes_have(modes, WEIR_MODE_CONTINUES_WITHOUT_IDS) || /* the continued file stays without ids */
           !has_any(modes, BIT(WEIR_MODE_SYSTEM_WIDE) | BIT(WEIR_MODE_DELAY) | BIT(WEIR_MODE_IDENTIFIERS));
}
