/*
 * The commands that read recordings, under the filter of system calls that binds them (engine/upkeep/sandbox.h), and
 * with all that they say. Input: the file.
 *
 * Each command runs in a child, to its end: no recording makes one of them ask the kernel for something else than a
 * reader needs. Before that dump runs in this process, where libFuzzer sees which branches an input takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "cli/dump_command.h"
#include "cli/inspect_command.h"
#include "engine/upkeep/recovery_child.h"
#include "format/dump.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tree.h"

#define PATH_BYTES 64
#define MESSAGES   (1u << 16)
#define WORDS      8

/* libtraceevent forgets memory of formats that it cannot parse. For LeakSanitizer; unused without it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

struct fixture {
    int fd, messages_fd, null_fd;
    char path[PATH_BYTES];
};

static const struct {
    int (*run)(const struct weir_invocation *invocation);
    const char *words[WORDS]; /* before the name of the file */
} commands[] = {
    {weir_dump_main, {"weir", "dump", "--event", "no such event", "--event", "cpu-clock", "-i"}},
    {weir_dump_main, {"weir", "dump", "--json", "-i"}},
    {weir_info_main, {"weir", "info", "-i"}},
    {weir_info_main, {"weir", "info", "--timeline", "-i"}},
    {weir_info_main, {"weir", "info", "--timeline=json", "-i"}},
    {weir_verify_main, {"weir", "verify", "-i"}},
};

static void *init(void)
{
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture);
    fixture->fd = memfd_create("fuzz", MFD_CLOEXEC);
    fixture->messages_fd = memfd_create("messages", MFD_CLOEXEC);
    fixture->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    weir_assert(fixture->fd >= 0 && fixture->messages_fd >= 0 && fixture->null_fd >= 0);
    snprintf(fixture->path, sizeof(fixture->path), "/proc/self/fd/%d", fixture->fd);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->fd);
    close(fixture->messages_fd);
    close(fixture->null_fd);
    free(fixture);
}

static int drop_text(void *ctx, const char *text, size_t bytes, struct weir_error *err)
{
    (void)ctx;
    (void)text;
    (void)bytes;
    (void)err;
    return 0;
}

static void check_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    (void)level;
    fuzz_check_line(line);
}

static const struct weir_notice_sink notices = {.emit = check_notice};

/* In the child. */
static void run_command(const struct fixture *fixture, size_t index)
{
    char *words[WORDS + 2] = {NULL};
    struct weir_invocation invocation = {.argv = words, .arguments = words + 2};
    for (; commands[index].words[invocation.argc]; invocation.argc++)
        words[invocation.argc] = (char *)(uintptr_t)commands[index].words[invocation.argc];
    words[invocation.argc++] = (char *)(uintptr_t)fixture->path;
    dup2(fixture->null_fd, STDOUT_FILENO);
    dup2(fixture->messages_fd, STDERR_FILENO);
    commands[index].run(&invocation);
    fflush(NULL);
    _exit(0); /* what exit(3) calls is libFuzzer's too */
}

static void show_messages(const struct fixture *fixture, const char *command, int status)
{
    char text[MESSAGES];
    ssize_t bytes = pread(fixture->messages_fd, text, sizeof(text), 0);
    fprintf(stderr, "%s: status %#x\n%.*s\n", command, (unsigned)status, bytes > 0 ? (int)bytes : 0, text);
}

static void check_command(const struct fixture *fixture, size_t index)
{
    int status = 0;
    weir_assert(ftruncate(fixture->messages_fd, 0) == 0 && lseek(fixture->messages_fd, 0, SEEK_SET) == 0);
    pid_t child = fork();
    weir_assert(child >= 0);
    if (child == 0)
        run_command(fixture, index);
    while (waitpid(child, &status, 0) < 0) /* libFuzzer has a timer */
        weir_assert(errno == EINTR);
    if (status != 0)
        show_messages(fixture, commands[index].words[1], status);
    weir_assert(status == 0);
}

/* The child of a recovery is bound likewise; its end by a signal would be an error that says so. */
static void check_recovery(const struct fixture *fixture)
{
    const struct weir_recovery_options options = {.path = fixture->path};
    struct weir_recovery recovery;
    struct weir_error err = {0};
    int result = weir_recovery_child_plan(&recovery, &options, &notices, &err);
    if (result < 0) {
        fuzz_check_error(&err, result);
        weir_assert(!strstr(err.what, "the process reading it"));
    }
    weir_recovery_fini(&recovery);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    const struct weir_dump_filter all = {.last_ns = UINT64_MAX};
    const struct weir_dump_options options = {
        .path = fixture->path, .filter = &all, .notices = &notices, .write = drop_text};
    struct weir_error err = {0};
    uint64_t records;
    fuzz_file_write(fixture->fd, (struct fuzz_part){.data = data, .bytes = bytes});
    weir_dump_run(&options, &records, &err);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(commands); i++)
        check_command(fixture, i);
    check_recovery(fixture);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
