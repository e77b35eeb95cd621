/*
 * The status of a recording for a program that shows it: the members of docs/json.md, "status", taken from the line of
 * JSON. Any program may have written the line. A field that is missing or of another type counts as 0. A line that is
 * no object is refused. Pure; any thread.
 */
#ifndef WEIR_CLI_STATUS_VIEW_H
#define WEIR_CLI_STATUS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_STATUS_PLACES_MAX 65536u /* further ones are left out */

struct weir_place_view {
    int64_t id; /* CPU, or thread */
    int64_t node, package;
    int64_t fill_per_mille; /* -1: no ring */
    uint64_t samples, lost;
};

struct weir_status_view {
    char state[16];
    char pressure[8];
    uint64_t elapsed_ms;
    bool has_lease;
    uint64_t lease_left_ms;
    uint64_t samples, bytes;
    uint64_t lost, lost_waiting;
    uint64_t shed;
    uint64_t pool_bytes, pool_used_bytes;
    uint64_t files, snapshots;
    uint64_t gap_p99_us;         /* between two looks of a reader at its rings */
    uint64_t waits, wait_p99_us; /* of readers, for memory */
    uint64_t output_error;
    bool has_output;                                         /* the members below are there */
    uint64_t output_bytes, output_chunks, output_latency_us; /* written; the sum of the chunks' times to the disk */
    bool of_tasks;                                           /* the places are tasks */
    struct weir_place_view *places;                          /* owned; NULL: none were told */
    size_t place_count;
};

/* Parses a line. 0, -EPROTO, -ENOMEM; or -EOPNOTSUPP: weir was built without the parser. The caller gives *view to
 * fini() after success. */
int weir_status_view_parse(struct weir_status_view *view, const char *line, size_t bytes);

/* NULL-safe, idempotent. */
void weir_status_view_fini(struct weir_status_view *view);

/* Whether weir was built with a parser: weir status and weir top need it. */
bool weir_status_view_is_built(void);

#endif
