/*
 * The open events of a recording: every event on every CPU and target task, their ids, their rings, their counts.
 *
 * Descriptors lie in a table [event][place][task], in the order in which perf opens them. A place
 * (engine/kernel/event_place.h) is
 *
 *     a CPU     every target has a descriptor of each event there, and all of them share the CPU's two rings;
 *     a task    (--per-thread) each event has one descriptor, with cpu -1: it follows its task, and so does its ring.
 *
 * Each place has a data ring for the records of its events (PERF_EVENT_IOC_SET_OUTPUT). A sideband ring takes the
 * records of its side events (mmap, comm, task ...), so that a storm of samples never costs a mapping. A ring does not
 * exist where none of its descriptors is open: the task was gone, no event's PMU counts on the CPU, or the CPU is
 * offline. Readers, id map, ledger, LOST_SAMPLES and the ids in the file's head all use the index of the place.
 *
 * Samples come from fewer places and tasks than side records do. A CPU outside of -C and, with -t, the other threads of
 * the targets' processes have side events only: they map code that recorded tasks run on recorded CPUs.
 *
 * --per-thread needs a ring for each thread: the kernel lets no two tasks share a ring with cpu -1
 * (perf_event_set_output(), kernel/events/core.c). The kernel gives no such ring to an inherited event (perf_mmap()),
 * so new threads are not recorded.
 *
 * When a CPU goes offline, the kernel removes its events of all tasks for good (perf_event_exit_cpu(),
 * kernel/events/core.c). The kernel opens no such events on an offline CPU. weir_event_set_reopen() opens new ones when
 * the CPU comes (back). The old ring becomes their output, so its reader goes on; the set keeps the counts and losses
 * of the old events. Events of single tasks stay with their task and count again when the CPU is back. They are opened
 * on offline CPUs at the start, because perf_event_open(2) looks for the CPU only without a task, and children inherit
 * them. A late CPU has no ring until it comes.
 *
 * A reopened event has a new id, but the file keeps calling it by its first one. So each slot has a file id from the
 * start: the id of the first event that was opened there. On a late CPU, the file id is a number that is no event's id.
 *
 * The members of a group are opened with the descriptor of their leader at the same slot as group_fd. Only leaders are
 * enabled and disabled.
 *
 * Inherited events are toggled twice, a millisecond apart. A child that is forked meanwhile copies the old state of its
 * parent's event. The kernel may link the child to its parent only after the toggle has visited the children
 * (inherit_event(), kernel/events/core.c of Linux 6.18). Without the second toggle the child and its descendants would
 * keep the old state for the whole recording. (Measured on four tasks that did nothing but fork: 13 of 300 enables left
 * an event off. With a second enable 0.3 to 1 ms later, 1 of 600 did.)
 *
 * Coordinator only, except weir_event_set_file_id(). Opening allocates and blocks, and so does toggling.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_SET_H
#define WEIR_ENGINE_EVENTS_EVENT_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "engine/bpf/off_cpu.h"
#include "engine/bpf/sample_filter_program.h"
#include "engine/events/event_config.h"
#include "engine/events/event_list.h"
#include "engine/events/targets.h"
#include "engine/kernel/event_place.h"
#include "engine/kernel/id_map.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/kernel_limits.h"
#include "engine/kernel/ring.h"

#define WEIR_TIMER_STORM_HZ 100000u /* the kernel grants no more (perf_swevent_start_hrtimer(), Linux 6.12) */

#define WEIR_EVENT_SETS_ASKING 2 /* trigger events: those that ask for another file, and those for a snapshot */

