/*
 * Configuration files and `weir record`: what is refused, what holds when files and command line differ, and
 * --print-config, which is golden.
 */
#include "cli/config_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "cli/option.h"
#include "cli/record_options.h"
#include "tests/cli/words.h"

static struct weir_config_set set;
static struct weir_record_arguments arguments;
static struct weir_settings settings;
static struct weir_error err;
static char warning[WEIR_ERROR_TEXT_BYTES];

static void keep_warning(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    cr_expect_eq(level, WEIR_NOTICE_WARNING);
    snprintf(warning, sizeof(warning), "%s", line);
}

static const struct weir_notice_sink sink = {.emit = keep_warning};

static void init(void)
{
    weir_record_arguments_init(&arguments);
}

static void fini(void)
{
    weir_record_arguments_fini(&arguments);
    weir_settings_fini(&settings);
    weir_config_set_fini(&set);
}

TestSuite(config_options, .init = init, .fini = fini);

static const struct weir_option_table *table(void)
{
    return &weir_record_command.options;
}

static void add(struct weir_config *config, const char *path, const char *text)
{
    cr_assert_eq(weir_config_parse(config, text, strlen(text), path, &err), 0, "%s", err.what);
}

/* Reads a command line, then what the files of set say. */
static int apply(const char *line)
{
    static struct words words;
    words_split(&words, line);
    weir_record_arguments_fini(&arguments);
    weir_settings_fini(&settings);
    struct weir_record_arguments scratch;
    weir_record_arguments_init(&scratch);
    err = (struct weir_error){0};
    int result = weir_record_options_parse(&arguments, words.argv, &settings, &err);
    if (result == 0)
        result = weir_config_join_dump_sizes(&set.perf, &sink);
    if (result == 0)
        result = weir_config_check(table(), &set, &scratch, &sink, &err);
    if (result == 0)
        result = weir_config_apply(table(), &set, &arguments, &settings, &err);
    weir_record_arguments_fini(&scratch);
    return result;
}

static void expect_refused(const char *text, const char *what, const char *hint)
{
    weir_config_set_fini(&set);
    add(&set.weir, "it", text);
    cr_expect_eq(apply("true"), -EINVAL, "%s", text);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
}

#define KEYS "'weir record --print-config' lists the keys, all of section [record]"

Test(config_options, unknown_names_are_refused_with_the_nearest)
{
    expect_refused("[recrod]\nfreq = 1\n", "it:2: unknown section 'recrod'", "did you mean 'record'?");
    expect_refused("[report]\nfreq = 1\n", "it:2: unknown section 'report'", "did you mean 'record'?");
    expect_refused("[buildid]\ndir = x\n", "it:2: unknown section 'buildid'", KEYS);
    expect_refused("[record]\n\nferq = 1\n", "it:3: unknown key 'ferq'", "did you mean 'freq'?");
    expect_refused("[record]\nzebra = 1\n", "it:2: unknown key 'zebra'", KEYS);
    expect_refused("[record]\nhelp\n", "it:2: unknown key 'help'", KEYS);
    expect_refused("[record]\nprint-config\n", "it:2: unknown key 'print-config'", KEYS);
}

Test(config_options, bad_values_are_refused_by_the_options_own_parser)
{
    expect_refused("[record]\nfreq = 99k\n", "it:2: option '--freq': '99k' is malformed",
                   "HZ|max is a whole number, 1 to 2^32-1 Hz, or 'max'");
    expect_refused("[record]\nfreq\n", "it:2: key 'freq' needs a value: HZ|max", "a line is written KEY = VALUE");
    expect_refused("[record]\nquiet = maybe\n", "it:2: bad value 'maybe' of key 'quiet'", "use true or false");
    expect_refused("[record]\nbuild-id = some\n", "it:2: bad value 'some' of key 'build-id'",
                   "use cache, no-cache, skip, mmap or no-mmap");
    expect_refused("[record]\nbuild-id\n", "it:2: bad value '' of key 'build-id'",
                   "use cache, no-cache, skip, mmap or no-mmap");
}

