/*
 * weir dump beside perf script -D, record by record, on recordings that perf makes here: what perf says of a record,
 * weir says as well, byte for byte, but for the differences that docs/compatibility.md lists.
 */
#include "format/dump.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/buf.h"
#include "format/head.h"
#include "tests/format/aux_recording.h"
#include "tests/format/run_tool.h"
#include "tests/format/temp_tree.h"

#define PERF          "perf"
#define ARGUMENTS_MAX 24

static struct temp_tree tree;
static char file[PATH_MAX];

static void make_tree(void)
{
    temp_tree_init(&tree);
    temp_tree_path(&tree, "perf.data", file);
}

static void remove_tree(void)
{
    temp_tree_fini(&tree);
}

TestSuite(dump_like_perf, .init = make_tree, .fini = remove_tree);

static int append(void *ctx, const char *text, size_t bytes, struct weir_error *err)
{
    (void)err;
    weir_buf_append(ctx, text, bytes);
    return 0;
}

/* ---- blocks: a record's text, from its "OFFSET@FILE [SIZE]: event: TYPE" line ---- */

struct blocks {
    char **items; /* owned; into one text each */
    size_t count, capacity;
    size_t left_out; /* COMPRESSED records, which perf does not show, only what comes out of them */
};

static bool begins_block(const char *line)
{
    return (line[0] == '0') && strstr(line, "]: event: ") && strchr(line, '@') &&
           strchr(line, '@') < strstr(line, "]: event: ");
}

/* perf counts a stream's bytes from behind its header of 16: both their offsets are taken away. And what a feature
 * says, which perf does not. Changes line. */
static void take_differences_of_streams(char *line)
{
    static const char feature[] = "]: PERF_RECORD_FEATURE";
    char *of_feature = strstr(line, feature);
    if (of_feature)
        of_feature[sizeof(feature) - 1] = '\0';
    char *end = begins_block(line) ? strchr(line, '@') : strstr(line, "]: PERF_RECORD_");
    char *begin = line;
    if (end && *end == ']') {
        for (; end > line && *end != '['; end--)
            ;
        begin = end > line ? end - 1 : line;
        for (; begin > line && begin[-1] != ' '; begin--)
            ;
    }
    if (end)
        memmove(begin, end, strlen(end) + 1);
}

/* Behind this line perf decodes the bytes of the AUX area. */
static bool is_stretch(const char *line)
{
    return strstr(line, "]: PERF_RECORD_AUXTRACE size: ") != NULL;
}

/* perf before 6.8 writes a word in its own way. Changes line. */
static void correct_word(char *line)
{
    static const char wrong[] = "  Time Muliplier ", right[] = "  Time Multiplier";
    if (strncmp(line, wrong, strlen(wrong)) == 0)
        memcpy(line, right, strlen(right));
}

/* Lines that only one of the two has. perf's last ones belong to the output of perf script or report: ends = true. */
static bool is_own_line(const char *line, bool *ends)
{
    static const char *const own[] = {" ... event: ", " ... common: ", " ... fields: ", " .. cgroup: ", ": unhandled!"};
    *ends = strncmp(line, " ... thread: ", 13) == 0 || strcmp(line, "Aggregated stats:") == 0;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strncmp(line, own[i], strlen(own[i])) == 0)
            return true;
    }
    return *ends || line[0] == '\0';
}

static bool is_compressed(const char *text)
{
    const char *end = strchr(text, '\n');
    return end - text > 9 && strncmp(end - 9, "event: 81", 9) == 0;
}

static void add_block(struct blocks *blocks, const char *text, size_t bytes)
{
    if (is_compressed(text)) {
        blocks->left_out++;
        return;
    }
    if (blocks->count == blocks->capacity) {
        blocks->capacity = blocks->capacity ? 2 * blocks->capacity : 1024;
        blocks->items = realloc(blocks->items, blocks->capacity * sizeof(blocks->items[0]));
        cr_assert_not_null(blocks->items);
    }
    blocks->items[blocks->count] = strndup(text, bytes);
    cr_assert_not_null(blocks->items[blocks->count++]);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Cuts text into blocks without own lines, in the order of their texts. text is changed. */
static void cut(struct blocks *blocks, char *text, bool is_stream)
{
    struct weir_buf block = WEIR_BUF_INIT;
    bool is_over = true;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (begins_block(line)) {
            if (block.used)
                add_block(blocks, (const char *)block.data, block.used);
            weir_buf_reset(&block);
            is_over = false;
        }
        if (is_stream)
            take_differences_of_streams(line);
        correct_word(line);
        bool ends = false;
        bool is_own = is_own_line(line, &ends);
        is_over |= ends;
        if (is_over || is_own)
            continue;
        weir_buf_append(&block, line, strlen(line));
        weir_buf_append_u8(&block, '\n');
        is_over = is_stretch(line);
    }
    if (block.used)
        add_block(blocks, (const char *)block.data, block.used);
    weir_buf_fini(&block);
    qsort(blocks->items, blocks->count, sizeof(blocks->items[0]), compare);
}

