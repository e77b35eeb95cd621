/*
 * The parser over the option table.
 *
 * weir_options_parse() walks the words; parse_long() and parse_bundle() find the row and its argument; store() turns
 * the text into the row's field. Each failure is worded at the place that knows it, with the option as it was typed
 * (a long name in full, also when a prefix was typed). Any thread; allocates for lists only.
 */
#include "cli/option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/cpuset.h"
#include "base/suggest.h"
#include "cli/option_text.h"
#include "cli/perf_options.h"
#include "cli/value.h"

#define TYPO_LETTERS_MIN 3 /* `-all` may be meant as `--all-cpus`; `-ag` is a bundle */

struct parser {
    const struct weir_option_table *table;
    void *arguments;
    char *const *argv;
    size_t next;                    /* index of the word after the one that is parsed */
    struct weir_settings *settings; /* what was understood; NULL: not kept */
    struct weir_error *err;
};

/* One option as found in argv. */
struct match {
    const struct weir_option *option;
    bool negated;
    const char *value;                  /* attached or following text; NULL: none */
    char typed[WEIR_OPTION_TEXT_BYTES]; /* "-F", "--freq" */
};

const struct weir_option *weir_option_at(const struct weir_option_table *table, size_t index)
{
    for (size_t i = 0; i < table->part_count; i++) {
        const struct weir_option_rows *part = table->parts[i];
        if (index < part->count)
            return &part->options[index];
        index -= part->count;
    }
    return NULL;
}

const struct weir_option *weir_option_find(const struct weir_option_table *table, const char *name, bool *negated)
{
    char text[WEIR_OPTION_TEXT_BYTES];
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        for (enum weir_option_spelling spelling = 0; spelling < WEIR_OPTION_SPELLING_COUNT; spelling++) {
            if (!weir_option_format_spelling(option, spelling, text) || strcmp(text, name) != 0)
                continue;
            *negated = spelling != WEIR_OPTION_SPELLING_NAME;
            return option;
        }
    }
    return NULL;
}

const struct weir_option *weir_option_find_short(const struct weir_option_table *table, char letter)
{
    for (size_t i = 0; letter && weir_option_at(table, i); i++) {
        if (weir_option_at(table, i)->short_name == letter)
            return weir_option_at(table, i);
    }
    return NULL;
}

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

static void hint_help(const struct parser *parser)
{
    weir_error_hint(parser->err, "'%s --help' lists the options", parser->table->command);
}

static void hint_expectation(const struct parser *parser, const struct weir_option *option)
{
    char expectation[WEIR_OPTION_TEXT_BYTES];
    if (weir_option_format_expectation(option, expectation))
        weir_error_hint(parser->err, "%s is %s", option->argument, expectation);
    else
        hint_help(parser);
}

static int fail_empty(const struct parser *parser, const struct match *match)
{
    weir_error_set(parser->err, -EINVAL, "option '%s': the argument is empty", match->typed);
    hint_expectation(parser, match->option);
    return -EINVAL;
}

static int fail_number(const struct parser *parser, const struct match *match, int code)
{
    const char *problem = code == -ERANGE ? "is out of range" : "is malformed";
    weir_error_set(parser->err, -EINVAL, "option '%s': '%s' %s", match->typed, match->value, problem);
    hint_expectation(parser, match->option);
    return -EINVAL;
}

static int store_number(const struct parser *parser, const struct match *match)
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
    *(uint64_t *)field_of(parser, option) = number;
    return 0;
}

static int store_ring_size(const struct parser *parser, const struct match *match)
{
    void *field = field_of(parser, match->option);
    int result = match->option->kind == WEIR_OPTION_RING_SIZE ? weir_value_parse_ring_size(match->value, field)
                                                              : weir_value_parse_ring_size_pair(match->value, field);
    return result < 0 ? fail_number(parser, match, result) : 0;
}

