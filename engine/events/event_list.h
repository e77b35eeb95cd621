/*
 * The list of events that a recording opens, in the order of the file's attrs: those of -e, then those that weir adds
 * for side records. Main thread, set-up; allocates.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_LIST_H
#define WEIR_ENGINE_EVENTS_EVENT_LIST_H

#include <stddef.h>

#include "engine/events/bpf_programs.h"
#include "engine/events/event.h"

struct weir_event_list {
    struct weir_event *events; /* owned */
    size_t count;
    size_t capacity;
    const struct weir_bpf_build *bpf_build; /* borrowed while texts are parsed; NULL: defaults */
    struct weir_bpf_programs **bpf;         /* owned, with what they point to; one for each BPF file of -e */
    size_t bpf_count, bpf_room;
};

#define WEIR_EVENT_LIST_INIT         \
    {                                \
        NULL, 0, 0, NULL, NULL, 0, 0 \
    }

/* Frees the events, the BPF programs and the list's memory. NULL-safe. */
void weir_event_list_fini(struct weir_event_list *list);

/* Appends an event that leads itself and is otherwise zero. NULL: out of memory, and the list is unchanged. The pointer
 * is valid until the next append. */
struct weir_event *weir_event_list_append(struct weir_event_list *list);

/* Frees the events from index `count` on. */
void weir_event_list_truncate(struct weir_event_list *list, size_t count);

/* Appends the sideband event (PERF_COUNT_SW_DUMMY, named dummy:u as by perf 6.12), which carries mmap, comm and task
 * records. It needs no more privileges than the target. 0 or -ENOMEM. */
int weir_event_list_add_sideband(struct weir_event_list *list);

/* Appends the event of off-CPU time, before the side events. Its samples can be of any task of a CPU, so that it is
 * opened on each CPU for all tasks. 0 or -ENOMEM. */
int weir_event_list_add_off_cpu(struct weir_event_list *list);

/*
 * Appends, behind the sideband event, the event whose side records are the user parts of deferred call chains
 * (PERF_COUNT_SW_DUMMY, named WEIR_DEFERRED_EVENT). It needs no more privileges than the target. 0 or -ENOMEM.
 *
 * Its records go to the data rings. There they are in the same chunk as their samples, are kept and overwritten
 * together with these, and take no room from mappings. An event of its own counts those that are lost.
 */
#define WEIR_DEFERRED_EVENT "deferred-chains"
int weir_event_list_add_deferred(struct weir_event_list *list);

/*
 * Appends, behind the sideband event, a side event that is opened on each CPU for all tasks. If the config asks for
 * context switches, the event carries those of all tasks. If the config asks for changes of the kernel's code, the
 * event carries TEXT_POKE, and KSYMBOL of code made at run time. These belong to no task. Needless where all tasks are
 * recorded, because the sideband event carries these records there. Needs the privileges of recording a CPU. 0 or
 * -ENOMEM.
 */
int weir_event_list_add_text_pokes(struct weir_event_list *list);

/* Makes all events one group, as perf's --group does. Its leader is the AUX event, moved to the front; without an AUX
 * event it is the first one. */
void weir_event_list_group(struct weir_event_list *list);

/* Moves the event and the others of its group before all others. Both parts keep their order. */
void weir_event_list_to_front(struct weir_event_list *list, size_t index);

/*
 * Returns the index of the event to which a sample with a foreign id belongs. A foreign id is of no event of this
 * configured list. -1: no event can have such samples, or several can. named: the software event that the id belongs
 * to, NULL where it is unknown.
 *
 * The kernel prepares the sample of a software event once for all events of that kind, also those of other recorders
 * (clocks and tracepoints excepted). So the samples get the id of the first such event on the CPU (do_perf_sw_event()
 * and perf_prepare_sample(), kernel/events/core.c of Linux 6.18). Reads only what is constant while recording; any
 * thread.
 */
int weir_event_list_find_misnamed(const struct weir_event_list *list, const struct weir_event *named);

#endif
