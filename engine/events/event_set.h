/*
 * The open events of a recording: every event on every CPU and target task, their ids, their rings, their counts.
 *
 * One data ring per place (engine/kernel/event_place.h) takes the records of all events there
 * (PERF_EVENT_IOC_SET_OUTPUT), one sideband ring those of the side events (mmap, comm, task ...), so that a storm of
 * samples never costs a mapping. Descriptors lie in a table [event][place][task], in the order in which perf opens
 * them. A place is either
 *
 *     a CPU     every target has a descriptor of each event there, and all of them share the CPU's two rings
 *     a task    (--per-thread) one descriptor of each event, with cpu -1: it follows its task, and so does its ring.
 * The kernel lets no two tasks share such a ring (perf_event_set_output(), kernel/events/core.c), and gives none to an
 * event that is inherited (perf_mmap()); so there are as many rings as threads, and new threads are not recorded.
 *
 * and everything downstream (readers, id map, ledger, LOST_SAMPLES, ids in the file's head) goes by the index of the
 * place. Where no descriptor of a ring is open, that ring does not exist: the task was gone at the open, or no event's
 * PMU counts on that CPU, or it is offline.
 *
 * When a CPU goes offline the kernel takes its events of all tasks off it for good (perf_event_exit_cpu(),
 * kernel/events/core.c), and opens none on a CPU that is offline. So a CPU that comes (back) gets new ones, of which
 * the kernel lets the old ring be the output: readers go on with it. What the old events counted and lost is kept here.
 * Events of single tasks stay with their task, count again when the CPU is back, and can be opened on a CPU that is
 * offline (perf_event_open() looks for the CPU only without a task): so they are, at the start, and children inherit
 * them; a late CPU has no ring until it comes.
 *
 * An event that was opened anew has a new id. What the file calls it stays: each slot has a name from the start, which
 * is the id of the event that was opened there first, or of a late CPU a number that is the id of no event.
 *
 * The members of a group are opened with the descriptor of their leader at the same slot as group_fd; only leaders are
 * switched on and off.
 *
 * What tasks inherit is switched twice, a millisecond apart. The child of a task that forks at a switch takes over the
 * state that its parent's event had before it, and is linked, so that it would be found, where the switch may have
 * passed already (inherit_event(), kernel/events/core.c of Linux 6.18): it and all its descendants would stay off for
 * the whole recording, or on while all is off. (Of 300 enables of four tasks that did nothing but fork 13 left one of
 * them off; 1 of 600 where a second enable came 0.3 to 1 ms later.)
 *
 * Coordinator only, but for weir_event_set_file_id(); opening allocates and blocks, and so does switching.
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
#include "engine/events/event_config.h"
#include "engine/events/event_list.h"
#include "engine/events/targets.h"
#include "engine/kernel/event_place.h"
#include "engine/kernel/id_map.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/kernel_limits.h"
#include "engine/kernel/ring.h"

#define WEIR_EVENT_SETS_ASKING 2 /* for another file, and for a snapshot */

struct weir_event_set {
    const struct weir_kernel *kernel;   /* borrowed */
    struct weir_event_list *list;       /* borrowed; side events are the last ones */
    const struct weir_targets *targets; /* borrowed */
    unsigned event_count;               /* with the side events */
    struct weir_event_place *places;    /* owned; by CPU number, then late ones by CPU number; or as the targets */
    unsigned place_count;
    unsigned late_from;        /* places from here on are late; place_count: none is */
    unsigned task_count;       /* at each place: all targets, or the one that the place is for */
    int *fds;                  /* owned; [event][place][task]; -1: not open */
    uint64_t *ids;             /* owned; same shape; 0 where fd is -1 */
    uint64_t *file_ids;        /* owned; same shape; what the file calls them, constant; 0 where nothing is ever open */
    struct weir_id_map id_map; /* owned */
    /* Owned, constant, where records have no ids (weir_event_config.without_ids), NULL where they have: the samples of
     * each CPU, by its number. Entries without an id: no place is of that CPU. */
    struct weir_id_entry *by_cpu;
    size_t by_cpu_count;
    uint64_t ring_bytes; /* of data rings, once mapped */
    uint64_t sideband_ring_bytes;

