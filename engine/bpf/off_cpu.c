#include "engine/bpf/off_cpu.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/bpf/off_cpu_skeleton.h"
#include "engine/bpf/skeleton.h"

#define FIRST_PID_NS 0xEFFFFFFCu /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

struct weir_off_cpu {
    struct weir_skeleton *skeleton;   /* owned */
    struct weir_off_cpu_state *state; /* of the skeleton; NULL: not loaded */
    uint32_t generation;              /* of the last enable */
};

/* Since Linux 5.18 sched_switch passes the state; before, programs read it from the task. The type of its handlers
 * tells: it has one parameter more, for their data. */
static bool has_prev_state(void)
{
    struct btf *btf = btf__load_vmlinux_btf();
    const struct btf_type *type = NULL;
    int id = btf ? btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF) : -1;
    for (int depth = 0; id > 0 && depth < 3; depth++) { /* typedef, pointer, function */
        type = btf__type_by_id(btf, (uint32_t)id);
        id = type && !btf_is_func_proto(type) ? (int)type->type : -1;
    }
    bool has = type && btf_is_func_proto(type) && btf_vlen(type) >= 5;
    btf__free(btf);
    return has;
}

static uint32_t own_pid_ns(void)
{
    struct stat status;
    bool is_nested = stat("/proc/self/ns/pid", &status) == 0 && (uint32_t)status.st_ino != FIRST_PID_NS;
    return is_nested ? (uint32_t)status.st_ino : 0;
}

static void configure(const struct weir_skeleton *skeleton, const struct weir_off_cpu_setup *setup)
{
    struct weir_off_cpu_config *config = weir_skeleton_variables(skeleton, ".rodata.config", sizeof(*config));
    *config = (struct weir_off_cpu_config){
        .threshold_ns = setup->threshold_ns,
        .scope = setup->scope,
        .uid = setup->uid,
        .command = (uint32_t)setup->command,
        .pid_ns = own_pid_ns(),
        .cgroups = (uint32_t)setup->cgroup_count,
        .inherit = setup->inherit,
        .limits_cpus = setup->cpus != NULL,
        .cgroup_ids = setup->cgroup_ids,
        .has_prev_state = has_prev_state(),
        .kernel_chains = setup->kernel_chains,
        .user_chains = setup->user_chains,
    };
    weir_skeleton_size_map(skeleton, "sums", WEIR_OFF_CPU_SUMS_MAX);
    weir_skeleton_size_map(skeleton, "stacks", WEIR_OFF_CPU_STACKS_MAX);
    weir_skeleton_size_map(skeleton, "listed", (uint32_t)weir_max_u64(setup->task_count, 1));
    weir_skeleton_size_map(skeleton, "cpus", (uint32_t)libbpf_num_possible_cpus());
    if (setup->scope != WEIR_OFF_CPU_LISTED)
        weir_skeleton_omit(skeleton, "on_exit");
}

static int fill(const struct weir_skeleton *skeleton, const struct weir_off_cpu_setup *setup)
{
    const uint8_t yes = 1;
    int cpus = weir_skeleton_map(skeleton, "cpus"), cgroups = weir_skeleton_map(skeleton, "cgroups");
    int result = 0;
    for (int cpu = setup->cpus ? weir_cpuset_next(setup->cpus, 0) : -1; cpu >= 0 && result == 0;
         cpu = weir_cpuset_next(setup->cpus, (unsigned)cpu + 1))
        result = bpf_map_update_elem(cpus, &cpu, &yes, BPF_ANY);
    for (uint32_t i = 0; i < setup->cgroup_count && result == 0; i++)
        result = bpf_map_update_elem(cgroups, &i, &setup->cgroup_fds[i], BPF_ANY);
    return result;
}

static int load(struct weir_off_cpu *off_cpu, const struct weir_off_cpu_setup *setup, struct weir_error *err)
{
    int result = weir_skeleton_load(off_cpu->skeleton, err);
    if (result < 0)
        return result;
    off_cpu->state = weir_skeleton_variables(off_cpu->skeleton, ".data.state", sizeof(*off_cpu->state));
    result = fill(off_cpu->skeleton, setup);
    if (result == 0)
        return 0;
    weir_error_set_errno(err, result, "cannot limit --off-cpu to CPUs or cgroups");
    if (setup->cgroup_count > 0)
        weir_error_hint(err, "--off-cpu knows cgroups of version 2 only");
    return result;
}

