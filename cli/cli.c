/*
 * The program: binds commands to what they do, and the words that are no command's (--version, --help).
 *
 * A command's name is one or two words ("record", "bench drain"). Main thread.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/directory.h"
#include "base/suggest.h"
#include "cli/answer.h"
#include "cli/bench_command.h"
#include "cli/bench_options.h"
#include "cli/bench_storm.h"
#include "cli/completion.h"
#include "cli/doctor_command.h"
#include "cli/doctor_options.h"
#include "cli/dump_command.h"
#include "cli/dump_options.h"
#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/help_options.h"
#include "cli/inspect_command.h"
#include "cli/inspect_options.h"
#include "cli/list_command.h"
#include "cli/list_options.h"
#include "cli/man.h"
#include "cli/record_command.h"
#include "cli/record_options.h"
#include "cli/recover_command.h"
#include "cli/recover_options.h"
#include "cli/report_command.h"
#include "cli/report_options.h"
#include "cli/status_command.h"
#include "cli/status_options.h"
#include "cli/top_command.h"
#include "cli/unwind_command.h"
#include "cli/unwind_options.h"
#include "cli/version_command.h"
#include "cli/version_options.h"
#include "engine/kernel/privileges.h"

#define STACK_BYTES_MIN (256u << 10)
#define NAME_BYTES      128

static int help_main(const struct weir_invocation *invocation);

static const struct {
    const struct weir_command *command;
    int (*run)(const struct weir_invocation *invocation);
} bindings[] = {
    {&weir_record_command, weir_record_main},
    {&weir_dump_command, weir_dump_main},
    {&weir_info_command, weir_info_main},
    {&weir_verify_command, weir_verify_main},
    {&weir_status_command, weir_status_main},
    {&weir_top_command, weir_top_main},
    {&weir_list_command, weir_list_main},
    {&weir_recover_command, weir_recover_main},
    {&weir_doctor_command, weir_doctor_main},
    {&weir_bench_drain_command, weir_bench_drain_main},
    {&weir_bench_storm_command, weir_bench_storm_main},
    {&weir_report_command, weir_report_main},
    {&weir_unwind_command, weir_unwind_main},
    {&weir_version_command, weir_version_main},
    {&weir_help_command, help_main},
};

#define BINDING_COUNT  WEIR_ARRAY_COUNT(bindings)
#define RECORD_BINDING 0

const struct weir_command *weir_cli_command(size_t index)
{
    return index < BINDING_COUNT ? bindings[index].command : NULL;
}

static void list_commands(const struct weir_command *commands[BINDING_COUNT])
{
    for (size_t i = 0; i < BINDING_COUNT; i++)
        commands[i] = bindings[i].command;
}

/* shell: one that there is a script for. */
static int show_completion(const struct weir_print *print, const char *shell)
{
    const struct weir_command *commands[BINDING_COUNT];
    list_commands(commands);
    struct weir_buf text = WEIR_BUF_INIT;
    weir_completion_text(&text, shell, &weir_top_options, commands, BINDING_COUNT);
    return weir_answer_text(print, &text);
}

/* All commands, or the man page of all. */
static int show_overview(const struct weir_print *print, bool man)
{
    const struct weir_command *commands[BINDING_COUNT];
    list_commands(commands);
    struct weir_buf text = WEIR_BUF_INIT;
    if (man)
        weir_man_overview(&text, commands, BINDING_COUNT);
    else
        weir_help_overview(&text, commands, BINDING_COUNT);
    return weir_answer_text(print, &text);
}

/* How many words of words are the whole of name; 0: it is another command. */
static size_t match_name(const char *name, char *const *words)
{
    size_t count = 0;
    for (;; name++) {
        size_t length = strcspn(name, " ");
        if (!words[count] || strlen(words[count]) != length || strncmp(words[count], name, length) != 0)
            return 0;
        count++;
        name += length;
        if (*name == '\0')
            return count;
    }
}

