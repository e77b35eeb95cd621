/*
 * The parser over the option table.
 *
 * weir_options_parse() walks the words; parse_long() and parse_bundle() find the row (option_find.c) and its argument;
 * store() turns the text into the row's field. The function that finds a failure words it, with the option as the user
 * typed it. Of a typed prefix the message has the long name in full. Any thread; allocates for lists only.
 */
#include "cli/option_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cpuset.h"
#include "cli/value.h"

struct parser {
    const struct weir_option_table *table;
    void *arguments; /* NULL: options are found and not stored */
    char *const *argv;
    size_t next;                    /* index of the word after the one that is parsed */
    struct weir_settings *settings; /* what was understood; NULL: not kept */
    struct weir_error *err;
};

void weir_text_list_fini(struct weir_text_list *list)
{
    if (!list)
        return;
    free(list->items);
    *list = (struct weir_text_list){0};
}

int weir_text_list_add(struct weir_text_list *list, const char *text)
{
    const char **items = weir_array_grow(list->items, sizeof(*items), list->count, 1, &list->capacity);
    if (!items)
        return -ENOMEM;
    list->items = items;
    list->items[list->count++] = text;
    return 0;
}

static void *field_of(const struct parser *parser, const struct weir_option *option)
{
    return (char *)parser->arguments + option->field;
}

static void hint_expectation(const struct parser *parser, const struct weir_option *option)
{
    char expectation[WEIR_OPTION_TEXT_BYTES];
    if (weir_option_format_expectation(option, expectation))
        weir_error_hint(parser->err, "%s is %s", option->argument, expectation);
    else
        weir_option_hint_help(parser->table, parser->err);
}

static int fail_empty(const struct parser *parser, const struct weir_option_match *match)
{
    weir_error_set(parser->err, -EINVAL, "option '%s': the argument is empty", match->typed);
    hint_expectation(parser, match->option);
    return -EINVAL;
}

static int fail_number(const struct parser *parser, const struct weir_option_match *match, int code)
{
    const char *problem = code == -ERANGE ? "is out of range" : "is malformed";
    weir_error_set(parser->err, -EINVAL, "option '%s': '%s' %s", match->typed, match->value, problem);
    hint_expectation(parser, match->option);
    return -EINVAL;
}

static int store_number(const struct parser *parser, const struct weir_option_match *match)
{
    const struct weir_option *option = match->option;
    uint64_t number = 0;
    int result;
    if (option->kind == WEIR_OPTION_SIZE)
        result = weir_value_parse_size(match->value, &number);
    else if (option->kind == WEIR_OPTION_FREQUENCY)
        result = weir_value_parse_frequency(match->value, &number);
    else
        result = weir_value_parse_number(match->value, &number);

    bool is_word = option->kind == WEIR_OPTION_FREQUENCY && number == WEIR_VALUE_FREQ_MAX;
    if (result == 0 && !is_word && (number < option->min || number > option->max))
        result = -ERANGE;
    if (result < 0)
        return fail_number(parser, match, result);
    if (option->kind == WEIR_OPTION_UNSIGNED)
        *(unsigned *)field_of(parser, option) = (unsigned)number; /* max is in its range */
    else
        *(uint64_t *)field_of(parser, option) = number;
    return 0;
}

static int store_ring_pair(const struct parser *parser, const struct weir_option_match *match)
{
    int result = weir_value_parse_ring_size_pair(match->value, field_of(parser, match->option));
    return result < 0 ? fail_number(parser, match, result) : 0;
}

static int store_cpu_list(const struct parser *parser, const struct weir_option_match *match)
{
    struct weir_error below = {0};
    int result = weir_value_parse_cpu_list(match->value, field_of(parser, match->option), &below);
    if (result < 0) {
        weir_error_set(parser->err, result, "option '%s': %s", match->typed, below.what);
        hint_expectation(parser, match->option);
    }
    return result;
}

static int store_custom(const struct parser *parser, const struct weir_option_match *match)
{
    if (match->negated) {
        match->option->clear(parser->arguments);
        return 0;
    }
    if (match->option->argument_optional && match->value && !match->value[0])
        return fail_empty(parser, match);
    int result = match->option->apply(parser->arguments, match->value, parser->err);
    if (result < 0 && parser->err && !parser->err->hint[0])
        hint_expectation(parser, match->option);
    return result;
}

static int store(const struct parser *parser, const struct weir_option_match *match)
{
    const struct weir_option *option = match->option;
    switch (option->kind) {
    case WEIR_OPTION_HELP:
        return WEIR_OPTIONS_HELP;
    case WEIR_OPTION_FLAG:
        *(bool *)field_of(parser, option) = !match->negated;
        return 0;
    case WEIR_OPTION_COUNTER: {
        unsigned *counter = field_of(parser, option);
        *counter = match->negated ? 0 : *counter + 1;
        return 0;
    }
    case WEIR_OPTION_TEXT:
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): kinds with an argument have a value by now */
        if (!match->value[0])
            return fail_empty(parser, match);
        *(const char **)field_of(parser, option) = match->value;
        return 0;
    case WEIR_OPTION_TEXT_LIST:
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as above */
        if (!match->value[0])
            return fail_empty(parser, match);
        if (weir_text_list_add(field_of(parser, option), match->value) < 0)
            return weir_error_set_errno(parser->err, -ENOMEM, "cannot keep option '%s'", match->typed);
        return 0;
    case WEIR_OPTION_NUMBER:
    case WEIR_OPTION_UNSIGNED:
    case WEIR_OPTION_SIZE:
    case WEIR_OPTION_FREQUENCY:
        return store_number(parser, match);
    case WEIR_OPTION_RING_PAIR:
        return store_ring_pair(parser, match);
    case WEIR_OPTION_CPU_LIST:
        return store_cpu_list(parser, match);
    case WEIR_OPTION_CUSTOM:
        return store_custom(parser, match);
    }
    weir_assert(!"an option kind without a store");
    return -EINVAL;
}

