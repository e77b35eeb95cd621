/* Every option of weir dump refused in every way that it can be; what is left is the filter. */
#include "cli/dump_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

static struct weir_dump_arguments arguments;
static struct weir_error err;

static void init(void)
{
    weir_dump_arguments_init(&arguments);
}

static void fini(void)
{
    weir_dump_arguments_fini(&arguments);
}

TestSuite(dump_options, .init = init, .fini = fini);

/* Parses one line, and resolves it; the words live until the next call. */
static int parse(const char *line)
{
    static struct words words;
    words_split(&words, line);
    weir_dump_arguments_fini(&arguments);
    weir_dump_arguments_init(&arguments);
    memset(&err, 0, sizeof(err));
    int result = weir_dump_arguments_parse(&arguments, words.argv, &err);
    return result == WEIR_OPTIONS_PARSED ? weir_dump_arguments_resolve(&arguments, &err) : result;
}

Test(dump_options, refusals_read_as_in_the_golden_file)
{
    static const char *const refused[] = {
        "--type",     "--type ,",         "--type smaple", "--type sample,,lost",
        "--type 87",  "--cpu x",          "--pid x",       "--pid -1",
        "--pid 1,,2", "--pid 2147483648", "--event",       "--time 5",
        "--time 2,1", "--time x,",        "--time 1.2.3,", "--time ,-1",
        "--limit 0",  "--limit x",        "--json=1",      "--bogus",
        "one two",    "-i one two",       "-i one -- two", "--time 18446744073709551616,",
    };
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        cr_expect_eq(parse(refused[i]), -EINVAL, "%s", refused[i]);
        cr_expect_neq(err.hint[0], '\0', "%s: no hint", refused[i]);
        weir_buf_printf(&text, "$ weir dump %s\nweir: %s\nhint: %s\n\n", refused[i], err.what, err.hint);
    }
    golden_expect(GOLDEN_TEXTS, "dump_errors.txt", &text);
    weir_buf_fini(&text);
}

Test(dump_options, without_any_all_of_perf_data_is_shown)
{
    cr_expect_eq(parse(""), 0);
    cr_expect_str_eq(arguments.input_path, "perf.data");
    cr_expect_not(arguments.filter.by_type || arguments.json || arguments.quiet);
    cr_expect_eq(arguments.filter.pid_count, 0);
    cr_expect_eq(arguments.filter.event_count, 0);
    cr_expect_eq(arguments.filter.first_ns, 0);
    cr_expect_eq(arguments.filter.last_ns, UINT64_MAX);
    cr_expect_eq(arguments.limit, 0);
}

Test(dump_options, every_option_reaches_the_filter)
{
    cr_expect_eq(parse("--type sample,PERF_RECORD_LOST --type 68 --cpu 1-2 --pid 1,42 --event a --event b* "
                       "--time 1.5,2.000000001 --limit 7 --json -q -- file"),
                 0);
    cr_expect_str_eq(arguments.input_path, "file");
    cr_expect(arguments.filter.by_type);
    for (unsigned type = 0; type < WEIR_RECORD_TYPES; type++)
        cr_expect_eq(arguments.filter.types[type],
                     type == PERF_RECORD_SAMPLE || type == PERF_RECORD_LOST || type == 68);
    cr_expect_eq(weir_cpuset_count(&arguments.filter.cpus), 2);
    cr_assert_eq(arguments.filter.pid_count, 2);
    cr_expect_eq(arguments.filter.pids[1], 42);
    cr_assert_eq(arguments.filter.event_count, 2);
    cr_expect_str_eq(arguments.filter.events[1], "b*");
    cr_expect_eq(arguments.filter.first_ns, 1500000000);
    cr_expect_eq(arguments.filter.last_ns, 2000000001);
    cr_expect_eq(arguments.limit, 7);
    cr_expect(arguments.json && arguments.quiet);
    cr_expect_eq(parse("--time ,3"), 0);
    cr_expect_eq(arguments.filter.last_ns, 3000000000);
}
