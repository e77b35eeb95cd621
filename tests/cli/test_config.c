/* Configuration files as text: what is refused, by line, and then perf's grammar rule by rule. */
#include "cli/config.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/base/failing_alloc.h"

static struct weir_config config;
static struct weir_error err;

static void fini(void)
{
    failing_alloc_never();
    weir_config_fini(&config);
}

TestSuite(config, .fini = fini);

static int parse_bytes(const char *text, size_t bytes)
{
    weir_config_fini(&config);
    memset(&err, 0, sizeof(err));
    return weir_config_parse(&config, text, bytes, "it", &err);
}

static int parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void expect_refused(const char *text, const char *what)
{
    cr_expect_eq(parse(text), -EINVAL, "%s", text);
    cr_expect_str_eq(err.what, what);
    cr_expect_neq(err.hint[0], '\0', "%s: no hint", text);
    cr_expect_eq(config.count, 0, "%s", text);
}

static void expect_value(const char *text, const char *value)
{
    cr_assert_eq(parse(text), 0, "%s: %s", text, err.what);
    cr_assert_eq(config.count, 1, "%s", text);
    cr_expect_str_eq(config.entries[0].value, value);
}

Test(config, bad_lines_are_named)
{
    expect_refused("freq = 99\n", "it:1: key before the first section");
    expect_refused("[record\nfreq = 99\n", "it:1: section name without a closing ']'");
    expect_refused("\n\n[]\n", "it:3: bad section name");
    expect_refused("[rec ord]\n", "it:1: section name without a closing ']'");
    expect_refused("[record \"x\n", "it:1: bad section name");
    expect_refused("[record]\n= 99\n", "it:2: bad key name");
    expect_refused("[record]\n9freq = 99\n", "it:2: bad key name");
    expect_refused("[record]\nfreq 99\n", "it:2: '=' expected after the key");
    expect_refused("[record]\nfreq: 99\n", "it:2: '=' expected after the key");
    expect_refused("[record]\n\noutput = \"x\nfreq = 1\n", "it:3: missing closing quote");
    expect_refused("[record]\noutput = x\\y\n", "it:2: bad character after a backslash");
    expect_refused("[record]\nfreq = 1\n[record]]\n", "it:3: bad key name");
}

Test(config, zero_bytes_are_refused)
{
    static const char in_value[] = "[record]\noutput = a\0b\n", in_key[] = "[record]\nou\0t = a\n";
    cr_expect_eq(parse_bytes(in_value, sizeof(in_value) - 1), -EINVAL);
    cr_expect_str_eq(err.what, "it:2: zero byte");
    cr_expect_eq(parse_bytes(in_key, sizeof(in_key) - 1), -EINVAL);
    cr_expect_str_eq(err.what, "it:2: '=' expected after the key");
}

/* A line of `[record]` and then a name or value of so many letters. */
static int parse_long(const char *before, size_t letters, const char *after)
{
    static char text[2 * WEIR_CONFIG_VALUE_BYTES];
    size_t head = strlen(before);
    memcpy(text, before, head);
    memset(text + head, 'x', letters);
    memcpy(text + head + letters, after, strlen(after) + 1);
    return parse(text);
}

Test(config, names_and_values_have_a_largest_length)
{
    cr_expect_eq(parse_long("[record]\n", WEIR_CONFIG_NAME_BYTES - 1, " = 1\n"), 0);
    cr_expect_eq(parse_long("[record]\n", WEIR_CONFIG_NAME_BYTES, " = 1\n"), -EINVAL);
    cr_expect_eq(parse_long("[", WEIR_CONFIG_NAME_BYTES - 1, "]\n"), 0);
    cr_expect_eq(parse_long("[", WEIR_CONFIG_NAME_BYTES, "]\n"), -EINVAL);
    cr_expect_eq(parse_long("[record \"", WEIR_CONFIG_NAME_BYTES, "\"]\n"), -EINVAL);
    cr_expect_eq(parse_long("[record]\noutput = ", WEIR_CONFIG_VALUE_BYTES - 1, "\n"), 0);
    cr_expect_eq(strlen(config.entries[0].value), WEIR_CONFIG_VALUE_BYTES - 1);
    cr_expect_eq(parse_long("[record]\noutput = ", WEIR_CONFIG_VALUE_BYTES, "\n"), -EINVAL);
    cr_expect_str_eq(err.what, "it:2: value too long");
}