Test(config_options, mistake_is_found_where_the_command_line_goes_before_it)
{
    add(&set.weir, "it", "[record]\nfreq = 0\n");
    cr_expect_eq(apply("-F 99 true"), -EINVAL);
    cr_expect_str_eq(err.what, "it:2: option '--freq': '0' is out of range");
}

Test(config_options, bad_value_in_a_file_of_perf_is_a_warning)
{
    add(&set.perf, "its", "[record]\nbuild-id = later\n[report]\nzebra = 1\n");
    cr_expect_eq(apply("true"), 0);
    cr_expect_str_eq(warning, "its:2: bad value 'later' of key 'build-id'; ignoring it");
}

/* What perf 6.1 makes of these files with -g. */
Test(config_options, dump_size_of_perf_belongs_to_the_mode_before_it)
{
    static const struct {
        const char *text;
        enum weir_call_graph mode;
        uint32_t stack_bytes;
    } files[] = {
        {"[call-graph]\nrecord-mode = dwarf\ndump-size = 4096\n", WEIR_CALL_GRAPH_DWARF, 4096},
        {"[call-graph]\nrecord-mode = dwarf,1024\ndump-size = 4096\n", WEIR_CALL_GRAPH_DWARF, 4096},
        {"[call-graph]\ndump-size = 4096\nrecord-mode = dwarf\n", WEIR_CALL_GRAPH_DWARF, 8192},
        {"[record]\ncall-graph = dwarf\n[call-graph]\ndump-size = 4096\n", WEIR_CALL_GRAPH_DWARF, 8192},
        {"[call-graph]\nrecord-mode = fp\ndump-size = 4096\n", WEIR_CALL_GRAPH_FP, 0},
        {"[call-graph]\ndump-size = 4096\n", WEIR_CALL_GRAPH_FP, 0},
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        weir_config_set_fini(&set);
        add(&set.perf, "its", files[i].text);
        cr_assert_eq(apply("-g true"), 0, "%s", err.what);
        cr_expect_eq(arguments.options.samples.call_graph.mode, files[i].mode, "%s", files[i].text);
        cr_expect_eq(arguments.options.samples.call_graph.stack_bytes, files[i].stack_bytes, "%s", files[i].text);
    }
}

Test(config_options, bad_dump_size_of_perf_is_a_warning)
{
    add(&set.perf, "its", "[call-graph]\nrecord-mode = dwarf\ndump-size = 70000\n");
    cr_expect_eq(apply("-g true"), 0);
    cr_expect_str_eq(warning, "its:3: bad value '70000' of key 'dump-size'; ignoring it");
    cr_expect_eq(arguments.options.samples.call_graph.stack_bytes, 8192);
}

Test(config_options, keys_set_what_options_set)
{
    add(&set.weir, "it", "[record]\nfreq = 99\nquiet = yes\nall-cpus\noutput = \"a b\"\nthreads\nevent = cs\n");
    cr_assert_eq(apply("true"), 0, "%s", err.what);
    cr_expect_eq(arguments.options.rate.freq_hz, 99);
    cr_expect(arguments.quiet);
    cr_expect(arguments.options.targets.system_wide);
    cr_expect_str_eq(arguments.options.output.path, "a b");
    cr_expect_str_eq(arguments.options.readers.threads_spec, "cpu");
    cr_assert_eq(arguments.events.count, 1);
    cr_expect_str_eq(arguments.events.items[0], "cs");
}

