/*
 * Every option of every command with an argument that is missing, empty, malformed, out of range, or not taken, as a
 * shell gives it: exit status 129, one line and one hint, and nothing left behind. Rows come from the option tables, so
 * that a new row is tried as soon as it is there.
 *
 * A plain program, so that LeakSanitizer can look at each child: Criterion has threads.
 *
 * What a text means is the business of the option's own tests. Here texts that nobody means are given to it; they are
 * taken or refused, but never half.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/option.h"

#define USAGE      129
#define LINE_BYTES 1024
#define WORDS_MAX  16

static char folder[PATH_MAX];

static unsigned failed;

static void __attribute__((format(printf, 2, 3))) expect(bool holds, const char *format, ...)
{
    va_list args;
    if (holds)
        return;
    failed++;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout); /* a child would write the rest, too */
}

/* For what nothing can go on without. */
static void need(bool holds, const char *what)
{
    expect(holds, "%s", what);
    if (!holds)
        exit(1);
}

/* Splits the line at spaces, as a shell does with '...' and \\. Returns the words, the last of them NULL. */
static char **split(char *line, char *words[WORDS_MAX])
{
    size_t count = 0;
    for (char *from = line; *from; count++) {
        char *to = from;
        need(count < WORDS_MAX - 1, line);
        words[count] = to;
        for (bool quoted = false; *from && (quoted || *from != ' '); from++) {
            quoted ^= *from == '\'';
            from += *from == '\\' && from[1];
            if (*from != '\'')
                *to++ = *from;
        }
        while (*from == ' ')
            from++;
        *to = '\0';
    }
    words[count] = NULL;
    return words;
}

extern void __lsan_do_leak_check(void) __attribute__((weak)); /* _exit() makes none */

/* What the program does in a process of its own. */
static void run_in_child(const char *arguments, int output_fd)
{
    char line[LINE_BYTES], *words[WORDS_MAX];
    int argc = 0;
    snprintf(line, sizeof(line), "weir %s", arguments);
    char **argv = split(line, words);
    while (argv[argc])
        argc++;
    alarm(10);
    if (chdir(folder) < 0 || dup2(open("/dev/null", O_RDONLY), 0) < 0 || dup2(output_fd, 1) < 0 ||
        dup2(output_fd, 2) < 0)
        _exit(1);
    setenv("HOME", folder, 1);
    setenv("WEIR_CONFIG", "/dev/null", 1);
    int status = weir_cli_main(argc, argv);
    fflush(NULL);
    if (__lsan_do_leak_check)
        __lsan_do_leak_check();
    _exit(status);
}

/* Runs weir in the folder, appends what it says; its exit status. The home is empty: no configuration. A process of its
 * own for each line, but no other program: there are thousands. */
static int run(const char *arguments, struct weir_buf *said)
{
    int fds[2], status;
    need(pipe2(fds, O_CLOEXEC) == 0, "no pipe");
    pid_t pid = fork();
    need(pid >= 0, "no process");
    if (pid == 0)
        run_in_child(arguments, fds[1]);
    close(fds[1]);
    char part[LINE_BYTES];
    for (ssize_t bytes; (bytes = read(fds[0], part, sizeof(part))) > 0;)
        weir_buf_append(said, part, (size_t)bytes);
    close(fds[0]);
    need(waitpid(pid, &status, 0) == pid, arguments);
    expect(WIFEXITED(status), "weir %s: wait status %#x", arguments, status);
    return WEXITSTATUS(status);
}

/* "weir: ...\nhint: ...\n", and no more. */
static bool is_line_and_hint(const char *said)
{
    if (strncmp(said, "weir: ", strlen("weir: ")) != 0)
        return false;
    const char *hint = strchr(said, '\n');
    if (!hint || strncmp(hint + 1, "hint: ", strlen("hint: ")) != 0)
        return false;
    const char *end = strchr(hint + 1, '\n');
    return end && end[1] == '\0';
}

static void expect_refused(const char *arguments)
{
    struct weir_buf said = WEIR_BUF_INIT;
    int status = run(arguments, &said);
    expect(status == USAGE, "weir %s: exit status %d", arguments, status);
    expect(is_line_and_hint(weir_buf_str(&said)), "weir %s says: %s", arguments, weir_buf_str(&said));
    weir_buf_fini(&said);
}

/* Taken, or refused as it should be. */
static void expect_taken_or_refused(const char *arguments)
{
    struct weir_buf said = WEIR_BUF_INIT;
    int status = run(arguments, &said);
    if (status != 0)
        expect(is_line_and_hint(weir_buf_str(&said)), "weir %s (exit status %d) says: %s", arguments, status,
               weir_buf_str(&said));
    weir_buf_fini(&said);
}