static int store_cpu_list(const struct parser *parser, const struct match *match)
{
    struct weir_cpuset *cpus = field_of(parser, match->option);
    struct weir_cpuset parsed = WEIR_CPUSET_INIT;
    struct weir_error below = {0};
    int result = weir_cpuset_parse(&parsed, match->value, &below);
    if (result == 0 && weir_cpuset_is_empty(&parsed))
        result = weir_error_set(&below, -EINVAL, "the list names no CPU");
    if (result < 0) {
        weir_cpuset_fini(&parsed);
        weir_error_set(parser->err, result, "option '%s': %s", match->typed, below.what);
        hint_expectation(parser, match->option);
        return result;
    }
    weir_cpuset_fini(cpus);
    *cpus = parsed;
    return 0;
}

static int store_custom(const struct parser *parser, const struct match *match)
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

static int store(const struct parser *parser, const struct match *match)
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
    case WEIR_OPTION_SIZE:
    case WEIR_OPTION_FREQUENCY:
        return store_number(parser, match);
    case WEIR_OPTION_RING_SIZE:
    case WEIR_OPTION_RING_PAIR:
        return store_ring_size(parser, match);
    case WEIR_OPTION_CPU_LIST:
        return store_cpu_list(parser, match);
    case WEIR_OPTION_CUSTOM:
        return store_custom(parser, match);
    }
    weir_assert(!"an option kind without a store");
    return -EINVAL;
}

static int store_noted(const struct parser *parser, const struct match *match)
{
    int result = store(parser, match);
    if (result != 0 || !parser->settings)
        return result;
    struct weir_setting setting = {.option = match->option, .negated = match->negated, .value = match->value};
    if (weir_settings_add(parser->settings, &setting) < 0)
        return weir_error_set_errno(parser->err, -ENOMEM, "cannot keep option '%s'", match->typed);
    return 0;
}

/* Takes the next word when the argument must be there and was not attached. */
static int take_argument(struct parser *parser, struct match *match)
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

/* perf's option with this name or letter (the other is NULL or 0), also when it is typed as --no-NAME, that weir does
 * not have; NULL: none. */
static const struct weir_perf_option *find_perf_option(const struct parser *parser, const char *name, char letter)
{
    static const char no[] = "no-";
    const char *positive = name && strncmp(name, no, sizeof(no) - 1) == 0 ? name + sizeof(no) - 1 : name;
    for (size_t i = 0; i < parser->table->perf_option_count; i++) {
        const struct weir_perf_option *option = &parser->table->perf_options[i];
        bool has_name = name && option->long_name &&
                        (strcmp(option->long_name, name) == 0 || strcmp(option->long_name, positive) == 0);
        bool negated, is_ours = option->long_name && weir_option_find(parser->table, option->long_name, &negated);
        if (!is_ours && (has_name || (letter && option->short_name == letter)))
            return option;
    }
    return NULL;
}

/* typed: with its dashes. */
static int fail_perf_option(const struct parser *parser, const struct weir_perf_option *option, const char *typed)
{
    bool is_letter = typed[1] != '-' && option->long_name;
    if (is_letter)
        weir_error_set(parser->err, -EINVAL, "option '%s' (--%s) of perf record is not in weir", typed,
                       option->long_name);
    else
        weir_error_set(parser->err, -EINVAL, "option '%s' of perf record is not in weir", typed);
    if (option->instead)
        weir_error_hint(parser->err, "%s", option->instead);
    else
        hint_help(parser);
    return -EINVAL;
}

static void fail_unknown_long(const struct parser *parser, const char *word)
{
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, word);
    for (size_t i = 0; weir_option_at(parser->table, i); i++) {
        char text[WEIR_OPTION_TEXT_BYTES];
        for (enum weir_option_spelling spelling = 0; spelling < WEIR_OPTION_SPELLING_COUNT; spelling++) {
            if (weir_option_format_spelling(weir_option_at(parser->table, i), spelling, text))
                weir_suggest_offer(&suggest, text);
        }
    }

    weir_error_set(parser->err, -EINVAL, "unknown option '--%s'", word);
    const char *best = weir_suggest_best(&suggest);
    if (best)
        weir_error_hint(parser->err, "did you mean '--%s'? '%s --help' lists the options", best,
                        parser->table->command);
    else
        hint_help(parser);
}

