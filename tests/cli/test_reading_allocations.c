/*
 * Reading commands without memory: each command as a whole, from its words to its exit status, in a process of its own,
 * once for each of its allocations, which fails. It is told in one line, with the exit status of a failure of weir
 * itself, and nothing is leaked (the leak check of AddressSanitizer; elsewhere it is not looked at).
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/exit_status.h"
#include "format/records.h"
#include "tests/base/failing_alloc.h"
#include "tests/format/sample_recording.h"

#define ALLOCATIONS_MAX 5000u
#define LEAK_STATUS     99 /* none of weir's */
#define WORDS_MAX       16

int __lsan_do_recoverable_leak_check(void) __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

static struct temp_tree tree;
static char file[PATH_MAX], unfinished[PATH_MAX], stream[PATH_MAX], directory[PATH_MAX], output[PATH_MAX];
static char messages[PATH_MAX];
static bool *has_failed; /* shared with the processes */

static void make_one(const char *name, const struct sample_recording_options *options, char path[PATH_MAX])
{
    struct weir_buf image = WEIR_BUF_INIT;
    sample_recording_build(&image, &tree, options);
    temp_tree_write(&tree, name, image.data, image.used);
    temp_tree_path(&tree, name, path);
    weir_buf_fini(&image);
}

static void make_recordings(void)
{
    static const struct sample_recording_options whole = {.tracepoint = true, .features = true, .lost_samples = 3};
    static const struct sample_recording_options early = {.tracepoint = true, .early = true};
    static const struct sample_recording_options piped = {.tracepoint = true, .features = true, .stream = true};
    char path[PATH_MAX];
    struct weir_buf part = WEIR_BUF_INIT;
    temp_tree_init(&tree);
    make_one("file", &whole, file);
    make_one("unfinished", &early, unfinished);
    make_one("stream", &piped, stream);
    make_one("directory/data", &early, path);
    weir_record_finished_round(&part);
    temp_tree_write(&tree, "directory/data.0", part.data, part.used);
    weir_buf_fini(&part);
    temp_tree_path(&tree, "directory", directory);
    temp_tree_path(&tree, "output", output);
    temp_tree_path(&tree, "messages", messages);
    has_failed = mmap(NULL, sizeof(*has_failed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(has_failed, MAP_FAILED);
}

static void remove_recordings(void)
{
    munmap(has_failed, sizeof(*has_failed));
    temp_tree_fini(&tree);
}

TestSuite(reading_allocations, .init = make_recordings, .fini = remove_recordings, .timeout = 300);

/* In a process of its own. */
static void run_command(const char *const *words, unsigned successes)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = strdup(words[argc]);
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int err = open(messages, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0 || err < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(LEAK_STATUS);
    failing_alloc_tell(has_failed);
    failing_alloc_after(successes);
    int status = weir_cli_main(argc, argv);
    failing_alloc_never();
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    fflush(NULL);
    if (__lsan_do_recoverable_leak_check) {
        dup2(out, STDERR_FILENO); /* the check has words of its own; without it the filter knows no dup2(2) */
        if (__lsan_do_recoverable_leak_check() != 0)
            status = LEAK_STATUS;
    }
    _exit(status);
}

/* One line that begins with weir's name and says what it was; hints may follow. */
static void expect_message(const char *command, unsigned successes)
{
    struct weir_buf said = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&said, messages), 0);
    const char *text = weir_buf_str(&said), *line = strchr(text, '\n');
    cr_expect(strncmp(text, "weir: ", 6) == 0 && line && strstr(text, "Cannot allocate memory"),
              "%s, allocation %u: '%s'", command, successes, text);
    cr_expect(line && (line[1] == '\0' || strncmp(line + 1, "hint: ", 6) == 0), "%s, allocation %u: '%s'", command,
              successes, text);
    weir_buf_fini(&said);
}

/* Removes what a command that went well despite all has left, so that the next one is looked at by itself. */
static void remove_all(const char *path)
{
    char command[PATH_MAX + 16];
    format_text(command, sizeof(command), "rm -rf '%s'", path);
    cr_assert_eq(system(command), 0);
}

/* weir's exit status; the shell's of a signal. */
static int run_and_wait(const char *const *words, unsigned successes)
{
    int status;
    *has_failed = false;
    remove_all(output);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        run_command(words, successes);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void expect_told_each_time(const char *const *words, int good_status)
{
    unsigned successes = 0;
    for (; successes < ALLOCATIONS_MAX; successes++) {
        int status = run_and_wait(words, successes);
        if (!*has_failed) {
            cr_expect_eq(status, good_status, "%s with memory: %d", words[1], status);
            break;
        }
        cr_expect_eq(status, WEIR_EXIT_FAILURE, "%s, allocation %u: status %d", words[1], successes, status);
        expect_message(words[1], successes);
        cr_expect_eq(access(output, F_OK), -1, "%s, allocation %u: an output is left", words[1], successes);
    }
    cr_expect(successes > 10 && successes < ALLOCATIONS_MAX, "%u allocations", successes);
}

#define EXPECT_TOLD(good_status, ...) \
    expect_told_each_time((const char *const[]){"weir", __VA_ARGS__, NULL}, good_status)

Test(reading_allocations, dump_of_a_file)
{
    EXPECT_TOLD(WEIR_EXIT_OK, "dump", "--type", "sample,comm", "--event", "sched:*", "--cpu", "0-1", "--pid", "4242",
                file);
}

Test(reading_allocations, dump_of_a_stream_as_json)
{
    EXPECT_TOLD(WEIR_EXIT_OK, "dump", "--json", stream);
}

Test(reading_allocations, dump_of_a_directory)
{
    EXPECT_TOLD(WEIR_EXIT_OK, "dump", directory);
}

Test(reading_allocations, info)
{
    EXPECT_TOLD(WEIR_EXIT_OK, "info", file);
    EXPECT_TOLD(WEIR_EXIT_OK, "info", "--json", directory);
}

Test(reading_allocations, verify)
{
    EXPECT_TOLD(WEIR_EXIT_OK, "verify", file);
}

Test(reading_allocations, recover)
{
    EXPECT_TOLD(WEIR_EXIT_OK, "recover", "-q", "-o", output, unfinished);
}

Test(reading_allocations, recover_of_a_directory)
{
    EXPECT_TOLD(WEIR_EXIT_OK, "recover", "-q", "-o", output, directory);
}
