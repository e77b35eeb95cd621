/*
 * The mount of the control groups that perf events go by (format/cgroup_mount.h). Input: a list of mounts.
 *
 * What is found is found again in a list of it alone; a mount behind the list is found when nothing else is, or when it
 * is of version 1 and all others are of version 2; and one of version 1 before the list always.
 */
#include "format/cgroup_mount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define UNTOUCHED "untouched"
#define OTHER     "/other"
#define OTHER_V1  "none " OTHER " cgroup rw,perf_event 0 0\n"
#define OTHER_V2  "none " OTHER " cgroup2 rw 0 0\n"

struct fixture {
    struct fuzz_tree tree;
    char mounts[PATH_MAX];
    int fd;
};

static void *init(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    weir_assert(fixture);
    fuzz_tree_init(&fixture->tree);
    snprintf(fixture->mounts, sizeof(fixture->mounts), "%s/mounts", fixture->tree.root);
    fixture->fd = fuzz_tree_create(&fixture->tree, "mounts");
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->fd);
    fuzz_tree_fini(&fixture->tree);
    free(fixture);
}

/* Looks in the two texts, one behind the other; path is as it was when nothing is found. */
static bool find(const struct fixture *fixture, const char *first, const char *second, char path[PATH_MAX])
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_buf_printf(&text, "%s%s", first, second);
    weir_assert(weir_buf_error(&text) == 0);
    fuzz_file_write(fixture->fd, (struct fuzz_part){.data = text.data, .bytes = text.used});
    weir_buf_fini(&text);
    memcpy(path, UNTOUCHED, sizeof(UNTOUCHED));
    bool found = weir_cgroup_mount_find(fixture->mounts, path);
    weir_assert(found ? path[0] != '\0' : strcmp(path, UNTOUCHED) == 0);
    return found;
}

/* As the kernel writes what would part the fields of a line. */
static void append_escaped(struct weir_buf *line, const char *text)
{
    for (; *text; text++)
        weir_buf_printf(line, strchr(" \t\n\\", *text) ? "\\%03o" : "%c", (unsigned char)*text);
}

static void check_alone(const struct fixture *fixture, const char *path)
{
    struct weir_buf line = WEIR_BUF_INIT;
    char again[PATH_MAX];
    weir_buf_printf(&line, "none ");
    append_escaped(&line, path);
    weir_buf_printf(&line, " cgroup2 rw 0 0\n");
    weir_assert(weir_buf_error(&line) == 0);
    weir_assert(find(fixture, "", weir_buf_str(&line), again) && strcmp(again, path) == 0);
    weir_buf_fini(&line);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    char *list = fuzz_text(data, bytes);
    char path[PATH_MAX], behind_v2[PATH_MAX], behind_v1[PATH_MAX], before[PATH_MAX];
    bool found = find(fixture, list, "", path);
    if (found)
        check_alone(fixture, path);
    weir_assert(find(fixture, list, "\n" OTHER_V2, behind_v2));
    weir_assert(strcmp(behind_v2, found ? path : OTHER) == 0);
    weir_assert(find(fixture, list, "\n" OTHER_V1, behind_v1));
    weir_assert(strcmp(behind_v1, OTHER) == 0 || (found && strcmp(behind_v1, path) == 0));
    weir_assert(find(fixture, OTHER_V1, list, before) && strcmp(before, OTHER) == 0);
    free(list);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
