/*
 * Gathers the facts that all files of a recording state: events with ids, the machine, the command line, the clock, the
 * recording that -A continues.
 *
 * The coordinator gathers the facts once, after it opens events and rings and before it opens the first file. From then
 * on the facts are const, and any thread may read them until fini().
 */
#ifndef WEIR_ENGINE_FILES_FILE_FACTS_H
#define WEIR_ENGINE_FILES_FILE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/notice.h"
#include "engine/events/event_list.h"
#include "engine/events/event_set.h"
#include "engine/events/sample_clock.h"
#include "engine/files/append.h"
#include "engine/plan/record_options.h"
#include "format/event_desc.h"
#include "format/kcore.h"
#include "topology/topology.h"

struct weir_file_facts {
    const struct weir_record_options
        *options;                         /* borrowed: kind of output, --sync, command line, compression, notices */
    const struct weir_append *append;     /* borrowed; the recording that -A continues; NULL: none */
    const struct weir_kcore *kcore;       /* borrowed; open with --kcore */
    struct weir_machine machine;          /* owned */
    struct weir_event_desc *descriptions; /* owned; events as the file describes them; one at least */
    unsigned description_count;           /* all events, or all but the side event where records carry no ids */
    uint64_t **description_ids;           /* owned; [event] */
    size_t id_room;                       /* ids for which the head has room, per event */
    struct weir_sample_clock clock;       /* -k */
    struct weir_clock_reference clock_reference; /* of `clock`, at the start */
    bool has_branch_stacks; /* -b, -j; false for LBR call stacks, as consumers would sort by them */
    uint32_t chunk_bytes;   /* the most that one COMPRESSED record expands to */
    char tracefs[128];      /* mount point of tracefs; "" without tracepoints */
};

struct weir_file_facts_sources {
    const struct weir_record_options *options;          /* borrowed until fini */
    const struct weir_event_set *events;                /* open; borrowed for the call */
    const struct weir_event_config *config;             /* borrowed for the call */
    const struct weir_topology *topology;               /* borrowed for the call */
    const struct weir_clock_reference *clock_reference; /* borrowed for the call */
    struct weir_append *append;                         /* borrowed until fini; NULL: no -A */
    const struct weir_kcore *kcore;                     /* borrowed until fini */
    uint32_t chunk_bytes;
};

/*
 * Gathers the facts into *facts, which is all zeros. 0, or with err: -ENOMEM; -EINVAL, if the continued file has other
 * events; -ESTALE, if it is of another boot; -errno of the search for tracefs. Call fini() in any case.
 */
int weir_file_facts_gather(struct weir_file_facts *facts, const struct weir_file_facts_sources *sources,
                           struct weir_error *err);

/* Frees the facts. Call this before the events are closed, because descriptions borrow their names. Accepts facts of
 * all zeros. */
void weir_file_facts_fini(struct weir_file_facts *facts);

#endif
