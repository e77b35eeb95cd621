/*
 * One event to record: what -e says of it, its perf_event_attr, and what it becomes when the kernel refuses it.
 *
 * The functions that weaken an event change its attr, before and after its configuration. They return true when the
 * event is worth opening again. The caller tells the user. Each is called until it returns false. Main thread, set-up.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_H
#define WEIR_ENGINE_EVENTS_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "engine/events/bpf_programs.h"
#include "engine/events/call_graph.h"
#include "engine/events/event_modifiers.h"

#define WEIR_PRECISE_IP_MAX 3 /* attr.precise_ip has two bits: SAMPLE_IP must have zero skid */

/* Terms that an event may have (event/period=N,.../), as bits of weir_event_terms.given. */
enum weir_event_term {
    WEIR_TERM_PERIOD = 1u << 0,
    WEIR_TERM_FREQ = 1u << 1,
    WEIR_TERM_TIME = 1u << 2,
    WEIR_TERM_CALL_GRAPH = 1u << 3,
    WEIR_TERM_STACK_SIZE = 1u << 4,
    WEIR_TERM_MAX_STACK = 1u << 5,
    WEIR_TERM_MAX_EVENTS = 1u << 6,
    WEIR_TERM_INHERIT = 1u << 7,
    WEIR_TERM_OVERWRITE = 1u << 8,
    WEIR_TERM_BRANCH = 1u << 9,
    WEIR_TERM_PERCORE = 1u << 10,
    WEIR_TERM_AUX_OUTPUT = 1u << 11,
    WEIR_TERM_AUX_SAMPLE_SIZE = 1u << 12,
    WEIR_TERM_AUX_ACTION = 1u << 14,
    WEIR_TERM_CPU = 1u << 15,
    WEIR_TERM_RATIO = 1u << 16,
    WEIR_TERM_METRIC_ID = 1u << 13, /* perf stat's name of a metric's event; recording has no use for it */
};

/* The term aux-action: perf_event_attr.aux_action of Linux 6.13. */
enum weir_aux_action {
    WEIR_AUX_ACTION_START_PAUSED = 1u << 0, /* of an AUX event: its trace begins when another event resumes it */
    WEIR_AUX_ACTION_PAUSE = 1u << 1,        /* of a member of its group: an occurrence pauses the trace */
    WEIR_AUX_ACTION_RESUME = 1u << 2,       /* likewise: resumes it */
};

/* Values of the terms; a field counts only when its bit is in `given`. */
struct weir_event_terms {
    uint32_t given; /* set of enum weir_event_term */
    uint64_t period;
    uint64_t freq_hz;
    bool time, inherit, overwrite, aux_output;
    enum weir_call_graph call_graph; /* "no" is WEIR_CALL_GRAPH_NONE */
    uint32_t stack_bytes;            /* of each copy of the user stack, for WEIR_CALL_GRAPH_DWARF */
    uint32_t max_stack;              /* frames */
    uint32_t aux_sample_bytes;
    uint64_t branch_filter; /* PERF_SAMPLE_BRANCH_*; 0 after branch_type=no */
    enum weir_aux_action aux_action;
    double ratio; /* ratio-to-prev, above 0: of its period to that of the event before it (event_ratio.h) */
};

/* The kind of AUX area that an event fills, by the name of its PMU. The trace goes to the area; the event's ring has
 * only AUX records, which tell where in the area the trace is. */
enum weir_aux_kind {
    WEIR_AUX_KIND_NONE,
    WEIR_AUX_KIND_INTEL_PT,  /* intel_pt */
    WEIR_AUX_KIND_INTEL_BTS, /* intel_bts */
    WEIR_AUX_KIND_ARM_SPE,   /* arm_spe_N */
    WEIR_AUX_KIND_CS_ETM,    /* cs_etm */
};

/* What an AUX area adds to the attr of an event; all 0 for an event without one. */
struct weir_event_aux {
    uint64_t config_given;    /* of an AUX event: the bits of attr.config that its terms have set */
    uint64_t period;          /* of an AUX event: unless -c, -F or its terms say otherwise */
    uint64_t sample_type;     /* of an AUX event: PERF_SAMPLE_* that it has on top of the usual ones */
    uint32_t watermark_bytes; /* of an AUX event: trace after which the kernel wakes the reader; 0: half of the area */
    uint32_t sample_bytes;    /* of a member of its group: trace that each of the member's samples holds */
    uint32_t action;          /* enum weir_aux_action, of the event and of members of its group; 0: none */
};

