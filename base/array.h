/* Arrays that grow by doubling, for all but the data path, where nothing allocates; and the search in sorted ones. Any
 * thread. */
#ifndef WEIR_BASE_ARRAY_H
#define WEIR_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Makes room for `more` items behind the first `count` items of an array. items: from malloc(3), or NULL; *capacity:
 * the number of items that the array has room for, which the call updates. Returns the array, which may have moved; its
 * new items have no value yet. NULL: no memory, and the array is unchanged.
 */
void *weir_array_grow(void *items, size_t item_bytes, size_t count, size_t more, size_t *capacity);

/*
 * Counts the leading items of a sorted array whose key is at most `most`. key_at: offset in an item of its key, a
 * uint64_t; keys ascend, and equal ones are allowed. The item behind those, if any, is the first with a greater key.
 */
static inline size_t weir_array_count_up_to(const void *items, size_t item_bytes, size_t key_at, size_t count,
                                            uint64_t most)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t key;
        memcpy(&key, (const char *)items + middle * item_bytes + key_at, sizeof(key));
        if (key <= most)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
