/*
 * Checks that the records of each ring stand in the order in which the ring delivered them.
 *
 * An id belongs to one event on one CPU (or task), and so to one ring, whose records are ordered by time. An exception
 * are records that an interrupt writes while the interrupted record has its time but no place yet
 * (perf_prepare_sample() before perf_output_begin() in kernel/events/core.c). Such a step back is as long as an
 * interrupt; a chunk in the wrong place causes a step of milliseconds and more. Records that mark a CPU's return
 * separate its times.
 *
 * A clock of day may be set back (realtime, and with it tai: clock_settime(2)). The ring's order is still right then.
 * So a long step of such a clock counts as a setting of the clock. The check compares later records with the first
 * record after the step.
 */
#ifndef WEIR_FORMAT_SCAN_ORDER_H
#define WEIR_FORMAT_SCAN_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_SCAN_STEP_BACK_NS 10000000ull /* a longer step is no interrupt */

struct weir_scan_id {
    uint64_t id;
    uint64_t last_ns; /* time of its newest record so far */
    size_t returns;   /* number of times that its CPU had come back before this place */
};

struct weir_scan_order {
    void *ids;                   /* owned: struct weir_scan_id in a tree of tsearch(3) */
    size_t count;                /* of ids */
    struct weir_scan_id *recent; /* the id of the last search; or NULL */
    uint64_t steps_back;         /* steps of at most WEIR_SCAN_STEP_BACK_NS */
    uint64_t longest_ns;         /* the longest of steps_back */
};

/* Takes a record. may_be_set: its clock may be set. *step_ns: how much older the record is than the one before; 0: it
 * is not older. 0 or -ENOMEM. */
int weir_scan_order_note(struct weir_scan_order *order, uint64_t id, uint64_t time_ns, bool may_be_set,
                         uint64_t *step_ns);
/* Takes the return of the CPU of that id. 0 or -ENOMEM. */
int weir_scan_order_return(struct weir_scan_order *order, uint64_t id);
/* Returns how often the CPU of that id has come back so far. */
size_t weir_scan_order_returns(struct weir_scan_order *order, uint64_t id);
void weir_scan_order_fini(struct weir_scan_order *order);

#endif
