/*
 * The completion scripts in the shells that they are for: each spelling of each option of each command, and the
 * commands themselves, are offered where they may stand. A shell that is not installed is skipped by name, but for
 * bash.
 *
 * bash and fish are asked for their candidates. What zsh offers is asked of its function _arguments, which is replaced
 * by one that prints what it is given.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/option.h"

#define COMMAND_BYTES (4 * PATH_MAX)

/* Runs a script in a shell, in whose environment $completion is the file with the completion script, and $name a
 * command's; what it prints, in lines. */
static void run(const char *shell, const char *name, const char *script, struct weir_buf *lines)
{
    const char *program = getenv("WEIR_PROGRAM");
    cr_assert_not_null(program, "WEIR_PROGRAM is not set: run the test with ctest");
    char command[COMMAND_BYTES];
    snprintf(command, sizeof(command),
             "completion=$(mktemp) name='%s'; trap 'rm \"$completion\"' EXIT; export completion name; "
             "'%s' help --completion=%s >\"$completion\" && %s -c '%s' 2>&1",
             name, program, shell, shell, script);
    FILE *stream = popen(command, "re");
    cr_assert_not_null(stream);
    char part[COMMAND_BYTES];
    weir_buf_printf(lines, "\n");
    for (size_t bytes; (bytes = fread(part, 1, sizeof(part), stream)) > 0;)
        weir_buf_append(lines, part, bytes);
    int status = pclose(stream);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: wait status %#x: %s", shell, status,
              weir_buf_str(lines));
}

static bool is_installed(const char *shell)
{
    char command[NAME_MAX];
    snprintf(command, sizeof(command), "command -v %s >/dev/null", shell);
    return system(command) == 0; /* NOLINT(cert-env33-c): a constant name, in a test */
}

/* Whether a line begins with word and one of the characters in after. */
static bool has_line(struct weir_buf *lines, const char *word, const char *after)
{
    char wanted[WEIR_OPTION_TEXT_BYTES + 4];
    snprintf(wanted, sizeof(wanted), "\n%s", word);
    const char *text = weir_buf_str(lines);
    for (const char *at = strstr(text, wanted); at; at = strstr(at + 1, wanted)) {
        if (strchr(after, at[strlen(wanted)]))
            return true;
    }
    return false;
}

/* after: what may follow an option's name in the lines. */
static void expect_options(const char *shell, const struct weir_command *command, struct weir_buf *lines,
                           const char *after)
{
    for (size_t i = 0; weir_option_at(&command->options, i); i++) {
        const struct weir_option *option = weir_option_at(&command->options, i);
        char spelling[WEIR_OPTION_TEXT_BYTES], word[WEIR_OPTION_TEXT_BYTES + 2];
        if (option->short_name) {
            snprintf(word, sizeof(word), "-%c", option->short_name);
            cr_expect(has_line(lines, word, after), "%s does not complete 'weir %s %s'", shell, command->name, word);
        }
        for (enum weir_option_spelling s = 0; s < WEIR_OPTION_SPELLING_COUNT; s++) {
            if (!weir_option_format_spelling(option, s, spelling))
                continue;
            snprintf(word, sizeof(word), "--%s", spelling);
            cr_expect(has_line(lines, word, after), "%s does not complete 'weir %s %s'", shell, command->name, word);
        }
    }
}

static void expect_options_of_all(const char *shell, const char *script, const char *after)
{
    const struct weir_command *command;
    for (size_t c = 0; (command = weir_cli_command(c)); c++) {
        struct weir_buf lines = WEIR_BUF_INIT;
        run(shell, command->name, script, &lines);
        expect_options(shell, command, &lines, after);
        weir_buf_fini(&lines);
    }
}

static void expect_lines(const char *shell, const char *script, const char *const *words)
{
    struct weir_buf lines = WEIR_BUF_INIT;
    run(shell, "", script, &lines);
    for (; *words; words++)
        cr_expect(has_line(&lines, *words, "\n\t"), "%s: no '%s' in: %s", script, *words, weir_buf_str(&lines));
    weir_buf_fini(&lines);
}

/* What a command takes behind its options: no command of weir where that is no name of one. */
static void expect_rest(const char *shell, const char *script, const char *word, bool offered)
{
    struct weir_buf lines = WEIR_BUF_INIT;
    run(shell, "", script, &lines);
    cr_expect_eq(has_line(&lines, word, "\n\t/"), offered, "%s: %s: %s", script, word, weir_buf_str(&lines));
    weir_buf_fini(&lines);
}

