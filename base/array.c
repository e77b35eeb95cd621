/* Arrays that grow by doubling. Any thread; each array belongs to one thread at a time. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"

#define CAPACITY_FIRST 8u

void *weir_array_grow(void *items, size_t item_bytes, size_t count, size_t more, size_t *capacity)
{
    weir_assert(item_bytes > 0 && count <= *capacity);
    if (more <= *capacity - count)
        return items;
    size_t wanted = *capacity ? 2 * *capacity : CAPACITY_FIRST;
    if (more > SIZE_MAX - count)
        return NULL;
    if (wanted < count + more)
        wanted = count + more;
    if (wanted > PTRDIFF_MAX / item_bytes) /* the most bytes that an object may have */
        return NULL;
    void *grown = realloc(items, wanted * item_bytes);
    if (grown)
        *capacity = wanted;
    return grown;
}
