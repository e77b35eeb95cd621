/* Commands in children; see command_run.h. One thread. */
#include "tests/fault/command_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "format/verify.h"

#define TIMEOUT_S  60u
#define OF_FAILURE 125
#define OF_LEAK    2  /* no status of weir */
#define FDS_MOST   64 /* of the test program */
#define LINE_BYTES 1024

/* Names in a folder of /proc: descriptors, with the one that is open for this, or threads. */
static unsigned count_in(const char *path)
{
    unsigned count = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static void run_in_child(const char *const *words, const struct command_run_hook *hook, int seen_fd)
{
    int argc = 0;
    while (words[argc])
        argc++;
    int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600), err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (int fd = STDERR_FILENO + 1; fd < FDS_MOST; fd++) {
        if (fd != seen_fd)
            close(fd);
    }
    alarm(TIMEOUT_S);
    /* Commands that read a recording may open nothing behind it, and have nothing but that open. */
    bool counts = strcmp(words[1], "record") == 0;
    unsigned fds = count_in("/proc/self/fd"), threads = count_in("/proc/self/task");
    hook->begin(hook->ctx);
    int status = weir_cli_main(argc, (char **)(uintptr_t)words);
    unsigned seen = hook->end(hook->ctx);
    if (counts && (count_in("/proc/self/fd") != fds || count_in("/proc/self/task") != threads)) {
        fprintf(stderr, "not all descriptors were closed, or not all threads have ended\n");
        status = OF_LEAK;
    }
    if (write(seen_fd, &seen, sizeof(seen)) != sizeof(seen))
        status = OF_FAILURE;
    exit(status);
}

int command_run(const char *const *words, const struct command_run_hook *hook, unsigned *seen)
{
    int ends[2], status = 0;
    *seen = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        exit(2);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_in_child(words, hook, ends[1]);
    close(ends[1]);
    if (read(ends[0], seen, sizeof(*seen)) != sizeof(*seen))
        *seen = 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child < 0 ? OF_FAILURE << 8 : status;
}

bool command_run_may_record(void)
{
    return geteuid() == 0 && access("/proc/sys/kernel/perf_event_paranoid", F_OK) == 0 &&
           access("/sys/kernel/tracing/events/sched", F_OK) == 0;
}

unsigned command_run_lines(const char *prefix)
{
    char line[LINE_BYTES];
    unsigned count = 0;
    bool begins = true; /* the line, not a part of a long one */
    FILE *err = fopen("err", "re");
    while (err && fgets(line, sizeof(line), err)) {
        count += begins && strncmp(line, prefix, strlen(prefix)) == 0;
        begins = strchr(line, '\n') != NULL;
    }
    if (err)
        fclose(err);
    return count;
}

void command_run_messages(char *text, unsigned bytes)
{
    FILE *err = fopen("err", "re");
    size_t got = err ? fread(text, 1, bytes - 1, err) : 0;
    text[got] = '\0';
    if (err)
        fclose(err);
}

bool command_run_passes(const char *path)
{
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_error err = {0};
    unsigned failures = 1;
    int result = weir_verify_append(path, NULL, &text, &failures, &err);
    weir_buf_fini(&text);
    return result == 0 && failures == 0;
}

static bool is_in(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(name, *list) == 0)
            return true;
    }
    return false;
}

bool command_run_clean(const char *const *expected)
{
    static const char *const always[] = {"out", "err", NULL};
    DIR *folder = opendir(".");
    bool is_clean = folder != NULL;
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        is_clean &= is_in(entry->d_name, expected) || is_in(entry->d_name, always);
        unlink(entry->d_name);
    }
    if (folder)
        closedir(folder);
    return is_clean;
}
