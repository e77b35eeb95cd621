/*
 * From -e text to events. The grammar is that of perf-list(1); engine/events/event_parse.c has it in full. Main thread,
 * set-up; allocates, and reads tracefs for tracepoints and sysfs for the events of PMUs.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_PARSE_H
#define WEIR_ENGINE_EVENTS_EVENT_PARSE_H

#include "base/error.h"
#include "engine/events/event_list.h"

/* Where the parser looks events up. */
struct weir_event_sources {
    const char *tracefs_root; /* NULL: where the machine has it mounted */
    const char *sysfs_root;   /* NULL: /sys */
};

/*
 * Appends the events of one -e argument. sources NULL: the machine's. On failure the list has the events that it had.
 * 0; -EINVAL: wrong grammar, value or term, err has the column; -ENOENT: unknown event, PMU or tracepoint, the hint
 * names the nearest one; -ENODEV: tracefs is not mounted, the hint has the command; -EACCES: tracefs cannot be read;
 * -ENOMEM; and for a BPF file the errors of weir_bpf_programs_open().
 */
int weir_event_list_parse(struct weir_event_list *list, const char *text, const struct weir_event_sources *sources,
                          struct weir_error *err);

/*
 * Appends the events of one --pfm-events argument, by the names of libpfm4 (engine/events/pfm.h). On failure the list
 * has the events that it had. 0; -EINVAL: wrong grammar; -ENOENT: libpfm4 does not know the event on this machine, the
 * hint names the nearest one; -ENOTSUP: weir is built without libpfm4; -ENOMEM.
 */
int weir_event_list_parse_pfm(struct weir_event_list *list, const char *text, struct weir_error *err);

/*
 * Appends perf's default event: cycles at the highest precision that the machine has (cycles:P), one for each kind of
 * core. Guests are left out except on AMD, whose precise events cannot tell them apart. sources NULL: the machine's. 0
 * or -ENOMEM.
 */
int weir_event_list_add_default(struct weir_event_list *list, const struct weir_event_sources *sources);

#endif
