/*
 * Measures the time that tasks spend off the CPUs, for --off-cpu; see off_cpu.h. A stretch begins when the scheduler
 * takes a task from its CPU, or makes the task, and ends when the task runs again.
 *
 * The beginning is in the task's own storage, which goes with the task. So no other task takes it for its own, and no
 * number of tasks overflows it. The user part of the stack is read at the beginning: only the running task's memory can
 * be read there. The kernel part is read at the end, when it is the same, from the saved stack pointer: so it has no
 * frames of this program.
 *
 * Source: bpf-helpers(7); trace_sched_switch() in kernel/sched/core.c, trace_task_newtask() in kernel/fork.c and
 * trace_sched_process_exec() in fs/exec.c of Linux 6.12. The scheduler calls sched_switch with interrupts off: scratch
 * memory of a CPU has one user at a time.
 */
#include "engine/bpf/vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/perf_event.h>

#include "engine/bpf/off_cpu_shared.h"

#define STATES      0xffu /* of task_struct.__state: those that sched_switch tells */
#define STATE_DEAD  0x90u /* the task does not come back: EXIT_DEAD, TASK_DEAD */
#define NESTED_MAX  32    /* PID namespaces, MAX_PID_NS_LEVEL */
#define WORDS       512u  /* of scratch memory: a power of two, so that a mask bounds an index */
#define CHAIN_BYTES (WEIR_OFF_CPU_FRAMES * sizeof(__u64))
#define ENOSPC      28

const volatile struct weir_off_cpu_config config SEC(".rodata.config");
volatile struct weir_off_cpu_state state SEC(".data.state");

struct stretch {
    __u64 task;     /* as in a sample */
    __u64 start_ns; /* 0: the task runs, or nobody has seen it leave */
    __u64 ran_ns;   /* CPU time of the task until then */
    __u64 cgroup;
    __u32 generation;
    __u16 state;
    __u16 frames;
    __u64 user[WEIR_OFF_CPU_FRAMES];
};

/* bpf_perf_event_output() writes the bytes from `head` on. With the size in front they are a multiple of 8 bytes, in
 * which each word is aligned (engine/drain/off_cpu_sample.h). */
struct output {
    __u32 unused;
    __u32 head;         /* words of the chain, and in the upper half the state */
    __u64 ns;           /* while a stack is kept: weir_off_cpu_stack.words */
    __u64 words[WORDS]; /* the chain, then the task and the cgroup */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct stretch);
} stretches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct output);
} scratch SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct weir_off_cpu_counts);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
} outputs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1); /* the loader sets it */
    __type(key, struct weir_off_cpu_sum_key);
    __type(value, struct weir_off_cpu_sum);
} sums SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1); /* the loader sets it */
    __type(key, __u64);
    __type(value, struct weir_off_cpu_stack);
} stacks SEC(".maps");

/* Of LISTED: tids of tasks that have not been seen yet. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1); /* the loader sets it */
    __type(key, __u32);
    __type(value, __u8);
} listed SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* the loader sets it */
    __type(key, __u32);
    __type(value, __u8);
} cpus SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(max_entries, WEIR_OFF_CPU_CGROUPS);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
} cgroups SEC(".maps");

static const __u32 zero;

/* ---- tasks ---- */

/* The number of a task or process in the namespace of the recording; 0: it has none there. */
static __u32 number_in_ns(struct pid *pid)
{
    __u32 level = BPF_CORE_READ(pid, level);
    for (int i = 0; i < NESTED_MAX; i++) {
        struct upid upid;
        if ((__u32)i > level || bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]) < 0)
            break;
        if (BPF_CORE_READ(upid.ns, ns.inum) == config.pid_ns)
            return (__u32)upid.nr;
    }
    return 0;
}

static __u32 tid_of(struct task_struct *task)
{
    return config.pid_ns ? number_in_ns(BPF_CORE_READ(task, thread_pid)) : (__u32)task->pid;
}

static __u32 pid_of(struct task_struct *task)
{
    return config.pid_ns ? number_in_ns(BPF_CORE_READ(task, group_leader, thread_pid)) : (__u32)task->tgid;
}

static struct stretch *stretch_of(struct task_struct *task)
{
    return bpf_task_storage_get(&stretches, task, NULL, 0);
}

