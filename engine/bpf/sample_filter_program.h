/*
 * The BPF program of sample filters, and its two maps: filters by number, and events by id.
 *
 *     sample ──► event of its id ──► filter of that number ──► kept, or dropped and counted for the event
 *
 * A recorder loads the program with maps of its own. A user who may not load programs takes the program that root has
 * pinned in the BPF file system (`weir record --setup-filter pin`). All users share its maps. There each filter notes
 * the process that entered it: a recorder that was killed leaves its filter behind, and another recorder that needs the
 * room removes it.
 *
 * The program runs from the moment at which it is attached to an event (PERF_EVENT_IOC_SET_BPF) until the event is
 * closed. Events that children inherit from then on have it, too.
 *
 * A filter of one comparison costs 74 ns a sample, perf 6.12's 106 ns. Measured as run_time_ns / run_cnt of `bpftool
 * prog`, 300 000 page faults each, kernel.bpf_stats_enabled=1, Linux 6.18 on two virtual CPUs.
 *
 * Since Linux 6.2, which lends the function bpf_cast_to_kern_ctx(). Main thread, then the coordinator. The model is
 * perf's: util/bpf-filter.c in tools/perf of Linux 6.12. perf counts dropped samples per event, in 32 bits; weir counts
 * them per descriptor.
 */
#ifndef WEIR_ENGINE_BPF_SAMPLE_FILTER_PROGRAM_H
#define WEIR_ENGINE_BPF_SAMPLE_FILTER_PROGRAM_H

#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/bpf/sample_filter_entry.h"

#define WEIR_SAMPLE_FILTER_FOLDER "/sys/fs/bpf/weir_sample_filter" /* of the pinned program and maps */

struct weir_sample_program; /* opaque */

struct weir_sample_program_setup {
    const char *user;                       /* the option that wants filters, "--filter"; static */
    uint32_t filters, events;               /* how many there are at most; unused with a pinned program */
    const char *folder;                     /* of the pinned program; NULL: WEIR_SAMPLE_FILTER_FOLDER */
    const struct weir_notice_sink *notices; /* borrowed; libbpf's messages, verbose; NULL: none */
};

/* Loads the program or, without the right to, opens the pinned one. *made is the caller's. 0; or -errno with err and
 * hint: those of weir_skeleton_open() and weir_skeleton_load(); -EOPNOTSUPP also before Linux 6.2. */
int weir_sample_program_open(struct weir_sample_program **made, const struct weir_sample_program_setup *setup,
                             struct weir_error *err);

/* Removes filters and events of this recorder from pinned maps, and frees all. Events to which the program is attached
 * keep it, so close them first. NULL-safe. */
void weir_sample_program_free(struct weir_sample_program *program);

/* The descriptor for PERF_EVENT_IOC_SET_BPF, borrowed. */
int weir_sample_program_fd(const struct weir_sample_program *program);

/* Enters a filter. *number is for weir_sample_program_watch(). 0; -EBUSY: the pinned maps are full of filters of
 * recordings that run; or the errno of bpf(2); with err. */
int weir_sample_program_add(struct weir_sample_program *program, const struct weir_sample_filter *filter,
                            uint32_t *number, struct weir_error *err);

/* Connects an event, by its id (PERF_EVENT_IOC_ID), with a filter. Before the program is attached to the event. 0 or
 * the errno of bpf(2). */
int weir_sample_program_watch(struct weir_sample_program *program, uint64_t id, uint32_t number);

/* Forgets an event that is closed. */
void weir_sample_program_forget(struct weir_sample_program *program, uint64_t id);

/* The samples of an event that its filter has dropped so far; 0 for an unknown event. */
uint64_t weir_sample_program_filtered(const struct weir_sample_program *program, uint64_t id);

/* Pins the program for users without rights, in place of one that is pinned there. folder NULL:
 * WEIR_SAMPLE_FILTER_FOLDER. 0 or -errno with err and hint. */
int weir_sample_program_pin(const char *folder, const struct weir_notice_sink *notices, struct weir_error *err);

/* Removes what pin() made; recordings that use the program keep it until they end. 0; -ENOENT: nothing is pinned; or
 * -errno; with err. */
int weir_sample_program_unpin(const char *folder, struct weir_error *err);

#endif
