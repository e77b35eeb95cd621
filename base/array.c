/* Arrays that grow by doubling. See array.h. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"

#define CAPACITY_FIRST 8u

void *weir_array_grow(void *items, size_t item_bytes, size_t count, size_t more, size_t *capacity)
{
    weir_assert(more > 0 && count <= *capacity && count <= SIZE_MAX / 4);
    if (more <= *capacity - count)
        return items;
    if (more > SIZE_MAX / 4)
        return NULL;
    size_t wanted = *capacity ? 2 * *capacity : CAPACITY_FIRST;
    if (wanted < count + more)
        wanted = count + more;
    void *grown = reallocarray(items, wanted, item_bytes);
    if (grown)
        *capacity = wanted;
    return grown;
}
