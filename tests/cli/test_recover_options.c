/* The options of weir recover: what is refused, and what is taken. */
#include "cli/recover_options.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"

static struct weir_recover_arguments arguments;
static struct weir_error err;

static int parse(const char *line)
{
    static struct words words;
    words_split(&words, line);
    memset(&err, 0, sizeof(err));
    return weir_recover_arguments_parse(&arguments, words.argv, &err);
}

Test(recover_options, refusals_read_as_in_the_golden_file)
{
    static const char *const refused[] = {
        "-o", "-o a --in-place b", "--in-place=1", "-", "-i -", "one two", "-i one two", "one -i two", "--bogus",
    };
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        cr_expect_eq(parse(refused[i]), -EINVAL, "%s", refused[i]);
        cr_expect_neq(err.hint[0], '\0', "%s: no hint", refused[i]);
        weir_buf_printf(&text, "$ weir recover %s\nweir: %s\nhint: %s\n\n", refused[i], err.what, err.hint);
    }
    golden_expect(GOLDEN_TEXTS, "recover_errors.txt", &text);
    weir_buf_fini(&text);
}

Test(recover_options, every_option_reaches_its_field_also_behind_the_file)
{
    cr_expect_eq(parse(""), 0);
    cr_expect_str_eq(arguments.input_path, "perf.data");
    cr_expect_null(arguments.output_path);
    cr_expect_not(arguments.in_place || arguments.assume_this_kernel || arguments.quiet);
    cr_expect_eq(parse("file -o out -q --assume-this-kernel"), 0);
    cr_expect_str_eq(arguments.input_path, "file");
    cr_expect_str_eq(arguments.output_path, "out");
    cr_expect(arguments.assume_this_kernel && arguments.quiet);
    cr_expect_eq(parse("--in-place -i file"), 0);
    cr_expect(arguments.in_place);
}
