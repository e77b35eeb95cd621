#include "engine/session/record_result.h"

#include <stdlib.h>

void weir_record_result_fini(struct weir_record_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; result->event_names && i < result->event_count; i++)
        free(result->event_names[i]);
    free(result->event_names);
    free(result->ledger);
    result->event_names = NULL;
    result->ledger = NULL;
    result->event_count = result->ledger_count = 0;
}
