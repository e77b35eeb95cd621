/*
 * Each entry becomes a setting (a row, taken or taken back, with a value), which is then applied by the row itself.
 * Main thread.
 */
#include "cli/config_options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"
#include "base/suggest.h"
#include "cli/option.h"
#include "engine/events/call_graph.h"
#include "format/text_out.h"

/* Options that exclude each other: an option in a later place puts the other option of an earlier place out of
 * force. */
static const char *const rivals[][2] = {
    {"freq", "count"},          {"all-kernel", "all-user"}, {"branch-any", "branch-filter"},
    {"memory", "overwrite"},    {"append", "force"},        {"snapshot-keep", "switch-max-files"},
    {"all-cpus", "pid"},        {"all-cpus", "tid"},        {"all-cpus", "uid"},
    {"all-cpus", "per-thread"}, {"event", "pfm-events"},
};

/* Options that are of the events before them, and out of force with these. */
static const char *const events_option = "event";
static const char *const of_events[] = {"filter", "cgroup"};

/* What record.build-id stands for; NULL: what weir does anyway. */
static const struct {
    const char *value, *option;
} build_id_values[] = {
    {"cache", "buildid-cache"}, {"no-cache", "no-buildid-cache"}, {"skip", "no-buildid"},
    {"mmap", "buildid-mmap"},   {"no-mmap", "no-buildid-mmap"}, /* perf 6.17 */
};

struct application {
    const struct weir_option_table *table;
    void *arguments;
    struct weir_settings *settings; /* NULL: everything is applied, nothing is kept */
    struct weir_error *err;
};

/* "PATH:LINE: " before what err says. */
static int fail_at(const struct weir_config_entry *entry, int code, const struct weir_error *below,
                   struct weir_error *err)
{
    weir_error_set(err, code, "%s:%u: %s", entry->path, entry->line, below->what);
    weir_error_hint(err, "%s", below->hint);
    return code;
}

static int fail_unknown(const struct weir_config_entry *entry, const char *what, const char *name,
                        const struct weir_suggest *suggest, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "%s:%u: unknown %s '%s'", entry->path, entry->line, what, name);
    const char *best = weir_suggest_best(suggest);
    if (best)
        weir_error_hint(err, "did you mean '%s'?", best);
    else
        weir_error_hint(err, "'weir record --print-config' lists the keys, all of section [%s]", WEIR_CONFIG_SECTION);
    return -EINVAL;
}

/* Options that make no sense in a file. */
static bool is_key(const struct weir_option *option)
{
    return option->long_name && option->kind != WEIR_OPTION_HELP && strcmp(option->long_name, "print-config") != 0 &&
           strcmp(option->long_name, "preset") != 0;
}

static int fail_unknown_key(const struct weir_option_table *table, const struct weir_config_entry *entry,
                            struct weir_error *err)
{
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, entry->key);
    weir_suggest_offer(&suggest, "build-id");
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (is_key(option))
            weir_suggest_offer(&suggest, option->long_name);
    }
    return fail_unknown(entry, "key", entry->key, &suggest, err);
}

/* ---- the command line goes before ---- */

static bool is_on_command_line(const struct weir_settings *settings, const struct weir_option *option)
{
    for (size_t i = 0; option && i < settings->count; i++) {
        if (settings->items[i].option == option && !settings->items[i].path)
            return true;
    }
    return false;
}

static bool is_of_events(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(of_events); i++) {
        if (strcmp(of_events[i], name) == 0)
            return true;
    }
    return false;
}

/* Whether name, given in a later place, puts the other name out of force. */
static bool is_rival(const char *name, const char *other)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rivals); i++) {
        for (size_t side = 0; side < 2; side++) {
            if (strcmp(rivals[i][side], name) == 0 && strcmp(rivals[i][1 - side], other) == 0)
                return true;
        }
    }
    return strcmp(name, events_option) == 0 && is_of_events(other);
}

static bool has_rival_on_command_line(const struct weir_settings *settings, const struct weir_option *option)
{
    for (size_t i = 0; i < settings->count; i++) {
        const struct weir_setting *setting = &settings->items[i];
        if (!setting->path && !setting->negated && setting->option->long_name &&
            is_rival(setting->option->long_name, option->long_name))
            return true;
    }
    return false;
}

bool weir_config_is_overruled(const struct weir_settings *given, const struct weir_option *option)
{
    return is_on_command_line(given, option) || has_rival_on_command_line(given, option);
}

