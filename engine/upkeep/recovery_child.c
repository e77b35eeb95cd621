/* The process that plans a recovery. Its answer, through a pipe: struct answer, then the bytes of the tail, then the
 * parts of a directory. */
#include "engine/upkeep/recovery_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/upkeep/sandbox.h"

/* Features are 64 MiB each at most. */
#define TAIL_MAX_BYTES (WEIR_FEATURES_KNOWN * WEIR_FEATURE_MAX_BYTES)
#define PARTS_MAX      65536u /* format/perf_input.c reads no more */

struct answer {
    int result;
    struct weir_error err;
    struct weir_recovery recovery; /* its tail: used alone means something; its parts: their count */
};

/* ---- in the child ---- */

static int write_all(int fd, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t count = write(fd, (const uint8_t *)data + done, bytes - done);
        if (count < 0 && errno != EINTR)
            return -errno;
        done += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

static void answer(int fd, const struct weir_recovery_options *options, const struct weir_notice_sink *notices)
{
    struct weir_sandbox_gate sandbox = {.kind = WEIR_SANDBOX_RECOVERY, .notices = notices};
    const struct weir_input_gate gate = weir_sandbox_input_gate(&sandbox);
    struct weir_recovery_options bound = *options;
    struct answer said;
    memset(&said, 0, sizeof(said)); /* its padding goes through the pipe */
    bound.gate = &gate;
    said.result = weir_recovery_plan(&said.recovery, &bound, &said.err);
    if (write_all(fd, &said, sizeof(said)) == 0 && write_all(fd, said.recovery.tail.data, said.recovery.tail.used) == 0)
        write_all(fd, said.recovery.parts, said.recovery.part_count * sizeof(*said.recovery.parts));
    weir_recovery_fini(&said.recovery);
}

/* ---- in the parent ---- */

/* Whether there were as many bytes. */
static bool read_all(int fd, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t count = read(fd, (uint8_t *)data + done, bytes - done);
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool is_terminated(const char *text, size_t bytes)
{
    return memchr(text, '\0', bytes) != NULL;
}

static bool has_bytes(const char *path, uint64_t bytes)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && bytes <= (uint64_t)status.st_size;
}

/* What the parent relies on; the rest is what the file will say, and as good as the file was. */
static bool is_sane(const struct answer *said, const char *path)
{
    struct stat status;
    char main_path[PATH_MAX];
    const struct weir_recovery *recovery = &said->recovery;
    bool has_texts = is_terminated(said->err.what, sizeof(said->err.what)) &&
                     is_terminated(said->err.hint, sizeof(said->err.hint)) &&
                     is_terminated(recovery->cause.what, sizeof(recovery->cause.what));
    if (!has_texts || said->result > 0 || recovery->tail.used > TAIL_MAX_BYTES)
        return false;
    if (said->result < 0)
        return true;
    if (stat(path, &status) < 0 || S_ISDIR(status.st_mode) != recovery->is_directory ||
        recovery->part_count > (recovery->is_directory ? PARTS_MAX : 0))
        return false;
    if (!recovery->is_directory)
        return has_bytes(path, recovery->data_end);
    return weir_recovery_path(main_path, path, NULL) == 0 && has_bytes(main_path, recovery->data_end);
}

static int take_tail(int fd, size_t bytes, struct weir_recovery *recovery)
{
    if (bytes == 0)
        return 0;
    void *tail = weir_buf_extend(&recovery->tail, bytes);
    if (!tail)
        return weir_buf_error(&recovery->tail);
    return read_all(fd, tail, bytes) ? 0 : -EBADMSG;
}

static int take_parts(int fd, size_t count, struct weir_recovery *recovery, const char *path)
{
    char part_path[PATH_MAX];
    recovery->parts = calloc(count + 1, sizeof(*recovery->parts));
    if (!recovery->parts)
        return -ENOMEM;
    recovery->part_count = count;
    if (!read_all(fd, recovery->parts, count * sizeof(*recovery->parts)))
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        if (weir_recovery_path(part_path, path, &i) < 0 || !has_bytes(part_path, recovery->parts[i].kept_bytes))
            return -EBADMSG;
    }
    return 0;
}

/* 0 and the answer's recovery with its tail and parts; -EBADMSG: there is none that could be; -ENOMEM. */
static int take_answer(int fd, struct answer *said, const char *path)
{
    if (!read_all(fd, said, sizeof(*said)))
        return -EBADMSG;
    struct weir_recovery *recovery = &said->recovery;
    bool is_possible = is_sane(said, path);
    size_t tail_bytes = recovery->tail.used, part_count = recovery->part_count;
    recovery->tail = (struct weir_buf)WEIR_BUF_INIT; /* the child's pointers */
    recovery->parts = NULL;
    recovery->part_count = 0;
    if (!is_possible || said->result < 0)
        return is_possible ? 0 : -EBADMSG;
    int result = take_tail(fd, tail_bytes, recovery);
    if (result == 0)
        result = take_parts(fd, part_count, recovery, path);
    if (result < 0)
        weir_recovery_fini(recovery);
    return result;
}

static int fail_child(const char *path, int status, struct weir_error *err)
{
    if (WIFSIGNALED(status))
        return weir_error_set(err, -EBADMSG, "%s: the process that read it was ended by signal %d (%s)", path,
                              WTERMSIG(status), strsignal(WTERMSIG(status)));
    return weir_error_set(err, -EBADMSG, "%s: the process that read it gave no answer", path);
}

int weir_recovery_child_plan(struct weir_recovery *recovery, const struct weir_recovery_options *options,
                             const struct weir_notice_sink *notices, struct weir_error *err)
{
    int ends[2], status = 0;
    struct answer said = {0};
    *recovery = (struct weir_recovery){0};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return weir_error_set_errno(err, -errno, "cannot recover %s", options->path);
    pid_t child = fork();
    if (child < 0) {
        int result = -errno;
        close(ends[0]);
        close(ends[1]);
        return weir_error_set_errno(err, result, "cannot start a process that reads %s", options->path);
    }
    if (child == 0) {
        close(ends[0]);
        answer(ends[1], options, notices);
        _exit(0);
    }
    close(ends[1]);
    int result = take_answer(ends[0], &said, options->path);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (result == -EBADMSG)
        return fail_child(options->path, status, err);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot recover %s", options->path);
    if (said.result < 0) {
        weir_recovery_fini(&said.recovery); /* nothing is in it */
        if (err)
            *err = said.err;
        return said.result;
    }
    *recovery = said.recovery;
    return 0;
}
