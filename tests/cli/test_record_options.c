/*
 * Every option of weir record with a missing, malformed and out-of-range argument and given twice; then the rules
 * between options. What is refused is in golden/record_errors.txt whole, as the user sees it.
 */
#include "cli/record_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "cli/exit_status.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

#define PAGE        4096u
#define LINE_BYTES  WORDS_LINE_BYTES
#define NOTICES_MAX 4

static struct weir_record_arguments arguments;
static struct weir_error err;

/* Notices that came, in order. */
static struct {
    enum weir_notice_level level;
    char line[LINE_BYTES];
} notices[NOTICES_MAX];
static size_t notice_count;

static void keep_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    cr_assert_lt(notice_count, NOTICES_MAX);
    notices[notice_count].level = level;
    snprintf(notices[notice_count++].line, LINE_BYTES, "%s", line);
}

static const struct weir_notice_sink sink = {.emit = keep_notice};

static void init(void)
{
    weir_record_arguments_init(&arguments);
}

static void fini(void)
{
    weir_record_arguments_fini(&arguments);
}

TestSuite(record_options, .init = init, .fini = fini);

/* Parses one line, and resolves it on a machine with 4 KiB pages; the words live until the next call. */
static int parse(const char *line)
{
    static struct words words;
    words_split(&words, line);

    fini();
    memset(&err, 0, sizeof(err));
    notice_count = 0;
    int result = weir_record_options_parse(&arguments, words.argv, NULL, &err);
    return result == WEIR_OPTIONS_PARSED ? weir_record_options_resolve(&arguments, PAGE, &sink, &err) : result;
}