static bool is_overruled(const struct application *to, const struct weir_option *option)
{
    return to->settings && weir_config_is_overruled(to->settings, option);
}

/* ---- from an entry to its row ---- */

/* Keeps the entries that are in force, or would be, for weir_config_print(). */
static int note(const struct application *to, const struct weir_config_entry *entry, const struct weir_option *option,
                bool negated, const char *value)
{
    struct weir_setting setting = {
        .option = option, .negated = negated, .value = value, .path = entry->path, .line = entry->line};
    if (to->settings && weir_settings_add(to->settings, &setting) < 0)
        return weir_error_set_errno(to->err, -ENOMEM, "cannot keep the settings of %s", entry->path);
    return 0;
}

static int apply_option(const struct application *to, const struct weir_config_entry *entry,
                        const struct weir_option *option, bool negated, const char *value)
{
    struct weir_error below = {0};
    int result = weir_option_apply(to->table, to->arguments, option, negated, value, &below);
    if (result < 0)
        return fail_at(entry, result, &below, to->err);
    return note(to, entry, option, negated, value);
}

/* As git and perf have it. */
static bool parse_bool(const char *text, bool *value)
{
    static const char *const words[][2] = {{"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        for (size_t on = 0; on < 2; on++) {
            if (strcasecmp(words[i][on], text) == 0) {
                *value = on;
                return true;
            }
        }
    }
    return false;
}

static int fail_value(const struct application *to, const struct weir_config_entry *entry, const char *hint)
{
    weir_error_set(to->err, -EINVAL, "%s:%u: bad value '%s' of key '%s'", entry->path, entry->line,
                   entry->value ? entry->value : "", entry->key);
    weir_error_hint(to->err, "%s", hint);
    return -EINVAL;
}

static int apply_key(const struct application *to, const struct weir_config_entry *entry)
{
    bool negated, on = true;
    const struct weir_option *option = weir_option_find(to->table, entry->key, &negated);
    if (!option || !is_key(option))
        return fail_unknown_key(to->table, entry, to->err);
    if (is_overruled(to, option))
        return 0;

    if (!option->argument || negated) {
        if (entry->value && !parse_bool(entry->value, &on))
            return fail_value(to, entry, "use true or false");
        if (!on && !option->negatable)
            return 0; /* what is not asked for and cannot be taken back is as if it were not there */
        return apply_option(to, entry, option, on == negated, NULL);
    }
    if (!entry->value && !option->argument_optional) {
        weir_error_set(to->err, -EINVAL, "%s:%u: key '%s' needs a value: %s", entry->path, entry->line, entry->key,
                       option->argument);
        weir_error_hint(to->err, "a line is written KEY = VALUE");
        return -EINVAL;
    }
    return apply_option(to, entry, option, false, entry->value);
}

/* record.call-graph: what -g means. Without -g it is only looked at, and kept for the next who types it. */
static int apply_call_graph(const struct application *to, const struct weir_config_entry *entry)
{
    bool negated;
    const struct weir_option *option = weir_option_find(to->table, "call-graph", &negated);
    if (!option)
        return 0;
    if (!entry->value)
        return fail_value(to, entry, "use an argument of --call-graph");
    if (is_overruled(to, option))
        return 0;
    bool is_asked_for = !to->settings || is_on_command_line(to->settings, weir_option_find_short(to->table, 'g'));
    return is_asked_for ? apply_option(to, entry, option, false, entry->value)
                        : note(to, entry, option, false, entry->value);
}

/* record.build-id: what it stands for is set where weir has an option for it, and is what weir does where it has none.
 */
static int apply_build_id(const struct application *to, const struct weir_config_entry *entry)
{
    for (size_t i = 0; entry->value && i < WEIR_ARRAY_COUNT(build_id_values); i++) {
        if (strcmp(entry->value, build_id_values[i].value) != 0)
            continue;
        bool negated;
        const struct weir_option *option = weir_option_find(to->table, build_id_values[i].option, &negated);
        if (!option || is_overruled(to, option))
            return 0;
        return apply_option(to, entry, option, negated, NULL);
    }
    return fail_value(to, entry, "use cache, no-cache, skip, mmap or no-mmap");
}

/* ---- dump-size ---- */

static bool is_of_call_graph(const struct weir_config_entry *entry, const char *key)
{
    return strcmp(entry->section, "call-graph") == 0 && strcmp(entry->key, key) == 0 && entry->value;
}

