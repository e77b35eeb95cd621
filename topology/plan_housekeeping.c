/*
 * Plans for machines on which only some CPUs run readers. Made once, on the set-up thread.
 *
 * Source: Documentation/admin-guide/kernel-parameters.txt on isolcpus= and nohz_full=, Linux 6.12; drivers/base/cpu.c
 * for the files of sysfs.
 */
#include "topology/plan_housekeeping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "topology/plan_internal.h"
#include "topology/sysroot.h"

#define LIST_TEXT_BYTES 256

int weir_quiet_cpus_read(struct weir_cpuset *set, const char *path)
{
    static const char *const files[] = {"sys/devices/system/cpu/isolated", "sys/devices/system/cpu/nohz_full"};
    struct weir_sysroot root;
    struct weir_cpuset quiet = WEIR_CPUSET_INIT;
    weir_sysroot_init(&root, path);
    int result = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && result == 0; i++) {
        struct weir_cpuset list = WEIR_CPUSET_INIT;
        /* A kernel with nohz_full support but without the parameter prints "(null)", which is no list. */
        if (weir_sysroot_read_list(&root, &list, "%s", files[i]))
            result = weir_cpuset_or(&quiet, &quiet, &list);
        weir_cpuset_fini(&list);
    }
    if (root.error < 0)
        result = root.error;
    weir_sysroot_fini(&root);
    weir_cpuset_fini(result < 0 ? &quiet : set);
    if (result == 0)
        *set = quiet;
    return result;
}

static int out_of_memory(struct weir_error *err)
{
    return weir_error_set_errno(err, -ENOMEM, "cannot plan the readers");
}

/* ---- which CPUs are housekeeping CPUs ---- */

static int check_reader_cpus(const struct weir_topology *topology, const struct weir_plan_housekeeping *housekeeping,
                             enum weir_plan_layout layout, struct weir_error *err)
{
    static const struct weir_cpuset none = WEIR_CPUSET_INIT;
    const struct weir_cpuset *online = weir_topology_online(topology);
    if (layout == WEIR_PLAN_LAYOUT_MASKS && housekeeping->reader_cpus) {
        weir_error_set(err, -EINVAL, "--reader-cpus cannot be combined with the masks of --threads");
        weir_error_hint(err, "each mask names its reader's CPUs behind the slash");
        return -EINVAL;
    }
    WEIR_CPUSET_FOREACH(cpu, housekeeping->reader_cpus ? housekeeping->reader_cpus : &none) {
        if (weir_cpuset_has(online, (unsigned)cpu))
            continue;
        char list[LIST_TEXT_BYTES];
        weir_cpuset_format(online, list, sizeof(list));
        weir_error_set(err, -EINVAL, "--reader-cpus: CPU %d is not online", cpu);
        weir_error_hint(err, "online are CPUs %s", list);
        return -EINVAL;
    }
    return 0;
}

static void tell_spared(const struct weir_cpuset *spared, const struct weir_cpuset *housekeeping_cpus,
                        const struct weir_notice_sink *sink)
{
    char quiet[LIST_TEXT_BYTES], others[LIST_TEXT_BYTES];
    weir_cpuset_format(spared, quiet, sizeof(quiet));
    weir_cpuset_format(housekeeping_cpus, others, sizeof(others));
    weir_notice(sink, WEIR_NOTICE_VERBOSE, "CPUs %s are isolated (isolcpus=, nohz_full=): weir runs on CPUs %s", quiet,
                others);
}

/* Sets *housekeeping_cpus to the CPUs that are not quiet; empty if quiet CPUs do not narrow the machine. */
static int leave_quiet(struct weir_cpuset *housekeeping_cpus, const struct weir_topology *topology,
                       const struct weir_cpuset *quiet, const struct weir_notice_sink *sink)
{
    const struct weir_cpuset *online = weir_topology_online(topology);
    if (!quiet || !weir_cpuset_intersects(quiet, online))
        return 0;

    struct weir_cpuset spared = WEIR_CPUSET_INIT;
    int result = weir_cpuset_and(&spared, quiet, online);
    if (result == 0)
        result = weir_cpuset_without(housekeeping_cpus, online, &spared);
    if (result == 0)
        result = weir_cpuset_and(housekeeping_cpus, housekeeping_cpus, weir_topology_allowed(topology));
    if (result == 0 && weir_cpuset_is_empty(housekeeping_cpus))
        weir_notice(sink, WEIR_NOTICE_WARNING,
                    "all CPUs that weir may run on are isolated (isolcpus=, nohz_full=): its readers run on them");
    else if (result == 0)
        tell_spared(&spared, housekeeping_cpus, sink);
    weir_cpuset_fini(&spared);
    return result;
}

