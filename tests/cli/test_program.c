/*
 * The program itself, as a shell sees it: exit status, stdout and stderr of calls that end before the kernel is asked
 * for an event. The program's path comes from the environment (tests/cli/CMakeLists.txt).
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/buf.h"
#include "base/sanitizer.h"
#include "tests/cli/golden.h"

#define COMMAND_BYTES (3 * PATH_MAX)

/* LeakSanitizer cannot look into a set-user-ID process: it then ends it with a status of its own. */
#define LEAK_CHECK_FAILED 1
#if defined(__SANITIZE_ADDRESS__)
#define HAS_LEAK_CHECK true
#elif defined(__has_feature)
#define HAS_LEAK_CHECK __has_feature(address_sanitizer)
#else
#define HAS_LEAK_CHECK false
#endif

/* Runs a command in a shell, appends what it writes to standard output; its exit status. */
static int run_shell(const char *command, struct weir_buf *text)
{
    FILE *stream = popen(command, "re");
    cr_assert_not_null(stream);
    char part[COMMAND_BYTES];
    for (size_t bytes; (bytes = fread(part, 1, sizeof(part), stream)) > 0;)
        weir_buf_append(text, part, bytes);
    int status = pclose(stream);
    cr_assert(WIFEXITED(status), "%s: wait status %#x", command, status);
    return WEXITSTATUS(status);
}

/* The program with arguments; both of its streams. */
static int run_program(const char *program, const char *arguments, struct weir_buf *text)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof(command), "'%s' %s 2>&1 </dev/null", program, arguments);
    return run_shell(command, text);
}

static int run(const char *arguments, struct weir_buf *text)
{
    const char *program = getenv("WEIR_PROGRAM");
    cr_assert_not_null(program, "WEIR_PROGRAM is not set: run the test with ctest");
    return run_program(program, arguments, text);
}

/* Runs the program with arguments on a terminal of its own, where it finds the environment; what the terminal shows. */
static void run_on_terminal(const char *environment, const char *arguments, struct weir_buf *text)
{
    const char *program = getenv("WEIR_PROGRAM");
    cr_assert_not_null(program);
    char command[COMMAND_BYTES];
    snprintf(command, sizeof(command), "%s '%s' %s", environment, program, arguments);
    int terminal;
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    char part[1024];
    for (ssize_t bytes; (bytes = read(terminal, part, sizeof(part))) > 0;) /* EIO: the other end is closed */
        weir_buf_append(text, part, (size_t)bytes);
    close(terminal);
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0, "%s: wait status %#x", command, status);
}

Test(program, help_goes_through_the_pager_on_a_terminal_only)
{
    struct weir_buf text = WEIR_BUF_INIT;
    run_on_terminal("PAGER='sed s/Usage:/Paged:/'", "record -h freq", &text);
    cr_expect_not_null(strstr(weir_buf_str(&text), "Paged: weir record"), "%s", weir_buf_str(&text));
    weir_buf_reset(&text);
    run_on_terminal("PERF_PAGER='sed s/Usage:/Perf:/' PAGER=false", "record -h freq", &text);
    cr_expect_not_null(strstr(weir_buf_str(&text), "Perf: weir record"), "%s", weir_buf_str(&text));
    static const char *const none[] = {"PAGER=", "PAGER=cat", "PAGER=/no/such/pager"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(none); i++) {
        weir_buf_reset(&text);
        run_on_terminal(none[i], "record -h freq", &text);
        cr_expect_not_null(strstr(weir_buf_str(&text), "Usage: weir record"), "%s: %s", none[i], weir_buf_str(&text));
    }
    weir_buf_reset(&text);
    cr_expect_eq(run_shell("PAGER='sed s/Usage:/Paged:/' \"$WEIR_PROGRAM\" record -h freq", &text), 0);
    cr_expect_not_null(strstr(weir_buf_str(&text), "Usage: weir record"), "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
}

Test(program, calls_that_are_refused_read_as_in_the_golden_file)
{
    static const char *const refused[] = {
        "",
        "--bogus",
        "-x",
        "recrod",
        "zebra",
        "bench dran",
        "help recrod",
        "help record extra",
        "help --bogus",
        "help --completion",
        "help --completion ksh",
        "help --completion bash record",
        "record -F 99 -c 5 true",
        "record -F abc true",
        "record -m 5G true",
        "record -e '' true",
        "record -q -r 0 true",
        "record --threads=bogus true",
        "bench drain --cpus 0",
        "bench drain extra",
    };
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        weir_buf_printf(&text, "$ weir %s\n", refused[i]);
        int status = run(refused[i], &text);
        weir_buf_printf(&text, "exit %d\n\n", status);
        cr_expect_eq(status, 129, "weir %s", refused[i]);
    }
    golden_expect(GOLDEN_TEXTS, "program_errors.txt", &text);
    weir_buf_fini(&text);
}

