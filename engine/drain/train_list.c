/* The list of trains. Writer thread until the account is handed over. See train_list.h. */
#include "engine/drain/train_list.h"

#include <stdlib.h>

#include "base/array.h"

void weir_train_list_add(struct weir_train_list *list, uint64_t file_offset)
{
    if (list->given_up)
        return;
    uint64_t *offsets = weir_array_grow(list->offsets, sizeof(*offsets), list->count, 1, &list->room);
    if (!offsets) {
        weir_train_list_fini(list);
        list->given_up = true;
        return;
    }
    list->offsets = offsets;
    list->offsets[list->count++] = file_offset;
}

void weir_train_list_fini(struct weir_train_list *list)
{
    if (!list)
        return;
    free(list->offsets);
    *list = (struct weir_train_list){0};
}
