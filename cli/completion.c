/* The common part of the completion scripts of all shells. Pure; any thread. */
#include "cli/completion.h"

#include <ctype.h>
#include <string.h>

#include "base/bits.h"
#include "cli/completion_internal.h"
#include "cli/presets.h"
#include "engine/events/branch_filter.h"
#include "engine/events/sample_clock.h"

static const struct {
    const char *name;
    void (*append)(struct weir_buf *text, const struct weir_completion *completion);
} shells[] = {
    {"bash", weir_completion_bash},
    {"zsh", weir_completion_zsh},
    {"fish", weir_completion_fish},
};

static bool usage_has(const struct weir_command *command, const char *word)
{
    for (const char *const *usage = command->usages; *usage; usage++) {
        if (strstr(*usage, word))
            return true;
    }
    return false;
}

bool weir_completion_has_workload(const struct weir_command *command)
{
    return usage_has(command, "[--] COMMAND");
}

bool weir_completion_has_files(const struct weir_command *command)
{
    return usage_has(command, "FILE");
}

bool weir_completion_has_folders(const struct weir_command *command)
{
    return usage_has(command, "FOLDER");
}

bool weir_completion_has_commands(const struct weir_command *command)
{
    return usage_has(command, "[COMMAND]");
}

bool weir_completion_takes_file(const struct weir_option *option)
{
    return option->argument && strncmp(option->argument, "FILE", strlen("FILE")) == 0;
}

bool weir_completion_takes_process(const struct weir_option *option)
{
    return option->argument && strncmp(option->argument, "PID", strlen("PID")) == 0;
}

bool weir_completion_takes_events(const struct weir_option *option)
{
    return option->argument && strncmp(option->argument, "EVENT", strlen("EVENT")) == 0;
}

bool weir_completion_takes_user(const struct weir_option *option)
{
    return option->argument && strcmp(option->argument, "USER") == 0;
}

const char *weir_completion_cgroups(const struct weir_option *option)
{
    static const struct {
        const char *argument, *kind;
    } kinds[] = {{"CGROUP", "cgroup"}, {"UNIT", "unit"}, {"CONTAINER", "container"}};
    for (size_t i = 0; option->argument && i < WEIR_ARRAY_COUNT(kinds); i++) {
        if (strncmp(option->argument, kinds[i].argument, strlen(kinds[i].argument)) == 0)
            return kinds[i].kind;
    }
    return NULL;
}

/* The hierarchy is that of format/cgroup_mount.h. Of an id as many digits as docker shows. */
const char weir_completion_cgroup_script[] =
    "    hierarchy=$(awk '$3 == \"cgroup\" && $4 ~ /(^|,)perf_event(,|$)/ && !v1 { v1 = $2 }\n"
    "        $3 == \"cgroup2\" && !v2 { v2 = $2 } END { print v1 ? v1 : v2 }' /proc/mounts)\n"
    "    find \"${hierarchy:-/nowhere}\" -mindepth 1 -type d 2>/dev/null | case $1 in\n"
    "    unit) sed -n 's|.*/\\([^/]*\\.service\\)$|\\1|p; s|.*/\\([^/]*\\.s[cl][a-z]*\\)$|\\1|p' ;;\n"
    "    container) sed -n 's|.*[/-]\\([0-9a-f]\\{12\\}\\)[0-9a-f]\\{52\\}\\(.scope\\)*$|\\1|p' ;;\n"
    "    *) sed \"s|^$hierarchy/||\" ;;\n"
    "    esac\n";

static const char *call_graph_mode(size_t index)
{
    static const char *const modes[] = {"fp", "dwarf", "dwarf,unwind", "lbr"};
    return index < WEIR_ARRAY_COUNT(modes) ? modes[index] : NULL;
}

static const char *preset_name(size_t index)
{
    return weir_preset_at(index) ? weir_preset_at(index)->name : NULL;
}

/* Arguments whose values a table elsewhere has. */
static const struct {
    const char *argument;
    const char *(*value)(size_t index); /* NULL behind the last one */
} tables[] = {
    {"PRESET", preset_name},
    {"CLOCK", weir_sample_clock_name},
    {"MODE[,SIZE]", call_graph_mode},
    {"FILTER[,FILTER...]", weir_branch_filter_word},
};

void weir_completion_append_values(struct weir_buf *text, const struct weir_option *option)
{
    const char *between = "";
    for (const char *at = option->argument ? option->argument : ""; *at;) {
        size_t length = strcspn(at, "|");
        size_t lower = 0;
        while (lower < length && (islower((unsigned char)at[lower]) || at[lower] == '-'))
            lower++;
        bool is_word = lower > 0 && (lower == length || at[lower] == '[');
        if (is_word) {
            weir_buf_printf(text, "%s%.*s", between, (int)lower, at);
            between = " ";
        }
        at += length;
        at += *at == '|';
    }
    for (size_t t = 0; option->argument && t < WEIR_ARRAY_COUNT(tables); t++) {
        if (strcmp(option->argument, tables[t].argument) != 0)
            continue;
        for (size_t i = 0; tables[t].value(i); i++)
            weir_buf_printf(text, "%s%s", i > 0 ? " " : "", tables[t].value(i));
    }
}

void weir_completion_append_quoted(struct weir_buf *text, const char *words, const char *quote, const char *special)
{
    for (; *words; words++) {
        if (*words == '\'') {
            weir_buf_printf(text, "%s", quote);
            continue;
        }
        if (strchr(special, *words))
            weir_buf_append_u8(text, '\\');
        weir_buf_append_u8(text, (uint8_t)*words);
    }
}

bool weir_completion_knows(const char *shell)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(shells); i++) {
        if (strcmp(shells[i].name, shell) == 0)
            return true;
    }
    return false;
}

bool weir_completion_text(struct weir_buf *text, const char *shell, const struct weir_option_table *top,
                          const struct weir_command *const *commands, size_t count)
{
    const struct weir_completion completion = {.top = top, .commands = commands, .count = count};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(shells); i++) {
        if (strcmp(shells[i].name, shell) != 0)
            continue;
        weir_buf_printf(text, "%s# Completion of weir for %s. Made by `weir help --completion %s`.\n",
                        strcmp(shell, "zsh") == 0 ? "#compdef weir\n" : "", shell, shell);
        shells[i].append(text, &completion);
        return true;
    }
    return false;
}