int weir_off_cpu_open(struct weir_off_cpu **made, const struct weir_off_cpu_setup *setup, struct weir_error *err)
{
    const struct weir_skeleton_setup skeleton = {
        .user = "--off-cpu",
        .image = weir_off_cpu_skeleton,
        .image_bytes = weir_off_cpu_skeleton_bytes,
        .notices = setup->notices,
    };
    weir_assert(setup->cgroup_count <= WEIR_OFF_CPU_CGROUPS);
    struct weir_off_cpu *off_cpu = calloc(1, sizeof(*off_cpu));
    if (!off_cpu)
        return weir_error_set_errno(err, -ENOMEM, "cannot measure off-CPU time");
    int result = weir_skeleton_open(&off_cpu->skeleton, &skeleton, err);
    if (result == 0) {
        configure(off_cpu->skeleton, setup);
        result = load(off_cpu, setup, err);
    }
    if (result == 0)
        *made = off_cpu;
    else
        weir_off_cpu_free(off_cpu);
    return result;
}

void weir_off_cpu_free(struct weir_off_cpu *off_cpu)
{
    if (!off_cpu)
        return;
    weir_skeleton_free(off_cpu->skeleton);
    free(off_cpu);
}

int weir_off_cpu_set_output(const struct weir_off_cpu *off_cpu, unsigned cpu, int fd)
{
    return bpf_map_update_elem(weir_skeleton_map(off_cpu->skeleton, "outputs"), &cpu, &fd, BPF_ANY);
}

int weir_off_cpu_add_tasks(const struct weir_off_cpu *off_cpu, const pid_t *tids, size_t count)
{
    const uint8_t yes = 1;
    int map = weir_skeleton_map(off_cpu->skeleton, "listed"), result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = bpf_map_update_elem(map, &tids[i], &yes, BPF_ANY);
    return result;
}

int weir_off_cpu_attach(struct weir_off_cpu *off_cpu, struct weir_error *err)
{
    return weir_skeleton_attach(off_cpu->skeleton, err);
}

/* Relaxed: a program that reads the old value measures one stretch more or less. The moment of the change is not exact
 * anyway. */
void weir_off_cpu_enable(struct weir_off_cpu *off_cpu, bool on)
{
    bool is_on = __atomic_load_n(&off_cpu->state->generation, __ATOMIC_RELAXED) != 0;
    if (on == is_on)
        return;
    off_cpu->generation += on;
    __atomic_store_n(&off_cpu->state->generation, on ? off_cpu->generation : 0, __ATOMIC_RELAXED);
}

void weir_off_cpu_end(struct weir_off_cpu *off_cpu)
{
    weir_off_cpu_enable(off_cpu, false);
    weir_skeleton_detach(off_cpu->skeleton);
    /* Waits for an RCU grace period (synchronize_rcu() in kernel/sched/membarrier.c): a program that still ran on
     * another CPU has ended. Without it, as with nohz_full, a last stretch may be missed. */
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

int weir_off_cpu_count(const struct weir_off_cpu *off_cpu, struct weir_off_cpu_counts *counts)
{
    const uint32_t key = 0;
    int cpus = libbpf_num_possible_cpus();
    *counts = (struct weir_off_cpu_counts){0};
    struct weir_off_cpu_counts *each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
    int result = each ? bpf_map_lookup_elem(weir_skeleton_map(off_cpu->skeleton, "counts"), &key, each) : -ENOMEM;
    for (int i = 0; i < cpus && result == 0; i++) {
        counts->samples += each[i].samples;
        counts->summed += each[i].summed;
        counts->overflowed += each[i].overflowed;
        counts->overflowed_ns += each[i].overflowed_ns;
        counts->late += each[i].late;
        counts->unfollowed += each[i].unfollowed;
    }
    free(each);
    return result;
}

int weir_off_cpu_next_total(const struct weir_off_cpu *off_cpu, struct weir_off_cpu_total *total)
{
    int sums = weir_skeleton_map(off_cpu->skeleton, "sums");
    struct weir_off_cpu_sum_key next;
    int result = bpf_map_get_next_key(sums, total->sum.stretches ? &total->key : NULL, &next);
    if (result < 0)
        return result == -ENOENT ? 0 : result;
    total->key = next;
    result = bpf_map_lookup_elem(sums, &next, &total->sum);
    if (result == 0)
        result = bpf_map_lookup_elem(weir_skeleton_map(off_cpu->skeleton, "stacks"), &next.stack, &total->stack);
    return result < 0 ? result : 1;
}
