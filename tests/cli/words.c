/* A command line as one text, cut at blanks. */
#include "tests/cli/words.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

void words_split(struct words *words, const char *line)
{
    cr_assert_lt(strlen(line), sizeof(words->space));
    snprintf(words->space, sizeof(words->space), "%s", line);
    size_t count = 0;
    char *rest;
    for (char *word = strtok_r(words->space, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        cr_assert_lt(count, WORDS_MAX, "too many words: %s", line);
        words->argv[count++] = word;
    }
    words->argv[count] = NULL;
}
