/* Which bytes of a line are replaced, and that all others stay. */
#include "base/line.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void expect_clean(const char *text, const char *expected)
{
    char line[64];
    snprintf(line, sizeof(line), "%s", text);
    weir_line_clean(line);
    cr_expect_str_eq(line, expected);
}

Test(line, each_control_character_becomes_one_question_mark)
{
    expect_clean("\x01\t\n\r\x1f\x7f", "??????");
    expect_clean("a\n\nb", "a??b");
    expect_clean("\x1b[31mred", "?[31mred");
}

Test(line, everything_else_stays)
{
    expect_clean("", "");
    expect_clean(" !~", " !~");
    expect_clean("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"); /* UTF-8, whose bytes are all above 0x7f */
}
