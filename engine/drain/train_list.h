/*
 * Where the trains (chunk.h) of one output begin. The AUX room makes an index of the list when the file is finished.
 *
 * The list grows by 8 bytes for each train: the only memory that the writer allocates on its way. Without memory the
 * list is given up as a whole, and consumers then find the records as they come to them. The owner of the account that
 * has the list owns the list.
 */
#ifndef WEIR_ENGINE_DRAIN_TRAIN_LIST_H
#define WEIR_ENGINE_DRAIN_TRAIN_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_train_list {
    uint64_t *offsets; /* owned; of the file, ascending */
    size_t count, room;
    bool given_up; /* offsets is NULL then */
};

/* A train begins at that offset of the file. */
void weir_train_list_add(struct weir_train_list *list, uint64_t file_offset);

/* NULL-safe; leaves an empty list. */
void weir_train_list_fini(struct weir_train_list *list);

#endif
