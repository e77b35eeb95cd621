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

bool weir_utf8_is_control(const uint8_t *text, size_t length)
{
    switch (length) {
    case 0:
        return text[0] < BEHIND_C1; /* ASCII is UTF-8 */
    case 1:
        return text[0] < FIRST_PRINTABLE || text[0] == DELETE;
    case 2:
        return text[0] == C1_LEAD && text[1] < BEHIND_C1;
    default:
        return false;
    }
}