struct weir_event_set {
    const struct weir_kernel *kernel;   /* borrowed */
    struct weir_event_list *list;       /* borrowed; side events are the last ones */
    const struct weir_targets *targets; /* borrowed */
    unsigned event_count;               /* with the side events */
    /* Owned; recorded CPUs, CPUs with side events only, late CPUs, each ascending; or in the targets' order. */
    struct weir_event_place *places;
    unsigned place_count;
    unsigned late_from;  /* index of the first late place; place_count: none is late */
    unsigned task_count; /* descriptors of an event at each place: the targets and siblings, or 1 with --per-thread */
    unsigned sampled_tasks;    /* the first of them: the targets. The siblings have side events only. */
    int *fds;                  /* owned; [event][place][task]; -1: not open */
    uint64_t *ids;             /* owned; [event][place][task]; 0 where fd is -1 */
    uint64_t *file_ids;        /* owned; [event][place][task]; constant; 0 where nothing is ever open */
    struct weir_id_map id_map; /* owned */
    /* Owned, constant: the place of samples without ids (weir_event_config.without_ids), by CPU number; NULL where
     * records have ids. Entries without an id: no place is of that CPU. */
    struct weir_id_entry *by_cpu;
    size_t by_cpu_count;

    int *apart_fds;                     /* owned; [target]; -s only: events that children do not inherit; -1: none */
    int *ring_fds;                      /* owned; [place][sideband]: the descriptor whose ring is mapped; -1: none */
    struct weir_event_retired *retired; /* owned */
    size_t retired_count, retired_room;
    uint32_t side_only_watermark_bytes;         /* of rings of places that are side_only */
    unsigned long open_flags;                   /* flags of perf_event_open(2) that this kernel takes */
    struct weir_sample_program *sample_program; /* owned; NULL: no event has a sample filter */
    uint32_t *filter_numbers;                   /* owned; [event], of events with a sample filter; NULL: none has one */
    char *own_tasks;                            /* owned; the filter of weir_event_set_exclude_tasks(); NULL: none */
    bool *on;        /* owned; [event], of leaders: counts, or will with the workload's execve(2) */
    unsigned pauses; /* enum weir_pause as bits, by weir_event_set_pause(); data rings mapped later, too */
    bool ended;
    struct weir_event_count
        *last_counts; /* owned; by slot; read by weir_event_set_end(); NULL: not yet, or no memory */
    /* Borrowed; NULL: none. Sets of trigger events of the same recording. Set before threads start and open as long as
     * they run: samples can carry their ids (engine/drain/record_rename.h). */
    const struct weir_event_set *asking[WEIR_EVENT_SETS_ASKING];
    struct weir_off_cpu *off_cpu; /* borrowed; measures while its event of the list is enabled; NULL: no such event */
    unsigned disables; /* how often events were disabled, or removed with their CPU, while they could count */
};

/* An event of all tasks whose CPU went offline. */
struct weir_event_retired {
    unsigned event, place;
    int fd; /* kept open while its ring is in use; -1: closed */
    struct weir_event_count count;
};

struct weir_event_set_setup {
    const struct weir_kernel *kernel;
    struct weir_event_list *list;
    const struct weir_cpuset *cpus;      /* of samples */
    const struct weir_cpuset *side_cpus; /* other CPUs, of side records only; NULL: none */
    const struct weir_cpuset *late_cpus; /* CPUs that may come online while recording; NULL: none */
    bool late_are_side_only;
    const struct weir_targets *targets;
    bool with_siblings;                     /* siblings of the targets get side events */
    bool per_thread;                        /* a place for each target instead of one for each CPU */
    const struct weir_event_config *config; /* attrs are configured again after a fallback */
    const struct weir_kernel_limits *limits;
    const struct weir_notice_sink *notices;
    struct weir_off_cpu *off_cpu; /* borrowed, loaded; NULL: the list has no event of off-CPU time */
    bool exclude_follows; /* weir_event_set_exclude_tasks() will set the filters: the kernel takes one per event */
};

/*
 * Opens everything, disabled. Falls back as perf does where the user did not ask by name, each time with a notice.
 * cycles becomes cpu-clock where the kernel has no PMU. An event counts user space only where perf_event_paranoid
 * forbids the kernel. An attr bit that an older kernel refuses is dropped with a verbose notice. Tasks that end
 * meanwhile are left out. 0; -ESRCH: no task is left; or -errno; with err and hint. After a failure nothing stays open.
 */
int weir_event_set_open(struct weir_event_set *set, const struct weir_event_set_setup *setup, struct weir_error *err);

