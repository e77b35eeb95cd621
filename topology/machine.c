/*
 * The description of a machine: names and PMUs here; CPUs, caches and memory in machine_cpu.c, machine_cache.c and
 * machine_memory.c. Runs once per recording, on the set-up thread.
 *
 * Source: the write_*() functions of tools/perf/util/header.c, Linux 6.12, for the values that consumers expect;
 * Documentation/ABI/testing/sysfs-* and proc(5) for the place of each value.
 */
#include "topology/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "topology/machine_internal.h"

static void collect_names(struct weir_machine *machine, struct weir_sysroot *root)
{
    struct utsname names;
    if (weir_sysroot_is_this_machine(root) && uname(&names) == 0) {
        machine->hostname = weir_sysroot_copy(root, names.nodename, strlen(names.nodename));
        machine->os_release = weir_sysroot_copy(root, names.release, strlen(names.release));
        machine->arch = weir_sysroot_copy(root, names.machine, strlen(names.machine));
        return;
    }
    machine->hostname = weir_sysroot_read_copy(root, "proc/sys/kernel/hostname");
    machine->os_release = weir_sysroot_read_copy(root, "proc/sys/kernel/osrelease");
    machine->arch = weir_sysroot_read_copy(root, "proc/sys/kernel/arch"); /* since Linux 6.1 */
}

