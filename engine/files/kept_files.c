/* Names, number and command of finished files. The finisher's thread calls, and at the end the coordinator. Commands
 * start by posix_spawn(3). */
#include "engine/files/kept_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bits.h"
#include "base/clock.h"
#include "base/directory.h"

#define WAIT_NS       (100 * WEIR_NS_PER_MS)
#define TELL_AFTER_NS (3 * WEIR_NS_PER_S)

struct kept_file {
    char *path; /* owned */
    dev_t device;
    ino_t inode;
    uint64_t bytes, samples;
    bool lasting;
};

struct weir_kept_files {
    struct weir_kept_files_setup setup;
    struct kept_file *files; /* owned; oldest first; empty when no file is ever to be removed */
    size_t count, room;
    int directory_fd; /* owned: of all files; -1: no file yet */
    struct weir_removed_files removed;
    pid_t running[WEIR_KEPT_COMMANDS];
    unsigned running_count;
    bool told; /* a warning has reported a failed command */
};

int weir_kept_files_new(struct weir_kept_files **made, const struct weir_kept_files_setup *setup)
{
    struct weir_kept_files *kept = calloc(1, sizeof(*kept));
    if (!kept)
        return -ENOMEM;
    kept->setup = *setup;
    kept->directory_fd = -1;
    if (setup->command) /* a process that ignores SIGCHLD, perhaps from its start, learns no exit status */
        signal(SIGCHLD, SIG_DFL);
    *made = kept;
    return 0;
}

/* ---- how many ---- */

/* Whether the name still leads to this file, and not to another one. The name, not the path: the owner of a directory
 * on the way may have moved it. */
static bool is_there(const struct weir_kept_files *kept, const struct kept_file *file)
{
    struct stat st;
    return fstatat(kept->directory_fd, weir_path_name(file->path), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_dev == file->device && st.st_ino == file->inode;
}

static void remove_file(struct weir_kept_files *kept, const struct kept_file *file)
{
    if (file->lasting || !is_there(kept, file))
        return;
    if (unlinkat(kept->directory_fd, weir_path_name(file->path), 0) < 0) {
        weir_notice(kept->setup.notices, WEIR_NOTICE_WARNING, "cannot remove '%s': %s", file->path, strerror(errno));
        return;
    }
    kept->removed.files++;
    kept->removed.bytes += file->bytes;
    kept->removed.samples += file->samples;
}

static void remove_oldest(struct weir_kept_files *kept)
{
    remove_file(kept, &kept->files[0]);
    free(kept->files[0].path);
    kept->count--;
    memmove(kept->files, kept->files + 1, kept->count * sizeof(*kept->files));
}

/* Forgets the oldest files that a consumer has taken away. A recording of weeks would otherwise gather many names. */
static void forget_taken(struct weir_kept_files *kept)
{
    while (kept->count > 0 && !is_there(kept, &kept->files[0]))
        remove_oldest(kept);
}

/* Takes the directory of the files. False: it has none. */
static bool take_directory(struct weir_kept_files *kept, const struct weir_record_file *file)
{
    const int *directory_fd = weir_output_file_directory(weir_output_file_of(file->output));
    if (kept->directory_fd < 0 && directory_fd)
        kept->directory_fd = fcntl(*directory_fd, F_DUPFD_CLOEXEC, 0);
    return kept->directory_fd >= 0;
}

static void note(struct weir_kept_files *kept, const struct weir_record_file *file)
{
    const char *path = weir_output_file_path(weir_output_file_of(file->output));
    struct stat st;
    if ((kept->setup.most == 0 && !kept->setup.droppable) || (kept->setup.whole_only && file->broken) ||
        !take_directory(kept, file) ||
        fstatat(kept->directory_fd, weir_path_name(path), &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    struct kept_file *files = weir_array_grow(kept->files, sizeof(*files), kept->count, 1, &kept->room);
    char *copy = files ? strdup(path) : NULL;
    if (files)
        kept->files = files;
    if (!copy)
        return; /* without memory for its name the file stays */
    kept->files[kept->count++] = (struct kept_file){
        .path = copy,
        .device = st.st_dev,
        .inode = st.st_ino,
        .bytes = file->file_bytes,
        .samples = file->samples - weir_min_u64(file->unwritten_samples, file->samples),
        .lasting = file->lasting,
    };
    while (kept->setup.most > 0 && kept->count > kept->setup.most)
        remove_oldest(kept);
    if (kept->setup.most == 0)
        forget_taken(kept);
}

size_t weir_kept_files_count(const struct weir_kept_files *kept)
{
    return kept->count;
}

bool weir_kept_files_drop_oldest(struct weir_kept_files *kept)
{
    forget_taken(kept);
    if (kept->count == 0)
        return false;
    remove_oldest(kept);
    return true;
}

/* ---- the command ---- */

static bool is_first_failure(struct weir_kept_files *kept)
{
    bool is_first = !kept->told;
    kept->told = true;
    return is_first;
}

static void tell_end(struct weir_kept_files *kept, const char *how, int number)
{
    if (is_first_failure(kept))
        weir_notice(kept->setup.notices, WEIR_NOTICE_WARNING,
                    "the command of --on-rotate, '%s', %s %d; this is reported once", kept->setup.command[0], how,
                    number);
}

static void tell_not_started(struct weir_kept_files *kept, int code)
{
    if (is_first_failure(kept))
        weir_notice(kept->setup.notices, WEIR_NOTICE_WARNING,
                    "the command of --on-rotate, '%s', cannot be started: %s; this is reported once",
                    kept->setup.command[0], strerror(-code));
}

static void forget_command(struct weir_kept_files *kept, unsigned index)
{
    kept->running_count--;
    memmove(&kept->running[index], &kept->running[index + 1], (kept->running_count - index) * sizeof(kept->running[0]));
}

/* Reaps a command without waiting. True when the command has ended. */
static bool reap(struct weir_kept_files *kept, unsigned index)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(kept->running[index], &status, WNOHANG)) < 0 && errno == EINTR)
        ;
    if (pid == 0)
        return false;
    if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 0)
        tell_end(kept, "failed with status", WEXITSTATUS(status));
    else if (pid > 0 && WIFSIGNALED(status))
        tell_end(kept, "was ended by signal", WTERMSIG(status));
    forget_command(kept, index);
    return true;
}