/* What an abbreviation may stand for: the first one found, and another one if there is any. */
struct candidates {
    const struct weir_option *option; /* NULL: an option that only perf has */
    const struct weir_perf_option *perf_option;
    bool negated;
    unsigned count;
    char first[WEIR_OPTION_TEXT_BYTES], other[WEIR_OPTION_TEXT_BYTES];
};

/* True when text begins with word, and is noted so. */
static bool add_candidate(struct candidates *candidates, const char *word, const char *text)
{
    if (strncmp(text, word, strlen(word)) != 0)
        return false;
    candidates->count++;
    snprintf(candidates->count == 1 ? candidates->first : candidates->other, WEIR_OPTION_TEXT_BYTES, "%s", text);
    return candidates->count == 1;
}

static bool is_of_perf(const struct parser *parser, const struct weir_option *option)
{
    for (size_t i = 0; option->long_name && i < parser->table->perf_option_count; i++) {
        const char *name = parser->table->perf_options[i].long_name;
        if (name && strcmp(name, option->long_name) == 0)
            return true;
    }
    return false;
}

/* Rows that perf has, too, or those that it has not. */
static void collect_rows(const struct parser *parser, const char *word, bool of_perf, struct candidates *candidates)
{
    char text[WEIR_OPTION_TEXT_BYTES];
    for (size_t i = 0; weir_option_at(parser->table, i); i++) {
        const struct weir_option *option = weir_option_at(parser->table, i);
        if (is_of_perf(parser, option) != of_perf)
            continue;
        for (enum weir_option_spelling spelling = 0; spelling < WEIR_OPTION_SPELLING_COUNT; spelling++) {
            if (!weir_option_format_spelling(option, spelling, text) || !add_candidate(candidates, word, text))
                continue;
            candidates->option = option;
            candidates->negated = spelling != WEIR_OPTION_SPELLING_NAME;
        }
    }
}

static void collect_perf_options(const struct parser *parser, const char *word, struct candidates *candidates)
{
    bool negated;
    for (size_t i = 0; i < parser->table->perf_option_count; i++) {
        const struct weir_perf_option *option = &parser->table->perf_options[i];
        bool is_ours = option->long_name && weir_option_find(parser->table, option->long_name, &negated);
        if (option->long_name && !is_ours && add_candidate(candidates, word, option->long_name))
            candidates->perf_option = option;
    }
}

/* word: without dashes and argument. Of rows with word for a head, those that perf has go first: what weir has beside
 * them takes no abbreviation away. False with err when there is none, or more than one. */
static bool find_abbreviated(const struct parser *parser, const char *word, struct match *match)
{
    struct candidates found = {0};
    collect_rows(parser, word, true, &found);
    collect_perf_options(parser, word, &found);
    if (found.count == 0)
        collect_rows(parser, word, false, &found);
    snprintf(match->typed, sizeof(match->typed), "--%.*s", (int)sizeof(match->typed) - 3, found.first);
    if (found.count == 0) {
        fail_unknown_long(parser, word);
    } else if (found.count > 1) {
        weir_error_set(parser->err, -EINVAL, "option '--%s' is ambiguous: '%s' or '--%s'", word, match->typed,
                       found.other);
        hint_help(parser);
    } else if (found.perf_option) {
        fail_perf_option(parser, found.perf_option, match->typed);
    }
    match->option = found.option;
    match->negated = found.negated;
    return found.count == 1 && found.option;
}

/* Fills option, negated and typed of match for the length bytes of name; false with err. A whole name, also of an
 * option that only perf has, goes before all that begin with it. */
