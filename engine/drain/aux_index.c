/* The index of AUXTRACE records. See aux_index.h. */
#include "engine/drain/aux_index.h"

#include <stdlib.h>

#include "base/bits.h"

#define ROOM_FIRST 256

static bool grow(struct weir_aux_index *index)
{
    size_t room = weir_max_u64(2 * index->room, ROOM_FIRST);
    struct weir_aux_index_entry *entries = reallocarray(index->entries, room, sizeof(*entries));
    if (!entries)
        return false;
    index->entries = entries;
    index->room = room;
    return true;
}

void weir_aux_index_add(struct weir_aux_index *index, uint64_t file_offset)
{
    if (index->given_up)
        return;
    if (index->count == index->room && !grow(index)) {
        weir_aux_index_fini(index);
        index->given_up = true;
        return;
    }
    index->entries[index->count++] = (struct weir_aux_index_entry){file_offset, WEIR_AUXTRACE_RECORD_BYTES};
}

size_t weir_aux_index_count_before(const struct weir_aux_index *index, uint64_t end)
{
    size_t count = index->count;
    while (count > 0 && index->entries[count - 1].file_offset >= end)
        count--;
    return count;
}

void weir_aux_index_fini(struct weir_aux_index *index)
{
    if (!index)
        return;
    free(index->entries);
    *index = (struct weir_aux_index){0};
}