/* Sets *housekeeping_cpus; empty: nothing narrows the machine. */
static int choose_housekeeping_cpus(struct weir_cpuset *housekeeping_cpus, const struct weir_topology *topology,
                                    const struct weir_plan_housekeeping *housekeeping,
                                    const struct weir_notice_sink *sink)
{
    if (housekeeping->reader_cpus)
        return weir_cpuset_copy(housekeeping_cpus, housekeeping->reader_cpus);
    return leave_quiet(housekeeping_cpus, topology, housekeeping->quiet, sink);
}

/* ---- plans ---- */

static int node_of(const struct weir_topology *topology, int cpu)
{
    return weir_topology_cpu(topology, (unsigned)cpu)->home_node;
}

static bool is_kept_by(const struct weir_topology *topology, int housekeeper, int node)
{
    return node < 0 || node_of(topology, housekeeper) == node;
}

/* Returns how many CPUs of set are on the node; node < 0: on any node. */
static unsigned count_on(const struct weir_topology *topology, const struct weir_cpuset *set, int node)
{
    unsigned count = 0;
    WEIR_CPUSET_FOREACH(cpu, set) {
        count += is_kept_by(topology, cpu, node);
    }
    return count;
}

/* Returns the housekeeping CPU with that number among those of the node. */
static int housekeeper_at(const struct weir_topology *topology, const struct weir_cpuset *housekeeping_cpus, int node,
                          unsigned number)
{
    WEIR_CPUSET_FOREACH(housekeeper, housekeeping_cpus) {
        if (is_kept_by(topology, housekeeper, node) && number-- == 0)
            return housekeeper;
    }
    weir_assert(!"number is below what count_on() said");
    return -1;
}

/* Returns the reader that runs on housekeeper alone, made if there is none. */
static struct weir_plan_reader *reader_on(struct weir_plan *plan, int housekeeper)
{
    for (unsigned i = plan->reader_count; i > 0; i--) {
        if (weir_cpuset_has(&plan->readers[i - 1].affinity, (unsigned)housekeeper))
            return &plan->readers[i - 1];
    }
    struct weir_plan_reader *reader = &plan->readers[plan->reader_count];
    if (weir_cpuset_add(&reader->affinity, (unsigned)housekeeper) < 0)
        return NULL;
    plan->reader_count++;
    return reader;
}

static int add_to_reader(struct weir_plan *plan, int housekeeper, int cpu)
{
    struct weir_plan_reader *reader = reader_on(plan, housekeeper);
    return reader ? weir_cpuset_add(&reader->cpus, (unsigned)cpu) : -ENOMEM;
}

/* Deals out the other CPUs of one node. Neighbors go to the same reader, as they share caches. */
static int deal_node(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *spared,
                     const struct weir_cpuset *housekeeping_cpus, int node)
{
    unsigned cpus = count_on(topology, spared, node), housekeepers = count_on(topology, housekeeping_cpus, node),
             dealt = 0;
    int home = housekeepers > 0 ? node : -1;
    housekeepers = housekeepers > 0 ? housekeepers : weir_cpuset_count(housekeeping_cpus);
    int result = 0;
    WEIR_CPUSET_FOREACH(cpu, spared) {
        if (result == 0 && node_of(topology, cpu) == node)
            result = add_to_reader(
                plan, housekeeper_at(topology, housekeeping_cpus, home, dealt++ * housekeepers / cpus), cpu);
    }
    return result;
}

/* Makes one reader for each housekeeping CPU that has something to drain. */
static int deal_out(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                    const struct weir_cpuset *housekeeping_cpus)
{
    struct weir_cpuset spared = WEIR_CPUSET_INIT;
    int result = weir_cpuset_without(&spared, cpus, housekeeping_cpus);
    WEIR_CPUSET_FOREACH(cpu, cpus) {
        if (result == 0 && weir_cpuset_has(housekeeping_cpus, (unsigned)cpu))
            result = add_to_reader(plan, cpu, cpu);
    }
    for (int node = 0; result == 0 && node < (int)weir_topology_node_limit(topology); node++)
        result = deal_node(plan, topology, &spared, housekeeping_cpus, node);
    weir_cpuset_fini(&spared);
    return result;
}