Test(config_options, flags_are_true_or_false_in_every_spelling)
{
    static const char *const spellings[][2] = {{"true", "false"}, {"Yes", "No"}, {"on", "OFF"}, {"1", "0"}};
    for (size_t i = 0; i < 4; i++) {
        for (size_t off = 0; off < 2; off++) {
            char text[64];
            snprintf(text, sizeof(text), "[record]\nquiet = %s\nno-dry-run = %s\n", spellings[i][off],
                     spellings[i][off]);
            weir_config_set_fini(&set);
            add(&set.weir, "it", text);
            cr_assert_eq(apply("true"), 0, "%s", err.what);
            cr_expect_eq(arguments.quiet, !off, "%s", text);
            cr_expect_eq(arguments.options.dry_run, off, "%s", text);
        }
    }
}

Test(config_options, command_line_goes_before_files)
{
    add(&set.weir, "it", "[record]\nfreq = 99\nquiet = true\nevent = cs\nevent = page-faults\n");
    cr_assert_eq(apply("-F 7 --no-quiet -e cpu-clock true"), 0);
    cr_expect_eq(arguments.options.rate.freq_hz, 7);
    cr_expect_not(arguments.quiet);
    cr_assert_eq(arguments.events.count, 1);
    cr_expect_str_eq(arguments.events.items[0], "cpu-clock");
}

Test(config_options, frequency_and_period_on_the_command_line_go_before_each_other_in_files)
{
    add(&set.weir, "it", "[record]\nfreq = 99\n");
    cr_assert_eq(apply("-c 5 true"), 0);
    cr_expect_eq(arguments.options.rate.freq_hz, 0);
    weir_config_set_fini(&set);
    add(&set.weir, "it", "[record]\ncount = 5\n");
    cr_assert_eq(apply("-F 99 true"), 0);
    cr_expect_eq(arguments.options.rate.period, 0);
}

Test(config_options, later_file_goes_before_the_earlier_one)
{
    add(&set.weir, "system", "[record]\nfreq = 1\nevent = cs\nevent = cpu-clock\nrealtime = 5\n");
    add(&set.weir, "user", "[record]\nfreq = 2\nevent = page-faults\n");
    cr_assert_eq(apply("true"), 0);
    cr_expect_eq(arguments.options.rate.freq_hz, 2);
    cr_expect_eq(arguments.options.readers.realtime_priority, 5);
    cr_assert_eq(arguments.events.count, 1);
    cr_expect_str_eq(arguments.events.items[0], "page-faults");
}