Test(program, unknown_event_is_a_usage_error_that_names_the_nearest)
{
    struct weir_buf text = WEIR_BUF_INIT;
    cr_expect_eq(run("record -e cylces true", &text), 129);
    cr_expect_not_null(strstr(weir_buf_str(&text), "weir: "));
    cr_expect_not_null(strstr(weir_buf_str(&text), "cycles"));
    weir_buf_fini(&text);
}

Test(program, full_disk_under_help_is_a_failure)
{
    struct weir_buf text = WEIR_BUF_INIT;
    cr_expect_eq(run("help >/dev/full", &text), 125, "stderr goes to /dev/full too");
    cr_expect_eq(text.used, 0);
    weir_buf_fini(&text);
}

Test(program, closed_stream_is_a_failure)
{
    static const struct {
        const char *arguments, *says;
    } cases[] = {
        {"--version 2>&1 >&-", "weir: cannot write to standard output: Bad file descriptor\n"},
        {"doctor --json 2>&1 >&-", "weir: cannot write to standard output: Bad file descriptor\n"},
        {"info - 2>&1 <&-", "weir: cannot read standard input: Bad file descriptor\n"},
    };
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        char command[COMMAND_BYTES];
        snprintf(command, sizeof(command), "exec '%s' %s", getenv("WEIR_PROGRAM"), cases[i].arguments);
        weir_buf_reset(&text);
        cr_expect_eq(run_shell(command, &text), 125, "%s", command);
        cr_expect_str_eq(weir_buf_str(&text), cases[i].says, "%s", command);
    }
    weir_buf_fini(&text);
}

#ifndef WEIR_HAS_SANITIZER /* which need more themselves */
Test(program, stack_that_is_too_small_is_told)
{
    FILE *stream = popen("ulimit -s 64; exec \"$WEIR_PROGRAM\" record -q -o /dev/null true 2>&1", "re");
    char line[256] = "";
    cr_assert(stream && fgets(line, sizeof(line), stream));
    int status = pclose(stream);
    cr_expect_str_eq(line, "weir: the stack is limited to 64 KiB\n");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 125, "%#x", (unsigned)status);
}
#endif

