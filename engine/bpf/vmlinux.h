/*
 * The kernel's types that the BPF programs of this room use: of each struct only the fields that a program names.
 * preserve_access_index makes libbpf look each field up in the running kernel's BTF. So neither order nor size here
 * matters ("BPF CO-RE"). A name after "___" marks another form of a struct, of older or newer kernels.
 *
 * For BPF programs only. Source: include/linux/sched.h, pid.h, pid_namespace.h, perf_event.h and uapi/linux/bpf.h of
 * Linux 6.12.
 */
#ifndef WEIR_ENGINE_BPF_VMLINUX_H
#define WEIR_ENGINE_BPF_VMLINUX_H

#include <linux/bpf.h>
#include <stdbool.h>

#define PF_KTHREAD 0x00200000 /* of task_struct.flags: a kernel thread */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
    unsigned int inum;
};

struct pid_namespace {
    struct ns_common ns;
};

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1]; /* level + 1 of them, from the first namespace inwards */
};

struct sched_entity {
    __u64 sum_exec_runtime; /* ns */
};

struct task_struct {
    struct sched_entity se;
    unsigned int flags;
    unsigned int __state; /* before Linux 5.14: state */
    int pid;              /* of the thread, in the first PID namespace */
    int tgid;
    __u64 start_time; /* ns, of the monotonic clock */
    struct task_struct *group_leader;
    struct pid *thread_pid;
};

struct task_struct___old {
    long state;
};

struct perf_event {
    __u64 id;
    struct perf_event *parent; /* of an inherited event */
};

/* The header of the kernel for user space, linux/perf_event.h, has these two by their own names. */
union perf_sample_weight___full {
    __u64 full;
};

union perf_mem_data_src___val {
    __u64 val;
};

struct perf_sample_data {
    __u64 sample_flags; /* PERF_SAMPLE_*: the fields that have values */
    __u64 period, ip, time, addr, txn, phys_addr, cgroup, data_page_size, code_page_size;
    union perf_sample_weight___full weight;
    union perf_mem_data_src___val data_src;
    struct {
        __u32 pid, tid;
    } tid_entry;
    struct {
        __u32 cpu;
    } cpu_entry;
};

struct bpf_perf_event_data_kern {
    struct perf_sample_data *data;
    struct perf_event *event;
};

#pragma clang attribute pop

#endif