/* The index of a descriptor in the tables [event][place][task]. */
static inline size_t weir_event_set_slot(const struct weir_event_set *set, unsigned event, unsigned place,
                                         unsigned task)
{
    return ((size_t)event * set->place_count + place) * set->task_count + task;
}

/* The file's id of the event that an entry of the id map belongs to. Any thread, once the set is open. */
static inline uint64_t weir_event_set_file_id(const struct weir_event_set *set, const struct weir_id_entry *entry)
{
    /* Of events of single tasks there are several at a place; they are never reopened. */
    bool is_alone = set->task_count == 1 || set->list->events[entry->event].all_tasks;
    return is_alone ? set->file_ids[weir_event_set_slot(set, entry->event, entry->place, 0)] : entry->id;
}

/* Closes all and frees. NULL-safe; takes a half-open set. Rings must be unmapped first. */
void weir_event_set_close(struct weir_event_set *set);

/* How many descriptors an open needs. */
struct weir_event_set_size {
    unsigned sample_events, sample_places, sample_tasks;
    unsigned side_events, side_places, side_tasks; /* places and tasks include those of samples */
};
uint64_t weir_event_set_fds_needed(const struct weir_event_set_size *size);

/* -1: not open. */
int weir_event_set_fd(const struct weir_event_set *set, unsigned event, unsigned place, unsigned task);

/* The index of the sideband event; the events behind it are side events, too. */
unsigned weir_event_set_sideband(const struct weir_event_set *set);

/* The index of the event of off-CPU time; -1: there is none. Any thread. */
int weir_event_set_off_cpu_event(const struct weir_event_set *set);

/* Returns the index of the event of the user parts of deferred call chains; -1: none. */
int weir_event_set_deferred_event(const struct weir_event_set *set);

/* ---- rings ---- */

/* Whether a descriptor of that ring is open, so that the ring can be mapped. sideband: which of the place's two. */
bool weir_event_set_has_ring(const struct weir_event_set *set, unsigned place, bool sideband);

/*
 * Maps a ring of one place and makes it the output of the place's other events. sideband: which of the place's two.
 * bytes: a power of two. *ring is owned by the caller. 0 or -errno without err (-EPERM: the caller may try smaller).
 */
int weir_event_set_map_ring(struct weir_event_set *set, unsigned place, bool sideband, uint64_t bytes,
                            struct weir_ring *ring);

/*
 * Maps the AUX area of an event at one place, beside the mapped data ring of that place; the place's other events share
 * the area. newest: the kernel overwrites the oldest trace. *area is owned by the caller. 0; -ENOENT: the event is not
 * open there; or -errno as weir_aux_area_map().
 */
int weir_event_set_map_aux(const struct weir_event_set *set, unsigned event, unsigned place, uint64_t bytes,
                           bool newest, const struct weir_ring *ring, struct weir_aux_area *area);

/* The descriptors whose poll(2) reports that ring, which is mapped: one per task, [*count], -1 where the task was gone
 * at the open. Borrowed from set; constant until it is closed. */
const int *weir_event_set_poll_fds(const struct weir_event_set *set, unsigned place, bool sideband, unsigned *count);

enum weir_pause {             /* why the kernel does not write to the data rings */
    WEIR_PAUSE_SNAPSHOT = 1,  /* a snapshot of them is being taken */
    WEIR_PAUSE_FULL_DISK = 2, /* the output has no room */
    WEIR_PAUSE_END = 4,
};

/* Adds or removes a reason. While there is one, the kernel writes to no data ring, and counts the records of that time
 * as lost. */
void weir_event_set_pause(struct weir_event_set *set, enum weir_pause why, bool paused);

/* ---- enable, disable ---- */

/* These ignore a failure at a single descriptor: its task is gone. */

/* Enables the side events, or all others. */
void weir_event_set_enable(struct weir_event_set *set, bool sideband);
void weir_event_set_disable(struct weir_event_set *set);         /* all */
void weir_event_set_disable_samples(struct weir_event_set *set); /* all but the side events */

/* Enables or disables one event, which is the leader of its group. */
void weir_event_set_toggle(struct weir_event_set *set, unsigned event, bool on);