/* Each line is refused, with nothing but its own arguments to blame. */
static const char *const refused[] = {
    /* missing */
    "-C",
    "--cpu",
    "-p",
    "--pid",
    "-t",
    "--tid",
    "-u",
    "-D",
    "-G",
    "--cgroup",
    "--delay",
    "--uid",
    "-e",
    "--event",
    "--filter",
    "-F",
    "--freq",
    "-c",
    "--count",
    "-m",
    "--mmap-pages",
    "--buffer-size",
    "--reader-cpus",
    "-M",
    "--memory",
    "-r",
    "--realtime",
    "-o",
    "--output",
    "--report",
    "--guestkallsyms",
    "--guestmodules",
    "--guestmount",
    "--buildid-dir",
    "--clang-path",
    "--clang-opt",
    "--vmlinux",
    "--max-size",
    "--max-loss",
    "--shed",
    "--switch-max-files",
    "--on-rotate",
    "--keep-free",
    "--on-full",
    "--setup-filter",
    "-k",
    "--clockid",
    "--call-graph",
    "-j",
    "--branch-filter",
    "--preset",
    "--pfm-events",
    "--synth",
    "--num-thread-synthesize",
    "--off-cpu-thresh",
    "--off-cpu-thresh -1",
    "--proc-map-timeout",
    "--status",
    "--metrics",
    "--unit",
    "--container",
    "--lease",
    "--control",
    "--switch-output-event",
    "--snapshot-on",
    "--snapshot-hold-off",
    "--snapshot-keep",
    /* empty */
    "--control=",
    "--switch-output-event=",
    "--snapshot-on=",
    "--snapshot-hold-off=",
    "--snapshot-keep=",
    "--cpu=",
    "--pid=",
    "--tid=",
    "--uid=",
    "--delay=",
    "-e cs --cgroup=",
    "--cgroup=",
    "--event=",
    "--freq=",
    "--count=",
    "--mmap-pages=",
    "--buffer-size=",
    "--realtime=",
    "--output=",
    "--output-format=dir",
    "--affinity-cpus",
    "--kcore -o -",
    "--sync -o -",
    "-A -f",
    "--append -o -",
    "-A -z",
    "-A --kcore",
    "-A --timestamp-filename",
    "-A --switch-output-event cs",
    "--report=",
    "--buildid-dir=",
    "--max-size=",
    "--max-loss=",
    "--max-loss=101",
    "--max-loss=1%",
    "--shed=",
    "--shed=samples",
    "--switch-output=",
    "--on-rotate=",
    "--keep-free=",
    "--on-full=",
    "--on-full=wait",
    "--setup-filter=",
    "--setup-filter=pinned",
    "--clockid=",
    "--call-graph=",
    "--branch-filter=",
    "--synth=",
    "--num-thread-synthesize=",
    /* not taken */
    "--data=1",
    "--branch-any=u",
    "--no-call-graph=fp",
    "--no-period=1",
    "--all-cpus=1",
    "--group=1",
    "--exclude-perf=1",
    "--per-thread=1",
    "--no-inherit=1",
    "--inherit=1",
    "--stat=1",
    "--verbose=1",
    "--quiet=1",
    "--dry-run=1",
    "--help=1",
    /* malformed */
    "-C abc",
    "-C 0-",
    "-C 3-1",
    "-C 0,,1",
    "-p abc",
    "-p 1,,2",
    "-p -1",
    "-t abc",
    "-D abc",
    "-D -5",
    "-D 1.5",
    "-D 10-",
    "-D 10-20,",
    "-D 5,10",
    "-D 20-10",
    "-D 10-10",
    "-D 10-20,20-30",
    "-D 10-20,15-30",
    "--snapshot-hold-off 1s",
    "-Sx",
    "-Sex",
    "--snapshot=4KB",
    "--aux-sample=e",
    "--snapshot-keep 0",
    "--control 3,4",
    "--control fd:x",
    "--control fd:3,4,5",
    "--control fifo:",
    "--status sometimes",
    "--metrics x",
    "--unit a,,b",
    "--container ,",
    "--unit a -G b",
    "-p 1 --container a",
    "--lease 0",
    "-t 1,,2",
    "-t -1",
    "-F abc",
    "-F 99k",
    "-F -1",
    "-F maximum",
    "-c abc",
    "-c 1e5",
    "-c 0x10",
    "-c -5",
    "-m abc",
    "-m 4T",
    "-m -1",
    "-m 16,",
    "-m 16,4,4",
    "--buffer-size abc",
    "--buffer-size 64MB",
    "--max-size 1MB",
    "--switch-output=0",
    "--switch-output=now",
    "--switch-output=10k",
    "--switch-max-files two",
    "-z23",
    "-M 0",
    "-M 0M",
    "-M 64X",
    "-M -5s",
    "-M 9999999999d",
    "-M 99999999999999999999G",
    "-r abc",
    "-r -1",
    "--reader-cpus abc",
    "--reader-cpus 3-1",
    "--reader-cpus eff",
    "--threads=bogus",
    "--threads=packge",
    "--threads=0/",
    "-k foo",
    "-k 1x",
    "-k -1",
    "--call-graph foo",
    "--call-graph DWARF",
    "--call-graph dwarf,x",
    "--call-graph lbr,3",
    "-j foo",
    "-j an_call",
    "--synth=foo",
    "--preset shed",
    "--synth=task,foo",
    "--synth=no,task",
    "--num-thread-synthesize=x",
    /* out of range */
    "-k 2147483648",
    "--call-graph dwarf,0",
    "--call-graph dwarf,65529",
    "--call-graph fp,0",
    "--num-thread-synthesize=0",
    "--num-thread-synthesize=257",
    "--proc-map-timeout=0",
    "--proc-map-timeout=4294967296",
    "-C 65536",
    "--reader-cpus 65536",
    "-p 0",
    "-t 0",
    "-D 0",
    "-D 2147483648",
    "-t 2147483648",
    "-p 2147483648",
    "-F 0",
    "-F 4294967296",
    "-F 99999999999999999999",
    "-c 0",
    "-c 9223372036854775808",
    "-c 99999999999999999999",
    "-m 1048577",
    "-m 5G",
    "-m 17179869184G",
    "--buffer-size 1048575",
    "--buffer-size 1025G",
    "--max-size 0",
    "--switch-output=0s",
    "--switch-output=0B",
    "--switch-max-files 4294967296",
    "-o - --on-full=suspend",
    "--kcore --on-full=suspend",
    "--on-full=rotate",
    "--on-full=rotate --keep-free 1G",
    "-o - --keep-free 1G",
    "-o - --switch-output",
    "--kcore --switch-output",
    "-o - --timestamp-filename",
    "-o - --on-rotate true",
    "--snapshot-keep 4294967296",
    "--snapshot-keep 1",
    "-M 1M --snapshot-keep 1 -o -",
    "-M 1M --snapshot-keep 1 --kcore",
    "-M 1M --snapshot-keep 1 --append",
    "-M 1M --snapshot-keep 1 --switch-max-files 2",
    "-S0",
    "-Se16385G",
    "--aux-sample=0",
    "--aux-sample=60K --aux-sample=61441",
    "-S -A",
    "--aux-sample --append",
    "-S --overwrite",
    "-r 0",
    "-r 100",
    "--threads=0/0:0/1",
    "--filter=",
    "--filter prev_pid>1",
    /* no such option */
    "-Z",
    "--bogus",
    "--fraq 99",
    "-all-cpus",
    "--no-freq",
    "--ver --e",
    /* between options */
    "-F 99 -c 1000",
    "-F max -c 1",
    "--all-kernel --all-user",
    "-b -j u",
    "-j any -b",
    "-j any -j u",
    "-b -b",
    "-k 1 -k 1",
    "-ISP -ISP",
    "--user-regs=SP --user-regs=SP",
    "-G a -e cs true",
    "-e cs -G a -- true",
    "-e cs -G a -p 1",
    "-a -e cs -G a -u root",
};

