/* Order of records by id: a sorted table, searched by halves. One thread; allocates. */
#include "format/scan_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first place whose id is not below id. */
static size_t place_of(const struct weir_scan_order *order, uint64_t id)
{
    size_t low = 0, high = order->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order->ids[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert(struct weir_scan_order *order, size_t at, uint64_t id)
{
    if (order->count == order->capacity) {
        size_t capacity = order->capacity ? 2 * order->capacity : 64;
        struct weir_scan_id *grown = reallocarray(order->ids, capacity, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        order->ids = grown;
        order->capacity = capacity;
    }
    memmove(order->ids + at + 1, order->ids + at, (order->count - at) * sizeof(*order->ids));
    order->ids[at] = (struct weir_scan_id){.id = id};
    order->count++;
    return 0;
}

/* Makes that id the recent one. False: it is not known. */
static bool find(struct weir_scan_order *order, uint64_t id)
{
    if (order->recent < order->count && order->ids[order->recent].id == id)
        return true;
    size_t at = place_of(order, id);
    if (at == order->count || order->ids[at].id != id)
        return false;
    order->recent = at;
    return true;
}

/* The same of one that may be new. 0 or -ENOMEM. */
static int find_or_insert(struct weir_scan_order *order, uint64_t id)
{
    if (find(order, id))
        return 0;
    size_t at = place_of(order, id);
    int result = insert(order, at, id);
    if (result == 0)
        order->recent = at;
    return result;
}

int weir_scan_order_return(struct weir_scan_order *order, uint64_t id)
{
    int result = find_or_insert(order, id);
    if (result == 0)
        order->ids[order->recent].returns++;
    return result;
}

size_t weir_scan_order_returns(struct weir_scan_order *order, uint64_t id)
{
    return find(order, id) ? order->ids[order->recent].returns : 0;
}

int weir_scan_order_note(struct weir_scan_order *order, uint64_t id, uint64_t time_ns, bool may_be_set,
                         uint64_t *step_ns)
{
    *step_ns = 0;
    int result = find_or_insert(order, id);
    if (result < 0)
        return result;
    struct weir_scan_id *known = &order->ids[order->recent];
    if (time_ns >= known->last_ns) {
        known->last_ns = time_ns;
        return 0;
    }
    *step_ns = known->last_ns - time_ns;
    if (*step_ns > WEIR_SCAN_STEP_BACK_NS) {
        known->last_ns = may_be_set ? time_ns : known->last_ns;
        return 0;
    }
    order->steps_back++;
    if (*step_ns > order->longest_ns)
        order->longest_ns = *step_ns;
    return 0;
}

void weir_scan_order_fini(struct weir_scan_order *order)
{
    free(order->ids);
    *order = (struct weir_scan_order){0};
}
