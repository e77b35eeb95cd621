/*
 * The words of the AUXTRACE_INFO record, by which a decoder learns what a trace holds. Main thread; reads sysfs and
 * allocates while it does. Source: aux_info.c.
 */
#ifndef WEIR_ENGINE_AUX_AUX_INFO_H
#define WEIR_ENGINE_AUX_AUX_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "engine/aux/aux_plan.h"
#include "engine/events/event_list.h"

/* Facts that are known once the areas are mapped. */
struct weir_aux_facts {
    /* Of the struct perf_event_mmap_page of the first ring. */
    uint16_t time_shift;
    uint32_t time_mult;
    uint64_t time_zero;
    bool cap_user_time_zero;

    bool per_thread, system_wide; /* as in the setting; cpus too */
    const struct weir_cpuset *cpus;
    const char *sysfs_root; /* NULL: /sys */
};

#define WEIR_AUX_WORDS_OF_CPU 11 /* of AUXTRACE_INFO, at most, for each CPU */

/* Most words that weir_aux_info_describe() writes. cpus: their number. */
size_t weir_aux_info_words_max(const struct weir_event_list *list, unsigned cpus);

/*
 * Fills in the fields of AUXTRACE_INFO for the plan's kind: type (PERF_AUXTRACE_*) and the private words. *count: in,
 * the room of words; out, their number. 0; -ENOSPC: no room; -ENODEV: the PMU has gone; -ENOMEM.
 */
int weir_aux_info_describe(const struct weir_aux_plan *plan, const struct weir_event_list *list,
                           const struct weir_aux_facts *facts, uint32_t *type, uint64_t *words, size_t *count);

#endif
