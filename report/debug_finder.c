/* Questions and answers are lines. */
#include "report/debug_finder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/regular_file.h"

#define PROGRAM   "debuginfod-find"
#define HEX_BYTES (2 * WEIR_BUILD_ID_MAX_BYTES + 1)

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int weir_debug_finder_open(struct weir_debug_finder *finder, struct weir_error *err)
{
    *finder = (struct weir_debug_finder){{-1, -1}, {-1, -1}};
    if (pipe2(finder->questions, O_CLOEXEC) < 0 || pipe2(finder->answers, O_CLOEXEC) < 0)
        return weir_error_set_errno(err, -errno, "cannot look for debug files");
    return 0;
}

static void close_finder(struct weir_debug_finder *finder)
{
    for (unsigned i = 0; i < 2; i++) {
        close_end(&finder->questions[i]);
        close_end(&finder->answers[i]);
    }
}

/* Reads a line without its newline. False: the other end is closed, or the line is too long. */
static bool read_line(int fd, char *line, size_t bytes)
{
    for (size_t used = 0; used < bytes; used++) {
        ssize_t got;
        do {
            got = read(fd, line + used, 1);
        } while (got < 0 && errno == EINTR);
        if (got != 1)
            return false;
        if (line[used] == '\n') {
            line[used] = '\0';
            return true;
        }
    }
    return false;
}

static bool write_line(int fd, const char *text)
{
    char line[PATH_MAX + 1];
    int length = snprintf(line, sizeof(line), "%s\n", text);
    return length < (int)sizeof(line) && write(fd, line, (size_t)length) == length; /* a pipe takes it whole */
}

int weir_debug_finder_fetch(void *ctx, const struct weir_build_id *id)
{
    struct weir_debug_finder *finder = ctx;
    char line[PATH_MAX] = "";
    struct stat status;
    close_end(&finder->questions[0]); /* the parent's ends: without them, this process sees the parent's end */
    close_end(&finder->answers[1]);
    for (unsigned i = 0; i < id->bytes; i++)
        snprintf(line + 2 * i, 3, "%02x", id->data[i]);
    if (!write_line(finder->questions[1], line) || !read_line(finder->answers[0], line, sizeof(line)))
        return -EPIPE;
    return line[0] == '/' ? weir_regular_file_open(AT_FDCWD, line, &status) : -ENOENT;
}

/* Runs the program, and reads the path that it prints. "": it found nothing, or is not installed. */
static void find(const char *hex, char path[PATH_MAX])
{
    char program[] = PROGRAM, what[] = "debuginfo", id[HEX_BYTES];
    char *const words[] = {program, what, id, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status;
    pid_t pid;
    path[0] = '\0';
    snprintf(id, sizeof(id), "%s", hex);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int result = posix_spawnp(&pid, program, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    bool has_path = result == 0 && read_line(ends[0], path, PATH_MAX);
    close(ends[0]);
    if (result == 0) {
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (!has_path || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        path[0] = '\0';
}

void weir_debug_finder_serve(struct weir_debug_finder *finder)
{
    char hex[HEX_BYTES], path[PATH_MAX];
    close_end(&finder->questions[1]);
    close_end(&finder->answers[0]);
    while (read_line(finder->questions[0], hex, sizeof(hex))) {
        if (hex[0] == '\0' || hex[strspn(hex, "0123456789abcdef")] != '\0')
            break; /* only a child that was taken over sends such a line */
        find(hex, path);
        if (!write_line(finder->answers[1], path))
            break;
    }
    close_finder(finder);
}
