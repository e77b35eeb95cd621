/* What off_cpu.bpf.c and off_cpu.c share: config, state, counts, and the values of maps. */
#ifndef WEIR_ENGINE_BPF_OFF_CPU_SHARED_H
#define WEIR_ENGINE_BPF_OFF_CPU_SHARED_H

#include <linux/types.h>

#define WEIR_OFF_CPU_FRAMES    127 /* of each side, kernel and user: the kernel's own default for call chains */
#define WEIR_OFF_CPU_CHAIN_MAX 256 /* words: both sides, each behind its PERF_CONTEXT_* */
#define WEIR_OFF_CPU_CGROUPS   16

enum weir_off_cpu_scope {   /* whose stretches count */
    WEIR_OFF_CPU_ALL_TASKS, /* of all tasks but kernel threads */
    WEIR_OFF_CPU_LISTED,    /* of listed tasks and, with inherit, of those that they make */
    WEIR_OFF_CPU_COMMAND,   /* of a task from its execve(2) on, and of those that it makes */
    WEIR_OFF_CPU_OWNED,     /* of the tasks of a user */
};

struct weir_off_cpu_config {
    __u64 threshold_ns; /* shorter stretches are summed */
    __u32 scope;        /* enum weir_off_cpu_scope */
    __u32 uid;          /* of OWNED */
    __u32 command;      /* tid, of COMMAND */
    __u32 pid_ns;       /* inode of the PID namespace of tids; 0: the first one */
    __u32 cgroups;      /* entries of the map of cgroups; 0: of any cgroup */
    __u8 inherit;
    __u8 limits_cpus; /* the map of CPUs says where stretches may begin */
    __u8 cgroup_ids;  /* samples have the id of the cgroup */
    __u8 has_prev_state;
    __u8 kernel_chains, user_chains;
    __u8 unused[2];
};

struct weir_off_cpu_state {
    __u32 generation; /* 0: disabled; another number at each enable. A stretch counts if it begins and ends in one. */
    __u32 unused;
};

struct weir_off_cpu_counts { /* one for each CPU */
    __u64 samples;           /* stretches that went to a ring, or would have if it had had room */
    __u64 summed;            /* stretches in the sums */
    __u64 overflowed;        /* stretches that found no room in the sums */
    __u64 overflowed_ns;
    __u64 late;       /* stretches whose end the kernel did not tell */
    __u64 unfollowed; /* times the kernel had no memory for the state of a task */
};

struct weir_off_cpu_sum_key {
    __u64 task;     /* as in a sample: process low, thread high */
    __u64 start_ns; /* when the task began: another task may get the same numbers */
    __u64 stack;    /* a hash */
    __u64 cgroup;
    __u64 state;
};

struct weir_off_cpu_sum {
    __u64 ns, stretches;
};

struct weir_off_cpu_stack {
    __u64 words; /* of the chain */
    __u64 chain[WEIR_OFF_CPU_CHAIN_MAX];
};

#endif
