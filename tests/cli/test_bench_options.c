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

Test(bench_options, refusals_read_as_in_the_golden_file)
{
    static const char *const refused[] = {
        /* missing */
        "--cpus",
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
        /* out of range */
        "--cpus 0",
        "--cpus 1025",
        "--records 0",
        "--records 1000000000001",
        "--rate 0",
        "--rate 1000000001",
        "--payload 7",
        "--payload 60001",
        "--seed 18446744073709551616",
        "-m 5G",
        "--buffer-size 1023K",
        /* no such thing */
        "--bogus",
        "-a",
        "extra",
        "--cpus 4 -- extra",
    };
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
    cr_expect_eq(arguments.payload_bytes, 64);
    cr_expect_eq(arguments.seed, 1);
    cr_expect_eq(arguments.ring_bytes, 0);
    cr_expect_eq(arguments.buffer_bytes, 0);
    cr_expect_null(arguments.threads_spec);
    cr_expect_str_eq(arguments.output_path, "/dev/null");
    cr_expect_not(arguments.json || arguments.quiet || arguments.verbosity);
}

Test(bench_options, every_option_reaches_its_field)
{
    cr_expect_eq(
        parse("--cpus 1024 --records 5 --rate 6 --payload 60000 --seed 0 -m 8K --buffer-size 3M --threads=numa "
              "-o out --json -vq"),
        0);
    cr_expect_eq(arguments.cpus, 1024);
    cr_expect_eq(arguments.records_per_cpu, 5);
    cr_expect_eq(arguments.rate_per_cpu_hz, 6);
    cr_expect_eq(arguments.payload_bytes, 60000);
    cr_expect_eq(arguments.seed, 0);
    cr_expect_eq(arguments.ring_bytes, 8192);
    cr_expect_eq(arguments.buffer_bytes, 3 << 20);
    cr_expect_str_eq(arguments.threads_spec, "numa");
    cr_expect_str_eq(arguments.output_path, "out");
    cr_expect(arguments.json && arguments.quiet && arguments.verbosity == 1);
}