Test(record_options, refusals_read_as_in_the_golden_file)
{
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        int code = parse(refused[i]);
        cr_expect_eq(code, -EINVAL, "%s", refused[i]);
        cr_expect_eq(weir_exit_status_of_refusal(code), WEIR_EXIT_USAGE);
        cr_expect_neq(err.hint[0], '\0', "%s: no hint", refused[i]);
        weir_buf_printf(&text, "$ weir record %s\nweir: %s\nhint: %s\n\n", refused[i], err.what, err.hint);
    }
    golden_expect(GOLDEN_TEXTS, "record_errors.txt", &text);
    weir_buf_fini(&text);
}

Test(record_options, every_option_that_takes_an_argument_is_among_the_refusals)
{
    const struct weir_option_table *table = &weir_record_command.options;
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (!option->argument || option->argument_optional)
            continue;
        char line[LINE_BYTES];
        snprintf(line, sizeof(line), "--%s", option->long_name);
        cr_expect_eq(parse(line), -EINVAL, "%s", line);
        size_t found = 0;
        while (found < WEIR_ARRAY_COUNT(refused) && strcmp(refused[found], line) != 0)
            found++;
        cr_expect_lt(found, WEIR_ARRAY_COUNT(refused), "%s is not in the list", line);
    }
}

Test(record_options, repeated_option_is_replaced)
{
    cr_expect_eq(parse("-C 0 -C 1-2 -F 1 -F 2 -m 1 -m 2 --buffer-size 1M --buffer-size 2M -r 1 -r 2 -o a -o b"), 0);
    char cpus[16];
    weir_cpuset_format(&arguments.cpus, cpus, sizeof(cpus));
    cr_expect_str_eq(cpus, "1-2");
    cr_expect_eq(arguments.options.rate.freq_hz, 2);
    cr_expect_eq(arguments.options.memory.ring_bytes, 2 * PAGE);
    cr_expect_eq(arguments.options.memory.buffer_bytes, 2 << 20);
    cr_expect_eq(arguments.options.readers.realtime_priority, 2);
    cr_expect_str_eq(arguments.options.output.path, "b");

    cr_expect_eq(parse("-p 7,8,9 -p 5 -c 1 -c 2 --threads=core --threads=numa"), 0);
    cr_assert_eq(arguments.pid_count, 1);
    cr_expect_eq(arguments.pids[0], 5);
    cr_expect_eq(arguments.options.rate.period, 2);
    cr_expect_str_eq(arguments.options.readers.threads_spec, "numa");

    cr_expect_eq(parse("-a -a -g -g -q -q --dry-run --dry-run --exclude-perf --exclude-perf"), 0);
    cr_expect(arguments.options.targets.system_wide &&
              arguments.options.samples.call_graph.mode == WEIR_CALL_GRAPH_FP && arguments.quiet &&
              arguments.options.dry_run && arguments.options.targets.exclude_self);
}

Test(record_options, repeated_event_and_verbose_add_up)
{
    cr_expect_eq(parse("-e cycles -v -e instructions:u,faults -vv"), 0);
    cr_assert_eq(arguments.events.count, 2);
    cr_expect_str_eq(arguments.events.items[0], "cycles");
    cr_expect_str_eq(arguments.events.items[1], "instructions:u,faults");
    cr_expect_eq(arguments.verbosity, 3);
}

