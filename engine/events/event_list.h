/*
 * Events to record: from `-e` text to perf_event_attr. Main thread, set-up only; every function may allocate.
 *
 * The grammar is that of perf-list(1); engine/events/event_parse.c has it in full.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_LIST_H
#define WEIR_ENGINE_EVENTS_EVENT_LIST_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "engine/events/bpf_programs.h"
#include "engine/events/call_graph.h"
#include "engine/events/sample_options.h"

/* What an event's own terms (event/period=N,.../) ask for, as bits of weir_event_terms.given. */
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
};

/* Values of the terms; a field counts only when its bit is in `given`. */
struct weir_event_terms {
    uint32_t given; /* set of enum weir_event_term */
    uint64_t period;
    uint64_t freq_hz;
    bool time, inherit, overwrite, percore, aux_output;
    enum weir_call_graph call_graph; /* "no" is WEIR_CALL_GRAPH_NONE */
    uint32_t stack_bytes;            /* of each dump of the user stack, for WEIR_CALL_GRAPH_DWARF */
    uint32_t max_stack;              /* frames */
    uint32_t max_events;             /* perf trace's limit; recording has no use for it */
    uint32_t aux_sample_bytes;
    uint64_t branch_filter; /* PERF_SAMPLE_BRANCH_* */
};

/* Which AUX area an event fills: a trace beside its ring, of which the records in the ring tell only where it is. By
 * the name of its PMU; engine/events/aux_events.h says what follows. */
enum weir_aux_kind {
    WEIR_AUX_KIND_NONE,
    WEIR_AUX_KIND_INTEL_PT,  /* intel_pt */
    WEIR_AUX_KIND_INTEL_BTS, /* intel_bts */
    WEIR_AUX_KIND_ARM_SPE,   /* arm_spe_N */
    WEIR_AUX_KIND_CS_ETM,    /* cs_etm */
};

/* What an AUX area asks of an event; all 0 for one that has nothing to do with any. */
struct weir_event_aux {
    uint64_t config_given;    /* of an AUX event: the bits of attr.config that its terms have set */
    uint64_t period;          /* likewise: unless -c, -F or its terms say otherwise */
    uint64_t sample_type;     /* likewise: PERF_SAMPLE_* on top of the others */
    uint32_t watermark_bytes; /* likewise: wake up after so many bytes of trace; 0: half of the area */
    uint32_t sample_bytes;    /* of another event: its samples hold so many bytes of its leader's area */
};

/* The letters behind an event's colon, and behind its group's. */
struct weir_event_modifiers {
    uint16_t letters; /* event_modifiers.c's bits */
    uint8_t precise;  /* how many p */
};

struct weir_event {
    char *name;                  /* owned; as perf names it in its files: the user's spelling */
    struct perf_event_attr attr; /* type, config, exclude_*, precise_ip from the text; the rest by _configure() */
    char *tracepoint_system;     /* owned; NULL when not a tracepoint */
    char *tracepoint_name;       /* owned */
    bool name_given;             /* by name=: it stays when the event falls back to another */
    struct weir_event_modifiers modifiers;
    bool modifiers_given; /* the user named one of :u :k :h :I :G :H: no silent fallback to another exclude_* */
    bool precise_max;     /* :P: precise_ip is the first to try, see weir_event_lower_precision() */
    bool sideband;        /* made by weir_event_list_add_sideband() or _add_text_pokes(), not a dummy of the user */
    bool all_tasks;       /* of a CPU, whatever tasks are recorded */
    struct weir_event_terms terms;
    enum weir_aux_kind aux; /* of its own; NONE: it has no AUX area */
    struct weir_event_aux aux_attr;
    char *group_name;            /* owned; of the leader's group, name{a,b}; NULL: none */
    size_t leader;               /* index in the list of its group's leader; its own when it stands alone */
    bool weak_group;             /* :W: the group may be broken up when the kernel refuses it */
    bool sample_read;            /* :S: the leader samples, the members are read with it */
    char *filter;                /* owned; of --filter; NULL: none */
    struct weir_cpuset pmu_cpus; /* owned; the CPUs that its PMU is for; empty: all */
    char *pmu_name;              /* owned; NULL: the event is of no PMU in particular */
    char *cgroup;                /* owned; of -G, a path in the cgroup hierarchy; NULL: whatever runs */
    int cgroup_fd;               /* its folder, by weir_cgroup_open(), owned unless it is shared; -1: not open */
    bool shares_cgroup_fd;       /* it is that of an earlier event of the same cgroup */
    const struct weir_bpf_programs *bpf; /* borrowed from the list; whose output this is; NULL: of none */
    size_t bpf_index;                    /* of the output among the events of these programs */
    double scale;                        /* of the counts; 1 unless an alias says otherwise */
    char *unit;                          /* owned; of count x scale; NULL: none */
};