/* Its file is there once the run has begun. */
Test(program, bench_that_is_ended_by_a_signal_ends_by_it)
{
    struct weir_buf text = WEIR_BUF_INIT;
    const char *command = "folder=$(mktemp -d) && cd \"$folder\" || exit 1; trap 'rm -r \"$folder\"' EXIT; "
                          "\"$WEIR_PROGRAM\" bench drain --cpus 1 --rate 1000 --seconds 60 --json -o it.data & "
                          "while kill -0 $! && ! [ -e it.data ]; do sleep 0.01; done; kill -TERM $!; wait $!";
    cr_expect_eq(run_shell(command, &text), 128 + SIGTERM);
    cr_expect_not_null(strstr(weir_buf_str(&text), "\"produced\": "), "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
}

Test(program, bench_of_more_events_than_descriptors_are_allowed_raises_the_limit)
{
    struct weir_buf text = WEIR_BUF_INIT;
    const char *command = "ulimit -Sn 64; exec \"$WEIR_PROGRAM\" bench drain --cpus 64 --records 1 -m 4K 2>&1";
    cr_expect_eq(run_shell(command, &text), 0, "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
}

Test(program, version_is_one_line)
{
    struct weir_buf text = WEIR_BUF_INIT;
    cr_expect_eq(run("--version", &text), 0);
    char line[64];
    snprintf(line, sizeof(line), "%s", weir_buf_str(&text));
    cr_expect_eq(strncmp(line, "weir " WEIR_VERSION, strlen("weir " WEIR_VERSION)), 0, "%s", line);
    cr_expect_str_eq(strchr(line, '\n'), "\n");
    static const char *const doors[] = {"-v", "-V", "version"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(doors); i++) {
        weir_buf_reset(&text);
        cr_expect_eq(run(doors[i], &text), 0);
        cr_expect_str_eq(weir_buf_str(&text), line, "%s", doors[i]);
    }
    weir_buf_fini(&text);
}

Test(program, version_tells_the_optional_parts)
{
    struct weir_buf text = WEIR_BUF_INIT;
    cr_expect_eq(run("version --build-options", &text), 0);
    cr_expect_not_null(strstr(weir_buf_str(&text), "seccomp: [ "), "%s", weir_buf_str(&text));
    weir_buf_reset(&text);
    cr_expect_eq(run("version --json", &text), 0);
    cr_expect_not_null(strstr(weir_buf_str(&text), "\"seccomp\":"), "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
}

Test(program, commands_of_perf_are_named_with_who_has_them)
{
    struct weir_buf text = WEIR_BUF_INIT;
    cr_expect_eq(run("script 2>&1", &text), 129);
    cr_expect_str_eq(weir_buf_str(&text), "weir: weir has no command 'script'\n"
                                          "hint: perf reads what weir records: perf script -i perf.data\n");
    weir_buf_reset(&text);
    cr_expect_eq(run("stat 2>&1", &text), 129);
    cr_expect_str_eq(weir_buf_str(&text), "weir: weir has no command 'stat'\n"
                                          "hint: weir records and does not count: perf stat\n");
    weir_buf_fini(&text);
}

Test(program, called_perf_record_it_records)
{
    struct weir_buf text = WEIR_BUF_INIT;
    const char *command = "folder=$(mktemp -d) && ln -s \"$WEIR_PROGRAM\" $folder/perf-record && { $folder/perf-record "
                          "--freq=x 2>&1; status=$?; rm -r $folder; exit $status; }";
    cr_expect_eq(run_shell(command, &text), 129);
    cr_expect_not_null(strstr(weir_buf_str(&text), "'--freq'"), "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
}

Test(program, help_has_many_doors)
{
    static const struct {
        const char *arguments, *file;
    } doors[] = {
        {"help", "help.txt"},
        {"--help", "help.txt"},
        {"-h", "help.txt"},
        {"help record", "help_record.txt"},
        {"record --help", "help_record.txt"},
        {"record -h", "help_record.txt"},
        {"record -a -F 99 -h", "help_record.txt"},
        {"bench", "help_bench.txt"},
        {"bench -h", "help_bench.txt"},
        {"bench --help", "help_bench.txt"},
        {"help bench", "help_bench.txt"},
        {"help bench drain", "help_bench_drain.txt"},
        {"bench drain --help", "help_bench_drain.txt"},
        {"help help", "help_help.txt"},
        {"help --help", "help_help.txt"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(doors); i++) {
        struct weir_buf text = WEIR_BUF_INIT;
        cr_expect_eq(run(doors[i].arguments, &text), 0, "weir %s", doors[i].arguments);
        golden_expect(GOLDEN_TEXTS, doors[i].file, &text);
        weir_buf_fini(&text);
    }
}

Test(program, man_pages_are_printed)
{
    static const struct {
        const char *arguments, *file;
    } pages[] = {
        {"help --man", "weir.1"},
        {"help --man record", "weir-record.1"},
        {"help --man bench drain", "weir-bench-drain.1"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(pages); i++) {
        struct weir_buf text = WEIR_BUF_INIT;
        cr_expect_eq(run(pages[i].arguments, &text), 0);
        golden_expect(GOLDEN_MAN, pages[i].file, &text);
        weir_buf_fini(&text);
    }
}

/* A copy of the program that belongs to another user and is set-user-ID: only root can make one. */
Test(program, set_user_id_is_refused)
{
    const char *parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    struct statvfs file_system;
    cr_assert_eq(statvfs(parent, &file_system), 0);
    if (geteuid() != 0)
        cr_skip_test("needs root: a set-user-ID file of another user");
    if (file_system.f_flag & ST_NOSUID)
        cr_skip_test("needs a TMPDIR without the mount option nosuid");

    char folder[PATH_MAX], command[2 * PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/weir-cli-XXXXXX", parent);
    cr_assert_not_null(mkdtemp(folder));
    snprintf(command, sizeof(command),
             "cd '%s' && chmod 755 . && cp \"$WEIR_PROGRAM\" weir && chown nobody weir && chmod 4755 weir", folder);
    cr_assert_eq(system(command), 0);

    struct weir_buf text = WEIR_BUF_INIT;
    static const char refusal[] = "weir: does not run set-user-ID or set-group-ID\n"
                                  "hint: give the program file capabilities instead: w=$(command -v weir); ";
    char program[2 * PATH_MAX];
    snprintf(program, sizeof(program), "%s/weir", folder);
    cr_expect_eq(run_program(program, "--version", &text), HAS_LEAK_CHECK ? LEAK_CHECK_FAILED : 125);
    cr_expect_eq(strncmp(weir_buf_str(&text), refusal, strlen(refusal)), 0, "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    cr_expect_eq(system(command), 0);
}