Test(record_options, negations_take_back)
{
    cr_expect_eq(parse("-a --exclude-perf -vv -q --dry-run --no-all-cpus --no-exclude-perf --no-verbose --no-quiet "
                       "--no-dry-run true"),
                 0);
    cr_expect_not(arguments.options.targets.system_wide || arguments.options.targets.exclude_self || arguments.quiet ||
                  arguments.options.dry_run);
    cr_expect_eq(arguments.verbosity, 0);
}

Test(record_options, without_options_the_whole_machine_goes_to_perf_data)
{
    cr_expect_eq(parse(""), 0);
    cr_expect(arguments.options.targets.system_wide);
    cr_expect(weir_cpuset_is_empty(&arguments.cpus));
    cr_expect_null(arguments.options.targets.command);
    cr_expect_str_eq(arguments.options.output.path, "perf.data");
    cr_expect(arguments.options.rate.freq_hz == 0 && arguments.options.rate.period == 0 && arguments.events.count == 0);
    cr_expect(arguments.options.memory.ring_bytes == 0 && arguments.options.memory.buffer_bytes == 0 &&
              arguments.options.readers.realtime_priority == 0);
    cr_expect_null(arguments.options.readers.threads_spec);
    cr_expect_eq(notice_count, 0);
}

Test(record_options, workload_is_everything_behind_the_options)
{
    cr_expect_eq(parse("-g ls -a"), 0);
    cr_assert_not_null(arguments.options.targets.command);
    cr_expect_str_eq(arguments.options.targets.command[0], "ls");
    cr_expect_str_eq(arguments.options.targets.command[1], "-a");
    cr_expect_null(arguments.options.targets.command[2]);
    cr_expect_not(arguments.options.targets.system_wide, "the workload alone");

    cr_expect_eq(parse("-- -a"), 0);
    cr_assert_not_null(arguments.options.targets.command);
    cr_expect_str_eq(arguments.options.targets.command[0], "-a");

    cr_expect_eq(parse("-a --"), 0);
    cr_expect_null(arguments.options.targets.command);
}

Test(record_options, cpu_list_means_all_tasks_there)
{
    cr_expect_eq(parse("-C 1 true"), 0);
    cr_expect(arguments.options.targets.system_wide);
    cr_expect_eq(weir_cpuset_count(&arguments.cpus), 1);
    cr_expect_eq(notice_count, 0);
}

Test(record_options, rounded_ring_is_announced_as_by_perf)
{
    cr_expect_eq(parse("-m 3"), 0);
    cr_expect_eq(arguments.options.memory.ring_bytes, 4 * PAGE);
    cr_assert_eq(notice_count, 1);
    cr_expect_eq(notices[0].level, WEIR_NOTICE_INFO);
    cr_expect_str_eq(notices[0].line, "rounding mmap pages size to 16K (4 pages)");

    cr_expect_eq(parse("-m 4M"), 0);
    cr_expect_eq(arguments.options.memory.ring_bytes, 4 << 20);
    cr_expect_eq(notice_count, 0);
}

/* As perf: rounded with the same words. */
Test(record_options, size_of_aux_areas_is_taken_and_rounded)
{
    cr_expect_eq(parse("-m 8,3"), 0);
    cr_expect_eq(arguments.options.memory.ring_bytes, 8 * PAGE);
    cr_expect_eq(arguments.options.aux.area_bytes, 4 * PAGE);
    cr_assert_eq(notice_count, 1);
    cr_expect_str_eq(notices[0].line, "rounding mmap pages size to 16K (4 pages)");

    cr_expect_eq(parse("-m,64M"), 0);
    cr_expect_eq(arguments.options.memory.ring_bytes, 0);
    cr_expect_eq(arguments.options.aux.area_bytes, 64 << 20);
    cr_expect_eq(notice_count, 0);

    cr_expect_eq(parse("-m 1,16385G"), -EINVAL);
    cr_expect_str_eq(err.what, "option '--mmap-pages': a ring cannot be larger than 16384G");
    cr_expect_eq(parse("-m 5G,1"), -EINVAL);
    cr_expect_str_eq(err.what, "option '--mmap-pages': a ring cannot be larger than 4G");
}

