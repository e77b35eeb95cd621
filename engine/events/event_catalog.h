/*
 * The events of the machine, for `weir list`. Main thread; allocates, reads sysfs and tracefs, and opens each generic
 * event for a moment to see whether the kernel has it.
 *
 * Source: perf-list(1); is_event_supported(), tools/perf/util/print-events.c, Linux 6.1, for the generic events.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_CATALOG_H
#define WEIR_ENGINE_EVENTS_EVENT_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/events/event_parse.h"
#include "engine/kernel/kernel.h"

/* Sections, in the order in which weir_catalog_visit() visits them; bits of a set. */
enum weir_catalog_section {
    WEIR_CATALOG_HARDWARE = 1u << 0,   /* generic hardware events that can be opened */
    WEIR_CATALOG_SOFTWARE = 1u << 1,   /* generic software events that can be opened */
    WEIR_CATALOG_CACHE = 1u << 2,      /* generic cache events that can be opened */
    WEIR_CATALOG_PMU = 1u << 3,        /* aliases of PMUs, and PMUs that trace into an AUX area */
    WEIR_CATALOG_RAW = 1u << 4,        /* forms: rNNN, and the terms of each PMU with bit fields */
    WEIR_CATALOG_BREAKPOINT = 1u << 5, /* the form of a breakpoint */
    WEIR_CATALOG_PFM = 1u << 6,        /* what libpfm4 knows of the CPU */
    WEIR_CATALOG_TRACEPOINT = 1u << 7, /* tracepoints and dynamic probes */
};

#define WEIR_CATALOG_ALL ((WEIR_CATALOG_TRACEPOINT << 1) - 1)

/* One event, or the form of one. Texts are borrowed until the visitor returns; NULL: the entry has none. */
struct weir_catalog_entry {
    enum weir_catalog_section section;
    const char *name;        /* for -e; a form has placeholders */
    const char *other;       /* another spelling; of libpfm4's events: for --pfm-events */
    const char *pmu;         /* of an alias, or of the form of a PMU's terms */
    const char *terms;       /* of an alias: the terms that it stands for */
    const char *unit;        /* of an alias: of count x scale */
    const char *dynamic;     /* of a dynamic probe: "kprobe" or "uprobe" */
    const char *description; /* of libpfm4's events: the vendor's sentence */
    double scale;            /* of an alias; 1 for all others */
    bool is_form;            /* name has placeholders, and is not an event itself */
};

struct weir_catalog_setup {
    const struct weir_kernel *kernel;
    const struct weir_event_sources *sources; /* NULL: the machine's */
    unsigned sections;                        /* set of enum weir_catalog_section */
};

/*
 * Visits the entries of the sections, in each section by name. Stops when the visitor returns non-zero, and returns
 * that result. 0; -ENOMEM; or, after all other sections, -EACCES or -ENODEV with err and hint: the tracepoints cannot
 * be read.
 */
int weir_catalog_visit(const struct weir_catalog_setup *setup,
                       int (*visit)(void *ctx, const struct weir_catalog_entry *entry), void *ctx,
                       struct weir_error *err);

/*
 * Whether the user's word, a pattern (glob(7)), matches the entry's name or its other spelling. As in perf list, a
 * pattern without a colon may match any part of the name.
 */
bool weir_catalog_matches(const struct weir_catalog_entry *entry, const char *word);

/* The section that a word names (hw, hardware, sw, software, cache, hwcache, pmu, raw, breakpoint, pfm, tracepoint); 0:
 * none. */
unsigned weir_catalog_section(const char *word);

/* The sections that a pattern may match: with a colon only the tracepoints, else all sections but those of forms. */
unsigned weir_catalog_sections_of_pattern(const char *pattern);

#endif