/* Calls visit for each row of each command. */
static void for_each_row(void (*visit)(const struct weir_command *command, const struct weir_option *option))
{
    const struct weir_command *command;
    for (size_t c = 0; (command = weir_cli_command(c)); c++) {
        for (size_t i = 0; weir_option_at(&command->options, i); i++)
            visit(command, weir_option_at(&command->options, i));
    }
}

static bool needs_argument(const struct weir_option *option)
{
    return option->argument && !option->argument_optional;
}

static void refuse_missing(const struct weir_command *command, const struct weir_option *option)
{
    char line[LINE_BYTES];
    if (!needs_argument(option))
        return;
    if (option->long_name) {
        snprintf(line, sizeof(line), "%s --%s", command->name, option->long_name);
        expect_refused(line);
    }
    if (option->short_name) {
        snprintf(line, sizeof(line), "%s -%c", command->name, option->short_name);
        expect_refused(line);
    }
}

static void missing_argument_is_a_usage_error(void)
{
    for_each_row(refuse_missing);
}

static void refuse_empty(const struct weir_command *command, const struct weir_option *option)
{
    char line[LINE_BYTES];
    if (!option->argument || !option->long_name)
        return;
    snprintf(line, sizeof(line), "%s --%s=", command->name, option->long_name);
    expect_refused(line);
}

static void empty_argument_is_a_usage_error(void)
{
    for_each_row(refuse_empty);
}

static void refuse_surplus(const struct weir_command *command, const struct weir_option *option)
{
    char line[LINE_BYTES], spelling[WEIR_OPTION_TEXT_BYTES];
    for (enum weir_option_spelling s = 0; !option->argument && s < WEIR_OPTION_SPELLING_COUNT; s++) {
        if (!weir_option_format_spelling(option, s, spelling))
            continue;
        snprintf(line, sizeof(line), "%s --%s=1", command->name, spelling);
        expect_refused(line);
    }
}

static void argument_that_is_not_taken_is_a_usage_error(void)
{
    for_each_row(refuse_surplus);
}

static bool is_number(const struct weir_option *option)
{
    return option->kind == WEIR_OPTION_NUMBER || option->kind == WEIR_OPTION_UNSIGNED ||
           option->kind == WEIR_OPTION_SIZE || option->kind == WEIR_OPTION_FREQUENCY;
}

/* What its kind takes, the parser of options knows. */
static bool has_grammar_of_kind(const struct weir_option *option)
{
    return is_number(option) || option->kind == WEIR_OPTION_RING_PAIR || option->kind == WEIR_OPTION_CPU_LIST;
}

static void refuse_malformed(const struct weir_command *command, const struct weir_option *option)
{
    static const char *const texts[] = {"bogus", "-1", "1x", "0x10", "1.5", "1,,2", "99999999999999999999"};
    char line[LINE_BYTES];
    for (size_t i = 0; has_grammar_of_kind(option) && i < WEIR_ARRAY_COUNT(texts); i++) {
        snprintf(line, sizeof(line), "%s --%s=%s", command->name, option->long_name, texts[i]);
        expect_refused(line);
    }
}

static void malformed_argument_is_a_usage_error(void)
{
    for_each_row(refuse_malformed);
}

static void refuse_out_of_range(const struct weir_command *command, const struct weir_option *option)
{
    char line[LINE_BYTES];
    if (is_number(option) && option->min > 0) {
        snprintf(line, sizeof(line), "%s --%s=%" PRIu64, command->name, option->long_name, option->min - 1);
        expect_refused(line);
    }
    if (is_number(option) && option->max < UINT64_MAX) {
        snprintf(line, sizeof(line), "%s --%s=%" PRIu64, command->name, option->long_name, option->max + 1);
        expect_refused(line);
    }
}

static void number_beyond_its_range_is_a_usage_error(void)
{
    for_each_row(refuse_out_of_range);
}

