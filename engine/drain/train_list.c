/* The list of trains. Writer thread until the account is handed over. See train_list.h. */
#include "engine/drain/train_list.h"

#include <stdlib.h>

#include "base/bits.h"

#define ROOM_FIRST 256

static bool grow(struct weir_train_list *list)
{
    size_t room = weir_max_u64(2 * list->room, ROOM_FIRST);
    uint64_t *offsets = reallocarray(list->offsets, room, sizeof(*offsets));
    if (!offsets)
        return false;
    list->offsets = offsets;
    list->room = room;
    return true;
}

void weir_train_list_add(struct weir_train_list *list, uint64_t file_offset)
{
    if (list->given_up)
        return;
    if (list->count == list->room && !grow(list)) {
        weir_train_list_fini(list);
        list->given_up = true;
        return;
    }
    list->offsets[list->count++] = file_offset;
}

void weir_train_list_fini(struct weir_train_list *list)
{
    if (!list)
        return;
    free(list->offsets);
    *list = (struct weir_train_list){0};
}
