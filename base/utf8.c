/* Characters of text: their lengths, and the control characters that terminals obey. Pure; any thread. */
#include "base/utf8.h"

#define FIRST_PRINTABLE ' '
#define DELETE          0x7f
#define C1_LEAD         0xc2 /* of U+0080 to U+00bf, whose second byte is the number */
#define BEHIND_C1       0xa0

size_t weir_utf8_length(const uint8_t *text, size_t bytes)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;
    if (length == 0 || length > bytes)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool beyond = (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90);
    return overlong || beyond ? 0 : length;
}

uint32_t weir_utf8_number(const uint8_t *text, size_t length)
{
    static const uint8_t lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t number = text[0] & lead_bits[length];
    for (size_t i = 1; i < length; i++)
        number = number << 6 | (text[i] & 0x3f);
    return number;
}

/* Characters of Unicode that can make a terminal show other text than there is. They end lines or turn the direction of
 * later characters: LINE and PARAGRAPH SEPARATOR, and Bidi_Control of PropList.txt. */
static bool turns_text(uint32_t number)
{
    return number == 0x061c || number == 0x200e || number == 0x200f || (number >= 0x2028 && number <= 0x202e) ||
           (number >= 0x2066 && number <= 0x2069);
}

bool weir_utf8_is_control(const uint8_t *text, size_t length)
{
    switch (length) {
    case 0:
        return text[0] < BEHIND_C1; /* ASCII is UTF-8 */
    case 1:
        return text[0] < FIRST_PRINTABLE || text[0] == DELETE;
    case 2:
        return (text[0] == C1_LEAD && text[1] < BEHIND_C1) || turns_text(weir_utf8_number(text, length));
    case 3:
        return turns_text(weir_utf8_number(text, length));
    default:
        return false;
    }
}
