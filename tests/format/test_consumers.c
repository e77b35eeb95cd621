/*
 * A file of ours in the hands of those who read perf.data: perf and hotspot's parser say exactly what is in it, and
 * warn of nothing. What they are to say follows from sample_recording.h and sample_machine.h.
 */
#include "format/perf_file.h"
#include "tests/format/run_tool.h"
#include "tests/format/sample_recording.h"
#include "tests/format/temp_tree.h"

#include <criterion/criterion.h>
#include <string.h>

#define PERF       "perf"
#define PERFPARSER "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"

/* Lines of perf script; SWITCH without what follows the event's name. */
#define FIRST                                                                                                \
    "        weirtest  4242 [000]     1.000001:     250000          cpu-clock:            400123 [unknown] " \
    "(/nonexistent/weirtest)\n"
#define LAST                                                                                                 \
    "        weirtest  4242 [001]     1.000003:     250000          cpu-clock:            400123 [unknown] " \
    "(/nonexistent/weirtest)\n"
#define SWITCH "        weirtest  4242 [001]     1.000002: sched:sched_switch: "

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

TestSuite(consumers, .init = make_tree, .fini = remove_tree);

static void write_file(const struct sample_recording_options *options)
{
    struct weir_buf bytes = WEIR_BUF_INIT;
    sample_recording_build(&bytes, &tree, options);
    temp_tree_write(&tree, "perf.data", bytes.data, bytes.used);
    weir_buf_fini(&bytes);
}

static void need_perf(void)
{
    tool_need(PERF, "linux-perf");
}

/* Runs perf with one command and at most two options on the file. */
static void perf(struct tool_run *run, const char *command, const char *option1, const char *option2)
{
    const char *argv[7] = {PERF, command, "-i", file, option1, option2, NULL};
    tool_run(run, &tree, argv);
}

static void expect_lines(const char *text, const char *const *lines)
{
    for (size_t i = 0; lines[i]; i++)
        cr_expect(has_line(text, lines[i]), "no line \"%s\" in:\n%s", lines[i], text);
}

static void expect_silent_success(const struct tool_run *run)
{
    cr_expect_eq(run->status, 0);
    cr_expect_str_empty(run->err, "stderr: %s", run->err);
}

Test(consumers, killed_tracepoint_recording_is_refused_until_recovered)
{
    need_perf();
    write_file(&(struct sample_recording_options){.tracepoint = true});
    struct tool_run run;
    perf(&run, "script", NULL, NULL);
    cr_expect_neq(run.status, 0);
    cr_expect_str_empty(run.out);
    cr_expect(has_line(run.err, "incompatible file format (rerun with -v to learn more)"), "%s", run.err);
    tool_run_fini(&run);
}

Test(consumers, killed_recording_without_any_feature_reads_whole)
{
    need_perf();
    write_file(&(struct sample_recording_options){0});
    struct tool_run run;
    perf(&run, "script", "-F", "comm,tid,cpu,time,ip,sym");
    expect_silent_success(&run);
    cr_expect_str_eq(run.out, "        weirtest  4242 [000]     1.000001:            400123 [unknown]\n"
                              "        weirtest  4242 [001]     1.000003:            400123 [unknown]\n");
    tool_run_fini(&run);
}

#define LAST_SAMPLE_AND_ROUND_BYTES (56 + 8)

Test(consumers, checkpointed_file_reads_up_to_its_data_size_whatever_follows)
{
    need_perf();
    struct weir_buf bytes = WEIR_BUF_INIT;
    sample_recording_build(&bytes, &tree, &(struct sample_recording_options){0});
    uint64_t size;
    memcpy(&size, bytes.data + WEIR_PERF_DATA_SIZE_OFFSET, sizeof(size));
    size -= LAST_SAMPLE_AND_ROUND_BYTES;
    memcpy(bytes.data + WEIR_PERF_DATA_SIZE_OFFSET, &size, sizeof(size));
    memset(weir_buf_extend(&bytes, 5000), 0xff, 5000);
    temp_tree_write(&tree, "perf.data", bytes.data, bytes.used);
    weir_buf_fini(&bytes);

    struct tool_run run;
    perf(&run, "script", "-F", "comm,tid,cpu,time,ip,sym");
    expect_silent_success(&run);
    cr_expect_str_eq(run.out, "        weirtest  4242 [000]     1.000001:            400123 [unknown]\n");
    tool_run_fini(&run);
}

