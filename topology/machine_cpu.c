/*
 * The CPUs of a machine: their name and number, and the CPUs that share a core, die or package. One thread.
 *
 * Source: Documentation/admin-guide/cputopology.rst, proc(5) on cpuinfo,
 * Documentation/arch/arm64/cpu-feature-registers.rst; get_cpuid() in tools/perf/arch/{x86,arm64}/util/header.c and
 * has_die_topology() in tools/perf/util/cputopo.c of Linux 6.12.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "topology/machine_internal.h"

#define CPU_DIR "sys/devices/system/cpu"

/* A part of a text that its caller owns. */
struct span {
    const char *text; /* NULL: nothing */
    size_t length;
};

/* The value of the first "key<white space>: value" line of cpuinfo. */
static struct span cpuinfo_value(const char *cpuinfo, const char *key)
{
    size_t key_length = strlen(key);
    for (const char *line = cpuinfo; *line;) {
        size_t line_length = strcspn(line, "\n");
        const char *colon = memchr(line, ':', line_length);
        if (colon && strncmp(line, key, key_length) == 0) {
            const char *behind = line + key_length;
            behind += strspn(behind, " \t");
            if (behind == colon) {
                const char *value = colon + 1 + strspn(colon + 1, " \t");
                return (struct span){value, (size_t)(line + line_length - value)};
            }
        }
        line += line_length + (line[line_length] == '\n');
    }
    return (struct span){NULL, 0};
}

/* Turns each run of white space into one space, and removes it at the end. */
static void fold_white_space(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        bool space = isspace((unsigned char)*in);
        if (!space)
            *out++ = *in;
        else if (out > text && out[-1] != ' ')
            *out++ = ' ';
    }
    if (out > text && out[-1] == ' ')
        out--;
    *out = '\0';
}

/* The key of the line with the CPU's name differs between x86, loongarch and powerpc; arm64 has no such line. */
static char *cpu_desc_of(struct weir_sysroot *root, const char *cpuinfo)
{
    static const char *const keys[] = {"model name", "Model Name", "cpu"};
    struct span value = {NULL, 0};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(keys) && !value.text; i++)
        value = cpuinfo_value(cpuinfo, keys[i]);
    char *desc = value.text ? weir_sysroot_copy(root, value.text, value.length) : weir_sysroot_copy(root, "", 0);
    if (desc)
        fold_white_space(desc);
    return desc;
}

/* x86: "vendor,family,model,stepping". The kernel derives these values from the cpuid instruction just as perf does, so
 * cpuinfo serves for recorded machines too. NULL when one of the four is unknown. */
static char *x86_cpuid_of(struct weir_sysroot *root, const char *cpuinfo)
{
    static const char *const keys[] = {"vendor_id", "cpu family", "model", "stepping"};
    struct weir_buf id = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(keys); i++) {
        struct span value = cpuinfo_value(cpuinfo, keys[i]);
        bool is_number = value.text && isdigit((unsigned char)value.text[0]);
        if (!value.text || value.length == 0 || (i > 0 && !is_number)) { /* the kernel prints "unknown" */
            weir_buf_fini(&id);
            return NULL;
        }
        if (i > 0)
            weir_buf_append_u8(&id, ',');
        weir_buf_append(&id, value.text, value.length);
    }
    const char *text = weir_buf_str(&id);
    if (weir_buf_error(&id) < 0)
        root->error = -ENOMEM;
    char *cpuid = weir_sysroot_copy(root, text, strlen(text));
    weir_buf_fini(&id);
    return cpuid;
}

/* arm64: the main identification register of the first online CPU, as sysfs prints it. */
static char *arm64_cpuid_of(struct weir_sysroot *root, const struct weir_cpuset *online)
{
    WEIR_CPUSET_FOREACH(cpu, online) {
        const char *midr = weir_sysroot_read(root, CPU_DIR "/cpu%d/regs/identification/midr_el1", cpu);
        if (midr && midr[0])
            return weir_sysroot_copy(root, midr, strlen(midr));
    }
    return NULL;
}

/* Reads text before the MIDR files, which reuse its buffer. */
static void collect_identity(struct weir_machine *machine, struct weir_sysroot *root, const struct weir_cpuset *online)
{
    const char *cpuinfo = weir_sysroot_read(root, "proc/cpuinfo");
    if (!cpuinfo)
        cpuinfo = "";
    machine->cpu_desc = cpu_desc_of(root, cpuinfo);
    machine->cpuid = x86_cpuid_of(root, cpuinfo);
    if (!machine->cpuid)
        machine->cpuid = arm64_cpuid_of(root, online);
}

