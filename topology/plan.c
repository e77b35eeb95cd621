/*
 * The placement plan. Made once, on the set-up thread; read-only afterwards.
 *
 *     spec -> readers with the CPUs they drain and the CPUs they wish to run on   (by unit of the machine, or by masks)
 *          -> wishes narrowed to the CPUs that this process may use
 *          -> NUMA node of most of the remaining CPUs
 *
 * Source: record__init_thread_masks() in tools/perf/builtin-record.c of Linux 6.12, which makes the same plans. weir
 * differs on purpose. It skips units without a CPU to record, where perf refuses "-C 0 --threads=core". It refuses
 * masks that leave a CPU undrained, where perf leaves that CPU unrecorded. Affinities may overlap and may lie outside
 * of -C, so that a few housekeeping CPUs can run all readers.
 */
#include "topology/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "topology/plan_internal.h"

#define LIST_TEXT_BYTES 256 /* of a CPU list in a message; longer ones are cut */

struct list_text {
    char text[LIST_TEXT_BYTES];
};

static struct list_text list_of(const struct weir_cpuset *set)
{
    struct list_text list = {""};
    weir_cpuset_format(set, list.text, sizeof(list.text));
    return list;
}

static int out_of_memory(struct weir_error *err)
{
    return weir_error_set_errno(err, -ENOMEM, "cannot plan the readers");
}

static void reader_fini(struct weir_plan_reader *reader)
{
    weir_cpuset_fini(&reader->cpus);
    weir_cpuset_fini(&reader->affinity);
}

void weir_plan_fini(struct weir_plan *plan)
{
    if (!plan)
        return;
    for (unsigned i = 0; i < plan->reader_count; i++)
        reader_fini(&plan->readers[i]);
    free(plan->readers);
    *plan = (struct weir_plan){NULL, 0};
}

void weir_plan_keep(struct weir_plan *plan, unsigned count)
{
    while (plan->reader_count > count && plan->reader_count > 1)
        reader_fini(&plan->readers[--plan->reader_count]);
}

/* Refuses a set that is not a subset of the online CPUs. whose: the option that names the CPUs, for the message. */
static int check_online(const struct weir_topology *topology, const struct weir_cpuset *set, const char *whose,
                        struct weir_error *err)
{
    const struct weir_cpuset *online = weir_topology_online(topology);
    WEIR_CPUSET_FOREACH(cpu, set) {
        if (weir_cpuset_has(online, (unsigned)cpu))
            continue;
        weir_error_set(err, -EINVAL, "%s: CPU %d is not online", whose, cpu);
        weir_error_hint(err, "online are CPUs %s", list_of(online).text);
        return -EINVAL;
    }
    return 0;
}

static int check_recorded(const struct weir_topology *topology, const struct weir_cpuset *cpus, struct weir_error *err)
{
    if (weir_cpuset_is_empty(cpus))
        return weir_error_set(err, -EINVAL, "no CPU to record");
    return check_online(topology, cpus, "CPUs to record", err);
}

/* Returns the number of the CPU's unit; CPUs with the same number belong to one reader. */
static unsigned unit_of(const struct weir_topology_cpu *cpu, enum weir_plan_layout layout)
{
    switch (layout) {
    case WEIR_PLAN_LAYOUT_CPU:
        return cpu->id;
    case WEIR_PLAN_LAYOUT_CORE:
        return cpu->core;
    case WEIR_PLAN_LAYOUT_PACKAGE:
        return cpu->package;
    case WEIR_PLAN_LAYOUT_NUMA:
        return (unsigned)cpu->home_node;
    case WEIR_PLAN_LAYOUT_MASKS:
        break;
    }
    weir_assert(!"a layout that has units");
    return 0;
}

/* Returns the reader of unit, made if there is none; units[] holds the unit of each reader. Searches from the end:
 * neighboring CPUs mostly share a unit, so 1024 CPUs do not take half a million compares. */
static struct weir_plan_reader *reader_of(struct weir_plan *plan, unsigned *units, unsigned unit)
{
    for (unsigned i = plan->reader_count; i > 0; i--) {
        if (units[i - 1] == unit)
            return &plan->readers[i - 1];
    }
    units[plan->reader_count] = unit;
    return &plan->readers[plan->reader_count++];
}