/* Options with a grammar of their own: texts that are not of it, and what stands before and behind the option. */
static const struct {
    const char *command, *option, *texts[4];
    const char *before, *behind;
} foreign[] = {
    {"bench storm", "case", {"bogus", "enter,clock"}, "", ""},
    {"bench storm", "recorder", {"bogus", "perf -x"}, "", ""},
    {"bench drain", "runs", {"x", "0", "65"}, "", ""},
    {"bench drain", "mix", {"bogus", "samples:x"}, "", ""},
    {"bench drain", "threads", {"bogus"}, "", ""},
    {"bench drain", "shed", {"bogus", "stack"}, "", ""},
    {"dump", "type", {"NOSUCH"}, "", "x"},
    {"dump", "pid", {"abc", "1,,2"}, "", "x"},
    {"dump", "time", {"abc", "5,1"}, "", "x"},
    {"help", "completion", {"csh"}, "", ""},
    {"info", "timeline", {"yaml", "JSON"}, "", "x"},
    {"unwind", "output", {"-"}, "", "x"},
    {"record", "aggregate", {"x", "0ms", "61s", "1s,thread"}, "", "true"},
    {"record", "compression-level", {"x", "0x1", "23"}, "", "true"},
    {"record", "memory", {"x", "0", "5k", "5d5"}, "", "true"},
    {"record", "threads", {"bogus", "0/", "/0"}, "", "true"},
    {"record", "reader-cpus", {"eff", "0-", "3-1", ""}, "", "true"},
    {"record", "call-graph", {"bogus", "dwarf,65529", "dwarf,8k", "fp,0"}, "", "true"},
    {"record", "branch-filter", {"bogus", "any,,", "any,bogus"}, "", "true"},
    {"record", "intr-regs", {"BOGUS", "IP,,SP"}, "", "true"},
    {"record", "user-regs", {"BOGUS", "IP,"}, "", "true"},
    {"record", "synth", {"bogus", "no,task"}, "", "true"},
    {"record", "pfm-events", {"", ",", "{", "{}"}, "", "true"},
    {"record", "preset", {"x", "", "sched,lock"}, "", "true"},
    {"record", "event", {"bogus", "cs:", "{cs", "cs/period=x/"}, "", "true"},
    {"record", "filter", {"a"}, "-e cs", "true"},
    {"record", "clockid", {"bogus", "99999999999", "-1"}, "", "true"},
    {"record", "delay", {"x", "20-10", "10-20,15-30", "-5"}, "", "true"},
    {"record", "switch-output", {"x", "0", "1x"}, "", "true"},
    {"record", "pid", {"x", "0", "1,,2", "99999999999"}, "", "true"},
    {"record", "tid", {"x", "0", "1,,2"}, "", "true"},
    {"record", "uid", {"no-such-user", "-1"}, "", "true"},
    {"record", "cgroup", {"/no/such/cgroup"}, "-a -e cs", "true"},
    {"record", "max-loss", {"x", "-1", "101", "0.00001"}, "", "true"},
    {"record", "setup-filter", {"bogus", "Pin"}, "", ""},
    {"record", "on-full", {"bogus"}, "--keep-free 1G", "true"},
    {"record", "shed", {"bogus", "stack", "stacks,cpus"}, "", "true"},
    {"record", "on-rotate", {" "}, "--switch-output", "true"},
    {"record", "snapshot-on", {"bogus", "cs:"}, "-M 1M", "true"},
    {"record", "switch-output-event", {"bogus", "cs:"}, "", "true"},
    {"record", "snapshot", {"x", "ee", "e0", "16385G"}, "", "true"},
    {"record", "aux-sample", {"x", "0", "61441", "e"}, "", "true"},
    {"record", "status", {"x", "json:", "json:x", "json:2147483648"}, "", "true"},
    {"record", "unit", {"no-such-unit", ",", "a,,b"}, "-e cs", "true"},
    {"record", "container", {"no-such-container", "a,", ",b"}, "-e cs", "true"},
    {"record", "metrics", {"x", "d/.prom", "x.prom,", "x.prom,cpu"}, "", "true"},
    {"record", "control", {"x", "fd:x", "fifo:", "fd:1,2,3"}, "", "true"},
};

/* Options that take every text: names, of which what is there decides. */
static const struct {
    const char *command, *option;
} any_text[] = {
    {"bench drain", "output"},  {"bench drain", "sweep"}, {"bench drain", "fail-below"}, {"dump", "event"},
    {"dump", "input"},          {"info", "input"},        {"record", "buildid-dir"},     {"record", "clang-path"},
    {"record", "clang-opt"},    {"record", "vmlinux"},    {"record", "output"},          {"record", "report"},
    {"recover", "input"},       {"recover", "output"},    {"report", "event"},           {"report", "input"},
    {"report", "output"},       {"report", "symfs"},      {"verify", "input"},           {"bench storm", "perf"},
    {"unwind", "input"},        {"unwind", "symfs"},      {"bench storm", "output"},     {"record", "guestkallsyms"},
    {"record", "guestmodules"}, {"record", "guestmount"},
};