static int store_noted(const struct parser *parser, const struct weir_option_match *match)
{
    if (!parser->arguments)
        return match->option->kind == WEIR_OPTION_HELP ? WEIR_OPTIONS_HELP : 0;
    int result = store(parser, match);
    if (result != 0 || !parser->settings)
        return result;
    struct weir_setting setting = {.option = match->option, .negated = match->negated, .value = match->value};
    if (weir_settings_add(parser->settings, &setting) < 0)
        return weir_error_set_errno(parser->err, -ENOMEM, "cannot keep option '%s'", match->typed);
    return 0;
}

/* Takes the next word when the argument must be there and was not attached. */
static int take_argument(struct parser *parser, struct weir_option_match *match)
{
    const struct weir_option *option = match->option;
    if (match->value || match->negated || !option->argument || option->argument_optional)
        return 0;
    match->value = parser->argv[parser->next];
    if (!match->value) {
        weir_error_set(parser->err, -EINVAL, "option '%s' needs an argument: %s", match->typed, option->argument);
        hint_expectation(parser, option);
        return -EINVAL;
    }
    parser->next++;
    return 0;
}

/* word: behind the two dashes, "freq=99". */
static int parse_long(struct parser *parser, const char *word)
{
    struct weir_option_match match = {0};
    size_t length = strcspn(word, "=");
    if (!weir_option_match_long(parser->table, word, length, &match, parser->err))
        return -EINVAL;

    if (word[length] == '=')
        match.value = word + length + 1;
    if (match.value && (!match.option->argument || match.negated)) {
        weir_error_set(parser->err, -EINVAL, "option '%s' takes no argument, '%s' was given", match.typed, match.value);
        weir_option_hint_help(parser->table, parser->err);
        return -EINVAL;
    }
    int result = take_argument(parser, &match);
    return result < 0 ? result : store_noted(parser, &match);
}

/* bundle: behind the dash, "ag" or "aF99". All flags, the last may take the rest or the next word as its argument. */
static int parse_bundle(struct parser *parser, const char *bundle)
{
    for (const char *at = bundle; *at; at++) {
        struct weir_option_match match = {.option = weir_option_find_short(parser->table, *at)};
        if (!match.option)
            return weir_option_fail_short(parser->table, bundle, *at, parser->err);
        snprintf(match.typed, sizeof(match.typed), "-%c", *at);

        bool takes_rest = match.option->argument && at[1] != '\0';
        if (takes_rest)
            match.value = at + 1;
        int result = take_argument(parser, &match);
        if (result == 0)
            result = store_noted(parser, &match);
        if (result != 0 || takes_rest)
            return result;
    }
    return 0;
}

int weir_options_parse(const struct weir_option_table *table, void *arguments, char *const *argv, size_t *used,
                       struct weir_error *err)
{
    return weir_options_parse_noted(table, arguments, argv, used, NULL, err);
}

int weir_option_apply(const struct weir_option_table *table, void *arguments, const struct weir_option *option,
                      bool negated, const char *value, struct weir_error *err)
{
    struct parser parser = {.table = table, .arguments = arguments, .err = err};
    struct weir_option_match match = {.option = option, .negated = negated, .value = value};
    weir_option_format_name(option, match.typed);
    return store(&parser, &match);
}

static int parse(struct parser *parser)
{
    int result = 0;
    while (result == 0 && parser->argv[parser->next]) {
        const char *word = parser->argv[parser->next];
        if (word[0] != '-' || word[1] == '\0')
            break;
        parser->next++;
        if (strcmp(word, "--") == 0)
            break;
        result = word[1] == '-' ? parse_long(parser, word + 2) : parse_bundle(parser, word + 1);
    }
    return result;
}

const char *const *weir_options_help_words(const struct weir_option_table *table, char *const *argv)
{
    struct weir_error ignored;
    struct parser parser = {.table = table, .argv = argv, .err = &ignored};
    if (parse(&parser) != WEIR_OPTIONS_HELP)
        while (argv[parser.next])
            parser.next++;
    return (const char *const *)(argv + parser.next);
}

int weir_options_parse_noted(const struct weir_option_table *table, void *arguments, char *const *argv, size_t *used,
                             struct weir_settings *settings, struct weir_error *err)
{
    struct parser parser = {.table = table, .arguments = arguments, .argv = argv, .settings = settings, .err = err};
    int result = parse(&parser);
    if (result >= 0)
        *used = parser.next;
    return result;
}
