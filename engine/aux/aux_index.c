/* Makes the index of AUXTRACE records. Any thread. See aux_index.h. */
#include "engine/aux/aux_index.h"

#include <stdlib.h>

size_t weir_aux_index_make(const struct weir_train_list *trains, uint64_t end, struct weir_aux_index_entry **entries)
{
    size_t count = trains->count;
    while (count > 0 && trains->offsets[count - 1] >= end)
        count--;
    *entries = count > 0 ? calloc(count, sizeof(**entries)) : NULL;
    if (!*entries)
        return 0;
    for (size_t i = 0; i < count; i++)
        (*entries)[i] = (struct weir_aux_index_entry){trains->offsets[i], WEIR_AUXTRACE_RECORD_BYTES};
    return count;
}
