/*
 * Completion for bash (bash(1), "Programmable Completion"). Works without the bash-completion package; with it, the
 * words of a workload are completed as they would be without `weir record` before them.
 *
 * The script keeps lists of words for the command that is typed. There is a list of all options, and lists of the
 * options that need an argument or may have one. Other lists hold the options whose argument is a file, a process or a
 * list of events. Options with known values stand as `option:value value;`. bash cuts `--freq=99` into three words, the
 * middle one "=", unless COMP_WORDBREAKS says otherwise, and `sched:sched_switch` likewise. Pure; any thread.
 */
#include <string.h>

#include "cli/completion_internal.h"

static const char head[] =
    "_weir_offer() { mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\"); }\n"
    "\n"
    "# Whether the next word is the argument of an option, or of the last letter of a bundle.\n"
    "_weir_needs_next() {\n"
    "    local word=$1 at letter\n"
    "    if [[ \" $needs \" == *\" $word \"* ]]; then return 0; fi\n"
    "    if [[ $word != -[!-]* ]]; then return 1; fi\n"
    "    for ((at = 1; at < ${#word}; at++)); do\n"
    "        letter=-${word:at:1}\n"
    "        if [[ \" $needs \" == *\" $letter \"* ]]; then return $((at + 1 < ${#word})); fi\n"
    "        if [[ \" $may \" == *\" $letter \"* ]]; then return 1; fi\n"
    "    done\n"
    "    return 1\n"
    "}\n"
    "\n"
    "# Where the workload begins: behind --, or at the first word that is neither option nor argument.\n"
    "_weir_find_workload() {\n"
    "    local word\n"
    "    for ((start = first; start < COMP_CWORD; start++)); do\n"
    "        word=${COMP_WORDS[start]}\n"
    "        case $word in\n"
    "        --) start=$((start + 1)) && return ;;\n"
    "        -*) ;;\n"
    "        *) return ;;\n"
    "        esac\n"
    "        if [ \"${COMP_WORDS[start + 1]-}\" = = ]; then\n"
    "            start=$((start + 2))\n"
    "        elif _weir_needs_next \"$word\"; then\n"
    "            start=$((start + 1))\n"
    "        fi\n"
    "        while [ \"${COMP_WORDS[start + 1]-}\" = : ]; do start=$((start + 2)); done\n"
    "    done\n"
    "    start=$((COMP_CWORD + 1))\n"
    "}\n"
    "\n"
    "# The last of a list of events, in braces or not; what stands before it stays.\n"
    "_weir_complete_event() {\n"
    "    local typed=$cur before=${cur%\"${cur##*[,\\{]}\"}\n"
    "    cur=${cur#\"$before\"}\n"
    "    _weir_offer -P \"$before\" -W \"$(weir list --raw-dump 2>/dev/null)\"\n"
    "    if [[ $COMP_WORDBREAKS == *:* ]]; then COMPREPLY=(\"${COMPREPLY[@]#\"${typed%\"${typed##*:}\"}\"}\"); fi\n"
    "}\n"
    "\n"
    "# The last of a list of words; what stands before it stays.\n"
    "_weir_complete_list() {\n"
    "    local before=${cur%\"${cur##*,}\"}\n"
    "    cur=${cur##*,}\n"
    "    _weir_offer -P \"$before\" -W \"$1\"\n"
    "}\n"
    "\n"
    "_weir_complete_argument() {\n"
    "    local option=$1 known\n"
    "    if [[ \" $files \" == *\" $option \"* ]]; then\n"
    "        _weir_offer -f\n"
    "    elif [[ \" $processes \" == *\" $option \"* ]]; then\n"
    "        _weir_offer -W \"$(cd /proc && echo [0-9]*)\"\n"
    "    elif [[ \" $events \" == *\" $option \"* ]]; then\n"
    "        _weir_complete_event\n"
    "    elif [[ \";$values\" == *\";$option:\"* ]]; then\n"
    "        known=\";$values\"\n"
    "        known=${known#*\";$option:\"}\n"
    "        _weir_complete_list \"${known%%;*}\"\n"
    "    elif [[ \" $users \" == *\" $option \"* ]]; then\n"
    "        _weir_offer -u\n"
    "    elif [[ \" $cgroups \" == *\" $option:\"* ]]; then\n"
    "        known=\" $cgroups \"\n"
    "        known=${known#*\" $option:\"}\n"
    "        _weir_complete_list \"$(_weir_cgroups \"${known%% *}\")\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "_weir() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} first=2 start\n"
    "    local options='' needs='' may='' files='' processes='' events='' values='' users='' cgroups='' rest='' "
    "attached=false\n"
    "    COMPREPLY=()\n";

