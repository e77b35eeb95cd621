/*
 * Off-CPU time, by BPF programs of the scheduler's tracepoints (off_cpu.bpf.c): for each stretch that a task spends off
 * the CPUs, its duration, the task's state and its stack.
 *
 *     open ──► set_output, add_tasks ──► attach ──► enable ... disable ──► end ──► next_sum ──► free
 *
 * - A stretch of the threshold or longer becomes a sample in the ring of the CPU where the stretch ends
 *   (engine/drain/off_cpu_sample.h).
 * - The program sums shorter stretches by task, stack, state and cgroup in a bounded map, also those that end where no
 *   event is open. A stretch that finds no room there is counted.
 * - A stretch counts if it begins and ends while enabled. If a task is off the CPUs when recording begins or ends, that
 *   stretch is not known.
 * - Tasks that a recorded task makes are recorded from their first moment on. Kernel threads are not recorded.
 *
 * Main thread, then the coordinator. Set-up and end only, but for enable(), which may be called while recording.
 */
#ifndef WEIR_ENGINE_BPF_OFF_CPU_H
#define WEIR_ENGINE_BPF_OFF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "engine/bpf/off_cpu_shared.h"

#define WEIR_OFF_CPU_EVENT "offcpu-time" /* as perf names the event */

#define WEIR_OFF_CPU_SUMS_MAX   131072u /* 150 bytes each */
#define WEIR_OFF_CPU_STACKS_MAX 16384u  /* 2 KiB each; both maps grow as they fill */

struct weir_off_cpu; /* opaque */

struct weir_off_cpu_setup {
    uint64_t threshold_ns;
    enum weir_off_cpu_scope scope;
    uid_t uid;                       /* of OWNED */
    pid_t command;                   /* of COMMAND */
    size_t task_count;               /* of LISTED: how many tasks add_tasks() will get at most */
    bool inherit;                    /* tasks that recorded tasks make are recorded */
    const struct weir_cpuset *cpus;  /* where stretches may begin; NULL: on any CPU */
    const int *cgroup_fds;           /* borrowed for the call; folders of cgroups: their tasks only */
    size_t cgroup_count;             /* 0: of any cgroup; at most WEIR_OFF_CPU_CGROUPS */
    bool cgroup_ids;                 /* samples have the id of the task's cgroup */
    bool kernel_chains, user_chains; /* the parts of call chains */
    const struct weir_notice_sink *notices;
};

/* Opens and loads the programs. 0 or -errno with err and hint. */
int weir_off_cpu_open(struct weir_off_cpu **made, const struct weir_off_cpu_setup *setup, struct weir_error *err);

/* Detaches and unloads the programs, and frees all. NULL-safe. */
void weir_off_cpu_free(struct weir_off_cpu *off_cpu);

/* Connects a CPU to fd, an open event of type bpf-output on that CPU. Any time; replaces the descriptor before. 0 or
 * the errno of bpf(2). */
int weir_off_cpu_set_output(const struct weir_off_cpu *off_cpu, unsigned cpu, int fd);

/* Adds tasks of LISTED, which run or sleep now. Before or after attach(). 0 or the errno of bpf(2). */
int weir_off_cpu_add_tasks(const struct weir_off_cpu *off_cpu, const pid_t *tids, size_t count);

/* Attaches the programs, disabled: new tasks are followed from here on. 0 or -errno with err and hint. */
int weir_off_cpu_attach(struct weir_off_cpu *off_cpu, struct weir_error *err);

/* Enables or disables the measuring. */
void weir_off_cpu_enable(struct weir_off_cpu *off_cpu, bool on);

/* Disables and detaches the programs. Once this returns, none runs, and sums and counts stay as they are. Blocks for
 * some milliseconds. */
void weir_off_cpu_end(struct weir_off_cpu *off_cpu);

/* The counts of all CPUs together. 0 or the errno of bpf(2). */
int weir_off_cpu_count(const struct weir_off_cpu *off_cpu, struct weir_off_cpu_counts *counts);

/* One entry of the sums. */
struct weir_off_cpu_total {
    struct weir_off_cpu_sum_key key;
    struct weir_off_cpu_sum sum;
    struct weir_off_cpu_stack stack;
};

/* Takes the next entry of the sums, in no order. After end(). 1; 0: no further one; or the errno of bpf(2). *total
 * holds the former answer, and is all zeros at the first call. */
int weir_off_cpu_next_total(const struct weir_off_cpu *off_cpu, struct weir_off_cpu_total *total);

#endif