static void free_blocks(struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        free(blocks->items[i]);
    free(blocks->items);
}

/* ---- the two ---- */

/* Of a file or directory, or of a stream that was saved there, as that tool of perf's shows it. may_fail: it may, once
 * it has shown all. */
static void expect_text_like(const char *tool, bool is_stream, bool may_fail)
{
    const char *const argv[] = {PERF, tool, "-D", "-i", file, NULL};
    const struct weir_dump_filter all = {.last_ns = UINT64_MAX};
    struct weir_buf text = WEIR_BUF_INIT;
    const struct weir_dump_options options = {.path = file, .filter = &all, .write = append, .ctx = &text};
    struct weir_error err = {0};
    struct tool_run run;
    struct blocks perf = {0}, weir = {0};
    uint64_t records;
    tool_run(&run, &tree, argv);
    cr_assert(run.status == 0 || may_fail, "%s", run.err);
    cr_assert_eq(weir_dump_run(&options, &records, &err), 0, "%s", err.what);
    weir_buf_str(&text);
    cut(&perf, run.out, is_stream);
    cut(&weir, (char *)text.data, is_stream);
    cr_expect_eq(weir.count + weir.left_out, records);
    cr_expect_eq(weir.count, perf.count);
    for (size_t i = 0; i < weir.count && i < perf.count; i++)
        cr_assert_str_eq(weir.items[i], perf.items[i]);
    free_blocks(&perf);
    free_blocks(&weir);
    weir_buf_fini(&text);
    tool_run_fini(&run);
}

static void expect_like_perf(bool is_stream)
{
    expect_text_like("script", is_stream, false);
}

static void need_perf(void)
{
    tool_need(PERF, "linux-perf");
    if (geteuid() != 0)
        cr_skip_test("recording the whole machine needs root");
}

/* perf record OPTIONS -o file COMMAND, or a skip where that is not to be had. */
static void record(const char *const *options)
{
    const char *argv[ARGUMENTS_MAX] = {PERF, "record", "-q", "-o", file};
    size_t count = 5;
    need_perf();
    for (; *options; options++)
        argv[count++] = *options;
    cr_assert_lt(count, ARGUMENTS_MAX);
    struct tool_run run;
    tool_run(&run, &tree, argv);
    if (run.status != 0 && strstr(run.err, "not supported"))
        cr_skip_test("this kernel does not have what is recorded");
    cr_assert_eq(run.status, 0, "%s", run.err);
    tool_run_fini(&run);
}

Test(dump_like_perf, call_chains_of_the_whole_machine)
{
    record((const char *const[]){"-F", "500", "-g", "-a", "sleep", "0.1", NULL});
    expect_like_perf(false);
}

Test(dump_like_perf, tracepoints)
{
    record((const char *const[]){"-e", "sched:sched_switch,sched:sched_wakeup", "-a", "sleep", "0.1", NULL});
    expect_like_perf(false);
}

Test(dump_like_perf, all_that_a_sample_can_hold)
{
    record((const char *const[]){"-e", "cpu-clock", "-e", "faults", "-d", "-W", "-T", "-P", "--sample-cpu",
                                 "--namespaces", "--switch-events", "--call-graph", "dwarf,1024", "--buildid-mmap",
                                 "sh", "-c", "ls / >/dev/null", NULL});
    expect_like_perf(false);
}

Test(dump_like_perf, sizes_of_pages)
{
    record(
        (const char *const[]){"-e", "cpu-clock", "-a", "--data-page-size", "--code-page-size", "sleep", "0.1", NULL});
    expect_like_perf(false);
}

Test(dump_like_perf, compressed_records)
{
    record((const char *const[]){"-z", "-e", "sched:sched_switch", "-e", "cpu-clock", "-a", "sleep", "0.2", NULL});
    expect_like_perf(false);
}

Test(dump_like_perf, directory)
{
    record((const char *const[]){"--threads", "-e", "sched:sched_switch", "-a", "sleep", "0.1", NULL});
    expect_like_perf(false);
}

Test(dump_like_perf, stream)
{
    need_perf();
    const char *const argv[] = {"sh", "-c", "perf record -q -e sched:sched_switch -a -o - sleep 0.1 | cat >\"$0\"",
                                file, NULL};
    struct tool_run run;
    tool_run(&run, &tree, argv);
    cr_assert_eq(run.status, 0, "%s", run.err);
    tool_run_fini(&run);
    expect_like_perf(true);
}

Test(dump_like_perf, registers_groups_and_counts_of_threads)
{
    record((const char *const[]){"-s", "-I", "-e", "{cpu-clock,faults}:S", "sh", "-c", "true & wait", NULL});
    expect_like_perf(false);
}

Test(dump_like_perf, switches_of_the_whole_machine)
{
    record((const char *const[]){"-e", "cpu-clock", "--switch-events", "-a", "sleep", "0.1", NULL});
    expect_like_perf(false);
}