Test(consumers, lost_samples_reach_the_reader_by_event)
{
    need_perf();
    write_file(&(struct sample_recording_options){.features = true, .lost_samples = 6});
    struct tool_run run;
    perf(&run, "report", "--stats", NULL);
    cr_expect_eq(run.status, 0);
    static const char *const lines[] = {
        "    LOST_SAMPLES events:          1  (11.1%)",
        "    LOST_SAMPLES events:          6", /* of the event: samples */
        NULL,
    };
    expect_lines(run.out, lines);
    tool_run_fini(&run);

    perf(&run, "script", NULL, NULL);
    cr_expect(has_line(run.err, "Processed 8 samples and lost 75.00%!"), "%s", run.err); /* 6 of 2 + 6 */
    tool_run_fini(&run);
}

Test(consumers, perf_script_prints_every_sample)
{
    need_perf();
    write_file(&(struct sample_recording_options){.tracepoint = true, .features = true});
    struct tool_run run;
    perf(&run, "script", NULL, NULL);
    expect_silent_success(&run);

    static const char by_format[] =
        FIRST SWITCH "prev_comm=weirtest prev_pid=4242 next_comm=other next_pid=4343\n" LAST;
    /* libtraceevent's plugins (Debian: libtraceevent1-plugin) print this event in their own way. */
    static const char by_plugin[] = FIRST SWITCH "weirtest:4242 [120] R ==> other:4343 [120]\n" LAST;
    cr_expect(strcmp(run.out, by_format) == 0 || strcmp(run.out, by_plugin) == 0, "%s", run.out);
    tool_run_fini(&run);
}

Test(consumers, stream_reads_like_the_file)
{
    need_perf();
    write_file(&(struct sample_recording_options){.tracepoint = true, .features = true});
    struct tool_run of_file, of_stream;
    perf(&of_file, "script", NULL, NULL);
    expect_silent_success(&of_file);
    write_file(&(struct sample_recording_options){.tracepoint = true, .stream = true});
    perf(&of_stream, "script", NULL, NULL);
    expect_silent_success(&of_stream);
    cr_expect_str_eq(of_stream.out, of_file.out);
    tool_run_fini(&of_file);
    tool_run_fini(&of_stream);

    /* Without a tracepoint: perf report --stats of 6.1 does not pass over the payload of TRACING_DATA in a stream. */
    write_file(&(struct sample_recording_options){.stream = true});
    perf(&of_stream, "report", "--stats", NULL);
    static const char *const lines[] = {
        "            COMM events:          1  ( 3.7%)", "          SAMPLE events:          2  ( 7.4%)",
        "        BUILD_ID events:          1  ( 3.7%)", "cpu-clock:HG stats:",
        "          SAMPLE events:          2",          NULL,
    };
    cr_expect_eq(of_stream.status, 0);
    expect_lines(of_stream.out, lines);
    tool_run_fini(&of_stream);
}

Test(consumers, perf_report_counts_records_by_type_and_event)
{
    need_perf();
    write_file(&(struct sample_recording_options){.tracepoint = true, .features = true});
    struct tool_run run;
    perf(&run, "report", "--stats", NULL);
    expect_silent_success(&run);
    cr_expect_str_eq(run.out, "\nAggregated stats:\n"
                              "           TOTAL events:          9\n"
                              "            COMM events:          1  (11.1%)\n"
                              "          SAMPLE events:          3  (33.3%)\n"
                              "           MMAP2 events:          1  (11.1%)\n"
                              "      EVENT_TYPE events:          1  (11.1%)\n"
                              "  FINISHED_ROUND events:          2  (22.2%)\n"
                              "   FINISHED_INIT events:          1  (11.1%)\n"
                              "cpu-clock stats:\n"
                              "          SAMPLE events:          2\n"
                              "sched:sched_switch stats:\n"
                              "          SAMPLE events:          1\n");
    tool_run_fini(&run);
}

Test(consumers, perf_evlist_shows_both_attrs)
{
    need_perf();
    write_file(&(struct sample_recording_options){.tracepoint = true, .features = true});
    struct tool_run run;
    perf(&run, "evlist", "-v", NULL);
    expect_silent_success(&run);
    if (strstr(run.out, "PERF_TYPE_")) {
        tool_run_fini(&run);
        cr_skip_test("this perf names attr values in words; the lines below are those of perf 6.1");
    }
    static const char *const lines[] = {
        "cpu-clock: type: 1, size: 64, { sample_period, sample_freq }: 250000, "
        "sample_type: IP|TID|TIME|CPU|PERIOD|IDENTIFIER, read_format: ID|LOST, sample_id_all: 1",
        "sched:sched_switch: type: 2, size: 64, config: 0x13c, { sample_period, sample_freq }: 1, "
        "sample_type: IP|TID|TIME|CPU|PERIOD|RAW|IDENTIFIER, read_format: ID|LOST, sample_id_all: 1",
        NULL,
    };
    expect_lines(run.out, lines);
    tool_run_fini(&run);
}