static void expect_bad_text(const struct weir_command *command, const struct weir_option *option)
{
    if (!option->argument || has_grammar_of_kind(option))
        return;
    bool is_tried = false, is_any = false;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(foreign); i++)
        is_tried |= strcmp(foreign[i].command, command->name) == 0 && strcmp(foreign[i].option, option->long_name) == 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(any_text); i++)
        is_any |= strcmp(any_text[i].command, command->name) == 0 && strcmp(any_text[i].option, option->long_name) == 0;
    expect(is_tried != is_any,
           "%s --%s: a text that it refuses belongs into `foreign`; or, if it takes every one, "
           "its name into `any_text`",
           command->name, option->long_name);
}

static void every_option_with_an_argument_has_a_text_that_it_refuses(void)
{
    for_each_row(expect_bad_text);
}

static const struct weir_command *find_command(const char *name)
{
    const struct weir_command *command;
    for (size_t c = 0; (command = weir_cli_command(c)); c++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}

static void text_of_another_grammar_is_a_usage_error(void)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(foreign); i++) {
        const struct weir_command *command = find_command(foreign[i].command);
        bool negated;
        need(command, foreign[i].command);
        need(weir_option_find(&command->options, foreign[i].option, &negated), foreign[i].option);
        for (size_t t = 0; t < WEIR_ARRAY_COUNT(foreign[i].texts) && foreign[i].texts[t]; t++) {
            char line[LINE_BYTES];
            snprintf(line, sizeof(line), "%s %s --%s='%s' %s", foreign[i].command, foreign[i].before, foreign[i].option,
                     foreign[i].texts[t], foreign[i].behind);
            expect_refused(line);
        }
    }
}

/* With --dry-run a command does nothing, whatever it takes. */
static void try_odd_texts(const struct weir_command *command, const struct weir_option *option)
{
    static const char *const texts[] = {"=",   ",",     "/",      ":",     "-",
                                        "{",   "'*'",   "%",      "\\",    "'a b'",
                                        "0-,", "no-no", "bogus,", "@/@:@", "999999999999999999999"};
    bool negated, has_grammar = option->kind == WEIR_OPTION_TEXT || option->kind == WEIR_OPTION_TEXT_LIST ||
                                option->kind == WEIR_OPTION_CUSTOM;
    if (!has_grammar || !option->argument || !weir_option_find(&command->options, "dry-run", &negated))
        return;
    char line[LINE_BYTES];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        snprintf(line, sizeof(line), "%s --quiet --dry-run --%s=%s -- true", command->name, option->long_name,
                 texts[i]);
        expect_taken_or_refused(line);
    }
}

static void odd_text_is_taken_or_refused_with_a_line_and_a_hint(void)
{
    for_each_row(try_odd_texts);
}

static void options_that_contradict_each_other_are_usage_errors(void)
{
    static const struct {
        const char *one, *other; /* long options of record */
        const char *arguments;
    } pairs[] = {
        {"freq", "count", "-F 99 -c 5"},
        {"all-kernel", "all-user", "--all-kernel --all-user"},
        {"append", "force", "-A -f"},
        {"append", "output", "-A -o -"},
        {"append", "switch-output", "-A --switch-output"},
        {"append", "compression-level", "-A -z"},
        {"memory", "overwrite", "-M 1M --overwrite"},
        {"snapshot-on-exit", "memory", "--snapshot-on-exit"},
        {"switch-output", "output", "--switch-output -o -"},
        {"timestamp-filename", "output", "--timestamp-filename -o -"},
    };
    const struct weir_command *record = weir_cli_command(0);
    need(strcmp(record->name, "record") == 0, record->name);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(pairs); i++) {
        bool negated;
        if (!weir_option_find(&record->options, pairs[i].one, &negated) ||
            !weir_option_find(&record->options, pairs[i].other, &negated))
            continue;
        char line[LINE_BYTES];
        snprintf(line, sizeof(line), "record %s true", pairs[i].arguments);
        expect_refused(line);
    }
}

int main(void)
{
    const char *parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(folder, sizeof(folder), "%s/weir-sweep-XXXXXX", parent);
    need(mkdtemp(folder), "no folder");
    missing_argument_is_a_usage_error();
    empty_argument_is_a_usage_error();
    argument_that_is_not_taken_is_a_usage_error();
    malformed_argument_is_a_usage_error();
    number_beyond_its_range_is_a_usage_error();
    every_option_with_an_argument_has_a_text_that_it_refuses();
    text_of_another_grammar_is_a_usage_error();
    odd_text_is_taken_or_refused_with_a_line_and_a_hint();
    options_that_contradict_each_other_are_usage_errors();
    expect(rmdir(folder) == 0, "something was left behind in %s", folder);
    return failed > 0;
}