static const char tail[] =
    "    esac\n"
    "    if ((COMP_CWORD < first)); then\n"
    "        _weir_offer -W \"$options\"\n"
    "        return\n"
    "    fi\n"
    "    if [ \"$cur\" = = ]; then cur='' attached=true; fi\n"
    "    local at=$((COMP_CWORD - 1))\n"
    "    if [ \"$cur\" = : ]; then cur=$prev: at=$((at - 1)) prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
    "    while [ \"$prev\" = : ] && ((at > first)); do\n"
    "        cur=${COMP_WORDS[at - 1]}:$cur at=$((at - 2))\n"
    "        prev=${COMP_WORDS[at]}\n"
    "    done\n"
    "    if [ \"$prev\" = = ]; then prev=${COMP_WORDS[at - 1]} attached=true; fi\n"
    "    _weir_find_workload\n"
    "    if ((start < COMP_CWORD)) && [ \"$rest\" = workload ] && declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"$start\"\n"
    "    elif ((start == COMP_CWORD)) && [ \"$rest\" = workload ] && [[ $cur != -* ]]; then\n"
    "        _weir_offer -c\n"
    "    elif \"$attached\" || _weir_needs_next \"$prev\"; then\n"
    "        if [[ $prev == -[!-]* ]]; then prev=-${prev: -1}; fi\n"
    "        _weir_complete_argument \"$prev\"\n"
    "    elif ((start > COMP_CWORD)) && [[ $cur == -* ]]; then\n"
    "        _weir_offer -W \"$options\"\n"
    "    elif [ \"$rest\" = workload ] && ((start > COMP_CWORD)); then\n"
    "        _weir_offer -c\n"
    "    elif [ \"$rest\" = commands ]; then\n"
    "        _weir_offer -W \"$commands\"\n"
    "    elif [ \"$rest\" = folders ]; then\n"
    "        _weir_offer -d\n"
    "    else\n"
    "        _weir_offer -f\n"
    "    fi\n"
    "}\n"
    "complete -o bashdefault -F _weir weir\n";

static void append_options(struct weir_buf *text, const struct weir_option_table *table)
{
    char spelling[WEIR_OPTION_TEXT_BYTES];
    const char *between = "";
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (option->short_name) {
            weir_buf_printf(text, "%s-%c", between, option->short_name);
            between = " ";
        }
        for (enum weir_option_spelling s = 0; s < WEIR_OPTION_SPELLING_COUNT; s++) {
            if (!weir_option_format_spelling(option, s, spelling))
                continue;
            weir_buf_printf(text, "%s--%s", between, spelling);
            between = " ";
        }
    }
}

static bool needs_argument(const struct weir_option *option)
{
    return option->argument && !option->argument_optional;
}

static bool may_have_argument(const struct weir_option *option)
{
    return option->argument && option->argument_optional;
}

/* The spellings of the options that pass the test. */
static void append_chosen(struct weir_buf *text, const char *variable, const struct weir_option_table *table,
                          bool (*chosen)(const struct weir_option *option))
{
    weir_buf_printf(text, "        %s='", variable);
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (!chosen(option))
            continue;
        if (option->short_name)
            weir_buf_printf(text, " -%c", option->short_name);
        if (option->long_name)
            weir_buf_printf(text, " --%s", option->long_name);
    }
    weir_buf_printf(text, "'\n");
}

