/*
 * Events to record: from `-e` text to perf_event_attr.
 *
 * Grammar so far (perf-list(1)): software and hardware names and aliases, rNNN, tracepoints sys:name, with modifiers
 * (:u :k :h :H :G :p...) and comma lists; event_list.c is the only place that knows it.
 */
#ifndef WEIR_ENGINE_EVENT_LIST_H
#define WEIR_ENGINE_EVENT_LIST_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct weir_event {
    char *name;                  /* owned; as perf names it in its files: the user's spelling */
    struct perf_event_attr attr; /* type, config, exclude_*, precise_ip from the text; the rest by _configure() */
    char *tracepoint_system;     /* owned; NULL when not a tracepoint */
    char *tracepoint_name;       /* owned */
    bool modifiers_given;        /* the user named :u, :k ...: no silent fallback to another exclude_* */
};

struct weir_event_list {
    struct weir_event *events; /* owned */
    size_t count;
    size_t capacity;
};

#define WEIR_EVENT_LIST_INIT \
    {                        \
        NULL, 0, 0           \
    }

/*
 * Appends the events of one -e argument. tracefs is looked at for tracepoints only.
 * 0, -EINVAL (grammar: err says what and at which column), -ENOENT (unknown event: the hint names the nearest one; no
 * such tracepoint; tracefs not mounted: the hint has the command), -EACCES (tracefs not readable), -ENOMEM.
 * On failure the list is unchanged.
 */
int weir_event_list_parse(struct weir_event_list *list, const char *text, struct weir_error *err);

/* Appends perf's default event: cycles, at the highest precision the machine has (cycles:P in perf's words).
 * 0 or -ENOMEM. */
int weir_event_list_add_default(struct weir_event_list *list);

/* Appends the sideband event (PERF_COUNT_SW_DUMMY) that carries mmap, comm and task records. 0 or -ENOMEM. */
int weir_event_list_add_sideband(struct weir_event_list *list);

/* Turns an event that this machine's kernel refused into what perf falls back to: cycles -> cpu-clock. Returns true and
 * renames it when there is a fallback. */
bool weir_event_fall_back_to_software(struct weir_event *event);

void weir_event_list_fini(struct weir_event_list *list);

/* How samples are taken and what they hold, for all events of a list alike. */
struct weir_event_config {
    uint64_t freq_hz;          /* 0 when period is used */
    uint64_t period;           /* 0 when freq_hz is used */
    bool period_or_freq_given; /* by -c or -F: overrides a tracepoint's own period of 1 */
    bool call_graph;
    bool system_wide;         /* -a or -C */
    bool inherit;             /* task targets: children too */
    bool enable_on_exec;      /* workload without -a */
    uint32_t watermark_bytes; /* wake up the reader after so many bytes */
    uint32_t sideband_watermark_bytes;
};

/*
 * Completes every attr: size, sampling, sample_type (IDENTIFIER, IP, TID, TIME, CPU, PERIOD as perf has them, RAW for
 * tracepoints, CALLCHAIN), read_format ID|LOST (and the totals that perf asks for), sample_id_all, disabled, inherit,
 * watermark. Every event gets the same sample_id trailer layout, so that any reader can parse side records with the
 * first attr (docs/format.md). Sideband attrs get mmap, mmap2, comm, comm_exec, task, ksymbol, bpf_event.
 */
void weir_event_list_configure(struct weir_event_list *list, const struct weir_event_config *config);

/* True for the event that add_sideband() made. */
bool weir_event_is_sideband(const struct weir_event *event);

#endif
