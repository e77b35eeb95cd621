/* The parser over a table of its own: what it refuses and how it words that, then perf's habits one by one. */
#include "cli/option.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/cpuset.h"
#include "cli/value.h"
#include "tests/cli/words.h"

struct arguments {
    bool all;
    bool buildid;
    unsigned verbosity;
    const char *output;
    struct weir_text_list events;
    uint64_t number;
    uint64_t size;
    uint64_t freq_hz;
    struct weir_ring_size_pair ring;
    struct weir_cpuset cpus;
    const char *custom;
};

#define FIELD(name, type) WEIR_OPTION_FIELD(struct arguments, name, type)

static int apply_custom(void *object, const char *text, struct weir_error *err)
{
    struct arguments *arguments = object;
    if (text && strcmp(text, "bad") == 0)
        return weir_error_set(err, -EACCES, "option '--custom': bad is bad");
    arguments->custom = text ? text : "absent";
    return 0;
}

static const struct weir_option options[] = {
    {.short_name = 'a', .long_name = "all", .negatable = true, .kind = WEIR_OPTION_FLAG, .field = FIELD(all, bool)},
    {.long_name = "no-buildid", .negatable = true, .kind = WEIR_OPTION_FLAG, .field = FIELD(buildid, bool)},
    {.short_name = 'v',
     .long_name = "verbose",
     .negatable = true,
     .kind = WEIR_OPTION_COUNTER,
     .field = FIELD(verbosity, unsigned)},
    {.short_name = 'o',
     .long_name = "output",
     .argument = "FILE",
     .kind = WEIR_OPTION_TEXT,
     .field = FIELD(output, const char *)},
    {.short_name = 'e',
     .long_name = "event",
     .argument = "EVENT",
     .kind = WEIR_OPTION_TEXT_LIST,
     .field = FIELD(events, struct weir_text_list)},
    {.short_name = 'n',
     .long_name = "number",
     .argument = "N",
     .kind = WEIR_OPTION_NUMBER,
     .min = 1,
     .max = 99,
     .field = FIELD(number, uint64_t)},
    {.long_name = "numbers-size",
     .argument = "SIZE",
     .kind = WEIR_OPTION_SIZE,
     .min = 1024,
     .max = 1 << 20,
     .field = FIELD(size, uint64_t)},
    {.short_name = 'F',
     .long_name = "freq",
     .argument = "HZ|max",
     .kind = WEIR_OPTION_FREQUENCY,
     .unit = "Hz",
     .min = 1,
     .max = 1000,
     .field = FIELD(freq_hz, uint64_t)},
    {.short_name = 'm',
     .long_name = "mmap-pages",
     .argument = "PAGES",
     .kind = WEIR_OPTION_RING_PAIR,
     .field = FIELD(ring, struct weir_ring_size_pair)},
    {.short_name = 'C',
     .long_name = "cpu",
     .argument = "LIST",
     .kind = WEIR_OPTION_CPU_LIST,
     .field = FIELD(cpus, struct weir_cpuset)},
    {.short_name = 'z',
     .long_name = "custom",
     .argument = "SPEC",
     .argument_optional = true,
     .kind = WEIR_OPTION_CUSTOM,
     .apply = apply_custom},
    {.short_name = 'g', .kind = WEIR_OPTION_FLAG, .field = FIELD(all, bool)},
    WEIR_OPTION_HELP_ROW,
};

static const struct weir_option_table table = {.command = "weir test", WEIR_OPTION_ONE_PART(options)};

static struct arguments arguments;
static struct weir_error err;
static size_t used;

static void fini(void)
{
    weir_text_list_fini(&arguments.events);
    weir_cpuset_fini(&arguments.cpus);
}

TestSuite(option, .fini = fini);

/* Parses one line; the words live until the next call. */
static int parse(const char *line)
{
    static struct words words;
    words_split(&words, line);
    fini();
    memset(&arguments, 0, sizeof(arguments));
    memset(&err, 0, sizeof(err));
    used = 99;
    return weir_options_parse(&table, &arguments, words.argv, &used, &err);
}

