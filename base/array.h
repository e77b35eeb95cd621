/* Arrays that grow by doubling. Not for the data path, where nothing allocates. Any thread. */
#ifndef WEIR_BASE_ARRAY_H
#define WEIR_BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for `more` items behind the first `count` items of an array. items: from malloc(3), or NULL; *capacity:
 * the number of items that the array has room for, which the call updates. Returns the array, which may have moved; its
 * new items have no value yet. NULL: no memory, and the array is unchanged.
 */
void *weir_array_grow(void *items, size_t item_bytes, size_t count, size_t more, size_t *capacity);

#endif