Test(config, failed_allocation_leaves_nothing)
{
    static const char text[] = "[record]\nfreq = 99\nquiet\n";
    unsigned successes = 0;
    int result;
    do {
        weir_config_fini(&config);
        failing_alloc_after(successes++);
        result = weir_config_parse(&config, text, strlen(text), "it", &err);
        failing_alloc_never();
        cr_expect(result == 0 || (result == -ENOMEM && config.count == 0), "%u: %d", successes, result);
    } while (result != 0);
    cr_expect_eq(config.count, 2);
    cr_expect_eq(successes, 10, "an entry's four texts but the missing value, the value's buffer, the array");
}

Test(config, empty_text_has_no_entries)
{
    cr_expect_eq(parse(""), 0);
    cr_expect_eq(parse("\n \t\n# comment\n; comment\n[record]\n"), 0);
    cr_expect_eq(config.count, 0);
}

Test(config, entries_have_section_key_value_and_line)
{
    cr_assert_eq(parse("# mine\n[Record]\n\tFreq = 99\n\tquiet\n\n[call-graph] record-mode=dwarf"), 0);
    cr_assert_eq(config.count, 3);
    cr_expect_str_eq(config.entries[0].section, "record");
    cr_expect_str_eq(config.entries[0].key, "freq");
    cr_expect_str_eq(config.entries[0].value, "99");
    cr_expect_str_eq(config.entries[0].path, "it");
    cr_expect_eq(config.entries[0].line, 3);
    cr_expect_str_eq(config.entries[1].key, "quiet");
    cr_expect_null(config.entries[1].value);
    cr_expect_eq(config.entries[1].line, 4);
    cr_expect_str_eq(config.entries[2].section, "call-graph");
    cr_expect_str_eq(config.entries[2].key, "record-mode");
    cr_expect_str_eq(config.entries[2].value, "dwarf");
    cr_expect_eq(config.entries[2].line, 6);
}

Test(config, subsection_is_part_of_the_section)
{
    cr_assert_eq(parse("[record \"A \\\"b\\\"\"]\nfreq = 1\n"), 0);
    cr_expect_str_eq(config.entries[0].section, "record A \"b\"");
}

Test(config, value_is_trimmed_unless_in_quotes)
{
    expect_value("[record]\noutput =  a b \t\n", "a b");
    expect_value("[record]\noutput = \" a b \"\n", " a b ");
    expect_value("[record]\noutput = a\" \"\n", "a ");
    expect_value("[record]\noutput =\n", "");
    expect_value("[record]\noutput = \"\"\n", "");
}

Test(config, comment_ends_a_value_unless_in_quotes)
{
    expect_value("[record]\noutput = a # b\n", "a");
    expect_value("[record]\noutput = a;b\n", "a");
    expect_value("[record]\noutput = \"a # b; c\" # d\n", "a # b; c");
    cr_assert_eq(parse("[record] # a\nquiet # b\n"), 0);
    cr_expect_null(config.entries[0].value);
}

Test(config, backslash_escapes_and_joins_lines)
{
    expect_value("[record]\noutput = a\\\\b\\\"c\\td\n", "a\\b\"c\td");
    expect_value("[record]\noutput = a\\\nb\n", "ab");
    cr_assert_eq(parse("[record]\noutput = a\\\nb\nfreq = 1\n"), 0);
    cr_expect_eq(config.entries[1].line, 4);
}

Test(config, line_ends_of_dos_and_the_mark_of_utf_8_are_passed_over)
{
    cr_assert_eq(parse("\xef\xbb\xbf[record]\r\noutput = a\r\nquiet\r\n"), 0);
    cr_expect_str_eq(config.entries[0].value, "a");
    cr_expect_eq(config.entries[1].line, 3);
}

Test(config, second_text_is_appended)
{
    static const char text[] = "[record]\nquiet\n";
    cr_assert_eq(parse("[record]\nfreq = 1\n"), 0);
    cr_expect_eq(weir_config_parse(&config, "[", 1, "other", &err), -EINVAL);
    cr_expect_eq(config.count, 1);
    cr_expect_eq(weir_config_parse(&config, text, strlen(text), "other", &err), 0);
    cr_expect_eq(config.count, 2);
    cr_expect_str_eq(config.entries[1].path, "other");
}