Test(completion, bash_completes_every_option)
{
    expect_options_of_all("bash",
                          "source \"$completion\"; COMP_WORDS=(weir $name -); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
                          "_weir; printf \"%s\\n\" \"${COMPREPLY[@]}\"",
                          "\n");
}

#define BASH_REPLY(words)                                                                                   \
    "source \"$completion\"; COMP_WORDS=(" words "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _weir; printf " \
    "\"%s\\n\" \"${COMPREPLY[@]}\""

static const char *const first_words[] = {"record", "bench", "help", NULL};
static const char *const second_words[] = {"drain", NULL};

Test(completion, bash_completes_commands)
{
    expect_lines("bash", BASH_REPLY("weir \"\""), first_words);
    expect_lines("bash", BASH_REPLY("weir bench \"\""), second_words);
    expect_lines("bash", BASH_REPLY("weir help \"\""), first_words);
}

Test(completion, bash_completes_folders)
{
    expect_rest("bash", BASH_REPLY("weir doctor /pro"), "/proc", true);
    expect_rest("bash", BASH_REPLY("weir doctor \"\""), "record", false);
    expect_rest("bash", BASH_REPLY("weir bench drain \"\""), "record", false);
}

Test(completion, bash_completes_arguments)
{
    static const char *const max[] = {"max", NULL}, *const shells[] = {"bash", "zsh", "fish", NULL},
                             *const init_process[] = {"1", NULL}, *const folder[] = {"/proc", NULL},
                             *const option[] = {"--freq", NULL};
    expect_lines("bash", BASH_REPLY("weir record -F \"\""), max);
    expect_lines("bash", BASH_REPLY("weir record -agF \"\""), max);
    expect_lines("bash", BASH_REPLY("weir record -agF 99 --fre"), option);
    expect_lines("bash", BASH_REPLY("weir record -agF99 --fre"), option);
    expect_lines("bash", BASH_REPLY("weir record -gIF --fre"), option); /* -I may have an argument */
    expect_lines("bash", BASH_REPLY("weir record --freq = m"), max);
    expect_lines("bash", BASH_REPLY("weir record --freq ="), max);
    expect_lines("bash", BASH_REPLY("weir help --completion \"\""), shells);
    expect_lines("bash", BASH_REPLY("weir record -p 1"), init_process);
    expect_lines("bash", BASH_REPLY("weir record -a -o /pro"), folder);
}

/* With weir as the shell finds it. */
#define WITH_WEIR "weir() { \"$WEIR_PROGRAM\" \"$@\"; }; "

Test(completion, bash_completes_events)
{
    static const char *const clocks[] = {"cpu-clock", NULL}, *const behind_comma[] = {"cs,cpu-clock", NULL},
                             *const in_braces[] = {"{cs,cpu-clock", NULL}, *const sleep[] = {"sleep", NULL};
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -e cpu-c"), clocks);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record --event = cpu-c"), clocks);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -a -e cs,cpu-c"), behind_comma);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -a -e \"{cs,cpu-c\""), in_braces);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -e cs : u -a sle"), sleep);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -e cs : u,sched : sched_switch sle"), sleep);
}

/* bash replaces what stands behind the colon only. */
Test(completion, bash_completes_tracepoints)
{
    if (access("/sys/kernel/tracing/events/sched", R_OK) != 0)
        cr_skip_test("needs tracefs: mount -t tracefs nodev /sys/kernel/tracing");
    static const char *const name[] = {"sched_switch", NULL}, *const whole[] = {"sched:sched_switch", NULL};
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -e sched : sched_sw"), name);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -a -e cs,sched : sched_sw"), name);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -e sched : sched_waking,sched : sched_sw"), name);
    expect_lines("bash", WITH_WEIR BASH_REPLY("weir record -e sched :"), name);
    expect_lines("bash", WITH_WEIR "COMP_WORDBREAKS=; " BASH_REPLY("weir record -e sched:sched_sw"), whole);
}

Test(completion, fish_completes_events)
{
    if (!is_installed("fish"))
        cr_skip_test("needs fish");
    static const char *const clocks[] = {"cpu-clock", NULL}, *const behind_comma[] = {"cs,cpu-clock", NULL};
    const char *with_weir = "function weir; $WEIR_PROGRAM $argv; end; source $completion; ";
    char script[COMMAND_BYTES];
    snprintf(script, sizeof(script), "%s complete -C \"weir record -e cpu-c\"", with_weir);
    expect_lines("fish", script, clocks);
    snprintf(script, sizeof(script), "%s complete -C \"weir record -e cs,cpu-c\"", with_weir);
    expect_lines("fish", script, behind_comma);
}

