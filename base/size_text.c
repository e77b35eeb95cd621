#include "base/size_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bits.h"

static const struct {
    char letter;
    unsigned shift;
} suffixes[] = {{'K', 10}, {'M', 20}, {'G', 30}};

void weir_size_format(uint64_t bytes, char text[WEIR_SIZE_TEXT_BYTES])
{
    for (size_t i = WEIR_ARRAY_COUNT(suffixes); i > 0; i--) {
        uint64_t unit = 1ull << suffixes[i - 1].shift;
        if (bytes != 0 && bytes % unit == 0) {
            snprintf(text, WEIR_SIZE_TEXT_BYTES, "%" PRIu64 "%c", bytes / unit, suffixes[i - 1].letter);
            return;
        }
    }
    snprintf(text, WEIR_SIZE_TEXT_BYTES, "%" PRIu64, bytes);
}
