/*
 * Rings that the test fills byte by byte, so that it can also write what no kernel would: the simulated kernel of
 * engine/sim/sim_kernel.h only writes what a right one does. Descriptor n is ring n; poll(2) answers as the test says.
 * One thread.
 */
#ifndef WEIR_TESTS_ENGINE_RAW_KERNEL_H
#define WEIR_TESTS_ENGINE_RAW_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kernel/kernel.h"

#define RAW_RINGS_MAX 8

struct raw_ring {
    struct perf_event_mmap_page *page; /* owned; NULL while not mapped */
    uint8_t *data;
    uint64_t bytes;
    uint64_t start; /* head and tail when it is mapped */
    uint8_t *area;  /* owned; its AUX area; NULL while not mapped */
    uint64_t area_bytes;
    bool area_writable;
};

struct raw_kernel {
    struct weir_kernel kernel; /* to give away; valid as long as the struct stays where it is */
    struct raw_ring rings[RAW_RINGS_MAX];
    int map_error;       /* ring_map fails with it */
    bool no_data_offset; /* as kernels before 4.1 */
    unsigned unmaps;

    short revents[RAW_RINGS_MAX]; /* what the next polls report for a ring's descriptor, whichever it is */
    unsigned polls;               /* calls */
    int polled_timeout_ms;        /* of the last call */
    nfds_t polled_count;
    struct pollfd polled[RAW_RINGS_MAX + 1];
};

void raw_kernel_init(struct raw_kernel *raw);

/* Adds bytes to ring n and publishes the new head. */
void raw_ring_put(struct raw_kernel *raw, unsigned n, const void *bytes, size_t count);

/* Writes at the head without publishing: for a head that the test sets itself. */
void raw_ring_write(struct raw_kernel *raw, unsigned n, const void *bytes, size_t count);
void raw_ring_publish(struct raw_kernel *raw, unsigned n, size_t count);

/* Writes into the AUX area of ring n at aux_head, across its end, without publishing. */
void raw_aux_write(struct raw_kernel *raw, unsigned n, const void *bytes, size_t count);
/* Moves aux_head on by that much, or sets it. */
void raw_aux_publish(struct raw_kernel *raw, unsigned n, size_t count);
void raw_aux_set_head(struct raw_kernel *raw, unsigned n, uint64_t head);
uint64_t raw_aux_head(const struct raw_kernel *raw, unsigned n);
uint64_t raw_aux_tail(const struct raw_kernel *raw, unsigned n);

uint64_t raw_ring_head(const struct raw_kernel *raw, unsigned n);
uint64_t raw_ring_tail(const struct raw_kernel *raw, unsigned n);

#endif
