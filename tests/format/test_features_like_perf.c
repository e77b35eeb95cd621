/*
 * Our feature sections beside those that perf record writes on this machine: where both describe the same thing, the
 * bytes are the same. The machine description comes from topology/, so this is the one test that joins both layers.
 */
#include "format/features.h"

#include "format/head.h"
#include "format/tracefs.h"
#include "format/tracing_data.h"
#include "tests/format/perf_file_reader.h"
#include "tests/format/run_tool.h"
#include "topology/machine.h"

#include <criterion/criterion.h>
#include <string.h>

#define HEAD_BYTES 4096

static struct temp_tree tree;
static struct weir_buf perf_bytes, our_bytes;
static struct perf_file by_perf, by_us;

/* Records `true` with perf and opens the file in by_perf. Skips where perf cannot record. */
static void record_with_perf(const char *event)
{
    tool_need("perf", "linux-perf");
    char file[PATH_MAX];
    temp_tree_path(&tree, "perf.data", file);
    const char *const argv[] = {"perf", "record", "-q", "-e", event, "-o", file, "true", NULL};
    struct tool_run run;
    tool_run(&run, &tree, argv);
    int status = run.status;
    tool_run_fini(&run);
    if (status != 0)
        cr_skip_test("perf record may not record here (perf_event_paranoid, seccomp or no tracefs)");

    cr_assert_eq(weir_buf_append_file(&perf_bytes, file), 0);
    const char *problem = perf_file_open(&by_perf, perf_bytes.data, perf_bytes.used);
    cr_assert_null(problem, "%s", problem);
}

/* Builds a file without events that describes this machine and opens it in by_us. */
static void describe_machine(void)
{
    struct weir_topology *topology;
    struct weir_machine machine;
    struct weir_error err = {0};
    cr_assert_eq(weir_topology_load(&topology, &err), 0, "%s", err.what);
    cr_assert_eq(weir_machine_collect(&machine, topology, "", &err), 0, "%s", err.what);

    const struct weir_features_input input = {.machine = &machine};
    struct weir_head_input head = {0};
    struct weir_buf sections = WEIR_BUF_INIT;
    cr_assert_eq(weir_features_build(&sections, HEAD_BYTES, &input, head.features), 0);
    cr_assert_eq(weir_head_build(&our_bytes, &head), 0);
    cr_assert_eq(our_bytes.used, HEAD_BYTES);
    weir_buf_append(&our_bytes, sections.data, sections.used);
    weir_buf_fini(&sections);
    weir_machine_fini(&machine);
    weir_topology_free(topology);
    const char *problem = perf_file_open(&by_us, our_bytes.data, our_bytes.used);
    cr_assert_null(problem, "%s", problem);
}

static void set_up(void)
{
    temp_tree_init(&tree);
}

static void tear_down(void)
{
    weir_buf_fini(&perf_bytes);
    weir_buf_fini(&our_bytes);
    temp_tree_fini(&tree);
}

TestSuite(features_like_perf, .init = set_up, .fini = tear_down);

/* A feature of both, or of neither: then false. */
static bool in_both(enum weir_perf_feature bit, struct perf_file_cursor *theirs, struct perf_file_cursor *ours)
{
    bool has_theirs = perf_file_feature(&by_perf, bit, theirs);
    bool has_ours = perf_file_feature(&by_us, bit, ours);
    cr_assert_eq(has_ours, has_theirs, "feature %d: perf %d, weir %d", bit, has_theirs, has_ours);
    return has_ours;
}

static void expect_equal_feature(enum weir_perf_feature bit)
{
    struct perf_file_cursor theirs, ours;
    if (!in_both(bit, &theirs, &ours))
        return;
    cr_assert_eq(ours.bytes, theirs.bytes, "feature %d: perf %zu bytes, weir %zu", bit, theirs.bytes, ours.bytes);
    for (size_t i = 0; i < ours.bytes; i++)
        cr_assert_eq(ours.data[i], theirs.data[i], "feature %d, byte %zu", bit, i);
}

