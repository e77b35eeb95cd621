/* A command line as one text, cut at blanks as a shell would: for tests that list many. */
#ifndef WEIR_TESTS_CLI_WORDS_H
#define WEIR_TESTS_CLI_WORDS_H

#define WORDS_MAX        40
#define WORDS_LINE_BYTES 256

struct words {
    char space[WORDS_LINE_BYTES];
    char *argv[WORDS_MAX + 1]; /* into space; NULL-terminated */
};

/* Cuts line; words->argv is valid until the next call. Fails the running test when line has too many words. */
void words_split(struct words *words, const char *line);

#endif
