/*
 * Whether records come in the order in which their rings gave them. An id is of one event on one CPU (or task), and so
 * of one ring; its records are ordered by time, but for those that an interrupt wrote while the one that it interrupted
 * had its time already and no place yet (perf_prepare_sample() before perf_output_begin() in kernel/events/core.c).
 * Such steps back are as long as an interrupt; a chunk in the wrong place is milliseconds and more. Between them stand
 * the records that say that a CPU was away.
 *
 * A clock of day may be set back (realtime, and with it tai: clock_settime(2)). What a ring then has is still in the
 * order in which it was made, so a long step of such a clock is its own, and the records behind it are held against
 * the first of them.
 */
#ifndef WEIR_FORMAT_SCAN_ORDER_H
#define WEIR_FORMAT_SCAN_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_SCAN_STEP_BACK_NS 10000000ull /* more is no interrupt */

struct weir_scan_id {
    uint64_t id;
    uint64_t last_ns; /* the newest of its records so far */
    size_t returns;   /* how often its CPU came back before this place */
};

struct weir_scan_order {
    void *ids;                   /* owned: struct weir_scan_id, of tsearch(3) */
    size_t count;                /* of them */
    struct weir_scan_id *recent; /* the last one that was asked for; NULL */
    uint64_t steps_back;         /* of WEIR_SCAN_STEP_BACK_NS at most */
    uint64_t longest_ns;         /* of these */
};

/* Notes a record. may_be_set: its clock. *step_ns: how much older it is than the one before; 0: it is not. 0 or
 * -ENOMEM. */
int weir_scan_order_note(struct weir_scan_order *order, uint64_t id, uint64_t time_ns, bool may_be_set,
                         uint64_t *step_ns);
/* The CPU of that id has come back. 0 or -ENOMEM. */
int weir_scan_order_return(struct weir_scan_order *order, uint64_t id);
/* How often it did so far. */
size_t weir_scan_order_returns(struct weir_scan_order *order, uint64_t id);
void weir_scan_order_fini(struct weir_scan_order *order);

#endif