static void append_values(struct weir_buf *text, const struct weir_option_table *table)
{
    weir_buf_printf(text, "        values='");
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        struct weir_buf values = WEIR_BUF_INIT;
        weir_completion_append_values(&values, option);
        if (values.used > 0 && option->short_name)
            weir_buf_printf(text, "-%c:%s;", option->short_name, weir_buf_str(&values));
        if (values.used > 0 && option->long_name)
            weir_buf_printf(text, "--%s:%s;", option->long_name, weir_buf_str(&values));
        weir_buf_fini(&values);
    }
    weir_buf_printf(text, "'\n");
}

/* The spellings of options whose argument lists cgroups, with their kind. */
static void append_cgroups(struct weir_buf *text, const struct weir_option_table *table)
{
    weir_buf_printf(text, "        cgroups='");
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        const char *kind = weir_completion_cgroups(option);
        if (kind && option->short_name)
            weir_buf_printf(text, " -%c:%s", option->short_name, kind);
        if (kind && option->long_name)
            weir_buf_printf(text, " --%s:%s", option->long_name, kind);
    }
    weir_buf_printf(text, "'\n");
}

static void append_command(struct weir_buf *text, const struct weir_command *command)
{
    const char *blank = strchr(command->name, ' ');
    weir_buf_printf(text, "    \"%s%s\"%s)\n        first=%d\n        options='", command->name, blank ? "" : " ",
                    blank ? "" : "*", blank ? 3 : 2);
    append_options(text, &command->options);
    weir_buf_printf(text, "'\n");
    append_chosen(text, "needs", &command->options, needs_argument);
    append_chosen(text, "may", &command->options, may_have_argument);
    append_chosen(text, "files", &command->options, weir_completion_takes_file);
    append_chosen(text, "processes", &command->options, weir_completion_takes_process);
    append_chosen(text, "events", &command->options, weir_completion_takes_events);
    append_chosen(text, "users", &command->options, weir_completion_takes_user);
    append_cgroups(text, &command->options);
    append_values(text, &command->options);
    if (weir_completion_has_workload(command))
        weir_buf_printf(text, "        rest=workload\n");
    else if (weir_completion_has_folders(command))
        weir_buf_printf(text, "        rest=folders\n");
    else if (weir_completion_has_commands(command))
        weir_buf_printf(text, "        rest=commands\n");
    weir_buf_printf(text, "        ;;\n");
}

/* The first words of commands that have two. Each with the second words that may follow. */
static void append_groups(struct weir_buf *text, const struct weir_completion *completion)
{
    for (size_t i = 0; i < completion->count; i++) {
        const char *name = completion->commands[i]->name, *blank = strchr(name, ' ');
        bool is_first = blank != NULL;
        for (size_t j = 0; blank && j < i; j++)
            is_first = is_first && strncmp(completion->commands[j]->name, name, (size_t)(blank - name + 1)) != 0;
        if (!is_first)
            continue;
        weir_buf_printf(text, "    \"%.*s\"*) first=3 options='", (int)(blank - name + 1), name);
        for (size_t j = i; j < completion->count; j++) {
            const char *other = completion->commands[j]->name;
            if (strncmp(other, name, (size_t)(blank - name + 1)) == 0)
                weir_buf_printf(text, "%s%s", j > i ? " " : "", other + (blank - name) + 1);
        }
        weir_buf_printf(text, "' ;;\n");
    }
}

void weir_completion_bash(struct weir_buf *text, const struct weir_completion *completion)
{
    struct weir_buf commands = WEIR_BUF_INIT;
    for (size_t i = 0; i < completion->count; i++) {
        const char *name = completion->commands[i]->name;
        weir_buf_printf(&commands, "%s%.*s", i > 0 ? " " : "", (int)strcspn(name, " "), name);
    }
    weir_buf_printf(text, "_weir_cgroups() {\n    local hierarchy\n%s}\n\n", weir_completion_cgroup_script);
    weir_buf_printf(text, "%s    local commands='%s'\n    case \"${COMP_WORDS[1]-} ${COMP_WORDS[2]-}\" in\n", head,
                    weir_buf_str(&commands));
    for (size_t i = 0; i < completion->count; i++)
        append_command(text, completion->commands[i]);
    append_groups(text, completion);
    weir_buf_printf(text, "    *) options=\"$commands ");
    append_options(text, completion->top);
    weir_buf_printf(text, "\" ;;\n%s", tail);
    weir_buf_fini(&commands);
}