/* perf script makes a table of these; perf report shows what they hold. */
Test(dump_like_perf, counts_of_perf_stat)
{
    need_perf();
    const char *const of_cpus[] = {PERF, "stat", "record",           "-o",    file,   "-a", "-I",
                                   "50", "-e",   "cpu-clock,faults", "sleep", "0.12", NULL};
    const char *const of_tasks[] = {PERF, "stat", "record", "-o", file, "-e", "task-clock", "true", NULL};
    for (int i = 0; i < 2; i++) {
        struct tool_run run;
        tool_run(&run, &tree, i == 0 ? of_cpus : of_tasks);
        cr_assert_eq(run.status, 0, "%s", run.err);
        tool_run_fini(&run);
        expect_text_like("report", false, false);
    }
}

/* ---- AUX areas: of recordings that are made up, as for what decodes them the machine needs a PMU ---- */

Test(dump_like_perf, aux_areas)
{
    struct aux_recording recording;
    tool_need(PERF, "linux-perf");
    aux_recording_build(&recording, &(struct aux_recording_options){.features = true, .truncated = true});
    temp_tree_write(&tree, "perf.data", recording.bytes.data, recording.bytes.used);
    aux_recording_fini(&recording);
    expect_like_perf(false);
}

/* AUXTRACE_ERROR as format 0 to 2 has it: with the time of none, and with a guest. */
static void append_error(struct weir_buf *out, uint32_t format)
{
    char message[72] = "an error";
    const uint32_t words[] = {1, 5, 2, 4242, UINT32_MAX, format};
    const struct perf_event_header header = {.type = WEIR_RECORD_AUXTRACE_ERROR, .size = 120};
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append(out, words, sizeof(words));
    weir_buf_append_u64(out, 0xffffffff81000000);
    if (format > 0)
        weir_buf_append_u64(out, 1000002003);
    weir_buf_append(out, message, format > 0 ? 64 : 72);
    weir_buf_append_u32(out, 77);
    weir_buf_append_u32(out, 3);
}

/* Followed by errors, unless perf refuses the file for AUXTRACE_INFO: this type's decoder is not in each perf. */
static void expect_info_like_perf(uint32_t type, const uint64_t *words, size_t count, bool may_fail)
{
    static const uint64_t id = 31;
    struct weir_event_desc event = {.name = "aux//", .ids = &id, .id_count = 1};
    event.attr = (struct perf_event_attr){
        .type = AUX_RECORDING_PMU,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
        .sample_id_all = 1,
    };
    struct weir_head_input head = {.events = &event, .event_count = 1, .id_room = 1};
    struct weir_buf data = WEIR_BUF_INIT, bytes = WEIR_BUF_INIT;
    tool_need(PERF, "linux-perf");
    cr_assert_eq(weir_auxtrace_info_append(&data, type, words, count), 0);
    for (uint32_t format = 0; format < 3 && !may_fail; format++)
        append_error(&data, format);
    head.data_bytes = data.used;
    cr_assert_eq(weir_head_build(&bytes, &head), 0);
    weir_buf_append(&bytes, data.data, data.used);
    temp_tree_write(&tree, "perf.data", bytes.data, bytes.used);
    weir_buf_fini(&bytes);
    weir_buf_fini(&data);
    expect_text_like("script", false, may_fail);
}

Test(dump_like_perf, words_of_intel_pt)
{
    /* A filter of 10 bytes, which take two words; the last one says that there is an event trace. */
    uint64_t words[] = {AUX_RECORDING_PMU, 1, 2, 3, 1, 0x400, 0x800, 1, 0, 1, 0x200, 0x3c000, 5, 6, 2, 24, 10, 0, 0, 1};
    memcpy(&words[17], "start 0x10", 10);
    expect_info_like_perf(WEIR_AUX_INTEL_PT, words, WEIR_ARRAY_COUNT(words), false);
    words[16] = 0;
    expect_info_like_perf(WEIR_AUX_INTEL_PT, words, 17, false);
    expect_info_like_perf(WEIR_AUX_INTEL_PT, words, 10, false); /* of Linux 4.2 */
}

Test(dump_like_perf, words_of_arm_spe)
{
    static const uint64_t words[] = {AUX_RECORDING_PMU, 1}; /* the second one perf does not show */
    expect_info_like_perf(WEIR_AUX_ARM_SPE, words, WEIR_ARRAY_COUNT(words), false);
}

Test(dump_like_perf, words_of_cs_etm)
{
    static const uint64_t words[] = {
        1,
        (uint64_t)AUX_RECORDING_PMU << 32 | 3,
        0, /* version 1, 3 CPUs, no snapshots */
        0x3030303030303030,
        0,
        4,
        1,
        2,
        3,
        4, /* ETMv3 */
        0x4040404040404040,
        1,
        7,
        1,
        2,
        3,
        4,
        5,
        6,
        7, /* ETMv4 */
        0x5050505050505050,
        2,
        9,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        0x47711a13,
        99, /* ETE, and a word of the future */
    };
    expect_info_like_perf(WEIR_AUX_CS_ETM, words, WEIR_ARRAY_COUNT(words), true);
}
