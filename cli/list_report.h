/* The output of `weir list`. Pure; any thread. */
#ifndef WEIR_CLI_LIST_REPORT_H
#define WEIR_CLI_LIST_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "engine/events/event_catalog.h"

struct weir_list_report {
    struct weir_buf *text;     /* borrowed */
    bool json, names, details; /* names: prints names only */
    size_t count;              /* of entries */
};

/* Appends an entry: a line in the form of perf list, a JSON object, or names. */
void weir_list_report_add(struct weir_list_report *report, const struct weir_catalog_entry *entry);

/* Ends the output; also if nothing was added. */
void weir_list_report_end(struct weir_list_report *report);

#endif