static struct stretch *follow(struct task_struct *task)
{
    struct stretch *stretch = bpf_task_storage_get(&stretches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (stretch) {
        stretch->task = (__u64)tid_of(task) << 32 | pid_of(task);
        return stretch;
    }
    struct weir_off_cpu_counts *count = bpf_map_lookup_elem(&counts, &zero);
    if (count)
        count->unfollowed++;
    return NULL;
}

/* Whether the running task may be recorded now; for OWNED and cgroups this may change. */
static bool is_wanted(void)
{
    if (config.scope == WEIR_OFF_CPU_OWNED && (__u32)bpf_get_current_uid_gid() != config.uid)
        return false;
    bool wanted = config.cgroups == 0;
    for (__u32 i = 0; i < WEIR_OFF_CPU_CGROUPS && i < config.cgroups && !wanted; i++)
        wanted = bpf_current_task_under_cgroup(&cgroups, i) == 1;
    return wanted;
}

/* The stretch of the running task, if it is followed; a task that is to be is followed from here on. */
static struct stretch *find_running(struct task_struct *task)
{
    struct stretch *stretch = stretch_of(task);
    if (stretch || config.scope == WEIR_OFF_CPU_COMMAND)
        return stretch;
    if (config.scope == WEIR_OFF_CPU_LISTED) {
        __u32 tid = tid_of(task);
        if (bpf_map_delete_elem(&listed, &tid) < 0)
            return NULL;
    }
    return follow(task);
}

/* ---- the end ---- */

/* Writes the chain of the task into the output. is_back: it runs already, and its kernel stack is another one. Returns
 * the number of its words. */
static __u32 unwind(struct output *output, struct task_struct *task, const struct stretch *stretch, bool is_back)
{
    __u32 words = 0;
    long bytes = config.kernel_chains && !is_back ? bpf_get_task_stack(task, &output->words[1], CHAIN_BYTES, 0) : 0;
    if (bytes > 0) {
        output->words[0] = PERF_CONTEXT_KERNEL;
        words = 1 + ((__u32)bytes / sizeof(__u64) & 0x7f);
    }
    __u32 frames = stretch->frames & 0x7f;
    if (frames > 0) {
        output->words[words & 0xff] = PERF_CONTEXT_USER;
        words++;
        bpf_probe_read_kernel(&output->words[words & 0xff], frames * sizeof(__u64), stretch->user);
        words += frames;
    }
    return words;
}

static __u64 hash(const struct output *output, __u32 words)
{
    __u64 mixed = words;
    for (__u32 i = 0; i < WEIR_OFF_CPU_CHAIN_MAX; i++) {
        if (i >= words)
            break;
        mixed = (mixed ^ output->words[i]) * 0x9e3779b97f4a7c15u;
        mixed ^= mixed >> 32;
    }
    return mixed;
}

/* Whether the map has the stack now. */
static bool keep_stack(struct output *output, __u32 words, __u64 stack)
{
    if (bpf_map_lookup_elem(&stacks, &stack))
        return true;
    output->ns = words; /* with the words behind it a struct weir_off_cpu_stack */
    return bpf_map_update_elem(&stacks, &stack, &output->ns, BPF_NOEXIST) == 0 ||
           bpf_map_lookup_elem(&stacks, &stack); /* another CPU may have been faster */
}

static void add_up(struct task_struct *task, const struct stretch *stretch, struct output *output, __u32 words,
                   __u64 ns, struct weir_off_cpu_counts *count)
{
    const struct weir_off_cpu_sum_key key = {
        .task = stretch->task,
        .start_ns = task->start_time,
        .stack = hash(output, words),
        .cgroup = stretch->cgroup,
        .state = stretch->state,
    };
    struct weir_off_cpu_sum *sum = bpf_map_lookup_elem(&sums, &key);
    if (sum) { /* of this task only, which runs on one CPU */
        sum->ns += ns;
        sum->stretches++;
        count->summed++;
        return;
    }
    const struct weir_off_cpu_sum first = {ns, 1};
    if (keep_stack(output, words, key.stack) && bpf_map_update_elem(&sums, &key, &first, BPF_NOEXIST) == 0) {
        count->summed++;
    } else {
        count->overflowed++;
        count->overflowed_ns += ns;
    }
}

/* True when the kernel has taken the stretch as a sample, or counted its loss. */
static bool write_sample(void *ctx, const struct stretch *stretch, struct output *output, __u32 words, __u64 ns)
{
    output->head = words | (__u32)stretch->state << 16;
    output->ns = ns;
    output->words[words & (WORDS - 1)] = stretch->task;
    words++;
    if (config.cgroup_ids) {
        output->words[words & (WORDS - 1)] = stretch->cgroup;
        words++;
    }
    __u32 bytes = sizeof(output->head) + sizeof(output->ns) + words * sizeof(__u64);
    long result = bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU, &output->head, bytes & 0xfff);
    return result == 0 || result == -ENOSPC;
}

