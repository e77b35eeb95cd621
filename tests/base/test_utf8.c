/* What is a character, and which a terminal obeys. */
#include "base/utf8.h"

#include <criterion/criterion.h>
#include <string.h>

static size_t length_of(const char *text)
{
    return weir_utf8_length((const uint8_t *)text, strlen(text));
}

Test(utf8, what_is_no_character_has_no_length)
{
    const char *const wrong[] = {
        "\x80",         "\xbf",
        "\xc0\x80",     "\xc1\xbf", /* no lead, or an overlong one */
        "\xc3",         "\xc3(",
        "\xe2\x80",     "\xf0\x9f\x98",     /* cut */
        "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", /* overlong */
        "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf5\x80", /* surrogates, beyond U+10FFFF */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        cr_expect_eq(length_of(wrong[i]), 0, "%zu", i);
}

Test(utf8, each_character_has_its_bytes)
{
    cr_expect_eq(length_of("a\xc3\xbc"), 1);
    cr_expect_eq(length_of("\xc3\xbc!"), 2);
    cr_expect_eq(length_of("\xe2\x80\x93"), 3);
    cr_expect_eq(length_of("\xed\x9f\xbf"), 3);
    cr_expect_eq(length_of("\xf4\x8f\xbf\xbf"), 4);
}

Test(utf8, control_characters_are_those_of_ascii_and_c1)
{
    for (unsigned number = 1; number < 0x100; number++) {
        const uint8_t narrow = (uint8_t)number;
        const uint8_t wide[] = {(uint8_t)(0xc0 | number >> 6), (uint8_t)(0x80 | (number & 0x3f))};
        bool expected = number < 0x20 || (number >= 0x7f && number < 0xa0);
        bool found = number < 0x80 ? weir_utf8_is_control(&narrow, 1) : weir_utf8_is_control(wide, sizeof(wide));
        cr_expect_eq(found, expected, "%#x", number);
        if (number >= 0x80)
            cr_expect_eq(weir_utf8_is_control(&narrow, 0), number < 0xa0, "%#x", number);
    }
}

/* Bidi_Control, and what ends lines: a name with U+202E reads "gpj.exe" where "exe.jpg" is written. */
Test(utf8, characters_that_turn_text_are_control_characters)
{
    static const char *const turning[] = {"\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f",
                                          "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaa",
                                          "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"};
    static const char *const others[] = {"\xd8\x9b",     "\xe2\x80\x8d", "\xe2\x80\x90", "\xe2\x80\xa7",
                                         "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < sizeof(turning) / sizeof(*turning); i++)
        cr_expect(weir_utf8_is_control((const uint8_t *)turning[i], strlen(turning[i])), "%zu", i);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        cr_expect_not(weir_utf8_is_control((const uint8_t *)others[i], strlen(others[i])), "%zu", i);
    cr_expect_eq(weir_utf8_number((const uint8_t *)"\xe2\x80\xae", 3), 0x202e);
    cr_expect_eq(weir_utf8_number((const uint8_t *)"\xf4\x8f\xbf\xbf", 4), 0x10ffff);
}