/* Returns the CPUs of the topology that share the package (or core) of cpu. Owned by the caller. */
static char *siblings_by_topology(struct weir_sysroot *root, const struct weir_topology *topology,
                                  const struct weir_topology_cpu *cpu, bool same_core)
{
    unsigned count;
    const struct weir_topology_cpu *others = weir_topology_cpus(topology, &count);
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    for (unsigned i = 0; i < count; i++) {
        if (same_core ? others[i].core != cpu->core : others[i].package != cpu->package)
            continue;
        if (weir_cpuset_add(&set, others[i].id) < 0)
            root->error = -ENOMEM;
    }
    size_t bytes = weir_cpuset_format(&set, NULL, 0) + 1;
    char *list = weir_sysroot_alloc(root, bytes, 1);
    if (list)
        weir_cpuset_format(&set, list, bytes);
    weir_cpuset_fini(&set);
    return list;
}

/* Describes the CPUs without sysfs. */
static void describe_by_topology(struct weir_machine_cpu *out, struct weir_sysroot *root,
                                 const struct weir_topology *topology, const struct weir_topology_cpu *cpu)
{
    *out = (struct weir_machine_cpu){
        .id = cpu->id,
        .core_id = (int32_t)cpu->core,
        .die_id = -1,
        .package_id = (int32_t)cpu->package,
        .core_siblings = siblings_by_topology(root, topology, cpu, false),
        .die_siblings = weir_sysroot_copy(root, "", 0),
        .thread_siblings = siblings_by_topology(root, topology, cpu, true),
    };
}

static int32_t topology_id(struct weir_sysroot *root, unsigned cpu, const char *name)
{
    int64_t id;
    if (!weir_sysroot_read_number(root, 10, &id, CPU_DIR "/cpu%u/topology/%s", cpu, name) || id < 0 || id > INT32_MAX)
        return -1;
    return (int32_t)id;
}

/* Reads a list under its present name, or under its name in kernels before 5.3. */
static char *topology_list(struct weir_sysroot *root, unsigned cpu, const char *name, const char *old_name)
{
    if (weir_sysroot_read(root, CPU_DIR "/cpu%u/topology/%s", cpu, name))
        return weir_sysroot_read_copy(root, CPU_DIR "/cpu%u/topology/%s", cpu, name);
    return weir_sysroot_read_copy(root, CPU_DIR "/cpu%u/topology/%s", cpu, old_name);
}

static void describe_by_sysfs(struct weir_machine_cpu *out, struct weir_sysroot *root, unsigned cpu, bool has_dies)
{
    *out = (struct weir_machine_cpu){
        .id = cpu,
        .core_id = topology_id(root, cpu, "core_id"),
        .die_id = has_dies ? topology_id(root, cpu, "die_id") : -1,
        .package_id = topology_id(root, cpu, "physical_package_id"),
        .core_siblings = topology_list(root, cpu, "package_cpus_list", "core_siblings_list"),
        .die_siblings = has_dies ? weir_sysroot_read_copy(root, CPU_DIR "/cpu%u/topology/die_cpus_list", cpu)
                                 : weir_sysroot_copy(root, "", 0),
        .thread_siblings = topology_list(root, cpu, "core_cpus_list", "thread_siblings_list"),
    };
}

static void collect_each(struct weir_machine *machine, const struct weir_topology *topology, struct weir_sysroot *root,
                         const struct weir_cpuset *online, bool has_sysfs)
{
    /* perf records dies on these architectures only; others have die files without meaning. */
    bool has_dies = strcmp(machine->arch, "x86_64") == 0 || strcmp(machine->arch, "s390x") == 0;

    machine->cpus = weir_sysroot_alloc(root, weir_cpuset_count(online), sizeof(*machine->cpus));
    if (!machine->cpus)
        return;
    WEIR_CPUSET_FOREACH(cpu, online) {
        struct weir_machine_cpu *out = &machine->cpus[machine->cpu_count++];
        if (has_sysfs)
            describe_by_sysfs(out, root, (unsigned)cpu, has_dies);
        else
            describe_by_topology(out, root, topology, weir_topology_cpu(topology, (unsigned)cpu));
    }
}

/* The greatest CPU of set plus one. */
static unsigned limit_of(const struct weir_cpuset *set)
{
    unsigned limit = 0;
    WEIR_CPUSET_FOREACH(cpu, set) {
        limit = (unsigned)cpu + 1;
    }
    return limit;
}

void weir_machine_collect_cpus(struct weir_machine *machine, const struct weir_topology *topology,
                               struct weir_sysroot *root)
{
    struct weir_cpuset online = WEIR_CPUSET_INIT, present = WEIR_CPUSET_INIT;
    bool has_sysfs = weir_sysroot_read_list(root, &online, CPU_DIR "/online");
    if (!has_sysfs && weir_cpuset_copy(&online, weir_topology_online(topology)) < 0)
        root->error = -ENOMEM;
    weir_sysroot_read_list(root, &present, CPU_DIR "/present");

    machine->cpus_online = weir_cpuset_count(&online);
    machine->cpus_available = (uint32_t)weir_max_u64(limit_of(&present), limit_of(&online));
    collect_identity(machine, root, &online);
    if (root->error == 0)
        collect_each(machine, topology, root, &online, has_sysfs);
    weir_cpuset_fini(&online);
    weir_cpuset_fini(&present);
}
