/* The order of records by id. Ids are in a balanced tree, because a file may name them in any order. One thread;
 * allocates. Source: tsearch(3). */
#include "format/scan_order.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct weir_scan_id *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/* Makes that id the recent one. False: it is not known. */
static bool find(struct weir_scan_order *order, uint64_t id)
{
    if (order->recent && order->recent->id == id)
        return true;
    const struct weir_scan_id key = {.id = id};
    struct weir_scan_id *const *found = tfind(&key, &order->ids, compare);
    if (found)
        order->recent = *found;
    return found != NULL;
}

/* The same of one that may be new. 0 or -ENOMEM. */
static int find_or_insert(struct weir_scan_order *order, uint64_t id)
{
    if (find(order, id))
        return 0;
    struct weir_scan_id *made = calloc(1, sizeof(*made));
    if (made)
        made->id = id;
    if (!made || !tsearch(made, &order->ids, compare)) {
        free(made);
        return -ENOMEM;
    }
    order->recent = made;
    order->count++;
    return 0;
}

int weir_scan_order_return(struct weir_scan_order *order, uint64_t id)
{
    int result = find_or_insert(order, id);
    if (result == 0)
        order->recent->returns++;
    return result;
}

size_t weir_scan_order_returns(struct weir_scan_order *order, uint64_t id)
{
    return find(order, id) ? order->recent->returns : 0;
}

int weir_scan_order_note(struct weir_scan_order *order, uint64_t id, uint64_t time_ns, bool may_be_set,
                         uint64_t *step_ns)
{
    *step_ns = 0;
    int result = find_or_insert(order, id);
    if (result < 0)
        return result;
    struct weir_scan_id *known = order->recent;
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
    tdestroy(order->ids, free);
    *order = (struct weir_scan_order){0};
}