Test(record_options, memory_is_a_size_or_a_time)
{
    cr_expect_eq(parse("-M 64M"), 0);
    cr_expect(arguments.options.memory.retained_bytes == 64u << 20 && arguments.options.memory.retained_span_ns == 0);
    cr_expect_eq(parse("--memory 64M -M 5s --snapshot-on-exit"), 0);
    cr_expect(arguments.options.memory.retained_bytes == 0 &&
              arguments.options.memory.retained_span_ns == 5000000000ull && arguments.options.snapshot.at_exit);
    cr_expect_eq(parse("--overwrite --snapshot-on-exit --tail-synthesize"), 0);
    cr_expect(arguments.options.memory.overwrite && arguments.options.synth.at_end);
    cr_expect_eq(parse("--overwrite -M 64M"), -EINVAL);
    cr_expect_str_eq(err.what, "option '--overwrite' cannot be used with '--memory'");
    cr_expect_eq(parse("--snapshot-on-exit"), -EINVAL);
    cr_expect_str_eq(err.what, "option '--snapshot-on-exit' needs -M or -S: nothing else is kept in memory");
    cr_expect_eq(parse("--snapshot-on-exit --ftrace-snapshot"), 0);
}

/* As perf, and a size may have a unit. */
Test(record_options, snapshots_of_aux_areas_may_have_a_size_and_come_at_the_end)
{
    static const struct {
        const char *text;
        bool on_exit;
        uint64_t bytes;
    } rows[] = {
        {"-S", false, 0},
        {"-Se", true, 0},
        {"-S5000", false, 5000},
        {"-Se64K", true, 64 << 10},
        {"--snapshot", false, 0},
        {"--snapshot=e16384G", true, 1ull << 44},
        {"-Se64K -S", false, 0},
        {"-aS1M -Se -S2M --snapshot-on-exit --snapshot-keep 2 --snapshot-on cs", false, 2 << 20},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        cr_expect_eq(parse(rows[i].text), 0, "%s", rows[i].text);
        cr_expect(arguments.options.aux.snapshot && !arguments.options.aux.sample, "%s", rows[i].text);
        cr_expect_eq(arguments.options.aux.snapshot_on_exit, rows[i].on_exit, "%s", rows[i].text);
        cr_expect_eq(arguments.options.aux.snapshot_bytes, rows[i].bytes, "%s", rows[i].text);
    }
    cr_expect_eq(parse("-a -S e"), 0, "what stands apart is the command");
    cr_expect_str_eq(arguments.options.targets.command[0], "e");
}

Test(record_options, samples_may_hold_so_much_of_aux_areas)
{
    cr_expect_eq(parse("--aux-sample"), 0);
    cr_expect(arguments.options.aux.sample && arguments.options.aux.sample_bytes == 0 &&
              !arguments.options.aux.snapshot);
    cr_expect_eq(parse("--aux-sample=60K"), 0);
    cr_expect_eq(arguments.options.aux.sample_bytes, 61440);
    cr_expect_eq(parse("--aux-sample=1 --aux-sample"), 0);
    cr_expect_eq(arguments.options.aux.sample_bytes, 0);
}

Test(record_options, context_switches_may_be_left_out_where_a_trace_wants_them)
{
    cr_expect_eq(parse("-a"), 0);
    cr_expect(!arguments.options.samples.switch_events && !arguments.options.no_switch_events);
    cr_expect_eq(parse("--no-switch-events --switch-events"), 0);
    cr_expect(arguments.options.samples.switch_events && !arguments.options.no_switch_events);
    cr_expect_eq(parse("--switch-events --no-switch-events"), 0);
    cr_expect(!arguments.options.samples.switch_events && arguments.options.no_switch_events);
}

Test(record_options, latency_takes_context_switches_of_tasks)
{
    cr_expect_eq(parse("--no-switch-events --latency true"), 0);
    cr_expect(arguments.options.samples.switch_events && !arguments.options.no_switch_events);
    cr_expect_eq(parse("--latency -C 0 -- true"), 0);
    cr_expect_eq(parse("--latency -p 1"), 0);
    cr_expect_eq(parse("--latency --no-latency -a"), 0);
    cr_expect_not(arguments.options.samples.switch_events);
    cr_expect_eq(parse("--latency"), -EINVAL);
    cr_expect_eq(parse("--latency -a -- true"), -EINVAL);
    cr_expect_str_eq(err.what, "option '--latency' needs tasks: what a whole machine waits for has no meaning yet");
}

Test(record_options, maps_of_data_may_be_chosen_apart)
{
    cr_expect_eq(parse("-d -- true"), 0);
    cr_expect_eq(arguments.options.samples.data_maps, WEIR_CHOICE_NONE);
    cr_expect_eq(parse("-d --no-data-mmap -- true"), 0);
    cr_expect_eq(arguments.options.samples.data_maps, WEIR_CHOICE_NO);
    cr_expect_eq(parse("--data-mmap --sample-mem-info -- true"), 0);
    cr_expect_eq(arguments.options.samples.data_maps, WEIR_CHOICE_YES);
    cr_expect(arguments.options.samples.data_sources && !arguments.options.samples.addresses);
}

