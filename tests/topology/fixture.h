/* A folder in $TMPDIR with files of a test's choice. Functions fail the running Criterion test when they cannot. */
#ifndef WEIR_TESTS_TOPOLOGY_FIXTURE_H
#define WEIR_TESTS_TOPOLOGY_FIXTURE_H

#include <limits.h>

struct fixture {
    char path[PATH_MAX]; /* without trailing slash */
};

void fixture_init(struct fixture *fixture);

/* Removes the folder with all in it. */
void fixture_fini(struct fixture *fixture);

/* Writes content to a file, given by its path in the folder; makes the folders on the way. */
void fixture_write(const struct fixture *fixture, const char *content, const char *path_format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes a folder and those on the way. */
void fixture_mkdir(const struct fixture *fixture, const char *path_format, ...) __attribute__((format(printf, 2, 3)));

#endif
