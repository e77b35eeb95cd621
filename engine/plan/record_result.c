#include "engine/plan/record_result.h"

#include <stdlib.h>

struct weir_ledger_content weir_record_result_ledger(const struct weir_record_result *result)
{
    return (struct weir_ledger_content){
        .rows = result->ledger,
        .row_count = result->ledger_count,
        .event_names = (const char *const *)result->event_names,
        .event_count = result->event_count,
        .side_event = result->side_event,
        .losses = result->losses,
        .joined = result->joins ? &result->joined : NULL,
        .unwound = result->unwinds ? &result->unwound : NULL,
    };
}

void weir_record_result_fini(struct weir_record_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; result->event_names && i < result->event_count; i++)
        free(result->event_names[i]);
    free(result->event_names);
    free(result->event_is_clock);
    free(result->ledger);
    result->event_names = NULL;
    result->event_is_clock = NULL;
    result->ledger = NULL;
    result->event_count = result->ledger_count = 0;
}