/* The record-mode that a dump-size is for, as by perf: the last one before it. NULL: none, or another than dwarf. */
static struct weir_config_entry *mode_before(struct weir_config *perf, size_t index)
{
    while (index > 0) {
        struct weir_config_entry *entry = &perf->entries[--index];
        if (is_of_call_graph(entry, "record-mode"))
            return strncmp(entry->value, "dwarf", strlen("dwarf")) == 0 ? entry : NULL;
    }
    return NULL;
}

int weir_config_join_dump_sizes(struct weir_config *perf, const struct weir_notice_sink *notices)
{
    for (size_t i = 0; i < perf->count; i++) {
        const struct weir_config_entry *size = &perf->entries[i];
        struct weir_config_entry *mode = is_of_call_graph(size, "dump-size") ? mode_before(perf, i) : NULL;
        if (!mode)
            continue;
        char *joined;
        if (asprintf(&joined, "dwarf,%s", size->value) < 0)
            return -ENOMEM;
        struct weir_call_graph_request request;
        if (weir_call_graph_parse(joined, &request, NULL) < 0) {
            weir_notice(notices, WEIR_NOTICE_WARNING, "%s:%u: bad value '%s' of key 'dump-size'; ignoring it",
                        size->path, size->line, size->value);
            free(joined);
            continue;
        }
        free(mode->value);
        mode->value = joined;
    }
    return 0;
}

/* ---- all entries ---- */

/* Whether a later file speaks of the same key, or asks for what excludes it: its entries are then all that hold. */
static bool is_replaced(const struct weir_config *config, size_t index)
{
    const struct weir_config_entry *entry = &config->entries[index];
    for (size_t i = index + 1; i < config->count; i++) {
        const struct weir_config_entry *other = &config->entries[i];
        bool on = true;
        bool is_asked_for = !other->value || !parse_bool(other->value, &on) || on;
        if ((strcmp(other->key, entry->key) == 0 || (is_asked_for && is_rival(other->key, entry->key))) &&
            strcmp(other->section, entry->section) == 0 && strcmp(other->path, entry->path) != 0)
            return true;
    }
    return false;
}

static int apply_entry(const struct application *to, const struct weir_config_entry *entry)
{
    if (strcmp(entry->section, WEIR_CONFIG_SECTION) != 0) {
        struct weir_suggest suggest;
        weir_suggest_init(&suggest, entry->section);
        weir_suggest_offer(&suggest, WEIR_CONFIG_SECTION);
        return fail_unknown(entry, "section", entry->section, &suggest, to->err);
    }
    if (strcmp(entry->key, "call-graph") == 0)
        return apply_call_graph(to, entry);
    if (strcmp(entry->key, "build-id") == 0)
        return apply_build_id(to, entry);
    return apply_key(to, entry);
}

static int apply_weir(const struct application *to, const struct weir_config *config)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < config->count; i++) {
        if (!is_replaced(config, i))
            result = apply_entry(to, &config->entries[i]);
    }
    return result;
}

/* perf's buildid.dir is --buildid-dir. 0 or -errno. */
static int apply_build_id_dir(const struct application *to, const struct weir_config_entry *entry)
{
    bool negated;
    const struct weir_option *option = weir_option_find(to->table, "buildid-dir", &negated);
    if (!entry->value || !entry->value[0])
        return fail_value(to, entry, "name a directory");
    return !option || is_overruled(to, option) ? 0 : apply_option(to, entry, option, false, entry->value);
}

/* Of perf's keys three are ours, too. A value that we do not know may be one of a newer perf. */
static int apply_perf(const struct application *to, const struct weir_config *config,
                      const struct weir_notice_sink *notices)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct weir_config_entry *entry = &config->entries[i];
        bool is_record = strcmp(entry->section, "record") == 0;
        int result = 0;
        if ((is_record && strcmp(entry->key, "call-graph") == 0) ||
            (strcmp(entry->section, "call-graph") == 0 && strcmp(entry->key, "record-mode") == 0))
            result = apply_call_graph(to, entry);
        else if (is_record && strcmp(entry->key, "build-id") == 0)
            result = apply_build_id(to, entry);
        else if (strcmp(entry->section, "buildid") == 0 && strcmp(entry->key, "dir") == 0)
            result = apply_build_id_dir(to, entry);
        if (result == -EINVAL)
            weir_notice(notices, WEIR_NOTICE_WARNING, "%s; ignoring it", to->err->what);
        else if (result < 0)
            return result;
    }
    return 0;
}