struct weir_event {
    char *name; /* owned; in the file: the user's spelling, as perf writes it */
    struct perf_event_attr
        attr;                /* -e sets type, config, exclude_* and precise_ip; weir_event_list_configure() the rest */
    char *tracepoint_system; /* owned; NULL: not a tracepoint */
    char *tracepoint_name;   /* owned */
    bool name_given;         /* by the term name=: the name stays when the event falls back to another */
    struct weir_event_modifiers modifiers;
    bool modifiers_given; /* the user named one of :u :k :h :I :G :H: exclude_* is never changed silently */
    bool precise_max;     /* :P: precise_ip is the highest to try (weir_event_lower_precision()) */
    bool sideband;        /* weir added it for side records; a dummy event of the user is none */
    bool off_cpu;         /* weir added it for --off-cpu: a BPF program makes its samples (engine/bpf/off_cpu.h) */
    bool deferred;        /* weir added it for the user parts of deferred call chains, which go to data rings */
    bool all_tasks;       /* it is opened on each CPU for all tasks, whatever tasks are recorded */
    struct weir_event_terms terms;
    enum weir_aux_kind aux; /* of its own area; NONE: it has none */
    struct weir_event_aux aux_attr;
    char *group_name; /* owned; of a leader: name{a,b}; NULL: none */
    size_t leader;    /* index in the list of its group's leader; its own index when it stands alone */
    bool weak_group;  /* :W: the group may be broken up when the kernel refuses it */
    bool sample_read; /* :S: the leader samples, and each sample holds the counts of the members */
    char *filter;     /* owned; of --filter, for the kernel; NULL: none */
    struct weir_sample_filter *sample_filter; /* owned; of --filter, for a BPF program (sample_filter.h); NULL: none */
    struct weir_cpuset pmu_cpus; /* owned; the CPUs of the term cpu, else those on which its PMU counts; empty: all */
    char *pmu_name;              /* owned; NULL: the event names no PMU */
    char *cgroup;                /* owned; of -G, a path in the cgroup hierarchy; NULL: of no cgroup */
    int cgroup_fd;               /* the cgroup's folder, by weir_cgroup_open(); owned unless shared; -1: not open */
    bool shares_cgroup_fd;       /* cgroup_fd belongs to an earlier event of the same cgroup */
    const struct weir_bpf_programs *bpf; /* borrowed from the list; the programs whose output it is; NULL: of none */
    size_t bpf_index;                    /* number of the output among the events of these programs */
    double scale;                        /* of the counts; 1 unless an alias says otherwise */
    char *unit;                          /* owned; of count x scale; NULL: none */
};

/* Lowers precise_ip of an event with :P by one. False at 0, and for a precision that the user gave as p's. For ENOENT,
 * EOPNOTSUPP and EINVAL: machines return each of them for a precision that they do not have. */
bool weir_event_lower_precision(struct weir_event *event);

/* Sets precise_ip of an event with :P back to the highest: after its attr was weakened in another way, the higher
 * precision may work. */
void weir_event_restore_precision(struct weir_event *event);

/* Clears exclude_guest and exclude_host unless the user gave G or H. False: both are clear, or given. For EINVAL: PMUs
 * return it when they cannot tell guest from host. */
bool weir_event_include_machines(struct weir_event *event);

/* Replaces cycles by cpu-clock, which needs no PMU. The new name keeps the terms, and the modifiers but p and P. False
 * for any other event, and when out of memory. For ENOENT, ENXIO and ENODEV. */
bool weir_event_fall_back_to_software(struct weir_event *event);

/* Limits the event to user space, as kernel.perf_event_paranoid 2 and above demands, and adds :u to its name. False
 * when the user gave a level, for user space already, for tracepoints (they fire in the kernel), and when out of
 * memory. For EACCES. */
bool weir_event_fall_back_to_user(struct weir_event *event);

/*
 * Whether the count of a configured event is the number of samples that were due: its period is 1, and it counts
 * occurrences. False for events that measure: clocks, PMUs (they run on while the kernel makes a sample), and the
 * scheduler's tracepoints that count nanoseconds (users of __perf_count(), include/trace/events/sched.h of Linux 6.18).
 */
bool weir_event_counts_samples(const struct weir_event *event);

/* Whether the event is cpu-clock or task-clock: it counts nanoseconds, and the kernel has a timer for it. */
bool weir_event_is_clock(const struct perf_event_attr *attr);

/*
 * Whether a task's count of an event that counts its samples includes occurrences while the task sleeps. The kernel
 * gives the tracepoints of waking a task to the woken task, too (users of __perf_task(), include/trace/events/sched.h).
 * Linux 6.18.44 makes no sample there for an event that is not active (perf_swevent_event(), kernel/events/core.c);
 * earlier kernels did.
 */
bool weir_event_counts_sleepers(const struct weir_event *event);

#endif