static void expect_refused(const char *line, const char *what, const char *hint)
{
    cr_expect_eq(parse(line), -EINVAL, "%s", line);
    cr_expect_eq(err.code, -EINVAL, "%s", line);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
    cr_expect_eq(used, 99, "%s", line);
}

#define LISTED "'weir test --help' lists the options"

Test(option, unknown_long_option_is_refused_and_the_nearest_named)
{
    expect_refused("--evnet x", "unknown option '--evnet'", "did you mean '--event'? " LISTED);
    expect_refused("--evnet=x", "unknown option '--evnet'", "did you mean '--event'? " LISTED);
    expect_refused("--no-alll", "unknown option '--no-alll'", "did you mean '--no-all'? " LISTED);
    expect_refused("--zebra", "unknown option '--zebra'", LISTED);
    expect_refused("--events", "unknown option '--events'", "did you mean '--event'? " LISTED);
}

Test(option, option_without_negation_has_none)
{
    expect_refused("--no-output", "unknown option '--no-output'",
                   "'--output' cannot be negated: leave it out; " LISTED);
    expect_refused("--no-help", "unknown option '--no-help'", "'--help' cannot be negated: leave it out; " LISTED);
}

Test(option, unknown_letter_is_refused)
{
    expect_refused("-x", "unknown option '-x'", LISTED);
    expect_refused("-ax", "unknown option '-x' in '-ax'", LISTED);
    expect_refused("-x99", "unknown option '-x' in '-x99'", LISTED);
}

Test(option, long_name_behind_one_dash_is_recognised)
{
    expect_refused("-buildid", "unknown option '-b' in '-buildid'", LISTED);
    expect_refused("-cust=3", "unknown option '-c' in '-cust=3'", "did you mean '--custom' (with two dashes)?");
    expect_refused("-cu", "unknown option '-c' in '-cu'", LISTED);
}

Test(option, prefix_of_two_names_is_ambiguous)
{
    expect_refused("--numb 3", "option '--numb' is ambiguous: '--number' or '--numbers-size'", LISTED);
    expect_refused("--no-", "option '--no-' is ambiguous: '--no-all' or '--no-verbose'", LISTED);
    expect_refused("--=3", "option '--' is ambiguous: '--all' or '--help'", LISTED);
}

Test(option, missing_argument_is_refused)
{
    expect_refused("-o", "option '-o' needs an argument: FILE", LISTED);
    expect_refused("--outp", "option '--output' needs an argument: FILE", LISTED);
    expect_refused("-an", "option '-n' needs an argument: N", "N is a whole number, 1 to 99");
    expect_refused("-F", "option '-F' needs an argument: HZ|max", "HZ|max is a whole number, 1 to 1000 Hz, or 'max'");
}

Test(option, argument_where_none_is_taken_is_refused)
{
    expect_refused("--all=yes", "option '--all' takes no argument, 'yes' was given", LISTED);
    expect_refused("--all=", "option '--all' takes no argument, '' was given", LISTED);
    expect_refused("--no-all=1", "option '--no-all' takes no argument, '1' was given", LISTED);
    expect_refused("--help=1", "option '--help' takes no argument, '1' was given", LISTED);
}

Test(option, empty_text_is_refused)
{
    expect_refused("--output=", "option '--output': the argument is empty", LISTED);
    expect_refused("--event=", "option '--event': the argument is empty", LISTED);
    expect_refused("--custom=", "option '--custom': the argument is empty", LISTED);
    expect_refused("--number=", "option '--number': '' is malformed", "N is a whole number, 1 to 99");
    expect_refused("--cpu=", "option '--cpu': the list names no CPU",
                   "LIST is a list of CPU numbers and ranges such as 0-3,8");
}