int weir_config_check(const struct weir_option_table *table, const struct weir_config_set *set, void *scratch,
                      const struct weir_notice_sink *notices, struct weir_error *err)
{
    struct weir_error warned = {0};
    struct application to = {.table = table, .arguments = scratch, .err = &warned};
    int result = apply_perf(&to, &set->perf, notices);
    if (result < 0) {
        if (err)
            *err = warned;
        return result;
    }
    to.err = err;
    return apply_weir(&to, &set->weir);
}

int weir_config_apply(const struct weir_option_table *table, const struct weir_config_set *set, void *arguments,
                      struct weir_settings *settings, struct weir_error *err)
{
    struct weir_error warned = {0};
    struct application to = {.table = table, .arguments = arguments, .settings = settings, .err = &warned};
    int result = apply_perf(&to, &set->perf, NULL);
    if (result < 0) {
        if (err)
            *err = warned;
        return result;
    }
    to.err = err;
    return apply_weir(&to, &set->weir);
}

/* ---- printing ---- */

/* As a configuration file has it: in quotes where the text alone would be read otherwise. */
static void print_value(struct weir_buf *text, const char *value)
{
    size_t length = strlen(value);
    bool is_plain = length > 0 && strcspn(value, "#;\"\\\n\t\b") == length && !isspace((unsigned char)value[0]) &&
                    !isspace((unsigned char)value[length - 1]);
    if (is_plain) {
        weir_buf_printf(text, "%s", value);
        return;
    }
    static const char specials[] = "\n\t\b\"\\", letters[] = "ntb\"\\";
    weir_buf_printf(text, "\"");
    for (; *value; value++) {
        const char *special = strchr(specials, *value);
        if (special)
            weir_buf_printf(text, "\\%c", letters[special - specials]);
        else
            weir_buf_append_u8(text, (uint8_t)*value);
    }
    weir_buf_printf(text, "\"");
}

static void print_setting(struct weir_buf *text, const struct weir_setting *setting)
{
    bool is_taken_back = setting->negated && setting->option->argument;
    weir_buf_printf(text, "\t%s%s", is_taken_back ? "no-" : "", setting->option->long_name);
    if (setting->value) {
        weir_buf_printf(text, " = ");
        print_value(text, setting->value);
    } else if (is_taken_back) {
        weir_buf_printf(text, " = true"); /* without the "no-" it would ask for the argument, or for the default */
    } else if (!setting->option->argument) {
        weir_buf_printf(text, " = %s", setting->negated ? "false" : "true");
    }
    weir_buf_printf(text, "\t# ");
    if (setting->path) {
        weir_text_append(text, setting->path, strlen(setting->path)); /* a newline in it would end the comment */
        weir_buf_printf(text, ":%u\n", setting->line);
    } else if (setting->preset) {
        weir_buf_printf(text, "preset %s\n", setting->preset);
    } else {
        weir_buf_printf(text, "command line\n");
    }
}

static bool same_place(const struct weir_setting *a, const struct weir_setting *b)
{
    return a->path && b->path ? strcmp(a->path, b->path) == 0 : a->path == b->path;
}

/* Whether the settings of a row stand among those of the first: which events they are of is their order. */
static bool stands_among(const struct weir_option *first, const struct weir_option *option)
{
    return strcmp(first->long_name, events_option) == 0 && is_of_events(option->long_name);
}

/* All settings of the row that hold, and those that stand among them, in their order. */
static void print_repeated(struct weir_buf *text, const struct weir_option *row, const struct weir_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        const struct weir_setting *setting = &settings->items[i];
        bool is_meant = setting->option == row || (setting->option->long_name && stands_among(row, setting->option));
        if (is_meant && same_place(setting, weir_settings_last(settings, setting->option)))
            print_setting(text, setting);
    }
}

void weir_config_print(struct weir_buf *text, const struct weir_option_table *table,
                       const struct weir_settings *settings)
{
    weir_buf_printf(text, "[%s]\n", WEIR_CONFIG_SECTION);
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (!is_key(option))
            continue;
        const struct weir_setting *last = weir_settings_last(settings, option);
        if (!last)
            weir_buf_printf(text, "#\t%s\t# default%s%s\n", option->long_name, option->default_text ? ": " : "",
                            option->default_text ? option->default_text : "");
        else if (!option->repeatable)
            print_setting(text, last);
        else if (!is_of_events(option->long_name)) /* these stand among the events */
            print_repeated(text, option, settings);
    }
}
