/* One line that any terminal can show. Pure; any thread. */
#include "base/line.h"

#define FIRST_PRINTABLE ' '
#define DELETE          '\x7f'

void weir_line_clean(char *line)
{
    for (; *line; line++) {
        if ((unsigned char)*line < FIRST_PRINTABLE || *line == DELETE)
            *line = '?';
    }
}