Test(option, malformed_argument_is_refused)
{
    expect_refused("-n abc", "option '-n': 'abc' is malformed", "N is a whole number, 1 to 99");
    expect_refused("-n -a", "option '-n': '-a' is malformed", "N is a whole number, 1 to 99");
    expect_refused("-n=5", "option '-n': '=5' is malformed", "N is a whole number, 1 to 99");
    expect_refused("--numbers-size 4T", "option '--numbers-size': '4T' is malformed",
                   "SIZE is a size with B, K, M or G behind it, 1K to 1M");
    expect_refused("-F 99k", "option '-F': '99k' is malformed", "HZ|max is a whole number, 1 to 1000 Hz, or 'max'");
    expect_refused(
        "-m 4,4,4", "option '-m': '4,4,4' is malformed",
        "PAGES is a number of pages, or a size with B, K, M or G behind it; the same for AUX behind a comma");
    expect_refused("-C 3-1", "option '-C': bad CPU list '3-1' at column 3",
                   "LIST is a list of CPU numbers and ranges such as 0-3,8");
}

Test(option, number_outside_its_range_is_refused_at_both_ends)
{
    expect_refused("-n 0", "option '-n': '0' is out of range", "N is a whole number, 1 to 99");
    expect_refused("-n 100", "option '-n': '100' is out of range", "N is a whole number, 1 to 99");
    expect_refused("-n 99999999999999999999", "option '-n': '99999999999999999999' is out of range",
                   "N is a whole number, 1 to 99");
    expect_refused("--numbers-size 1023", "option '--numbers-size': '1023' is out of range",
                   "SIZE is a size with B, K, M or G behind it, 1K to 1M");
    expect_refused("--numbers-size 1025K", "option '--numbers-size': '1025K' is out of range",
                   "SIZE is a size with B, K, M or G behind it, 1K to 1M");
    expect_refused("-F 1001", "option '-F': '1001' is out of range",
                   "HZ|max is a whole number, 1 to 1000 Hz, or 'max'");
    cr_expect_eq(parse("-n 1"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(arguments.number, 1);
    cr_expect_eq(parse("-n 99"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(arguments.number, 99);
}

Test(option, failure_of_a_custom_option_is_passed_on)
{
    cr_expect_eq(parse("--custom=bad"), -EACCES);
    cr_expect_str_eq(err.what, "option '--custom': bad is bad");
    cr_expect_str_eq(err.hint, LISTED);
}

Test(option, what_stood_before_the_bad_option_is_kept)
{
    cr_expect_eq(parse("-a -n 5 --bogus -o file"), -EINVAL);
    cr_expect(arguments.all);
    cr_expect_eq(arguments.number, 5);
    cr_expect_null(arguments.output);
}

Test(option, error_may_be_dropped)
{
    char unknown[] = "--bogus", custom[] = "--custom=bad", number[] = "-nx";
    char *const lines[] = {unknown, custom, number};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lines); i++) {
        char *const words[] = {lines[i], NULL};
        cr_expect_lt(weir_options_parse(&table, &arguments, words, &used, NULL), 0);
    }
}

Test(option, options_end_at_the_first_word_that_is_none)
{
    cr_expect_eq(parse(""), WEIR_OPTIONS_PARSED);
    cr_expect_eq(used, 0);
    cr_expect_eq(parse("sleep -a"), WEIR_OPTIONS_PARSED);
    cr_expect(used == 0 && !arguments.all);
    cr_expect_eq(parse("-a - -g"), WEIR_OPTIONS_PARSED, "a lone dash is a word");
    cr_expect_eq(used, 1);
    cr_expect_eq(parse("-a -o file -- -x"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(used, 4);
}

Test(option, help_ends_the_parse)
{
    cr_expect_eq(parse("-a -h --bogus"), WEIR_OPTIONS_HELP);
    cr_expect_eq(parse("-ah"), WEIR_OPTIONS_HELP);
    cr_expect_eq(parse("--he"), WEIR_OPTIONS_HELP);
    cr_expect_eq(parse("-o -h"), WEIR_OPTIONS_PARSED, "-h is the argument here");
    cr_expect_str_eq(arguments.output, "-h");
}

Test(option, argument_is_attached_or_the_next_word)
{
    static const char *const lines[] = {"-n 42", "-n42",   "--number 42", "--number=42",
                                        "-an42", "-an 42", "--number=042"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lines); i++) {
        cr_expect_eq(parse(lines[i]), WEIR_OPTIONS_PARSED, "%s", lines[i]);
        cr_expect_eq(arguments.number, 42, "%s", lines[i]);
    }
    cr_expect_eq(parse("--output=a=b"), WEIR_OPTIONS_PARSED);
    cr_expect_str_eq(arguments.output, "a=b");
}

Test(option, unique_prefix_is_enough_and_a_whole_name_wins)
{
    cr_expect_eq(parse("--numbers 2K"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(arguments.size, 2048);
    cr_expect_eq(parse("--number 3"), WEIR_OPTIONS_PARSED, "also the head of --numbers-size");
    cr_expect_eq(arguments.number, 3);
    cr_expect_eq(parse("--al --no-al"), WEIR_OPTIONS_PARSED);
    cr_expect_not(arguments.all);
}

Test(option, negation_takes_back)
{
    cr_expect_eq(parse("-a --no-all"), WEIR_OPTIONS_PARSED);
    cr_expect_not(arguments.all);
    cr_expect_eq(parse("-vvv --no-verbose -v"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(arguments.verbosity, 1);
}

Test(option, option_named_no_is_negated_both_ways)
{
    cr_expect_eq(parse("--no-buildid"), WEIR_OPTIONS_PARSED);
    cr_expect(arguments.buildid);
    cr_expect_eq(parse("--no-buildid --no-no-buildid"), WEIR_OPTIONS_PARSED);
    cr_expect_not(arguments.buildid);
    cr_expect_eq(parse("--no-buildid --buildid"), WEIR_OPTIONS_PARSED);
    cr_expect_not(arguments.buildid);
}

Test(option, flags_are_bundled)
{
    cr_expect_eq(parse("-vavn7"), WEIR_OPTIONS_PARSED);
    cr_expect(arguments.all && arguments.verbosity == 2 && arguments.number == 7);
    cr_expect_eq(used, 1);
}

Test(option, repeated_scalar_is_replaced_and_list_is_kept)
{
    cr_expect_eq(parse("-n 1 -n 2 -o a -o b -C 1 -C 2-3 -m 4 -m 8K"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(arguments.number, 2);
    cr_expect_str_eq(arguments.output, "b");
    cr_expect_eq(weir_cpuset_count(&arguments.cpus), 2);
    cr_expect_not(weir_cpuset_has(&arguments.cpus, 1));
    cr_expect(arguments.ring.data.in_bytes && arguments.ring.data.number == 8192);

    cr_expect_eq(parse("-e1 -e2 -e3 -e4 -e5 -e6 -e7 -e8 -e9 --event=10"), WEIR_OPTIONS_PARSED);
    cr_assert_eq(arguments.events.count, 10, "more than the first capacity");
    cr_expect_str_eq(arguments.events.items[0], "1");
    cr_expect_str_eq(arguments.events.items[8], "9");
    cr_expect_str_eq(arguments.events.items[9], "10");
}

Test(option, optional_argument_is_only_taken_attached)
{
    cr_expect_eq(parse("--custom word"), WEIR_OPTIONS_PARSED);
    cr_expect_str_eq(arguments.custom, "absent");
    cr_expect_eq(used, 1);
    cr_expect_eq(parse("--custom=word"), WEIR_OPTIONS_PARSED);
    cr_expect_str_eq(arguments.custom, "word");
    cr_expect_eq(parse("-zword"), WEIR_OPTIONS_PARSED);
    cr_expect_str_eq(arguments.custom, "word");
    cr_expect_eq(parse("-z -a"), WEIR_OPTIONS_PARSED);
    cr_expect_str_eq(arguments.custom, "absent");
    cr_expect(arguments.all);
}

Test(option, max_is_a_frequency)
{
    cr_expect_eq(parse("-F max"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(arguments.freq_hz, WEIR_VALUE_FREQ_MAX);
    cr_expect_eq(parse("-F1000"), WEIR_OPTIONS_PARSED);
    cr_expect_eq(arguments.freq_hz, 1000);
}