/* Commands of perf that read recordings, and that weir does not have. */
static const char *const perf_readers[] = {
    "annotate", "archive", "buildid-list", "c2c", "data",  "diff",   "evlist",    "inject", "kmem",
    "kvm",      "kwork",   "lock",         "mem", "sched", "script", "timechart", "trace",
};

static bool is_perf_reader(const char *word)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(perf_readers); i++) {
        if (strcmp(word, perf_readers[i]) == 0)
            return true;
    }
    return false;
}

static int fail_perf_command(const char *word, struct weir_error *err)
{
    bool reads = is_perf_reader(word);
    weir_error_set(err, -EINVAL, "weir has no command '%s'", word);
    if (reads)
        weir_error_hint(err, "perf reads what weir records: perf %s -i perf.data", word);
    else
        weir_error_hint(err, "weir records and does not count: perf %s", word);
    return -EINVAL;
}

/* Lists the commands whose names begin with the word and a blank. Returns how many. */
static size_t list_group(const char *word, const struct weir_command *commands[BINDING_COUNT])
{
    size_t length = strlen(word), count = 0;
    for (size_t i = 0; i < BINDING_COUNT; i++) {
        const char *name = bindings[i].command->name;
        if (strncmp(name, word, length) == 0 && name[length] == ' ')
            commands[count++] = bindings[i].command;
    }
    return count;
}

/* Whether the words are a group's alone ("bench", "bench --help"), which stands for the list of its commands. */
static bool is_group(char *const *words)
{
    const struct weir_command *commands[BINDING_COUNT];
    bool asks = !words[1] || ((strcmp(words[1], "-h") == 0 || strcmp(words[1], "--help") == 0) && !words[2]);
    return asks && list_group(words[0], commands) > 0;
}

static int show_group(const struct weir_print *print, const char *word)
{
    const struct weir_command *commands[BINDING_COUNT];
    struct weir_buf text = WEIR_BUF_INIT;
    size_t count = list_group(word, commands);
    weir_help_group(&text, word, commands, count);
    return weir_answer_text(print, &text);
}

/* words[0] is not NULL. -EINVAL with err that names the nearest command. */
static int fail_unknown_command(char *const *words, struct weir_error *err)
{
    if (is_perf_reader(words[0]) || strcmp(words[0], "stat") == 0)
        return fail_perf_command(words[0], err);
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, words[0]);
    const char *group_member = NULL;
    size_t length = strlen(words[0]);
    for (size_t i = 0; i < BINDING_COUNT; i++) {
        const char *name = bindings[i].command->name;
        weir_suggest_offer(&suggest, name);
        if (!group_member && strncmp(name, words[0], length) == 0 && name[length] == ' ')
            group_member = name;
    }

    const char *nearest = group_member ? group_member : weir_suggest_best(&suggest);
    if (group_member && words[1] && words[1][0] != '-')
        weir_error_set(err, -EINVAL, "unknown command '%s %s'", words[0], words[1]);
    else
        weir_error_set(err, -EINVAL, "unknown command '%s'", words[0]);
    if (nearest)
        weir_error_hint(err, "did you mean 'weir %s'? 'weir help' lists the commands", nearest);
    else
        weir_error_hint(err, "'weir help' lists the commands");
    return -EINVAL;
}

/* The command that words begin with, by its index; *used: its words. -EINVAL with err. */
static int find_command(char *const *words, size_t *used, struct weir_error *err)
{
    for (size_t i = 0; i < BINDING_COUNT; i++) {
        *used = match_name(bindings[i].command->name, words);
        if (*used > 0)
            return (int)i;
    }
    return fail_unknown_command(words, err);
}

static int fail_extra_word(const char *word, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "unexpected argument '%s'", word);
    weir_error_hint(err, "'weir help' takes the name of one command, or --completion alone");
    return -EINVAL;
}