/* plan->readers has room for one reader per CPU. */
static int fill_by_unit(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                        enum weir_plan_layout layout, unsigned *units)
{
    WEIR_CPUSET_FOREACH(cpu, cpus) {
        unsigned unit = unit_of(weir_topology_cpu(topology, (unsigned)cpu), layout);
        struct weir_plan_reader *reader = reader_of(plan, units, unit);
        if (weir_cpuset_add(&reader->cpus, (unsigned)cpu) < 0)
            return -ENOMEM;
    }
    for (unsigned i = 0; i < plan->reader_count; i++) {
        if (weir_cpuset_copy(&plan->readers[i].affinity, &plan->readers[i].cpus) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int plan_by_unit(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                        enum weir_plan_layout layout, struct weir_error *err)
{
    unsigned count = weir_cpuset_count(cpus);
    unsigned *units = calloc(count, sizeof(*units));
    plan->readers = calloc(count, sizeof(*plan->readers));
    int result = units && plan->readers ? fill_by_unit(plan, topology, cpus, layout, units) : -ENOMEM;
    free(units);
    return result < 0 ? out_of_memory(err) : 0;
}

/* Makes one reader from one mask. It drains the mask's CPUs that are recorded. */
static int reader_from_mask(struct weir_plan_reader *reader, const struct weir_topology *topology,
                            const struct weir_cpuset *cpus, const struct weir_plan_mask *mask, struct weir_error *err)
{
    int result = check_online(topology, &mask->cpus, "--threads", err);
    if (result == 0)
        result = check_online(topology, &mask->affinity, "--threads", err);
    if (result < 0)
        return result;
    if (weir_cpuset_and(&reader->cpus, &mask->cpus, cpus) < 0 ||
        weir_cpuset_copy(&reader->affinity, &mask->affinity) < 0)
        return out_of_memory(err);
    if (!weir_cpuset_is_empty(&reader->cpus))
        return 0;
    weir_error_set(err, -EINVAL, "--threads: the mask at column %u drains CPUs %s, none of which is recorded",
                   mask->column, list_of(&mask->cpus).text);
    weir_error_hint(err, "recorded are CPUs %s (-C)", list_of(cpus).text);
    return -EINVAL;
}

/* Refuses a plan that leaves CPUs to record without a reader. */
static int check_complete(const struct weir_plan *plan, const struct weir_cpuset *cpus, struct weir_error *err)
{
    struct weir_cpuset left = WEIR_CPUSET_INIT;
    int result = weir_cpuset_copy(&left, cpus);
    for (unsigned i = 0; i < plan->reader_count && result == 0; i++)
        result = weir_cpuset_without(&left, &left, &plan->readers[i].cpus);
    if (result < 0) {
        out_of_memory(err);
    } else if (!weir_cpuset_is_empty(&left)) {
        result = weir_error_set(err, -EINVAL, "--threads: no mask drains CPUs %s", list_of(&left).text);
        weir_error_hint(err, "add a mask for them, or record only the others with -C");
    }
    weir_cpuset_fini(&left);
    return result;
}

static int compare_readers(const void *a, const void *b)
{
    const struct weir_plan_reader *x = a, *y = b;
    int x_first = weir_cpuset_next(&x->cpus, 0), y_first = weir_cpuset_next(&y->cpus, 0);
    return (x_first > y_first) - (x_first < y_first);
}

static int plan_by_masks(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                         const struct weir_plan_spec *spec, struct weir_error *err)
{
    plan->readers = calloc(spec->mask_count, sizeof(*plan->readers));
    if (!plan->readers)
        return out_of_memory(err);
    plan->reader_count = spec->mask_count;
    for (unsigned i = 0; i < spec->mask_count; i++) {
        int result = reader_from_mask(&plan->readers[i], topology, cpus, &spec->masks[i], err);
        if (result < 0)
            return result;
    }
    qsort(plan->readers, plan->reader_count, sizeof(*plan->readers), compare_readers);
    return check_complete(plan, cpus, err);
}

/* Removes from each affinity the CPUs that this process may not use. *lost_count: readers without any CPU left. */
static int narrow_affinities(struct weir_plan *plan, const struct weir_cpuset *allowed, unsigned *lost_count)
{
    *lost_count = 0;
    for (unsigned i = 0; i < plan->reader_count; i++) {
        struct weir_cpuset *affinity = &plan->readers[i].affinity;
        if (weir_cpuset_and(affinity, affinity, allowed) < 0)
            return -ENOMEM;
        *lost_count += weir_cpuset_is_empty(affinity);
    }
    return 0;
}

/* Returns the node that most CPUs of set are nearest to; the least of equals. votes: one per node, all 0 before and
 * after. */
static int majority_node(const struct weir_topology *topology, const struct weir_cpuset *set, unsigned *votes)
{
    int best = -1;
    WEIR_CPUSET_FOREACH(cpu, set) {
        int node = weir_topology_cpu(topology, (unsigned)cpu)->node;
        votes[node]++;
        if (best < 0 || votes[node] > votes[best] || (node < best && votes[node] == votes[best]))
            best = node;
    }
    WEIR_CPUSET_FOREACH(cpu, set) {
        votes[weir_topology_cpu(topology, (unsigned)cpu)->node] = 0;
    }
    return best;
}

/* Places each reader's memory where the reader runs; if it may run anywhere, near the rings that it drains. */
static int choose_nodes(struct weir_plan *plan, const struct weir_topology *topology)
{
    unsigned *votes = calloc(weir_topology_node_limit(topology), sizeof(*votes));
    if (!votes)
        return -ENOMEM;
    for (unsigned i = 0; i < plan->reader_count; i++) {
        struct weir_plan_reader *reader = &plan->readers[i];
        bool anywhere = weir_cpuset_is_empty(&reader->affinity);
        reader->node = majority_node(topology, anywhere ? &reader->cpus : &reader->affinity, votes);
    }
    free(votes);
    return 0;
}

int weir_plan_fit(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_notice_sink *sink,
                  struct weir_error *err)
{
    const struct weir_cpuset *allowed = weir_topology_allowed(topology);
    unsigned lost_count;
    if (narrow_affinities(plan, allowed, &lost_count) < 0 || choose_nodes(plan, topology) < 0)
        return out_of_memory(err);
    if (lost_count > 0)
        weir_notice(sink, WEIR_NOTICE_WARNING,
                    "%u of %u readers cannot run on the CPUs planned for them: this process is held to CPUs %s "
                    "(see taskset(1), cpuset(7)); they run on any of those",
                    lost_count, plan->reader_count, list_of(allowed).text);
    return 0;
}

int weir_plan_make_wishes(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                          const char *spec, struct weir_error *err)
{
    struct weir_plan_spec parsed;
    int result = weir_plan_spec_parse(&parsed, spec, err);
    if (result < 0)
        return result;

    struct weir_plan made = {NULL, 0};
    result = check_recorded(topology, cpus, err);
    if (result == 0 && parsed.layout == WEIR_PLAN_LAYOUT_MASKS)
        result = plan_by_masks(&made, topology, cpus, &parsed, err);
    else if (result == 0)
        result = plan_by_unit(&made, topology, cpus, parsed.layout, err);

    weir_plan_spec_fini(&parsed);
    if (result < 0)
        weir_plan_fini(&made);
    else
        *plan = made;
    return result;
}

int weir_plan_make(struct weir_plan *plan, const struct weir_topology *topology, const struct weir_cpuset *cpus,
                   const char *spec, const struct weir_notice_sink *sink, struct weir_error *err)
{
    struct weir_plan made = {NULL, 0};
    int result = weir_plan_make_wishes(&made, topology, cpus, spec, err);
    if (result == 0)
        result = weir_plan_fit(&made, topology, sink, err);
    if (result < 0)
        weir_plan_fini(&made);
    else
        *plan = made;
    return result;
}

static void append_list(struct weir_buf *text, const struct weir_cpuset *set)
{
    size_t length = weir_cpuset_format(set, NULL, 0);
    char *list = weir_buf_extend(text, length + 1);
    if (!list)
        return;
    weir_cpuset_format(set, list, length + 1);
    text->used--; /* the terminating zero */
}

void weir_plan_describe(const struct weir_plan *plan, struct weir_buf *text)
{
    for (unsigned i = 0; i < plan->reader_count; i++) {
        const struct weir_plan_reader *reader = &plan->readers[i];
        weir_buf_printf(text, "reader %u: cpus ", i);
        append_list(text, &reader->cpus);
        if (weir_cpuset_is_empty(&reader->affinity)) {
            weir_buf_printf(text, ", runs anywhere");
        } else {
            weir_buf_printf(text, ", runs on ");
            append_list(text, &reader->affinity);
        }
        weir_buf_printf(text, ", node %d\n", reader->node);
    }
}