/* Enables one event at one place again: the kernel disabled it when its AUX area was full. */
void weir_event_set_enable_at(struct weir_event_set *set, unsigned event, unsigned place);

/* Disables and enables one event at one place: its PMU has stopped although the kernel takes it to be enabled. */
void weir_event_set_restart_at(struct weir_event_set *set, unsigned event, unsigned place);

/* ---- filters and BPF programs ---- */

/* Keeps the given tasks (weir's own threads) out of the tracepoints, by an event filter on common_pid on top of the
 * events' own filters. Other kinds of events cannot be filtered so. Once, on a set that was opened with
 * exclude_follows. 0 or -errno with err (names event and filter). */
int weir_event_set_exclude_tasks(struct weir_event_set *set, const pid_t *tids, size_t count, struct weir_error *err);

/* Loads the BPF programs of the list, directs their outputs to the events of each CPU, and attaches them: the programs
 * run from now on. Once, when all events are open. 0 or -errno with err and hint. */
int weir_event_set_start_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices,
                                  struct weir_error *err);

/*
 * Warns of each tracepoint that other users' BPF programs are attached to: an occurrence that such a program rejects
 * reaches no recorder and no count (perf_trace_run_bpf_submit(), kernel/events/core.c). Call it while none of the
 * list's own programs runs. Returns whether there were any; false without CAP_PERFMON, which the question needs.
 */
bool weir_event_set_tell_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices);

/* Directs the outputs of the loaded BPF programs to the events of one place, after these were reopened. 0 or the errno
 * of bpf(2). */
int weir_event_set_direct_outputs(const struct weir_event_set *set, unsigned place);

/* Returns the name of an event whose timer interrupts each CPU WEIR_TIMER_STORM_HZ times a second or more: handling
 * the interrupts may take most of the CPUs' time. NULL: there is none. After open(). Borrowed from the list. */
const char *weir_event_set_timer_storm(const struct weir_event_set *set);

/* ---- CPUs that come while recording ---- */

/* Whether the targets are all tasks, by CPU: then all events of a CPU that comes (back) are reopened. Else only those
 * of all tasks are (struct weir_event.all_tasks). */
bool weir_event_set_follows_cpus(const struct weir_event_set *set);

/* Whether any event is reopened when a CPU comes (back). */
bool weir_event_set_reopens(const struct weir_event_set *set);

/*
 * Opens the events of all tasks anew, disabled, on a CPU that came (back); adds their ids to the id map, and retires
 * the old events. A mapped ring becomes the output of the new events; where none is mapped, call
 * weir_event_set_map_ring() next. Then call weir_event_set_enable_place(). From here on the records of that place must
 * be renamed (engine/drain/record_rename.h). Places must be CPUs. 0 or -errno with err; after a failure all is as
 * before.
 */
int weir_event_set_reopen(struct weir_event_set *set, unsigned place, const struct weir_kernel_limits *limits,
                          struct weir_error *err);

/* Enables the reopened events of one place that are enabled at the other places. */
void weir_event_set_enable_place(struct weir_event_set *set, unsigned place);

/* ---- counts ---- */

/*
 * Ends the recording: disables all events, stops the kernel's writing to the data rings for good, reads all counts and
 * detaches the BPF programs. weir_event_set_read() returns these counts from now on. Without memory for the counts it
 * still asks the kernel. Every record in a ring was counted before the counts are read, so the counts match what is
 * drained afterwards. One exception: the children of a task that forks just now, and is held up for longer than the
 * second toggle waits, keep their events enabled.
 */
void weir_event_set_end(struct weir_event_set *set);

/* Reads the counts of one descriptor. 0; -ENOENT: its task was gone at the open, or weir_event_set_end() could not read
 * them; or the errno of read(2). */
int weir_event_set_read(const struct weir_event_set *set, unsigned event, unsigned place, unsigned task,
                        struct weir_event_count *count);

/* Samples that the kernel had no room for until now, of all events but the side events, retired ones included. */
uint64_t weir_event_set_read_lost(const struct weir_event_set *set);

#endif