static int help_main(const struct weir_invocation *invocation)
{
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    struct weir_help_arguments arguments = {0};
    size_t used;
    int result = weir_options_parse(&weir_help_command.options, &arguments, invocation->arguments, &used, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_help_command, invocation->arguments);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);

    char *const *words = invocation->arguments + used;
    if (arguments.completion && !words[0])
        return show_completion(&print, arguments.completion);
    if (!words[0])
        return show_overview(&print, arguments.man);
    if (!arguments.man && !arguments.completion && is_group(words))
        return show_group(&print, words[0]);
    int index = find_command(words, &used, &err);
    if (index >= 0 && (words[used] || arguments.completion))
        index = fail_extra_word(words[arguments.completion ? 0 : used], &err);
    if (index < 0)
        return weir_answer_refusal(&print, index, &err);
    if (!arguments.man)
        return weir_answer_help(&print, bindings[index].command, NULL);
    struct weir_buf text = WEIR_BUF_INIT;
    weir_man_text(&text, bindings[index].command);
    return weir_answer_text(&print, &text);
}

static int show_version(const struct weir_print *print)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_version_append(&text);
    return weir_answer_text(print, &text);
}

/*
 * A descriptor of 0 to 2 that the caller has closed would become an event's or the output's, and messages would be
 * written there. What is opened instead fails as the closed one would have: nobody is to believe that something was
 * read, or written to somebody. Close-on-exec: the workload gets it closed, as we did.
 */
static void occupy_standard_streams(void)
{
    static const int modes[] = {[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd] | O_CLOEXEC) != fd) /* the lowest that is free */
            return;
    }
}

static sigset_t ignored_signals(void)
{
    sigset_t ignored;
    sigemptyset(&ignored);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            sigaddset(&ignored, number);
    }
    return ignored;
}

/* Whether the program was called in the place of perf's recorder, as perf's exec path has it. */
static bool is_called_perf_record(const char *name)
{
    return strcmp(weir_path_name(name), "perf-record") == 0;
}

static int run_command(int index, const struct weir_invocation *given)
{
    struct weir_invocation invocation = *given;
    invocation.ignored = ignored_signals();
    return bindings[index].run(&invocation);
}

/* A stack that cannot grow ends in SIGSEGV, of which nothing says why. */
static int check_stack(struct weir_error *err)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= STACK_BYTES_MIN)
        return 0;
    weir_error_set(err, -ENOMEM, "the stack is limited to %llu KiB", (unsigned long long)(stack.rlim_cur >> 10));
    weir_error_hint(err, "weir needs %u KiB: ulimit -s 8192", STACK_BYTES_MIN >> 10);
    return -ENOMEM;
}

int weir_cli_main(int argc, char **argv)
{
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    occupy_standard_streams();
    if (check_stack(&err) < 0 || weir_privileges_check(&err) < 0) {
        weir_print_error(&print, &err);
        return WEIR_EXIT_FAILURE;
    }

    char *const *words = argc > 0 ? argv + 1 : argv;
    if (argc > 0 && is_called_perf_record(argv[0]))
        return run_command(RECORD_BINDING,
                           &(struct weir_invocation){.argv = argv, .argc = (size_t)argc, .arguments = words});
    struct weir_top_arguments arguments = {0};
    size_t used;
    int result = weir_options_parse(&weir_top_options, &arguments, words, &used, &err);
    if (result == WEIR_OPTIONS_HELP)
        return show_overview(&print, false);
    if (result == 0 && arguments.version)
        return show_version(&print);
    if (result == 0 && !words[used]) {
        result = weir_error_set(&err, -EINVAL, "no command given");
        weir_error_hint(&err, "'weir help' lists the commands");
    }
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);

    words += used;
    if (is_group(words))
        return show_group(&print, words[0]);
    int index = find_command(words, &used, &err);
    if (index < 0)
        return weir_answer_refusal(&print, index, &err);
    if (arguments.buildid_dir && index != RECORD_BINDING) {
        weir_error_set(&err, -EINVAL, "'weir %s' has no option '--buildid-dir'", bindings[index].command->name);
        weir_error_hint(&err, "it is for 'weir --buildid-dir DIR record'");
        return weir_answer_refusal(&print, -EINVAL, &err);
    }
    return run_command(index, &(struct weir_invocation){.argv = argv,
                                                        .argc = (size_t)argc,
                                                        .arguments = words + used,
                                                        .buildid_dir = arguments.buildid_dir});
}
