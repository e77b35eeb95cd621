/*
 * The id of a tracepoint (format/tracefs.h). Input: SYSTEM, a newline, NAME, a newline, what sched/sched_switch/id
 * holds.
 *
 * There is an id exactly when the names are those of the one tracepoint and the file holds a number and nothing else,
 * by a second reading; no names lead out of the folder, where a file waits that must not be read.
 */
#include "format/tracefs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define UNTOUCHED    UINT64_C(0x5a5a5a5a5a5a5a5a)
#define ID_BYTES_MAX 30 /* longer files are refused: the kernel writes at most 20 digits and a newline */

struct fixture {
    struct fuzz_tree tree;
    char root[PATH_MAX];
    int id_fd;
};

static void *init(void)
{
    static const char forbidden[] = "4711\n";
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    weir_assert(fixture);
    fuzz_tree_init(&fixture->tree);
    snprintf(fixture->root, sizeof(fixture->root), "%s/tracing", fixture->tree.root);
    fixture->id_fd = fuzz_tree_create(&fixture->tree, "tracing/events/sched/sched_switch/id");

    static const char *const outside[] = {"tracing/events/id", "tracing/events/sched/id", "tracing/id", "id"};
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
        int fd = fuzz_tree_create(&fixture->tree, outside[i]);
        fuzz_file_write(fd, (struct fuzz_part){.data = (const uint8_t *)forbidden, .bytes = strlen(forbidden)});
        close(fd);
    }
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->id_fd);
    fuzz_tree_fini(&fixture->tree);
    free(fixture);
}

/* Whether the whole of it is decimal digits, with or without one newline behind them, of a number in 64 bits. */
static bool holds_number(struct fuzz_part content, uint64_t *number)
{
    if (content.bytes > ID_BYTES_MAX)
        return false;
    if (content.bytes > 0 && content.data[content.bytes - 1] == '\n')
        content.bytes--;
    unsigned __int128 sum = 0;
    for (size_t i = 0; i < content.bytes && sum <= UINT64_MAX; i++) {
        if (content.data[i] < '0' || content.data[i] > '9')
            return false;
        sum = sum * 10 + (unsigned)(content.data[i] - '0');
    }
    *number = (uint64_t)sum;
    return content.bytes > 0 && sum <= UINT64_MAX;
}

static bool is_component(const char *name)
{
    return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int expected_result(const char *system, const char *name, struct fuzz_part content, uint64_t *id)
{
    if (!is_component(system) || !is_component(name))
        return -EINVAL;
    if (strcmp(system, "sched") != 0 || strcmp(name, "sched_switch") != 0)
        return -ENOENT;
    uint64_t number;
    if (!holds_number(content, &number))
        return -EINVAL;
    *id = number;
    return 0;
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct fuzz_part parts[3];
    fuzz_split(data, bytes, "\n", parts, 3);
    char *system = fuzz_part_text(parts[0]), *name = fuzz_part_text(parts[1]);
    fuzz_file_write(fixture->id_fd, parts[2]);

    struct weir_error err = {0};
    uint64_t id = UNTOUCHED, expected_id = UNTOUCHED;
    int expected = expected_result(system, name, parts[2], &expected_id);
    int result = weir_tracefs_event_id(fixture->root, system, name, &id, &err);
    weir_assert(result == expected && id == expected_id);
    if (result < 0)
        fuzz_check_error(&err, result);
    free(system);
    free(name);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
