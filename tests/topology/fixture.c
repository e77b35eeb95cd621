/* A folder in $TMPDIR with files of a test's choice. */
#include "tests/topology/fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FOLDERS_MAX 16

void fixture_init(struct fixture *fixture)
{
    const char *dir = getenv("TMPDIR");
    snprintf(fixture->path, sizeof(fixture->path), "%s/weir-topology-XXXXXX", dir ? dir : "/tmp");
    cr_assert_not_null(mkdtemp(fixture->path));
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void fixture_fini(struct fixture *fixture)
{
    cr_assert_eq(nftw(fixture->path, remove_entry, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS), 0);
}

/* Makes all folders of path that end in a slash. */
static void make_parents(char *path, size_t root_length)
{
    for (char *slash = strchr(path + root_length + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        cr_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

/* The formatted path in the folder. */
__attribute__((format(printf, 3, 0))) static void place(char path[2 * PATH_MAX], const struct fixture *fixture,
                                                        const char *format, va_list args)
{
    int used = snprintf(path, PATH_MAX, "%s/", fixture->path);
    vsnprintf(path + used, PATH_MAX, format, args);
    make_parents(path, (size_t)used - 1);
}

void fixture_write(const struct fixture *fixture, const char *content, const char *path_format, ...)
{
    char path[2 * PATH_MAX];
    va_list args;
    va_start(args, path_format);
    place(path, fixture, path_format, args);
    va_end(args);

    FILE *file = fopen(path, "we");
    cr_assert_not_null(file, "%s", path);
    fputs(content, file);
    cr_assert_eq(fclose(file), 0);
}

void fixture_mkdir(const struct fixture *fixture, const char *path_format, ...)
{
    char path[2 * PATH_MAX];
    va_list args;
    va_start(args, path_format);
    place(path, fixture, path_format, args);
    va_end(args);
    cr_assert(mkdir(path, 0755) == 0 || errno == EEXIST, "%s", path);
}
