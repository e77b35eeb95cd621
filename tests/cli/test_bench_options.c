/* Every option of weir bench drain refused in every way that it can be; what is left is what the run gets. */
#include "cli/bench_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

#define PAGE 4096u

static struct weir_bench_arguments arguments;
static struct weir_error err;

/* Parses one line, and resolves it; the words live until the next call. */
static int parse(const char *line)
{
    static struct words words;
    words_split(&words, line);
    weir_bench_arguments_init(&arguments);
    memset(&err, 0, sizeof(err));
    int result = weir_bench_arguments_parse(&arguments, words.argv, &err);
    return result == WEIR_OPTIONS_PARSED ? weir_bench_arguments_resolve(&arguments, PAGE, NULL, &err) : result;
}

static const char *const refused[] = {
    /* missing */
    "--cpus",
    "--nodes",
    "--mix",
    "--seconds",
    "--stall",
    "--records",
    "--rate",
    "--payload",
    "--seed",
    "-m",
    "--buffer-size",
    "-o",
    /* malformed */
    "--cpus x",
    "--records 1M",
    "--rate 1k",
    "--payload 64B",
    "--seed -1",
    "-m x",
    "--buffer-size x",
    "--threads=x",
    "--output=",
    "--json=1",
    "--nodes x",
    "--seconds 1s",
    "--stall 1s",
    "--mix tracepoints",
    "--mix tracepoint,",
    "--mix tracepoint:",
    "--mix tracepoint:1:2",
    "--mix trace:5",
    "--mix :5",
    /* out of range */
    "--cpus 0",
    "--cpus 1025",
    "--records 0",
    "--records 1000000000001",
    "--rate 0",
    "--rate 1000000001",
    "--burst 0",
    "--burst 1000000000001",
    "--payload 7",
    "--payload 60001",
    "--seed 18446744073709551616",
    "-m 5G",
    "--buffer-size 1023K",
    "--nodes 0",
    "--nodes 65",
    "--seconds 0",
    "--seconds 86401",
    "--stall 0",
    "--stall 60001",
    "--mix dwarf:0",
    "--mix dwarf:1001",
    "--mix dwarf:12345678",
    /* not together */
    "--cpus 4 --nodes 3",
    "--records 5 --seconds 1 --rate 5",
    "--seconds 1",
    "--stall 5",
    "--stall max",
    "--stall 5 --rate max",
    "--rate max --records 5",
    "--rate 5 --stall max --records 5",
    "--rate 5 --stall max --seconds 5",
    /* no such thing */
    "--bogus",
    "-a",
    "extra",
    "--cpus 4 -- extra",
    "--closed-loop --rate max",
    "--closed-loop --rate 1000 --stall max",
    "--runs 0",
    "--runs 65",
    "--sweep=",
    "--fail-below",
};

Test(bench_options, refusals_read_as_in_the_golden_file)
{
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        cr_expect_eq(parse(refused[i]), -EINVAL, "%s", refused[i]);
        cr_expect_neq(err.hint[0], '\0', "%s: no hint", refused[i]);
        weir_buf_printf(&text, "$ weir bench drain %s\nweir: %s\nhint: %s\n\n", refused[i], err.what, err.hint);
    }
    golden_expect(GOLDEN_TEXTS, "bench_errors.txt", &text);
    weir_buf_fini(&text);
}

Test(bench_options, defaults_are_what_help_says)
{
    cr_expect_eq(parse(""), 0);
    cr_expect_eq(arguments.cpus, 4);
    cr_expect_eq(arguments.records_per_cpu, 1000000);
    cr_expect_eq(arguments.rate_per_cpu_hz, 0);
    cr_expect_eq(arguments.burst, 0);
    cr_expect_eq(arguments.payload_bytes, 64);
    cr_expect_eq(arguments.seed, 1);
    cr_expect_eq(arguments.options.memory.ring_bytes, 0);
    cr_expect_eq(arguments.options.memory.buffer_bytes, 0);
    cr_expect_null(arguments.options.readers.threads_spec);
    cr_expect_str_eq(arguments.options.output.path, "/dev/null");
    cr_expect_eq(arguments.nodes, 1);
    cr_expect_eq(arguments.stall_ms, 0);
    cr_expect_eq(arguments.goal, WEIR_SIMULATE_ONCE);
    cr_expect_eq(arguments.mix.parts[WEIR_SIM_TRACEPOINT], 1);
    cr_expect_eq(arguments.mix.parts[WEIR_SIM_CALLCHAIN] + arguments.mix.parts[WEIR_SIM_DWARF], 0);
    cr_expect_not(arguments.json || arguments.quiet || arguments.verbosity);
}

Test(bench_options, every_option_reaches_its_field)
{
    cr_expect_eq(parse("--cpus 1024 --nodes 8 --mix dwarf:3,callchain --stall 77 --records 5 --rate 6 --payload 60000 "
                       "--burst 7 --seed 0 -m 8K --buffer-size 3M --threads=numa "
                       "-o out --json -vq"),
                 0);
    cr_expect_eq(arguments.cpus, 1024);
    cr_expect_eq(arguments.nodes, 8);
    cr_expect_eq(arguments.stall_ms, 77);
    const unsigned parts[] = {0, 1, 3};
    cr_expect_arr_eq(arguments.mix.parts, parts, sizeof(parts));
    cr_expect_eq(arguments.records_per_cpu, 5);
    cr_expect_eq(arguments.rate_per_cpu_hz, 6);
    cr_expect_eq(arguments.burst, 7);
    cr_expect_eq(arguments.payload_bytes, 60000);
    cr_expect_eq(arguments.seed, 0);
    cr_expect_eq(arguments.options.memory.ring_bytes, 8192);
    cr_expect_eq(arguments.options.memory.buffer_bytes, 3 << 20);
    cr_expect_str_eq(arguments.options.readers.threads_spec, "numa");
    cr_expect_str_eq(arguments.options.output.path, "out");
    cr_expect(arguments.json && arguments.quiet && arguments.verbosity == 1);
}

Test(bench_options, length_of_a_run_follows_from_what_is_given)
{
    cr_expect_eq(parse("--rate 500 --seconds 3"), 0);
    cr_expect_eq(arguments.records_per_cpu, 1500);
    cr_expect_eq(parse("--rate 1000 --stall 700"), 0); /* 200 ms before and 100 ms behind it */
    cr_expect_eq(arguments.records_per_cpu, 1000);
    cr_expect_eq(parse("--rate 1 --stall 1"), 0);
    cr_expect_eq(arguments.records_per_cpu, 1);
    cr_expect_eq(parse("--rate 1000 --stall 700 --records 5"), 0);
    cr_expect_eq(arguments.records_per_cpu, 5);
    cr_expect_eq(parse("--rate 7"), 0);
    cr_expect_eq(arguments.records_per_cpu, 1000000);
}

Test(bench_options, max_asks_for_a_search)
{
    cr_expect_eq(parse("--rate max"), 0);
    cr_expect_eq(arguments.goal, WEIR_SIMULATE_RATE);
    cr_expect_eq(arguments.probe_ns, 1000000000);
    cr_expect_eq(parse("--rate max --seconds 3"), 0);
    cr_expect_eq(arguments.probe_ns, 3000000000);
    cr_expect_eq(parse("--rate 5 --stall max"), 0);
    cr_expect_eq(arguments.goal, WEIR_SIMULATE_STALL);
}