static bool find_long(const struct parser *parser, const char *name, size_t length, struct match *match)
{
    char word[WEIR_OPTION_TEXT_BYTES];
    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    match->option = weir_option_find(parser->table, word, &match->negated);
    snprintf(match->typed, sizeof(match->typed), "--%.*s", (int)sizeof(match->typed) - 3, word);
    if (match->option)
        return true;
    const struct weir_perf_option *perf_option = find_perf_option(parser, word, 0);
    if (perf_option) {
        fail_perf_option(parser, perf_option, match->typed);
        return false;
    }
    return find_abbreviated(parser, word, match);
}

/* word: behind the two dashes, "freq=99". */
static int parse_long(struct parser *parser, const char *word)
{
    struct match match = {0};
    size_t length = strcspn(word, "=");
    if (!find_long(parser, word, length, &match))
        return -EINVAL;

    if (word[length] == '=')
        match.value = word + length + 1;
    if (match.value && (!match.option->argument || match.negated)) {
        weir_error_set(parser->err, -EINVAL, "option '%s' takes no argument, '%s' was given", match.typed, match.value);
        hint_help(parser);
        return -EINVAL;
    }
    int result = take_argument(parser, &match);
    return result < 0 ? result : store_noted(parser, &match);
}

/* A bundle that is the head of a long name: one dash was forgotten. */
static const struct weir_option *find_undashed(const struct parser *parser, const char *bundle)
{
    size_t length = strcspn(bundle, "=");
    for (size_t i = 0; length >= TYPO_LETTERS_MIN && weir_option_at(parser->table, i); i++) {
        const struct weir_option *option = weir_option_at(parser->table, i);
        if (option->long_name && strncmp(option->long_name, bundle, length) == 0)
            return option;
    }
    return NULL;
}

static int fail_unknown_short(const struct parser *parser, const char *bundle, char letter)
{
    const struct weir_perf_option *perf_option = find_perf_option(parser, NULL, letter);
    const struct weir_option *meant = find_undashed(parser, bundle);
    if (perf_option && !meant) {
        const char typed[] = {'-', letter, '\0'};
        return fail_perf_option(parser, perf_option, typed);
    }
    if (bundle[1])
        weir_error_set(parser->err, -EINVAL, "unknown option '-%c' in '-%s'", letter, bundle);
    else
        weir_error_set(parser->err, -EINVAL, "unknown option '-%c'", letter);
    if (meant)
        weir_error_hint(parser->err, "did you mean '--%s' (with two dashes)?", meant->long_name);
    else
        hint_help(parser);
    return -EINVAL;
}

/* bundle: behind the dash, "ag" or "aF99". All flags, the last may take the rest or the next word as its argument. */
static int parse_bundle(struct parser *parser, const char *bundle)
{
    for (const char *at = bundle; *at; at++) {
        struct match match = {.option = weir_option_find_short(parser->table, *at)};
        if (!match.option)
            return fail_unknown_short(parser, bundle, *at);
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
    struct match match = {.option = option, .negated = negated, .value = value};
    weir_option_format_name(option, match.typed);
    return store(&parser, &match);
}

int weir_options_parse_noted(const struct weir_option_table *table, void *arguments, char *const *argv, size_t *used,
                             struct weir_settings *settings, struct weir_error *err)
{
    struct parser parser = {.table = table, .arguments = arguments, .argv = argv, .settings = settings, .err = err};
    int result = 0;
    while (result == 0 && argv[parser.next]) {
        const char *word = argv[parser.next];
        if (word[0] != '-' || word[1] == '\0')
            break;
        parser.next++;
        if (strcmp(word, "--") == 0)
            break;
        result = word[1] == '-' ? parse_long(&parser, word + 2) : parse_bundle(&parser, word + 1);
    }
    if (result >= 0)
        *used = parser.next;
    return result;
}
