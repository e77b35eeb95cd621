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

/* U+009B is CSI to a terminal, as ESC [ is; so is the byte where characters are bytes. */
Test(line, each_byte_of_a_c1_character_becomes_a_question_mark)
{
    expect_clean("a\xc2\x80\xc2\x9b", "a????");
    expect_clean("\xc2\x9f\xc2\xa0", "??\xc2\xa0");
    expect_clean("\x80\x9b\x9f\xa0", "???\xa0");
    expect_clean("\xe0\x9b\xff", "\xe0?\xff"); /* no UTF-8 */
    expect_clean("cut \xe2\x80", "cut \xe2?");
}

Test(line, everything_else_stays)
{
    expect_clean("", "");
    expect_clean(" !~", " !~");
    expect_clean("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"); /* UTF-8, whose bytes are all above 0x7f */
    expect_clean("\xe2\x80\x93 \xf0\x9f\x98\x80", "\xe2\x80\x93 \xf0\x9f\x98\x80"); /* with bytes that C1 has too */
}