Test(record_options, bounds_are_taken)
{
    cr_expect_eq(parse("-F 1 -m 4G --buffer-size 1M -r 1"), 0);
    cr_expect_eq(arguments.options.memory.ring_bytes, 1ull << 32);
    cr_expect_eq(parse("-F 4294967295 --buffer-size 1024G -r 99"), 0);
    cr_expect_eq(parse("-c 9223372036854775807 -C 65535 -p 2147483647"), 0);
    cr_expect_eq(arguments.options.rate.period, INT64_MAX);
    cr_expect_eq(parse("-F max"), 0);
    cr_expect_eq(arguments.options.rate.freq_hz, WEIR_VALUE_FREQ_MAX);
}

Test(record_options, threads_without_spec_is_cpu)
{
    cr_expect_eq(parse("--threads numa"), 0);
    cr_expect_str_eq(arguments.options.readers.threads_spec, "cpu");
    cr_expect_str_eq(arguments.options.targets.command[0], "numa");
}

Test(record_options, help_is_told_apart)
{
    cr_expect_eq(parse("-a --help --bogus"), WEIR_OPTIONS_HELP);
    cr_expect_eq(parse("-h"), WEIR_OPTIONS_HELP);
}

/* ---- several files ---- */

Test(record_options, switch_output_is_by_signal_size_or_time_and_implies_the_time_in_the_name)
{
    cr_expect_eq(parse("--switch-output"), 0);
    cr_expect(arguments.options.rotation.enabled && arguments.options.rotation.timestamp);
    cr_expect(arguments.options.rotation.bytes == 0 && arguments.options.rotation.period_ns == 0);
    cr_expect_eq(parse("--switch-output=signal"), 0);
    cr_expect(arguments.options.rotation.enabled && arguments.options.rotation.bytes == 0 &&
              arguments.options.rotation.period_ns == 0);
    cr_expect_eq(parse("--switch-output=100M"), 0);
    cr_expect_eq(arguments.options.rotation.bytes, 100ull << 20);
    cr_expect_eq(arguments.options.rotation.period_ns, 0);
    cr_expect_eq(parse("--on-full=suspend"), 0);
    cr_expect_eq(parse("--on-full=rotate --switch-output"), 0);
    cr_expect_eq(parse("--on-full=suspend --keep-free 1G --kcore"), 0);
    cr_expect_eq(parse("-M 1M --snapshot-keep 3"), 0);
    cr_expect_eq(arguments.snapshot_keep, 3);
    cr_expect(arguments.options.rotation.enabled && arguments.options.rotation.timestamp);
    cr_expect_eq(parse("--overwrite --snapshot-keep 3 --switch-output=5s"), 0);
    cr_expect_eq(parse("--switch-output=2m --switch-max-files 3"), 0);
    cr_expect_eq(arguments.options.rotation.bytes, 0);
    cr_expect_eq(arguments.options.rotation.period_ns, 120ull * 1000000000);
    cr_expect_eq(arguments.options.rotation.max_files, 3);
    cr_expect_eq(parse("-a"), 0);
    cr_expect(!arguments.options.rotation.enabled && !arguments.options.rotation.timestamp);
}

Test(record_options, command_of_on_rotate_is_split_at_blanks_and_the_last_one_counts)
{
    cr_expect_eq(parse("--on-rotate first --on-rotate=mv"), 0);
    cr_assert_not_null(arguments.on_rotate);
    cr_expect_str_eq(arguments.on_rotate[0], "mv");
    cr_expect_null(arguments.on_rotate[1]);
    char command[] = "  gzip -1\t--quiet ";
    char name[] = "--on-rotate";
    char *argv[] = {name, command, NULL};
    fini();
    init();
    cr_expect_eq(weir_record_options_parse(&arguments, argv, NULL, &err), 0);
    cr_expect_str_eq(arguments.on_rotate[0], "gzip");
    cr_expect_str_eq(arguments.on_rotate[1], "-1");
    cr_expect_str_eq(arguments.on_rotate[2], "--quiet");
    cr_expect_null(arguments.on_rotate[3]);
}
