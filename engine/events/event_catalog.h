/*
 * The events that a machine offers, one after the other: what `weir list` shows. Main thread; blocks as reading sysfs
 * and tracefs does, allocates, and opens generic events for a moment to see whether they are there.
 *
 * Source: perf-list(1); which of the generic events are shown follows is_event_supported(),
 * tools/perf/util/print-events.c, Linux 6.1.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_CATALOG_H
#define WEIR_ENGINE_EVENTS_EVENT_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/events/event_parse.h"
#include "engine/kernel/kernel.h"

/* Sections, in the order in which they are visited; a set of bits. */
enum weir_catalog_section {
    WEIR_CATALOG_HARDWARE = 1u << 0,   /* generic hardware events that can be opened */
    WEIR_CATALOG_SOFTWARE = 1u << 1,   /* likewise */
    WEIR_CATALOG_CACHE = 1u << 2,      /* likewise */
    WEIR_CATALOG_PMU = 1u << 3,        /* aliases of PMUs; and PMUs that trace (engine/events/aux_events.h) */
    WEIR_CATALOG_RAW = 1u << 4,        /* forms: rNNN, and the terms of each PMU with bit fields */
    WEIR_CATALOG_BREAKPOINT = 1u << 5, /* a form */
    WEIR_CATALOG_TRACEPOINT = 1u << 6, /* and dynamic probes */
};

#define WEIR_CATALOG_ALL ((WEIR_CATALOG_TRACEPOINT << 1) - 1)

/* All borrowed until the visitor returns; NULL: there is none. */
struct weir_catalog_entry {
    enum weir_catalog_section section;
    const char *name;    /* what -e takes; of a form: with placeholders */
    const char *other;   /* another spelling of the same */
    const char *pmu;     /* of an alias or of a PMU's terms */
    const char *terms;   /* of an alias: what it stands for */
    const char *unit;    /* of an alias: of count x scale */
    const char *dynamic; /* of a tracepoint that somebody made: "kprobe" or "uprobe" */
    double scale;        /* of an alias; 1 for all others */
    bool is_form;        /* name is not an event */
};

struct weir_catalog_setup {
    const struct weir_kernel *kernel;
    const struct weir_event_sources *sources; /* NULL: the machine's */
    unsigned sections;                        /* set of enum weir_catalog_section */
};

/*
 * Visits each entry of the sections until the visitor returns non-zero, which is then returned; entries of a section
 * come in the order of their names. 0, -ENOMEM, or, when everything else was
 * visited, what kept the tracepoints from being read: -EACCES, -ENODEV (err and its hint say why).
 */
int weir_catalog_visit(const struct weir_catalog_setup *setup,
                       int (*visit)(void *ctx, const struct weir_catalog_entry *entry), void *ctx,
                       struct weir_error *err);

/*
 * Whether the entry is meant by a word of the user: a pattern (glob(7)) that matches its name or its other spelling;
 * one without a colon may match anywhere in it, as perf list does it.
 */
bool weir_catalog_matches(const struct weir_catalog_entry *entry, const char *word);

/* The section of that name (hw, hardware, sw, software, cache, hwcache, pmu, raw, breakpoint, tracepoint); 0: none. */
unsigned weir_catalog_section(const char *word);

/* The sections in which a pattern may match: tracepoints only when it has a colon, else all that have names. */
unsigned weir_catalog_sections_of_pattern(const char *pattern);

#endif