struct weir_event_list {
    struct weir_event *events; /* owned */
    size_t count;
    size_t capacity;
    const struct weir_bpf_build *bpf_build; /* borrowed while texts are parsed; NULL: as it comes */
    struct weir_bpf_programs **bpf;         /* owned, and what they point to; of the files in the texts */
    size_t bpf_count, bpf_room;
};

#define WEIR_EVENT_LIST_INIT         \
    {                                \
        NULL, 0, 0, NULL, NULL, 0, 0 \
    }

/*
 * Appends the events of one -e argument. tracefs is looked at for tracepoints only, sysfs for the events of PMUs.
 * 0, -EINVAL (grammar, value or term: err says what and at which column), -ENOENT (unknown event, PMU or tracepoint:
 * the hint names the nearest one), -ENODEV (tracefs not mounted: the hint has the command), -EACCES (tracefs not
 * readable), -ENOMEM; for a BPF file what weir_bpf_programs_open() says. On failure the list has the events that it
 * had.
 */
int weir_event_list_parse(struct weir_event_list *list, const char *text, struct weir_error *err);

/*
 * Gives the events from index `first` on a filter, as perf's --filter does to the events of the -e before it; a second
 * one is "(FIRST) && (SECOND)". Tracepoints, and events of PMUs with address filters (engine/events/address_filter.h;
 * then "FIRST,SECOND"). Whether the kernel understands it shows when the events are opened. 0, -EINVAL (an event of
 * another kind: err names it and the filter; or an address filter that cannot be resolved), -ENOMEM. On failure events
 * before the bad one may have it.
 */
int weir_event_list_filter(struct weir_event_list *list, size_t first, const char *text, struct weir_error *err);

/* Makes all events one group, which the first one leads, as perf's --group does: the AUX event where there is one,
 * which comes first then. */
void weir_event_list_group(struct weir_event_list *list);

/* Moves the event, and the others of its group, before all others; their order stays, and that of the others. */
void weir_event_list_to_front(struct weir_event_list *list, size_t index);

/* Appends perf's default event: cycles, at the highest precision the machine has (cycles:P in perf's words), host only
 * except on AMD, whose precise events cannot tell guests apart; one for each kind of core. 0 or -ENOMEM. */
int weir_event_list_add_default(struct weir_event_list *list);

/* Appends the sideband event (PERF_COUNT_SW_DUMMY, named dummy:u as by perf 6.12) that carries mmap, comm and task
 * records. Needs no more privileges than the target does. 0 or -ENOMEM. */
int weir_event_list_add_sideband(struct weir_event_list *list);

/* Appends, behind the sideband event, one that is opened on each CPU for all tasks: for changes of the kernel's code
 * (TEXT_POKE, and KSYMBOL of code that is made at run time), which are of no task, and for the context switches of all
 * tasks, each as the config says. Where all tasks are recorded the sideband event itself tells of them. Needs what
 * recording a CPU needs. 0 or -ENOMEM. */
int weir_event_list_add_text_pokes(struct weir_event_list *list);

/*
 * What to try next when the kernel refused an event, in this order, each until it returns false. All three change attr
 * (configured or not) and return true when the event is worth opening again; the caller says so to the user.
 */

/* :P only: lowers precise_ip by one. False at 0 and for a precision that the user gave as p's. For ENOENT, EOPNOTSUPP
 * and EINVAL: how machines say that they are not that precise. */
bool weir_event_lower_precision(struct weir_event *event);

/* Takes back that guests, or the host, are left out, where nobody named them (G, H). False: nothing is to be taken
 * back. For EINVAL, which is how PMUs say that they cannot tell them apart. */
bool weir_event_include_machines(struct weir_event *event);

/* :P only: back to the highest. For attrs that were weakened otherwise since: what was refused may not have been the
 * precision. */
void weir_event_restore_precision(struct weir_event *event);

/* cycles -> cpu-clock, which needs no PMU; renames it, keeping the modifiers that a clock can honour (not p and P).
 * False for any other event, and when out of memory. For ENOENT, ENXIO and ENODEV. */
bool weir_event_fall_back_to_software(struct weir_event *event);

/* event -> event:u, for kernel.perf_event_paranoid 2 and above; renames it. False when the user named what to look at,
 * when it is user space only already, for tracepoints (they fire in the kernel) and when out of memory. For EACCES. */
bool weir_event_fall_back_to_user(struct weir_event *event);

void weir_event_list_fini(struct weir_event_list *list);

/* --all-kernel, --all-user: every event of the list looks at that side only, whatever its modifiers say; there is no
 * fall-back to another side then. */