    int *apart_fds;                     /* owned; [target]; of events that nothing inherits, for -s; -1: none */
    int *ring_fds;                      /* owned; [place][sideband]: whose ring is mapped; -1: none */
    struct weir_event_retired *retired; /* owned; of CPUs that went and came back */
    size_t retired_count, retired_room;
    unsigned long open_flags; /* of perf_event_open(2), that this kernel takes */
    char *own_tasks;          /* owned; the filter of exclude_tasks(); NULL: none */
    bool *on;                 /* owned; [event], of leaders: counts, or will with the workload's execve(2) */
    bool paused;              /* as pause() has left it: data rings that are mapped later too */
    bool ended;
    struct weir_event_count *last_counts; /* owned; by slot, what end() has read; NULL: it has not, or had no memory */
    /* Borrowed, NULL: none; of the same recording, whose events only ask for something. Set before threads start, and
     * open as long as they run: for ids of theirs (engine/drain/record_rename.h). */
    const struct weir_event_set *asking[WEIR_EVENT_SETS_ASKING];
    unsigned disables; /* how often events were disabled, or went with their CPU, while they could count */
};

struct weir_event_retired { /* an event that its CPU took along */
    unsigned event, place;
    int fd; /* kept open while its ring is in use; -1: closed */
    struct weir_event_count count;
};

struct weir_event_set_setup {
    const struct weir_kernel *kernel;
    struct weir_event_list *list;
    const struct weir_cpuset *cpus;
    const struct weir_cpuset *late_cpus; /* that may come online while recording; NULL: none */
    const struct weir_targets *targets;
    bool per_thread;                        /* a place for each target instead of one for each CPU */
    const struct weir_event_config *config; /* attrs are configured again after a fall-back */
    const struct weir_kernel_limits *limits;
    const struct weir_notice_sink *notices;
    bool exclude_follows; /* weir_event_set_exclude_tasks() is to set the filters: the kernel takes one per event */
};

/*
 * Opens everything, disabled. Falls back as perf does where the user did not ask by name: cycles to cpu-clock where the
 * kernel has no PMU, user space only where paranoia forbids the kernel (each with a notice), and drops attr bits that
 * an older kernel refuses (a verbose notice). Tasks that end meanwhile are passed over; none left is -ESRCH.
 * 0 or -errno with err and hint; then nothing stays open.
 */
int weir_event_set_open(struct weir_event_set *set, const struct weir_event_set_setup *setup, struct weir_error *err);

/* The position of a descriptor, of its id and of what is told of it, in tables that have all of them. */
static inline size_t weir_event_set_slot(const struct weir_event_set *set, unsigned event, unsigned place,
                                         unsigned task)
{
    return ((size_t)event * set->place_count + place) * set->task_count + task;
}

/* What the file calls the event that an entry of the id map is of. Any thread, once the set is open. */
static inline uint64_t weir_event_set_file_id(const struct weir_event_set *set, const struct weir_id_entry *entry)
{
    /* Of events of single tasks there are several at a place; they are never opened anew. */
    bool is_alone = set->task_count == 1 || set->list->events[entry->event].all_tasks;
    return is_alone ? set->file_ids[weir_event_set_slot(set, entry->event, entry->place, 0)] : entry->id;
}

/* Closes all. NULL-safe; half-open is fine. Rings must be unmapped first. */
void weir_event_set_close(struct weir_event_set *set);

/* Descriptors that an open needs, for limits. */
uint64_t weir_event_set_fds_needed(unsigned events, unsigned places, unsigned tasks);

int weir_event_set_fd(const struct weir_event_set *set, unsigned event, unsigned place, unsigned task);
/* The index of the sideband event; what stands behind it are side events, too. */
unsigned weir_event_set_sideband(const struct weir_event_set *set);

/*
 * Maps a ring of one place and redirects the place's other events to it. sideband: which of the two. bytes: a power of
 * two. *ring is owned by the caller. 0 or -errno without err (-EPERM: the caller may try smaller).
 */
int weir_event_set_map_ring(struct weir_event_set *set, unsigned place, bool sideband, uint64_t bytes,
                            struct weir_ring *ring);

/*
 * Maps the AUX area beside the data ring of one place, which is mapped: of the given event, with which the others there
 * share it. newest: the kernel overwrites the oldest. *area is owned by the caller. 0; -ENOENT: the event is not open
 * there; or -errno as weir_aux_area_map().
 */
int weir_event_set_map_aux(const struct weir_event_set *set, unsigned event, unsigned place, uint64_t bytes,
                           bool newest, const struct weir_ring *ring, struct weir_aux_area *area);

/* Enables one event at one place: the kernel had no more room in its AUX area. */
void weir_event_set_enable_at(struct weir_event_set *set, unsigned event, unsigned place);

