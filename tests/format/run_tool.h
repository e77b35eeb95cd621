/* Runs a program that reads perf.data and keeps what it says. One thread; failures are Criterion assertions. */
#ifndef WEIR_TESTS_FORMAT_RUN_TOOL_H
#define WEIR_TESTS_FORMAT_RUN_TOOL_H

#include <stdbool.h>

#include "tests/format/temp_tree.h"

struct tool_run {
    int status; /* exit status; 128 + signal when killed */
    char *out;  /* owned; standard output */
    char *err;  /* owned; standard error */
};

/*
 * Skips the test when the program (a path, or a name in PATH) is not there, by the name of its Debian package; fails it
 * where WEIR_HAS_PACKAGES says that scripts/deps has just installed all packages.
 */
void tool_need(const char *program, const char *package);

/*
 * Runs argv (NULL-terminated) and waits for it, without the user's settings: C locale, no perf configuration, home and
 * temporary files in tree.
 */
void tool_run(struct tool_run *run, const struct temp_tree *tree, const char *const *argv);
void tool_run_fini(struct tool_run *run);

/* Is `line` one whole line of `text`? */
bool has_line(const char *text, const char *line);

#endif