static int compare_caps(const void *a, const void *b)
{
    const struct weir_machine_pmu_cap *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void fini_pmu(struct weir_machine_pmu *pmu)
{
    for (size_t i = 0; i < pmu->cap_count; i++) {
        free(pmu->caps[i].name);
        free(pmu->caps[i].value);
    }
    free(pmu->caps);
    free(pmu->cpus);
    free(pmu->name);
}

static void collect_cap(struct weir_buf *caps, struct weir_sysroot *root, const char *pmu, const char *name)
{
    const char *text = weir_sysroot_read(root, "sys/bus/event_source/devices/%s/caps/%s", pmu, name);
    if (!text)
        return;
    struct weir_machine_pmu_cap cap = {.value = weir_sysroot_copy(root, text, strlen(text))};
    cap.name = weir_sysroot_copy(root, name, strlen(name));
    weir_buf_append(caps, &cap, sizeof(cap));
    if (cap.name && cap.value && weir_buf_error(caps) == 0)
        return;
    if (weir_buf_error(caps) == 0)
        caps->used -= sizeof(cap);
    free(cap.name);
    free(cap.value);
    root->error = -ENOMEM;
}

static void collect_caps(struct weir_machine_pmu *pmu, struct weir_sysroot *root)
{
    DIR *dir = weir_sysroot_opendir(root, "sys/bus/event_source/devices/%s/caps", pmu->name);
    if (!dir)
        return;
    struct weir_buf caps = WEIR_BUF_INIT;
    struct dirent *entry;
    while (root->error == 0 && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.')
            collect_cap(&caps, root, pmu->name, entry->d_name);
    }
    closedir(dir);

    pmu->caps = (struct weir_machine_pmu_cap *)(void *)caps.data;
    pmu->cap_count = caps.used / sizeof(*pmu->caps);
    if (pmu->cap_count > 0)
        qsort(pmu->caps, pmu->cap_count, sizeof(*pmu->caps), compare_caps);
}

/* Several kinds of cores have PMUs cpu_core, cpu_atom, ... in the place of cpu. (Uncore PMUs have a cpumask instead.)
 */
static void collect_hybrid_cpus(struct weir_machine_pmu *pmu, struct weir_sysroot *root)
{
    if (strncmp(pmu->name, "cpu_", 4) != 0)
        return;
    const char *text = weir_sysroot_read(root, "sys/bus/event_source/devices/%s/cpus", pmu->name);
    if (text && *text)
        pmu->cpus = weir_sysroot_copy(root, text, strlen(text));
}

/* Adds the PMU of that name if its type is known. */
static void collect_pmu(struct weir_buf *pmus, struct weir_sysroot *root, const char *name)
{
    int64_t type;
    if (!weir_sysroot_read_number(root, 10, &type, "sys/bus/event_source/devices/%s/type", name) || type < 0 ||
        type > UINT32_MAX)
        return;
    struct weir_machine_pmu pmu = {.type = (uint32_t)type, .name = weir_sysroot_copy(root, name, strlen(name))};
    if (!pmu.name)
        return;
    collect_caps(&pmu, root);
    collect_hybrid_cpus(&pmu, root);
    weir_buf_append(pmus, &pmu, sizeof(pmu));
    if (weir_buf_error(pmus) < 0) {
        fini_pmu(&pmu);
        root->error = -ENOMEM;
    }
}

static int compare_pmus(const void *a, const void *b)
{
    const struct weir_machine_pmu *x = a, *y = b;
    int order = (x->type > y->type) - (x->type < y->type);
    return order ? order : strcmp(x->name, y->name);
}

/* Sorts the PMUs: a folder lists its entries in no order. */
static void collect_pmus(struct weir_machine *machine, struct weir_sysroot *root)
{
    DIR *dir = weir_sysroot_opendir(root, "sys/bus/event_source/devices");
    if (!dir)
        return;
    struct weir_buf pmus = WEIR_BUF_INIT;
    struct dirent *entry;
    while (root->error == 0 && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.')
            collect_pmu(&pmus, root, entry->d_name);
    }
    closedir(dir);

    machine->pmus = (struct weir_machine_pmu *)(void *)pmus.data;
    machine->pmu_count = pmus.used / sizeof(*machine->pmus);
    if (machine->pmu_count > 0)
        qsort(machine->pmus, machine->pmu_count, sizeof(*machine->pmus), compare_pmus);
}

int weir_machine_collect(struct weir_machine *machine, const struct weir_topology *topology, const char *sysroot,
                         struct weir_error *err)
{
    struct weir_machine collected = {0};
    struct weir_sysroot root;
    weir_sysroot_init(&root, sysroot);
    collect_names(&collected, &root);
    if (root.error == 0)
        weir_machine_collect_cpus(&collected, topology, &root);
    if (root.error == 0)
        weir_machine_collect_caches(&collected, &root);
    if (root.error == 0)
        weir_machine_collect_memory(&collected, &root);
    if (root.error == 0)
        collect_pmus(&collected, &root);
    weir_sysroot_fini(&root);

    if (root.error < 0) {
        weir_machine_fini(&collected);
        return weir_error_set_errno(err, root.error, "cannot describe the machine");
    }
    *machine = collected;
    return 0;
}

static void fini_cpus(struct weir_machine *machine)
{
    for (size_t i = 0; i < machine->cpu_count; i++) {
        free(machine->cpus[i].core_siblings);
        free(machine->cpus[i].die_siblings);
        free(machine->cpus[i].thread_siblings);
    }
    free(machine->cpus);
}

static void fini_caches(struct weir_machine *machine)
{
    for (size_t i = 0; i < machine->cache_count; i++) {
        free(machine->caches[i].type);
        free(machine->caches[i].size);
        free(machine->caches[i].cpus);
    }
    free(machine->caches);
}

static void fini_nodes(struct weir_machine *machine)
{
    for (size_t i = 0; i < machine->node_count; i++) {
        free(machine->nodes[i].cpus);
        free(machine->nodes[i].memory_blocks);
    }
    free(machine->nodes);
}

static void fini_pmus(struct weir_machine *machine)
{
    for (size_t i = 0; i < machine->pmu_count; i++)
        fini_pmu(&machine->pmus[i]);
    free(machine->pmus);
}

void weir_machine_fini(struct weir_machine *machine)
{
    if (!machine)
        return;
    free(machine->hostname);
    free(machine->os_release);
    free(machine->arch);
    free(machine->cpu_desc);
    free(machine->cpuid);
    fini_cpus(machine);
    fini_caches(machine);
    fini_nodes(machine);
    fini_pmus(machine);
    *machine = (struct weir_machine){0};
}