/* The same for one whose PMU has stopped although the kernel takes it to be enabled: disables it first. */
void weir_event_set_restart_at(struct weir_event_set *set, unsigned event, unsigned place);

/* Loads the BPF programs of the list, directs their outputs to the events of each CPU, and attaches them: they run from
 * now on. Once, when all is open. 0 or -errno with err and hint. */
int weir_event_set_start_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices,
                                  struct weir_error *err);

/*
 * Warns of each tracepoint with BPF programs of others: where one of these lets something not pass, the kernel gives it
 * to no recorder and counts it for none (perf_trace_run_bpf_submit(), kernel/events/core.c). While none of the list's
 * own run. Returns whether there were any; false where nobody is told (CAP_PERFMON).
 */
bool weir_event_set_tell_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices);

/* Directs the outputs of BPF programs, which are loaded, to the events of one place, which were opened anew. 0 or the
 * errno of bpf(2). */
int weir_event_set_direct_outputs(const struct weir_event_set *set, unsigned place);

/* Whether that ring can be mapped: a descriptor of it is open. */
bool weir_event_set_has_ring(const struct weir_event_set *set, unsigned place, bool sideband);

/* The descriptors whose poll(2) reports that ring, which is mapped: one per task, [*count], -1 where the task was gone
 * at the open; borrowed from set, and constant until it is closed. */
const int *weir_event_set_poll_fds(const struct weir_event_set *set, unsigned place, bool sideband, unsigned *count);

/* Keeps the given tasks (weir's own threads) out of tracepoints by an event filter on common_pid, on top of the filters
 * of the events themselves. Other kinds of events cannot be filtered so. Once, on a set that was opened with
 * exclude_follows. 0 or -errno with err (names event and filter). */
int weir_event_set_exclude_tasks(struct weir_event_set *set, const pid_t *tids, size_t count, struct weir_error *err);

/* Stops and restarts the kernel's writing to all data rings; what comes meanwhile is counted as lost. */
void weir_event_set_pause(struct weir_event_set *set, bool paused);

/* Enable and disable: the side events, or all others. Failures of single descriptors (task gone) are passed over. */
void weir_event_set_enable(struct weir_event_set *set, bool sideband);
void weir_event_set_disable(struct weir_event_set *set);         /* all */
void weir_event_set_disable_samples(struct weir_event_set *set); /* all but the side events */

/*
 * The end: disables all, stops the kernel's writing to the data rings for good, and reads all counts, which
 * weir_event_set_read() tells from now on; without memory for them it goes on to ask the kernel. Whatever is in a ring
 * was counted before the counts are read, so these and what is drained afterwards belong together, whatever goes on.
 * BPF programs are detached then.
 * And something may: a child that is forked at this moment and held up for longer than is waited for (above).
 */
void weir_event_set_end(struct weir_event_set *set);

/* Enables or disables one event, which is the leader of its group. Failures as above. */
void weir_event_set_switch(struct weir_event_set *set, unsigned event, bool on);

/* Whether all tasks are recorded by CPU: then all events of a CPU that comes (back) are to be opened anew. Else none
 * are, but for those of all tasks (struct weir_event.all_tasks). */
bool weir_event_set_follows_cpus(const struct weir_event_set *set);

/* Whether any event is of all tasks. */
bool weir_event_set_reopens(const struct weir_event_set *set);

/*
 * Opens the events of all tasks anew on a CPU that came (back), disabled, and adds their ids to the id map; what was
 * open there before is retired. Rings that are mapped go on as output of the new events; where none is,
 * weir_event_set_map_ring() is to follow. Then weir_event_set_enable_place(). From here on records of that place are to
 * be renamed (engine/drain/record_rename.h). The places are CPUs. 0 or -errno with err; then all is as before.
 */
int weir_event_set_reopen(struct weir_event_set *set, unsigned place, const struct weir_kernel_limits *limits,
                          struct weir_error *err);

/* Switches what was opened anew at one place as the events of the others are. */
void weir_event_set_enable_place(struct weir_event_set *set, unsigned place);

/* Reads the counts of one descriptor. 0, -ENOENT (its task was gone at the open; or end() could not read them) or the
 * errno of read(2). */
int weir_event_set_read(const struct weir_event_set *set, unsigned event, unsigned place, unsigned task,
                        struct weir_event_count *count);

/* Samples that the kernel had no room for until now, of all events but the sideband's, also on CPUs that went. */
uint64_t weir_event_set_read_lost(const struct weir_event_set *set);

#endif