Test(config_options, options_that_exclude_each_other_go_before_each_other)
{
    static const struct {
        const char *first, *second; /* in files */
        const char *line;           /* the second on the command line */
    } pairs[] = {
        {"freq = 99", "count = 5", "-c 5 true"},
        {"all-kernel", "all-user", "--all-user true"},
        {"branch-any", "branch-filter = u", "-j u true"},
        {"branch-filter = u", "branch-any", "-b true"},
        {"memory = 1M", "overwrite", "--overwrite true"},
        {"append", "force", "-f true"},
        {"memory = 1M\nsnapshot-keep = 2", "switch-max-files = 3", "--switch-max-files 3 true"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(pairs); i++) {
        char first[64], second[64];
        snprintf(first, sizeof(first), "[record]\n%s\n", pairs[i].first);
        snprintf(second, sizeof(second), "[record]\n%s\n", pairs[i].second);
        weir_config_set_fini(&set);
        add(&set.weir, "system", first);
        cr_assert_eq(apply(pairs[i].line), 0, "%s: %s", pairs[i].line, err.what);
        cr_expect_eq(weir_record_options_resolve(&arguments, 4096, NULL, &err), 0, "%s: %s", pairs[i].line, err.what);
        add(&set.weir, "user", second);
        cr_assert_eq(apply("true"), 0, "%s: %s", pairs[i].second, err.what);
        cr_expect_eq(weir_record_options_resolve(&arguments, 4096, NULL, &err), 0, "%s: %s", pairs[i].second, err.what);
    }
}

Test(config_options, what_is_not_asked_for_excludes_nothing)
{
    add(&set.weir, "system", "[record]\nall-kernel\n");
    add(&set.weir, "user", "[record]\nall-user = false\n");
    cr_assert_eq(apply("true"), 0);
    cr_expect(arguments.options.all_kernel);
    cr_assert_eq(apply("--no-all-user true"), 0);
    cr_expect(arguments.options.all_kernel);
}

Test(config_options, filters_and_cgroups_are_of_the_events_of_their_file)
{
    add(&set.weir, "system", "[record]\nevent = sched:sched_switch\nfilter = prev_pid > 1\ncgroup = x\n");
    cr_assert_eq(apply("true"), 0);
    cr_expect_eq(arguments.filter_count, 1);
    cr_expect_eq(arguments.cgroups_count, 1);
    cr_assert_eq(apply("-e sched:sched_wakeup true"), 0);
    cr_expect_eq(arguments.filter_count, 0);
    cr_expect_eq(arguments.cgroups_count, 0);
    add(&set.weir, "user", "[record]\nevent = cs\n");
    cr_assert_eq(apply("true"), 0, "%s", err.what);
    cr_expect_eq(arguments.events.count, 1);
    cr_expect_eq(arguments.filter_count, 0);
    cr_expect_eq(arguments.cgroups_count, 0);
}

Test(config_options, option_that_stands_once_may_stand_in_each_file)
{
    add(&set.weir, "system", "[record]\nclockid = realtime\nbranch-filter = u\n");
    add(&set.weir, "user", "[record]\nclockid = monotonic\nbranch-filter = k\n");
    cr_assert_eq(apply("true"), 0, "%s", err.what);
    cr_expect_eq(arguments.options.samples.clock.id, CLOCK_MONOTONIC);
}

/* The row that a setting in force belongs to, by name; "" for none. */
static const char *set_by(const char *path)
{
    for (size_t i = 0; i < settings.count; i++) {
        if (settings.items[i].path && strcmp(settings.items[i].path, path) == 0)
            return settings.items[i].option->long_name;
    }
    return "";
}

Test(config_options, build_id_stands_for_options)
{
    bool negated;
    add(&set.perf, "its", "[record]\nbuild-id = skip\n");
    cr_assert_eq(apply("true"), 0);
    cr_expect_str_eq(set_by("its"), weir_option_find(table(), "no-buildid", &negated) ? "no-buildid" : "");
    weir_config_set_fini(&set);
    add(&set.weir, "it", "[record]\nbuild-id = cache\n");
    cr_assert_eq(apply("true"), 0);
    cr_expect_str_eq(set_by("it"), "no-buildid-cache", "negated");
    cr_expect(arguments.options.build_ids.fill_cache);
    weir_config_set_fini(&set);
    add(&set.weir, "it", "[record]\nbuildid-mmap\nbuild-id = no-mmap\n");
    cr_assert_eq(apply("true"), 0);
    cr_expect_str_eq(set_by("it"), "buildid-mmap", "negated");
    cr_expect_not(arguments.options.build_ids.in_maps);
}

Test(config_options, call_graph_is_what_g_stands_for)
{
    bool negated;
    if (!weir_option_find(table(), "call-graph", &negated))
        cr_skip_test("needs the option --call-graph");
    add(&set.perf, "its", "[call-graph]\nrecord-mode = dwarf\n");
    cr_assert_eq(apply("true"), 0);
    cr_expect_eq(arguments.options.samples.call_graph.mode, WEIR_CALL_GRAPH_NONE,
                 "without -g there are no call chains");
    cr_expect_str_eq(set_by("its"), "call-graph", "but it is still what -g stands for, and printed so");
    cr_assert_eq(apply("-g true"), 0);
    cr_expect_eq(arguments.options.samples.call_graph.mode, WEIR_CALL_GRAPH_DWARF);
    cr_expect_str_eq(set_by("its"), "call-graph");
    cr_assert_eq(apply("-g --call-graph fp true"), 0);
    cr_expect_str_eq(set_by("its"), "", "--call-graph goes before");
}

Test(config_options, printed_configuration_says_where_each_line_comes_from)
{
    add(&set.weir, "system", "[record]\nfreq = 1\nrealtime = 5\n");
    add(&set.weir, "user", "[record]\n\nfreq = 2\nevent = cs\nevent = page-faults:u\nquiet = no\n");
    cr_assert_eq(apply("-v --output a#\"b true"), 0);
    struct weir_buf text = WEIR_BUF_INIT;
    weir_config_print(&text, table(), &settings);
    const char *printed = weir_buf_str(&text);
    static const char *const lines[] = {
        "[record]\n",
        "\n\tfreq = 2\t# user:3\n",
        "\n\trealtime = 5\t# system:3\n",
        "\n\tevent = cs\t# user:4\n\tevent = page-faults:u\t# user:5\n",
        "\n\tquiet = false\t# user:6\n",
        "\n\tverbose = true\t# command line\n",
        "\n\toutput = \"a#\\\"b\"\t# command line\n",
        "\n#\tcpu\t# default: all online CPUs\n",
        "\n#\tdry-run\t# default\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        cr_expect_not_null(strstr(printed, lines[i]), "no '%s' in: %s", lines[i], printed);
    for (size_t i = 0; weir_option_at(table(), i); i++) {
        char line[WEIR_OPTION_TEXT_BYTES];
        const char *name = weir_option_at(table(), i)->long_name;
        bool is_key =
            name && strcmp(name, "help") != 0 && strcmp(name, "print-config") != 0 && strcmp(name, "preset") != 0;
        snprintf(line, sizeof(line), "\t%s", name ? name : "");
        cr_expect(!is_key || strstr(printed, line), "no %s", line);
    }
    weir_buf_fini(&text);
}

Test(config_options, printed_configuration_is_read_as_the_same)
{
    add(&set.weir, "in a folder\n[of this name]\n/it",
        "[record]\nfreq = 2\nevent = cs\nevent = page-faults:u\noutput = \" #\\t\\\\\"\ncall-graph = dwarf\n"
        "buildid-dir = \"cache\f\"\n");
    cr_assert_eq(apply("-z --no-compression-level --no-delay true"), 0);
    struct weir_buf first = WEIR_BUF_INIT;
    weir_config_print(&first, table(), &settings);
    weir_config_set_fini(&set);
    add(&set.weir, "it", weir_buf_str(&first));
    cr_assert_eq(apply("-g true"), 0, "%s", err.what);
    cr_expect_eq(arguments.options.output.compression_level, 0);
    cr_expect_eq(arguments.options.samples.call_graph.mode, WEIR_CALL_GRAPH_DWARF);
    cr_expect_eq(arguments.options.rate.freq_hz, 2);
    cr_expect_eq(arguments.events.count, 2);
    cr_expect_str_eq(arguments.options.output.path, " #\t\\");
    cr_expect_str_eq(arguments.options.build_ids.cache_dir, "cache\f", "blanks at the end are its own");
    weir_buf_fini(&first);
}

/* Filters and cgroups are of the events before them. */
Test(config_options, printed_configuration_keeps_the_order_of_events)
{
    const char *line = "-e sched:sched_switch --filter a>1 -e sched:sched_wakeup -G x -e cs -G y true";
    cr_assert_eq(apply(line), 0, "%s", err.what);
    struct weir_buf first = WEIR_BUF_INIT;
    weir_config_print(&first, table(), &settings);
    add(&set.weir, "it", weir_buf_str(&first));
    cr_assert_eq(apply("true"), 0, "%s", err.what);
    cr_assert_eq(arguments.events.count, 3);
    cr_assert_eq(arguments.filter_count, 1);
    cr_expect_eq(arguments.filters[0].event_index, 0);
    cr_assert_eq(arguments.cgroups_count, 2);
    cr_expect_eq(arguments.cgroups[0].events_before, 2);
    cr_expect_eq(arguments.cgroups[1].events_before, 3);
    weir_buf_fini(&first);
}