enum weir_event_side {
    WEIR_EVENT_SIDE_KERNEL,
    WEIR_EVENT_SIDE_USER,
};
void weir_event_list_limit_to(struct weir_event_list *list, enum weir_event_side side);

/* How samples are taken and what they hold, for all events of a list alike. */
struct weir_event_config {
    uint64_t freq_hz;          /* 0 when period is used */
    uint64_t period;           /* 0 when freq_hz is used; exactly one of the two is set */
    bool period_or_freq_given; /* by -c or -F: overrides a tracepoint's own period of 1 */
    struct weir_sample_options samples;
    bool system_wide;         /* -a or -C */
    bool inherit;             /* children too; without effect on events of CPUs, as perf has it */
    bool inherit_stat;        /* counts of each thread that ends, in a READ record */
    bool starts_disabled;     /* samples: they are switched on later, not by exec */
    bool enable_on_exec;      /* workload without -a; never together with system_wide */
    bool build_ids_in_maps;   /* --buildid-mmap */
    bool text_pokes;          /* changes of the kernel's code are told */
    bool all_switches;        /* context switches of all tasks are told, of whichever samples are taken */
    bool without_ids;         /* of one event, besides that of side records: no record says which it is of */
    bool overwrite;           /* rings of the newest samples, unless an event's own term says otherwise */
    uint32_t watermark_bytes; /* wake up the reader after so many bytes */
    uint32_t sideband_watermark_bytes;
};

/*
 * Completes every attr but type, config, exclude_*, precise_ip, pinned, exclusive and breakpoint fields, which the text
 * has set: size, sampling, sample_type (IDENTIFIER unless config->without_ids, IP, TID, TIME, CPU; the others as
 * config->samples and perf have them), read_format ID|LOST, sample_id_all, disabled, inherit, watermark. An event's own
 * terms go before the config. Every event gets the same sample_id trailer layout, so that any reader can parse side
 * records with the first attr (docs/format.md). Of a group whose leader is sampled with its members (:S), the members
 * do not sample. Sideband attrs get mmap, mmap2, comm, comm_exec, task, ksymbol, bpf_event, what config->samples adds
 * to these, and no samples. All leaders start disabled, but for the sideband event of other targets than a fresh
 * workload, and that of text pokes: it counts from its opening, so that nothing is missed between that and the
 * synthesis of what was there before, or the copy of the kernel. What differs from perf, and why:
 * docs/compatibility.md. Does not allocate; may be called again with another config.
 */
void weir_event_list_configure(struct weir_event_list *list, const struct weir_event_config *config);

/* Says what of config->samples cannot be had with these events, or together, and what is recorded instead. Once, before
 * they are opened; sink may be NULL. */
void weir_event_list_tell_limits(const struct weir_event_list *list, const struct weir_event_config *config,
                                 const struct weir_notice_sink *notices);

/* Whether samples go to rings that the kernel overwrites: 1 or 0; -EINVAL with err when some do and others do not, for
 * they share a ring, or when a group is read with its leader. wanted: of events without a term for it. */
int weir_event_list_overwrites(const struct weir_event_list *list, bool wanted, struct weir_error *err);

/* True for the events that add_sideband() and add_text_pokes() made. */
bool weir_event_is_sideband(const struct weir_event *event);

/*
 * Of a configured event, whether its count is how often a sample of it was due: of period 1, and one that happens.
 * Those that measure count more: clocks, PMUs, which run on while a sample is made, and the scheduler's tracepoints
 * that count nanoseconds (the users of __perf_count(), include/trace/events/sched.h of Linux 6.18).
 */
bool weir_event_counts_samples(const struct weir_event *event);

/*
 * Of one that counts its samples, whether the event of a task counts more: what happens to the task while it sleeps.
 * The kernel gives tracepoints of being woken to the task that is woken, too (the users of __perf_task(), as above),
 * and makes no sample there of an event that is not active. (perf_swevent_event(), kernel/events/core.c of
 * Linux 6.18.44; kernels before made it.)
 */
bool weir_event_counts_sleepers(const struct weir_event *event);

/*
 * Of a configured list, the event that a sample with an id of none of them is of; -1: there is none, or more than one.
 * named: the event in software whose id it has, NULL where nobody knows.
 * The kernel prepares what happens in software, but for clocks and tracepoints, once for all events of it, whoever
 * records them: but for the first of a CPU, their samples get its id (do_perf_sw_event() and perf_prepare_sample(),
 * kernel/events/core.c of Linux 6.18). Reads what does not change while recording; any thread.
 */
int weir_event_list_find_misnamed(const struct weir_event_list *list, const struct weir_event *named);

#endif
