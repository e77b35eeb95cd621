/*
 * Samples of off-CPU time (engine/bpf/off_cpu.h), in the form that every consumer reads. Each has the number of its
 * task, the duration as its period, the stack as its call chain, and the task's state as its weight.
 *
 * The kernel writes such a sample for the task that leaves the CPU. The raw data of the sample is the output of the BPF
 * program. The reader copies the sample out of the ring and then reorders it in place; its size stays:
 *
 *     word    1           2   3           4     5    6                7    8 ...  8 + n  9 + n
 *     kernel  identifier  ip  other task  time  cpu  size, n, state   ns   chain  task   cgroup, if asked for
 *     file    identifier  ip  task        time  cpu  ns               n    chain  state  cgroup, if asked for
 *
 * Word 6 of the kernel begins its raw data: u32 size, and then the u32 of off_cpu.bpf.c's output. perf 6.16 writes raw
 * data to the file instead. Older perf and all other consumers find neither duration nor stack in raw data.
 *
 * The address of the sample is the first of user space in the chain, as in perf: where the program waits, not where the
 * kernel switches. Pure but for the bytes; any thread. Source: perf_output_sample() in kernel/events/core.c,
 * Linux 6.18.
 */
#ifndef WEIR_ENGINE_DRAIN_OFF_CPU_SAMPLE_H
#define WEIR_ENGINE_DRAIN_OFF_CPU_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/bpf/off_cpu_shared.h"
#include "engine/events/event_set.h"

/* Puts the samples of the event, an index of the set, in order. The records in [data, data + bytes) are whole, have
 * been walked and still have the kernel's ids. */
void weir_off_cpu_samples_mend(const struct weir_event_set *set, unsigned event, uint8_t *data, uint64_t bytes);

/* What the sample of a sum says beside the sum. */
struct weir_off_cpu_moment {
    uint64_t id, time_ns;
    uint32_t cpu;
    bool cgroup_ids;
};

/* Appends the sample of a sum: its period is the sum of the durations. */
void weir_off_cpu_sample_append(const struct weir_off_cpu_sum_key *key, const struct weir_off_cpu_sum *sum,
                                const struct weir_off_cpu_stack *stack, const struct weir_off_cpu_moment *moment,
                                struct weir_buf *out);

#endif