Test(features_like_perf, sections_that_describe_the_same_thing_are_equal)
{
    record_with_perf("cpu-clock");
    describe_machine();
    static const enum weir_perf_feature same[] = {
        WEIR_FEATURE_HOSTNAME, WEIR_FEATURE_OSRELEASE,    WEIR_FEATURE_ARCH,      WEIR_FEATURE_NRCPUS,
        WEIR_FEATURE_CPUDESC,  WEIR_FEATURE_CPUID,        WEIR_FEATURE_TOTAL_MEM, WEIR_FEATURE_CPU_TOPOLOGY,
        WEIR_FEATURE_CACHE,    WEIR_FEATURE_MEM_TOPOLOGY,
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        expect_equal_feature(same[i]);
}

Test(features_like_perf, numa_topology_is_equal_but_for_free_memory)
{
    record_with_perf("cpu-clock");
    describe_machine();
    struct perf_file_cursor theirs, ours;
    if (!in_both(WEIR_FEATURE_NUMA_TOPOLOGY, &theirs, &ours))
        cr_skip_test("this kernel describes no NUMA nodes");
    uint32_t count = perf_file_u32(&theirs);
    cr_assert_eq(perf_file_u32(&ours), count);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_eq(perf_file_u32(&ours), perf_file_u32(&theirs));
        cr_expect_eq(perf_file_u64(&ours), perf_file_u64(&theirs));
        perf_file_u64(&ours); /* free memory moves between two readings */
        perf_file_u64(&theirs);
        cr_expect_str_eq(perf_file_string(&ours), perf_file_string(&theirs));
    }
    cr_expect(!ours.failed && !theirs.failed);
    cr_expect_eq(ours.bytes, theirs.bytes);
}

static bool has_pmu(struct perf_file_cursor mappings, uint32_t type, const char *name)
{
    uint32_t count = perf_file_u32(&mappings);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t listed_type = perf_file_u32(&mappings);
        const char *listed_name = perf_file_string(&mappings);
        if (listed_type == type && strcmp(listed_name, name) == 0)
            return true;
    }
    return false;
}

/* perf's order is the directory's up to 6.5, and another one later. */
Test(features_like_perf, pmu_mappings_hold_the_same_pmus)
{
    record_with_perf("cpu-clock");
    describe_machine();
    struct perf_file_cursor theirs, ours;
    cr_assert(in_both(WEIR_FEATURE_PMU_MAPPINGS, &theirs, &ours));
    cr_expect_eq(ours.bytes, theirs.bytes);
    struct perf_file_cursor cursor = theirs;
    uint32_t count = perf_file_u32(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = perf_file_u32(&cursor);
        const char *name = perf_file_string(&cursor);
        cr_expect(has_pmu(ours, type, name), "%u %s", type, name);
    }
    cr_expect(!cursor.failed);
    cr_expect_eq(cursor.bytes, 0);
}

static void skip_file64(struct perf_file_cursor *cursor)
{
    uint64_t bytes = perf_file_u64(cursor);
    perf_file_bytes(cursor, bytes);
}

/* Bytes before saved_cmdlines in a section that describes sched:sched_switch alone. */
static size_t bytes_before_cmdlines(struct perf_file_cursor section)
{
    size_t whole = section.bytes;
    perf_file_bytes(&section, 10 + sizeof("0.6") + 1 + 1 + 4);
    perf_file_bytes(&section, sizeof("header_page"));
    skip_file64(&section);
    perf_file_bytes(&section, sizeof("header_event"));
    skip_file64(&section);
    cr_expect_eq(perf_file_u32(&section), 0);
    cr_expect_eq(perf_file_u32(&section), 1);
    perf_file_bytes(&section, sizeof("sched"));
    cr_expect_eq(perf_file_u32(&section), 1);
    skip_file64(&section);
    cr_expect_eq(perf_file_u32(&section), 0);
    perf_file_bytes(&section, perf_file_u32(&section));
    cr_assert(!section.failed);
    return whole - section.bytes;
}

/* saved_cmdlines, the last part, changes from one reading to the next. */
Test(features_like_perf, tracing_data_is_equal_up_to_the_command_lines)
{
    record_with_perf("sched:sched_switch");
    struct perf_file_cursor theirs;
    cr_assert(perf_file_feature(&by_perf, WEIR_FEATURE_TRACING_DATA, &theirs));
    char root[PATH_MAX];
    struct weir_error err = {0};
    cr_assert_eq(weir_tracefs_find(root, sizeof(root), &err), 0, "%s", err.what);
    const struct weir_event_desc event = {.tracepoint_system = "sched", .tracepoint_name = "sched_switch"};
    cr_assert_eq(weir_tracing_data_build(&our_bytes, root, &event, 1, &err), 0, "%s", err.what);

    struct perf_file_cursor ours = {.data = our_bytes.data, .bytes = our_bytes.used};
    size_t same = bytes_before_cmdlines(ours);
    cr_assert_eq(bytes_before_cmdlines(theirs), same);
    for (size_t i = 0; i < same; i++)
        cr_assert_eq(ours.data[i], theirs.data[i], "byte %zu", i);

    perf_file_bytes(&ours, same);
    skip_file64(&ours);
    cr_expect(!ours.failed);
    cr_expect_eq(ours.bytes, 0);
}