Test(consumers, perf_header_shows_machine_and_recording)
{
    need_perf();
    write_file(&(struct sample_recording_options){.tracepoint = true, .features = true});
    struct tool_run run;
    perf(&run, "report", "--header-only", "-I");
    expect_silent_success(&run);
    static const char *const lines[] = {
        "# header version : 1",
        "# data offset    : 4096",
        "# hostname : testhost",
        "# os release : 6.12.0-test",
        "# perf version : 6.12.0-test-weir-" WEIR_VERSION,
        "# arch : x86_64",
        "# nrcpus online : 3",
        "# nrcpus avail : 4",
        "# cpudesc : Test CPU @ 1.0GHz",
        "# cpuid : GenuineIntel,6,85,7",
        "# total memory : 10240 kB",
        "# cmdline : /usr/bin/weir record -a ",
        "# sibling sockets : 0-1",
        "# sibling sockets : 3",
        "# sibling dies    : 0-1",
        "# sibling dies    : 3",
        "# sibling threads : 0",
        "# sibling threads : 1",
        "# sibling threads : 3",
        "# CPU 0: Core ID 0, Die ID 0, Socket ID 0",
        "# CPU 1: Core ID 1, Die ID 0, Socket ID 0",
        "# CPU 2: Core ID -1, Die ID -1, Socket ID -1",
        "# CPU 3: Core ID 0, Die ID 2, Socket ID 1",
        "# node0 meminfo  : total = 8192 kB, free = 4096 kB",
        "# node0 cpu list : 0-1",
        "# node1 meminfo  : total = 2048 kB, free = 1024 kB",
        "# node1 cpu list : 3",
        "# pmu mappings: software = 1, cpu = 4",
        "# CPU cache info:",
        "#  L1 Data                 32K [0]",
        "#  L1 Instruction          32K [0]",
        "#  L2 Unified            1024K [0]",
        "# time of first sample : 1.000001",
        "# time of last sample : 1.000003",
        "# sample duration :      0.002 ms",
        "# memory nodes (nr 1, block size 0x8000000):",
        "#    0 [512M]: 0,2,63-64",
        NULL,
    };
    expect_lines(run.out, lines);
    cr_expect_not_null(strstr(run.out, "# event : name = cpu-clock, , id = { 11, 12 }, "));
    cr_expect_not_null(strstr(run.out, "# event : name = sched:sched_switch, , id = { 21, 22 }, "));
    tool_run_fini(&run);
}

/* The first line that begins with none of the prefixes; NULL when all do. */
static const char *unexpected_line(const char *text, const char *const *prefixes)
{
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        size_t i = 0;
        while (prefixes[i] && strncmp(line, prefixes[i], strlen(prefixes[i])) != 0)
            i++;
        if (!prefixes[i] || !strchr(line, '\n'))
            return line;
    }
    return NULL;
}

Test(consumers, hotspots_parser_agrees_on_samples_maps_and_order)
{
    tool_need(PERFPARSER, "hotspot");
    write_file(&(struct sample_recording_options){.tracepoint = true, .features = true});
    const char *const argv[] = {PERFPARSER, "--print-stats", "--input", file, NULL};
    struct tool_run run;
    tool_run(&run, &tree, argv);
    cr_expect_eq(run.status, 0);
    static const char *const lines[] = {
        "samples: 3",           "mmaps: 1", "samples time violations: 0", "mmaps time violations: 0",
        "max time: 1000003000", NULL,
    };
    expect_lines(run.out, lines);
    /* It says these of perf's own files too: sections that it knows in part, records that it passes over. */
    static const char *const known[] = {
        "feature not properly read PerfHeader::CPU_TOPOLOGY ",
        "feature not properly read PerfHeader::CACHE ",
        "feature not properly read PerfHeader::SAMPLE_TIME ",
        "feature not properly read PerfHeader::MEM_TOPOLOGY ",
        "Linux version \"6.12.0-test-weir-" WEIR_VERSION "\" detected. Switching to automatic buffering.",
        "unhandled event type 82 ",
        "unhandled event type 65 ",
        NULL,
    };
    const char *unexpected = unexpected_line(run.err, known);
    cr_expect_null(unexpected, "%s", unexpected);
    tool_run_fini(&run);
}
