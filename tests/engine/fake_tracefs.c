/* Builds and removes the folder, file by file. */
#include "tests/engine/fake_tracefs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"

/* Parents before children. */
static const struct {
    const char *path;
    int id; /* 0: a folder */
} entries[] = {
    {"events", 0},
    {"events/sched", 0},
    {"events/sched/sched_switch", 0},
    {"events/sched/sched_switch/id", FAKE_SCHED_SWITCH_ID},
    {"events/ftrace", 0},
    {"events/ftrace/function", 0},
    {"events/ftrace/function/id", FAKE_FTRACE_FUNCTION_ID},
    {"events/u", 0},
    {"events/u/k", 0},
    {"events/u/k/id", FAKE_U_K_ID},
};

static void entry_path(const struct fake_tracefs *fake, size_t entry, char *path, size_t bytes)
{
    cr_assert_lt((size_t)snprintf(path, bytes, "%s/%s", fake->root, entries[entry].path), bytes);
}

void fake_tracefs_init(struct fake_tracefs *fake)
{
    const char *folder = getenv("TMPDIR");
    snprintf(fake->root, sizeof(fake->root), "%s/weir-tracefs-XXXXXX", folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(fake->root));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(entries); i++) {
        char path[256];
        entry_path(fake, i, path, sizeof(path));
        if (entries[i].id == 0) {
            cr_assert_eq(mkdir(path, 0755), 0);
            continue;
        }
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        fprintf(file, "%d\n", entries[i].id);
        fclose(file);
    }
}

void fake_tracefs_fini(struct fake_tracefs *fake)
{
    for (size_t i = WEIR_ARRAY_COUNT(entries); i-- > 0;) {
        char path[256];
        entry_path(fake, i, path, sizeof(path));
        remove(path);
    }
    rmdir(fake->root);
}