static void reap_all(struct weir_kept_files *kept)
{
    for (unsigned i = 0; i < kept->running_count;)
        i += !reap(kept, i);
}

/* Returns the signals that the command gets at default: those that weir ignores for itself, unless `ignored` has
 * them. */
static sigset_t signals_to_restore(const sigset_t *ignored)
{
    static const int ours[] = {SIGPIPE, SIGXFSZ, SIGUSR2};
    sigset_t defaults;
    sigemptyset(&defaults);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ours); i++) {
        if (!ignored || sigismember(ignored, ours[i]) != 1)
            sigaddset(&defaults, ours[i]);
    }
    return defaults;
}

static int spawn(const struct weir_kept_files *kept, char *const *argv, pid_t *pid)
{
    posix_spawnattr_t attributes;
    const sigset_t defaults = signals_to_restore(kept->setup.ignored);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, kept->setup.child_mask);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int result = -posix_spawnp(pid, argv[0], NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return result;
}

/* Waits while too many commands run. False: hurried() ended the wait. */
static bool await_room(struct weir_kept_files *kept, bool (*hurried)(void *ctx), void *ctx)
{
    for (reap_all(kept); kept->running_count == WEIR_KEPT_COMMANDS; reap_all(kept)) {
        if (hurried(ctx))
            return false;
        weir_clock_pause_ns(WAIT_NS);
    }
    return true;
}

static void run_command(struct weir_kept_files *kept, const char *path)
{
    size_t words = 0;
    while (kept->setup.command[words])
        words++;
    char **argv = calloc(words + 2, sizeof(*argv));
    if (!argv) {
        tell_not_started(kept, -ENOMEM);
        return;
    }
    /* A name such as "-rf.TIME" would be an option of the command. */
    char *below = NULL;
    if (path[0] == '-' && asprintf(&below, "./%s", path) < 0) {
        free(argv);
        tell_not_started(kept, -ENOMEM);
        return;
    }
    memcpy(argv, kept->setup.command, words * sizeof(*argv));
    argv[words] = below ? below : (char *)(uintptr_t)path; /* exec(3) only reads it */
    pid_t pid;
    int result = spawn(kept, argv, &pid);
    if (result < 0)
        tell_not_started(kept, result);
    else
        kept->running[kept->running_count++] = pid;
    free(below);
    free(argv);
}