/* Accounts for a stretch. Out of line: it has two callers, and the verifier follows each way through it. */
static __attribute__((noinline)) int account(void *ctx, struct task_struct *task, struct stretch *stretch, __u64 ns,
                                             bool is_back)
{
    struct output *output = bpf_map_lookup_elem(&scratch, &zero);
    struct weir_off_cpu_counts *count = bpf_map_lookup_elem(&counts, &zero);
    if (!stretch || !output || !count)
        return 0;
    count->late += is_back;
    __u32 words = unwind(output, task, stretch, is_back);
    if (ns >= config.threshold_ns && write_sample(ctx, stretch, output, words, ns))
        count->samples++;
    else /* short, or this CPU is not recorded */
        add_up(task, stretch, output, words, ns, count);
    return 0;
}

static void end(void *ctx, struct task_struct *task, __u64 now_ns)
{
    if (task->flags & PF_KTHREAD)
        return;
    struct stretch *stretch = stretch_of(task);
    if (!stretch || stretch->start_ns == 0)
        return;
    __u64 ns = now_ns - stretch->start_ns;
    stretch->start_ns = 0;
    if (stretch->generation == state.generation)
        account(ctx, task, stretch, ns, false);
}

/*
 * Ends a stretch whose task leaves its CPU once more: the kernel has not told that it came back. Switches away from
 * some tasks have no tracepoint (seen with threads of a host's agent in a guest of Linux 6.18). What the task has run
 * since is no part of the stretch.
 */
static void end_late(void *ctx, struct task_struct *task, struct stretch *stretch, __u64 now_ns)
{
    __u64 away_ns = now_ns - stretch->start_ns, ran_ns = task->se.sum_exec_runtime - stretch->ran_ns;
    if (stretch->start_ns != 0 && stretch->generation == state.generation && away_ns > ran_ns)
        account(ctx, task, stretch, away_ns - ran_ns, true);
}

/* ---- the beginning ---- */

static void begin(void *ctx, struct task_struct *task, __u32 task_state, __u64 now_ns)
{
    if (task->flags & PF_KTHREAD)
        return;
    struct stretch *stretch = find_running(task);
    if (!stretch)
        return;
    end_late(ctx, task, stretch, now_ns);
    stretch->start_ns = 0;
    if (task_state & STATE_DEAD || !is_wanted())
        return;
    __u32 cpu = bpf_get_smp_processor_id();
    __u8 *may_begin = config.limits_cpus ? bpf_map_lookup_elem(&cpus, &cpu) : NULL;
    if (config.limits_cpus && (!may_begin || !*may_begin))
        return;
    long bytes = config.user_chains ? bpf_get_stack(ctx, stretch->user, CHAIN_BYTES, BPF_F_USER_STACK) : 0;
    stretch->frames = bytes > 0 ? bytes / sizeof(__u64) : 0;
    stretch->state = task_state;
    stretch->cgroup = config.cgroup_ids ? bpf_get_current_cgroup_id() : 0;
    stretch->generation = state.generation;
    stretch->ran_ns = task->se.sum_exec_runtime;
    stretch->start_ns = now_ns;
}

/* ---- tracepoints ---- */

static __u32 state_of(struct task_struct *task)
{
    if (bpf_core_field_exists(task->__state))
        return task->__state;
    return ((struct task_struct___old *)task)->state;
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
    if (state.generation == 0)
        return 0;
    struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
    __u64 now_ns = bpf_ktime_get_ns();
    __u32 prev_state = config.has_prev_state ? (__u32)ctx[3] : state_of(prev);
    begin(ctx, prev, ctx[0] ? 0 : prev_state & STATES, now_ns);
    end(ctx, next, now_ns);
    return 0;
}

/* A new task waits for its first CPU. The running task makes it. */
SEC("tp_btf/task_newtask")
int on_newtask(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0], *parent = bpf_get_current_task_btf();
    bool is_inherited = config.scope == WEIR_OFF_CPU_LISTED || config.scope == WEIR_OFF_CPU_COMMAND;
    if (task->flags & PF_KTHREAD || (is_inherited && (!config.inherit || !find_running(parent))))
        return 0;
    struct stretch *stretch = follow(task);
    if (stretch && is_wanted()) {
        stretch->generation = state.generation;
        stretch->start_ns = state.generation ? bpf_ktime_get_ns() : 0;
    }
    return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
    struct task_struct *task = (struct task_struct *)ctx[0];
    bool is_command = config.scope == WEIR_OFF_CPU_COMMAND && tid_of(task) == config.command;
    if (is_command || stretch_of(task))
        follow(task); /* a thread that executes a file gets the numbers of its process */
    return 0;
}

/* Of LISTED: another task may get the tid. */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
    __u32 tid = tid_of((struct task_struct *)ctx[0]);
    bpf_map_delete_elem(&listed, &tid);
    return 0;
}

char license_text[] SEC("license") = "GPL"; /* or the Apache License: NOTICE */
