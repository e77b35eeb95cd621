/*
 * The memory cgroups of a process (topology/memory_limit.h). Input: mountinfo, cgroup, and what is in each file of a
 * limit of version 1 and of version 2, parted by FUZZ_SEPARATOR. The hierarchies of the corpus are mounted at /v1, /v2.
 *
 * A limit that is found is a number that one of these files begins with, and the file is named; else there is none.
 */
#include "topology/memory_limit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

enum part {
    MOUNTINFO,
    CGROUP,
    LIMIT_V1,
    LIMIT_V2,
    PART_COUNT,
};

static const struct {
    const char *name;
    enum part part;
} files[] = {
    {"proc/self/mountinfo", MOUNTINFO},         {"proc/self/cgroup", CGROUP}, {"v1/memory.limit_in_bytes", LIMIT_V1},
    {"v1/a/b/memory.limit_in_bytes", LIMIT_V1}, {"v2/memory.max", LIMIT_V2},  {"v2/a/b/memory.max", LIMIT_V2},
};
#define FILE_COUNT WEIR_ARRAY_COUNT(files)

static void *init(void)
{
    const char *names[FILE_COUNT];
    for (size_t i = 0; i < FILE_COUNT; i++)
        names[i] = files[i].name;
    return fuzz_tree_new(names, FILE_COUNT);
}

static bool begins_with(struct fuzz_part part, uint64_t number)
{
    char *text = fuzz_part_text(part);
    errno = 0;
    long long told = strtoll(text, NULL, 10);
    bool is_it = errno == 0 && told >= 0 && (uint64_t)told == number;
    free(text);
    return is_it;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), bytes = strlen(end);
    return length >= bytes && strcmp(text + length - bytes, end) == 0;
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fuzz_tree *tree = object;
    struct fuzz_part parts[PART_COUNT];
    struct weir_memory_limit limit;
    /* Out of the tree, to files of the machine that this runs on; also with a dot as mountinfo may write it. */
    if (memmem(data, bytes, "..", 2) || memmem(data, bytes, "\\056", 4))
        return;
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, PART_COUNT);
    for (size_t i = 0; i < FILE_COUNT; i++)
        fuzz_file_write(tree->fds[i], parts[files[i].part]);
    weir_assert(weir_memory_limit_read(&limit, tree->root) == 0);
    weir_assert((limit.bytes == WEIR_MEMORY_UNLIMITED) == (limit.file[0] == '\0'));
    if (limit.bytes == WEIR_MEMORY_UNLIMITED)
        return;
    bool is_v1 = ends_in(limit.file, "/memory.limit_in_bytes");
    weir_assert(limit.file[0] == '/' && (is_v1 || ends_in(limit.file, "/memory.max")));
    weir_assert(begins_with(parts[is_v1 ? LIMIT_V1 : LIMIT_V2], limit.bytes));
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fuzz_tree_free};
