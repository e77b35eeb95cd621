/* Searches mountinfo and the cgroup files for the limit. One thread. */
#include "topology/memory_limit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/sysroot.h"

#define FIELDS_BEFORE_ROOT 3 /* of a line of mountinfo: two ids and the device */

struct hierarchy {
    bool is_v1;
    char *mounted; /* owned; a folder where a cgroup is mounted */
    char *root;    /* owned; the path of that cgroup; NULL: not mounted */
    char *path;    /* owned; the path of our own cgroup; NULL: unknown */
};

static bool is_octal(char digit)
{
    return digit >= '0' && digit <= '7';
}

/* Decodes a backslash and three octal digits: mountinfo writes separators inside a word so (proc_pid_mountinfo(5)). */
static void unescape(char *word)
{
    const char *from = word;
    for (; *from; from++, word++) {
        bool is_escape = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && is_octal(from[2]) && is_octal(from[3]);
        *word = is_escape ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0') : *from;
        from += is_escape ? 3 : 0;
    }
    *word = '\0';
}

/* Takes a word of a line, up to a blank or the line's end, and moves *at behind it. */
static char *take_word(struct weir_sysroot *root, const char **at)
{
    *at += strspn(*at, " ");
    size_t length = strcspn(*at, " \n");
    char *word = weir_sysroot_copy(root, *at, length);
    if (word)
        unescape(word);
    *at += length;
    return word;
}

/* Returns whether a comma-separated list of `bytes` bytes contains the word. */
static bool lists(const char *list, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    for (size_t at = 0; at <= length;) {
        size_t end = at;
        while (end < length && list[end] != ',')
            end++;
        if (end - at == word_length && memcmp(list + at, word, word_length) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* "36 35 98:0 ROOT MOUNTED OPTIONS [TAGS] - TYPE SOURCE SUPER-OPTIONS" */
static bool is_mount_of(const char *line, size_t length, bool is_v1)
{
    const char *end = line + length, *at = memmem(line, length, " - ", 3);
    if (!at)
        return false;
    at += 3;
    size_t type = strcspn(at, " \n");
    if (!is_v1)
        return type == strlen("cgroup2") && memcmp(at, "cgroup2", type) == 0;
    if (type != strlen("cgroup") || memcmp(at, "cgroup", type) != 0)
        return false;
    const char *options = at + type;
    options += strspn(options, " ");
    options += strcspn(options, " \n");
    options += strspn(options, " ");
    return options < end && lists(options, (size_t)(end - options), "memory");
}

static void find_mount(struct weir_sysroot *root, struct hierarchy *hierarchy)
{
    const char *line = weir_sysroot_read(root, "proc/self/mountinfo");
    for (; line && *line && !hierarchy->root; line += strspn(line, "\n")) {
        size_t length = strcspn(line, "\n");
        if (is_mount_of(line, length, hierarchy->is_v1)) {
            const char *at = line;
            for (unsigned i = 0; i < FIELDS_BEFORE_ROOT; i++)
                at += strspn(at, " "), at += strcspn(at, " \n");
            hierarchy->root = take_word(root, &at);
            hierarchy->mounted = take_word(root, &at);
            return;
        }
        line += length;
    }
}

/* "4:memory:/path" of version 1, "0::/path" of version 2. */
static void find_path(struct weir_sysroot *root, struct hierarchy *hierarchy)
{
    const char *line = weir_sysroot_read(root, "proc/self/cgroup");
    for (; line && *line && !hierarchy->path; line += strspn(line, "\n")) {
        size_t length = strcspn(line, "\n");
        const char *list = memchr(line, ':', length);
        const char *path = list ? memchr(list + 1, ':', length - (size_t)(list + 1 - line)) : NULL;
        bool is_it = path && (hierarchy->is_v1 ? lists(list + 1, (size_t)(path - list) - 1, "memory")
                                               : line[0] == '0' && path == list + 1);
        if (is_it)
            hierarchy->path = weir_sysroot_copy(root, path + 1, length - (size_t)(path + 1 - line));
        line += length;
    }
}

/* Returns the part of our path below the mounted cgroup; the whole path if the mounted cgroup is not above ours. */
static const char *path_below(const struct hierarchy *hierarchy)
{
    size_t length = strlen(hierarchy->root);
    if (strcmp(hierarchy->root, "/") == 0)
        return hierarchy->path;
    bool is_below = strncmp(hierarchy->path, hierarchy->root, length) == 0 &&
                    (hierarchy->path[length] == '/' || hierarchy->path[length] == '\0');
    return is_below ? hierarchy->path + length : "";
}

static void take_limit(struct weir_sysroot *root, const struct hierarchy *hierarchy, const char *path, size_t length,
                       struct weir_memory_limit *limit)
{
    char file[PATH_MAX];
    const char *name = hierarchy->is_v1 ? "memory.limit_in_bytes" : "memory.max";
    int bytes = snprintf(file, sizeof(file), "%s%.*s/%s", hierarchy->mounted, (int)length, path, name);
    int64_t told;
    if (bytes < 0 || (size_t)bytes >= sizeof(file) || !weir_sysroot_read_number(root, 10, &told, "%s", file + 1) ||
        told < 0 || (uint64_t)told >= limit->bytes)
        return; /* "max" is no number */
    limit->bytes = (uint64_t)told;
    memcpy(limit->file, file, sizeof(file));
}

static void follow(struct weir_sysroot *root, const struct hierarchy *hierarchy, struct weir_memory_limit *limit)
{
    const char *path = path_below(hierarchy);
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    for (;;) { /* our own cgroup, then each one above it */
        take_limit(root, hierarchy, path, length, limit);
        if (length == 0)
            return;
        while (length > 0 && path[length - 1] != '/')
            length--;
        length -= length > 0;
    }
}

int weir_memory_limit_read(struct weir_memory_limit *limit, const char *root_path)
{
    *limit = (struct weir_memory_limit){.bytes = WEIR_MEMORY_UNLIMITED};
    struct weir_sysroot root;
    weir_sysroot_init(&root, root_path);
    for (int is_v1 = 1; is_v1 >= 0 && limit->bytes == WEIR_MEMORY_UNLIMITED; is_v1--) {
        struct hierarchy hierarchy = {.is_v1 = is_v1};
        find_mount(&root, &hierarchy);
        find_path(&root, &hierarchy);
        if (hierarchy.root && hierarchy.mounted && hierarchy.mounted[0] == '/' && hierarchy.path)
            follow(&root, &hierarchy, limit);
        free(hierarchy.mounted);
        free(hierarchy.root);
        free(hierarchy.path);
    }
    int result = root.error;
    weir_sysroot_fini(&root);
    return result;
}
