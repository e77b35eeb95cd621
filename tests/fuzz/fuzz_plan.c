/*
 * --threads=SPEC (topology/plan.h) on synthetic machines. Input: a digit that chooses the machine, SPEC, a newline, the
 * list of CPUs to record (all that are online, when it is no list).
 *
 * What the check without a machine refuses, planning refuses likewise. A plan drains each CPU to record exactly once,
 * runs its readers on CPUs that are allowed, places their memory on nodes that are there, and its description says so.
 */
#include "topology/plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

/* One CPU; a laptop; a server, whose threads are numbered as Linux does; NUMA with single-threaded cores. */
static const char *const machines[] = {
    "pu:1",
    "package:1 core:2 pu:2",
    "package:2 numa:2 core:2 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)",
    "numa:4 core:4 pu:1",
};

struct fixture {
    struct weir_topology *topologies[WEIR_ARRAY_COUNT(machines)];
};

static void *init(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    weir_assert(fixture);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(machines); i++)
        weir_assert(weir_topology_load_synthetic(&fixture->topologies[i], machines[i], NULL) == 0);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(machines); i++)
        weir_topology_free(fixture->topologies[i]);
    free(fixture);
}

static void check_reader(const struct weir_plan_reader *reader, const struct weir_topology *topology)
{
    weir_assert(!weir_cpuset_is_empty(&reader->cpus));
    weir_assert(!weir_cpuset_is_empty(&reader->affinity)); /* all CPUs of a synthetic machine are allowed */
    weir_assert(weir_cpuset_is_subset(&reader->affinity, weir_topology_allowed(topology)));
    bool is_node_of_affinity = false;
    WEIR_CPUSET_FOREACH(cpu, &reader->affinity) {
        is_node_of_affinity |= weir_topology_cpu(topology, (unsigned)cpu)->node == reader->node;
    }
    weir_assert(is_node_of_affinity);
}

static void check_plan(const struct weir_plan *plan, const struct weir_topology *topology,
                       const struct weir_cpuset *recorded)
{
    struct weir_cpuset drained = WEIR_CPUSET_INIT;
    int first_before = -1;
    for (unsigned i = 0; i < plan->reader_count; i++) {
        const struct weir_plan_reader *reader = &plan->readers[i];
        check_reader(reader, topology);
        weir_assert(!weir_cpuset_intersects(&drained, &reader->cpus));
        weir_assert(weir_cpuset_or(&drained, &drained, &reader->cpus) == 0);
        weir_assert(weir_cpuset_next(&reader->cpus, 0) > first_before);
        first_before = weir_cpuset_next(&reader->cpus, 0);
    }
    weir_assert(weir_cpuset_equal(&drained, recorded));
    weir_cpuset_fini(&drained);
}

static void check_list(const char *list, const struct weir_cpuset *expected)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    weir_assert(weir_cpuset_parse(&set, list, NULL) == 0 && weir_cpuset_equal(&set, expected));
    weir_cpuset_fini(&set);
}

/* line: with its newline cut off. */
static void check_description_line(const char *line, unsigned index, const struct weir_plan_reader *reader)
{
    char cpus[128], affinity[128];
    unsigned number;
    int node;
    weir_assert(
        sscanf(line, "reader %u: cpus %127[0-9,-] runs on %127[0-9,-] node %d", &number, cpus, affinity, &node) == 4);
    weir_assert(number == index && node == reader->node);
    *strrchr(cpus, ',') = '\0'; /* the one behind the list, which sscanf took along */
    *strrchr(affinity, ',') = '\0';
    check_list(cpus, &reader->cpus);
    check_list(affinity, &reader->affinity);
}

static void check_description(const struct weir_plan *plan)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_plan_describe(plan, &text);
    char *copy = strdup(weir_buf_str(&text)), *rest = NULL;
    weir_assert(copy && weir_buf_error(&text) == 0);
    const char *line = strtok_r(copy, "\n", &rest);
    for (unsigned i = 0; i < plan->reader_count; i++) {
        weir_assert(line);
        check_description_line(line, i, &plan->readers[i]);
        line = strtok_r(NULL, "\n", &rest);
    }
    weir_assert(!line);
    free(copy);
    weir_buf_fini(&text);
}

/* Layouts are words in any case, and nothing else of a SPEC has letters that mean something. */
static void check_case(const char *spec, int checked)
{
    char *other = strdup(spec);
    weir_assert(other);
    for (char *at = other; *at; at++)
        *at = (char)(islower((unsigned char)*at) ? toupper((unsigned char)*at) : tolower((unsigned char)*at));
    weir_assert(weir_plan_check_spec(other, NULL) == checked);
    free(other);
}

static void check_make(const struct weir_topology *topology, const struct weir_cpuset *recorded, const char *spec)
{
    struct weir_error check_err = {0}, err = {0};
    int checked = weir_plan_check_spec(spec, &check_err);
    weir_assert(checked == 0 || checked == -EINVAL);
    check_case(spec, checked);

    const struct weir_plan untouched = {NULL, 4711};
    struct weir_plan plan = untouched;
    int result = weir_plan_make(&plan, topology, recorded, spec, NULL, &err);
    if (checked < 0) {
        fuzz_check_error(&check_err, checked);
        weir_assert(result == checked && strcmp(err.what, check_err.what) == 0);
    }
    bool can_be = !weir_cpuset_is_empty(recorded) && weir_cpuset_is_subset(recorded, weir_topology_online(topology));
    if (result == 0) {
        weir_assert(can_be);
        check_plan(&plan, topology, recorded);
        check_description(&plan);
        weir_plan_fini(&plan);
    } else {
        weir_assert(result == -EINVAL);
        fuzz_check_error(&err, result);
        weir_assert(plan.readers == untouched.readers && plan.reader_count == untouched.reader_count);
    }
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    if (bytes == 0)
        return;
    const struct weir_topology *topology = fixture->topologies[data[0] % WEIR_ARRAY_COUNT(machines)];
    struct fuzz_part parts[2];
    fuzz_split(data + 1, bytes - 1, "\n", parts, WEIR_ARRAY_COUNT(parts));
    char *spec = fuzz_part_text(parts[0]), *list = fuzz_part_text(parts[1]);

    struct weir_cpuset recorded = WEIR_CPUSET_INIT;
    if (parts[1].bytes == 0 || weir_cpuset_parse(&recorded, list, NULL) < 0)
        weir_assert(weir_cpuset_copy(&recorded, weir_topology_online(topology)) == 0);
    check_make(topology, &recorded, spec);
    weir_cpuset_fini(&recorded);
    free(spec);
    free(list);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
