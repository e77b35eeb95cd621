/* Arrays that grow by doubling. Not for the data path, where nothing allocates. Any thread. */
#ifndef WEIR_BASE_ARRAY_H
#define WEIR_BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for `more` items behind the first `count` of items, an array from malloc(3) or NULL, that has
 * room for *capacity. Returns the array, which may have moved, and sets *capacity; what is new in it has no value yet.
 * NULL: no memory, and then the array is as it was.
 */
void *weir_array_grow(void *items, size_t item_bytes, size_t count, size_t more, size_t *capacity);

#endif