Test(completion, zsh_completes_events)
{
    if (!is_installed("zsh"))
        cr_skip_test("needs zsh");
    static const char *const clocks[] = {"cpu-clock", "context-switches", NULL};
    expect_lines("zsh",
                 WITH_WEIR "compdef() { :; }; compset() { :; }; compadd() { print -rl -- ${(P)2}; }; "
                           "source $completion; _weir_events",
                 clocks);
}

Test(completion, bash_completes_the_workload)
{
    static const char *const sleep[] = {"sleep", NULL}, *const none[] = {"", NULL};
    expect_lines("bash", BASH_REPLY("weir record -a sle"), sleep);
    expect_lines("bash", BASH_REPLY("weir record -F 99 -- sle"), sleep);
    expect_lines("bash", BASH_REPLY("weir record --freq = 99 sle"), sleep);
    expect_lines("bash", BASH_REPLY("weir record -F 99 ls --freq"), none);
}

Test(completion, fish_completes_every_option)
{
    if (!is_installed("fish"))
        cr_skip_test("needs fish");
    expect_options_of_all("fish", "source $completion; complete -C \"weir $name -\"", "\t\n");
}

Test(completion, fish_completes_commands)
{
    if (!is_installed("fish"))
        cr_skip_test("needs fish");
    static const char *const max[] = {"max", NULL};
    expect_lines("fish", "source $completion; complete -C \"weir \"", first_words);
    expect_lines("fish", "source $completion; complete -C \"weir bench \"", second_words);
    expect_lines("fish", "source $completion; complete -C \"weir record -F \"", max);
    expect_lines("fish", "source $completion; complete -C \"weir help \"", first_words);
    expect_lines("fish", "source $completion; complete -C \"weir help bench \"", second_words);
    expect_rest("fish", "source $completion; complete -C \"weir help \"", "drain", false);
    expect_rest("fish", "source $completion; complete -C \"weir doctor \"", "record", false);
    expect_rest("fish", "source $completion; complete -C \"weir doctor /pro\"", "/proc", true);
}

#define ZSH_SPECS(words)                                                           \
    "compdef() { :; }; _arguments() { for spec; do spec=${spec#\\*}; print -r -- " \
    "${spec#\\(*\\)}; done; }; source $completion; words=(weir " words "); CURRENT=${#words}; _weir"

Test(completion, zsh_completes_every_option)
{
    if (!is_installed("zsh"))
        cr_skip_test("needs zsh");
    expect_options_of_all("zsh", ZSH_SPECS("${=name} -"), "[=+-");
}

Test(completion, zsh_completes_folders)
{
    if (!is_installed("zsh"))
        cr_skip_test("needs zsh");
    expect_rest("zsh", ZSH_SPECS("doctor \"\""), ":folder:_files -", true);
    expect_rest("zsh", ZSH_SPECS("bench drain \"\""), ":command:_weir_commands", false);
    expect_rest("zsh", ZSH_SPECS("help \"\""), ":command:_weir_commands", true);
}

/* ---- values ---- */

static void expect_values(const char *shell, const char *script)
{
    static const char *const wanted[] = {"monotonic_raw", "any,ind_call", "any,ind_jmp", "dwarf", "root"};
    struct weir_buf lines = WEIR_BUF_INIT;
    if (is_installed(shell))
        run(shell, "record", script, &lines);
    for (size_t i = 0; lines.used > 0 && i < WEIR_ARRAY_COUNT(wanted); i++)
        cr_expect(has_line(&lines, wanted[i], "\n\t"), "%s does not complete %s: %s", shell, wanted[i],
                  weir_buf_str(&lines));
    weir_buf_fini(&lines);
}

Test(completion, values_of_arguments_are_offered, .timeout = 60)
{
    expect_values("bash", "source \"$completion\"; for line in \"-k monotonic_\" \"-j any,ind\" \"--call-graph d\" "
                          "\"-u roo\"; do COMP_WORDS=(weir record $line) COMP_CWORD=3; _weir; "
                          "printf \"%s\\n\" \"${COMPREPLY[@]}\"; done");
    expect_values("fish", "source $completion; for line in \"-k monotonic_\" \"-j any,ind\" \"--call-graph d\" "
                          "\"-u roo\"; complete -C \"weir record $line\"; end");
}