void weir_kept_files_await_commands(struct weir_kept_files *kept, bool (*hurried)(void *ctx), void *ctx)
{
    uint64_t tell_ns = weir_clock_now_ns(&weir_clock_monotonic) + TELL_AFTER_NS;
    for (reap_all(kept); kept->running_count > 0 && !hurried(ctx); reap_all(kept)) {
        weir_clock_pause_ns(WAIT_NS);
        if (weir_clock_now_ns(&weir_clock_monotonic) < tell_ns)
            continue;
        tell_ns = UINT64_MAX;
        weir_notice(kept->setup.notices, WEIR_NOTICE_WARNING,
                    "%u commands of --on-rotate still run, the oldest is process %d: they are waited for until a "
                    "signal comes, and then left to themselves",
                    kept->running_count, (int)kept->running[0]);
    }
}

/* ---- files ---- */

int weir_kept_files_name(const struct weir_kept_files *kept, struct weir_record_file *file, struct weir_error *err)
{
    const struct weir_output_file *on_disk = weir_output_file_of(file->output);
    if (kept->setup.stamped && weir_output_file_was_taken(on_disk)) {
        weir_notice(kept->setup.notices, WEIR_NOTICE_WARNING, "the output '%s' was moved or removed",
                    weir_output_file_path(on_disk));
        return 0;
    }
    int result = kept->setup.stamped ? weir_record_file_rename(file, "", err) : 0;
    return result == 0 && kept->setup.stamped ? weir_record_file_sync_name(file, err) : result;
}

void weir_kept_files_add(struct weir_kept_files *kept, const struct weir_record_file *file, bool (*hurried)(void *ctx),
                         void *ctx)
{
    const struct weir_output_file *on_disk = weir_output_file_of(file->output);
    const char *path = weir_output_file_path(on_disk);
    if (!weir_output_file_is_at_name(on_disk))
        return;
    if (kept->setup.stamped)
        weir_notice_product(kept->setup.notices, WEIR_NOTICE_INFO, "[ weir record: Dump %s ]", path);
    note(kept, file);
    if (!kept->setup.command)
        return;
    if (await_room(kept, hurried, ctx))
        run_command(kept, path);
    else
        weir_notice(kept->setup.notices, WEIR_NOTICE_WARNING,
                    "there is no command of --on-rotate for '%s': %u still run", path, kept->running_count);
}

void weir_kept_files_add_last(struct weir_kept_files *kept, const struct weir_record_file *file)
{
    if (weir_output_file_is_at_name(weir_output_file_of(file->output)))
        note(kept, file);
}

const char *weir_kept_files_newest(const struct weir_kept_files *kept)
{
    return kept->count > 0 ? kept->files[kept->count - 1].path : NULL;
}

int weir_kept_files_pass_name(struct weir_kept_files *kept, struct weir_record_file *file, struct weir_error *err)
{
    struct kept_file *newest = kept->count > 0 ? &kept->files[kept->count - 1] : NULL;
    if (!newest)
        return weir_error_set(err, -ENOENT, "'%s' has no snapshot, and no other file has a whole one", file->path);
    int result = weir_output_file_pass_name(weir_output_file_of(file->output), weir_path_name(newest->path),
                                            newest->device, newest->inode);
    if (result == -ENOENT && !is_there(kept, newest)) {
        weir_error_set(err, result, "'%s' has no snapshot, and '%s' has been removed", file->path, newest->path);
        free(newest->path);
        kept->count--;
        return result;
    }
    if (result < 0)
        return weir_error_set_errno(err, result, "'%s' cannot become '%s'", newest->path, file->path);
    weir_notice_product(kept->setup.notices, WEIR_NOTICE_INFO, "'%s' is now '%s'", newest->path, file->path);
    return 0;
}

struct weir_removed_files weir_kept_files_removed(const struct weir_kept_files *kept)
{
    return kept->removed;
}

void weir_kept_files_free(struct weir_kept_files *kept)
{
    if (!kept)
        return;
    for (size_t i = 0; i < kept->count; i++)
        free(kept->files[i].path);
    if (kept->directory_fd >= 0)
        close(kept->directory_fd);
    free(kept->files);
    free(kept);
}