static int plan_by_housekeepers(struct weir_plan *plan, const struct weir_topology *topology,
                                const struct weir_cpuset *cpus, const struct weir_cpuset *housekeeping_cpus)
{
    plan->readers = calloc(weir_cpuset_count(housekeeping_cpus), sizeof(*plan->readers));
    return plan->readers ? deal_out(plan, topology, cpus, housekeeping_cpus) : -ENOMEM;
}

/* Narrows the affinity of a reader of a layout to the housekeeping CPUs. */
static int move_reader(struct weir_plan_reader *reader, const struct weir_topology *topology,
                       const struct weir_cpuset *housekeeping_cpus)
{
    if (weir_cpuset_intersects(&reader->affinity, housekeeping_cpus))
        return weir_cpuset_and(&reader->affinity, &reader->affinity, housekeeping_cpus);

    struct weir_cpuset near = WEIR_CPUSET_INIT;
    int result = 0;
    WEIR_CPUSET_FOREACH(housekeeper, housekeeping_cpus) {
        WEIR_CPUSET_FOREACH(cpu, &reader->cpus) {
            if (node_of(topology, housekeeper) != node_of(topology, cpu))
                continue;
            if (weir_cpuset_add(&near, (unsigned)housekeeper) < 0)
                result = -ENOMEM;
            break;
        }
    }
    if (result == 0)
        result = weir_cpuset_copy(&reader->affinity, weir_cpuset_is_empty(&near) ? housekeeping_cpus : &near);
    weir_cpuset_fini(&near);
    return result;
}

static int by_first_cpu(const void *a, const void *b)
{
    const struct weir_plan_reader *x = a, *y = b;
    int first = weir_cpuset_next(&x->cpus, 0), second = weir_cpuset_next(&y->cpus, 0);
    return (first > second) - (first < second);
}

static int make_with_housekeeping(struct weir_plan *plan, const struct weir_cpuset *housekeeping_cpus,
                                  const struct weir_topology *topology, const struct weir_cpuset *cpus,
                                  const char *spec, const struct weir_notice_sink *sink, struct weir_error *err)
{
    int result = weir_plan_make_wishes(plan, topology, cpus, spec, err);
    if (result < 0)
        return result;
    if (!spec) {
        struct weir_plan dealt = {NULL, 0};
        result = plan_by_housekeepers(&dealt, topology, cpus, housekeeping_cpus);
        weir_plan_fini(plan);
        *plan = dealt;
        if (result == 0)
            qsort(plan->readers, plan->reader_count, sizeof(*plan->readers), by_first_cpu);
    }
    for (unsigned i = 0; spec && result == 0 && i < plan->reader_count; i++)
        result = move_reader(&plan->readers[i], topology, housekeeping_cpus);
    return result < 0 ? out_of_memory(err) : weir_plan_fit(plan, topology, sink, err);
}

int weir_plan_make_with_housekeeping(struct weir_plan *plan, struct weir_cpuset *housekeeping_cpus,
                                     const struct weir_topology *topology, const struct weir_cpuset *cpus,
                                     const char *spec, const struct weir_plan_housekeeping *housekeeping,
                                     const struct weir_notice_sink *sink, struct weir_error *err)
{
    struct weir_plan_spec parsed;
    int result = weir_plan_spec_parse(&parsed, spec, err);
    if (result < 0)
        return result;
    enum weir_plan_layout layout = parsed.layout;
    weir_plan_spec_fini(&parsed);

    struct weir_cpuset chosen = WEIR_CPUSET_INIT;
    result = check_reader_cpus(topology, housekeeping, layout, err);
    if (result == 0 && choose_housekeeping_cpus(&chosen, topology, housekeeping, sink) < 0)
        result = out_of_memory(err);
    struct weir_plan made = {NULL, 0};
    if (result == 0 && (weir_cpuset_is_empty(&chosen) || layout == WEIR_PLAN_LAYOUT_MASKS))
        result = weir_plan_make(&made, topology, cpus, spec, sink, err);
    else if (result == 0)
        result = make_with_housekeeping(&made, &chosen, topology, cpus, spec, sink, err);
    if (result < 0) {
        weir_plan_fini(&made);
        weir_cpuset_fini(&chosen);
        return result;
    }
    weir_cpuset_fini(housekeeping_cpus);
    *housekeeping_cpus = chosen;
    *plan = made;
    return 0;
}
