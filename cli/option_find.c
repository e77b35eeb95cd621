/*
 * Finds the row of a table that the user means, by whole name, letter or abbreviation. If there is none, words the
 * error: it names the nearest name, a missing dash, or an option that only perf has. Pure; any thread.
 */
#include "cli/option_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/option.h"
#include "cli/perf_options.h"

#define TYPO_LETTERS_MIN 3 /* `-all` may be meant as `--all-cpus`; `-ag` is a bundle */

/* Returns the part of the row *index, which is then counted from that part's first row; NULL behind the last part. */
static const struct weir_option_rows *part_of(const struct weir_option_table *table, size_t *index)
{
    for (size_t i = 0; i < table->part_count; i++) {
        if (*index < table->parts[i]->count)
            return table->parts[i];
        *index -= table->parts[i]->count;
    }
    return NULL;
}

const struct weir_option *weir_option_at(const struct weir_option_table *table, size_t index)
{
    const struct weir_option_rows *part = part_of(table, &index);
    return part ? &part->options[index] : NULL;
}

const char *weir_option_section(const struct weir_option_table *table, size_t index)
{
    const struct weir_option_rows *part = part_of(table, &index);
    const char *section = part->options[index].section;
    return section ? section : part->section;
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

void weir_option_hint_help(const struct weir_option_table *table, struct weir_error *err)
{
    weir_error_hint(err, "'%s --help' lists the options", table->command);
}

/* perf's option with this name or letter (the other is NULL or 0), also when it is typed as --no-NAME, that weir does
 * not have; NULL: none. */
static const struct weir_perf_option *find_perf_option(const struct weir_option_table *table, const char *name,
                                                       char letter)
{
    static const char no[] = "no-";
    const char *positive = name && strncmp(name, no, sizeof(no) - 1) == 0 ? name + sizeof(no) - 1 : name;
    for (size_t i = 0; i < table->perf_option_count; i++) {
        const struct weir_perf_option *option = &table->perf_options[i];
        bool has_name = name && option->long_name &&
                        (strcmp(option->long_name, name) == 0 || strcmp(option->long_name, positive) == 0);
        bool negated, is_ours = option->long_name && weir_option_find(table, option->long_name, &negated);
        if (!is_ours && (has_name || (letter && option->short_name == letter)))
            return option;
    }
    return NULL;
}

/* typed: with its dashes. */
static int fail_perf_option(const struct weir_option_table *table, const struct weir_perf_option *option,
                            const char *typed, struct weir_error *err)
{
    bool is_letter = typed[1] != '-' && option->long_name;
    if (is_letter)
        weir_error_set(err, -EINVAL, "option '%s' (--%s) of perf record is not in weir", typed, option->long_name);
    else
        weir_error_set(err, -EINVAL, "option '%s' of perf record is not in weir", typed);
    if (option->instead)
        weir_error_hint(err, "%s", option->instead);
    else
        weir_option_hint_help(table, err);
    return -EINVAL;
}

/* word: without dashes. False with err, when an earlier version had the option. */
static bool check_removed(const struct weir_option_table *table, const char *word, struct weir_error *err)
{
    for (size_t i = 0; i < table->removed_count; i++) {
        if (strcmp(table->removed[i].long_name, word) != 0)
            continue;
        weir_error_set(err, -EINVAL, "option '--%s' is no longer in weir", word);
        weir_error_hint(err, "%s", table->removed[i].instead);
        return false;
    }
    return true;
}

/* The name behind "no-" of an option that there is, but not so; NULL: it is nothing of the kind. */
static const char *find_positive(const struct weir_option_table *table, const char *word)
{
    static const char no[] = "no-";
    bool negated;
    const char *positive = strncmp(word, no, sizeof(no) - 1) == 0 ? word + sizeof(no) - 1 : NULL;
    return positive && weir_option_find(table, positive, &negated) ? positive : NULL;
}

static void fail_unknown_long(const struct weir_option_table *table, const char *word, struct weir_error *err)
{
    const char *positive = find_positive(table, word);
    if (positive) { /* what is most like it would be the opposite */
        weir_error_set(err, -EINVAL, "unknown option '--%s'", word);
        weir_error_hint(err, "'--%s' cannot be negated: leave it out; '%s --help' lists the options", positive,
                        table->command);
        return;
    }
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, word);
    for (size_t i = 0; weir_option_at(table, i); i++) {
        char text[WEIR_OPTION_TEXT_BYTES];
        for (enum weir_option_spelling spelling = 0; spelling < WEIR_OPTION_SPELLING_COUNT; spelling++) {
            if (weir_option_format_spelling(weir_option_at(table, i), spelling, text))
                weir_suggest_offer(&suggest, text);
        }
    }

    weir_error_set(err, -EINVAL, "unknown option '--%s'", word);
    const char *best = weir_suggest_best(&suggest);
    if (best)
        weir_error_hint(err, "did you mean '--%s'? '%s --help' lists the options", best, table->command);
    else
        weir_option_hint_help(table, err);
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

/* Whether a perf whose abbreviations count has the option. */
static bool is_of_perf(const struct weir_option_table *table, const struct weir_option *option)
{
    for (size_t i = 0; option->long_name && i < table->perf_option_count; i++) {
        const struct weir_perf_option *perf = &table->perf_options[i];
        if (perf->long_name && strcmp(perf->long_name, option->long_name) == 0)
            return perf->versions & WEIR_PERF_ABBREVIATED;
    }
    return false;
}

/* Rows that such a perf has, too, or those that it has not. */
static void collect_rows(const struct weir_option_table *table, const char *word, bool of_perf,
                         struct candidates *candidates)
{
    char text[WEIR_OPTION_TEXT_BYTES];
    for (size_t i = 0; weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (is_of_perf(table, option) != of_perf)
            continue;
        for (enum weir_option_spelling spelling = 0; spelling < WEIR_OPTION_SPELLING_COUNT; spelling++) {
            if (!weir_option_format_spelling(option, spelling, text) || !add_candidate(candidates, word, text))
                continue;
            candidates->option = option;
            candidates->negated = spelling != WEIR_OPTION_SPELLING_NAME;
        }
    }
}

/* The same for options that weir lacks. */
static void collect_perf_options(const struct weir_option_table *table, const char *word, bool of_perf,
                                 struct candidates *candidates)
{
    bool negated;
    for (size_t i = 0; i < table->perf_option_count; i++) {
        const struct weir_perf_option *option = &table->perf_options[i];
        bool is_ours = option->long_name && weir_option_find(table, option->long_name, &negated);
        bool is_asked = !(option->versions & WEIR_PERF_ABBREVIATED) != of_perf;
        if (option->long_name && !is_ours && is_asked && add_candidate(candidates, word, option->long_name))
            candidates->perf_option = option;
    }
}

/* word: without dashes and argument. Of rows with word for a head, those that perf has go first: what weir or a newer
 * perf has beside them takes no abbreviation away. False with err when there is none, or more than one. */
static bool find_abbreviated(const struct weir_option_table *table, const char *word, struct weir_option_match *match,
                             struct weir_error *err)
{
    struct candidates found = {0};
    collect_rows(table, word, true, &found);
    collect_perf_options(table, word, true, &found);
    if (found.count == 0) {
        collect_rows(table, word, false, &found);
        collect_perf_options(table, word, false, &found);
    }
    snprintf(match->typed, sizeof(match->typed), "--%.*s", (int)sizeof(match->typed) - 3, found.first);
    if (found.count == 0) {
        fail_unknown_long(table, word, err);
    } else if (found.count > 1) {
        weir_error_set(err, -EINVAL, "option '--%s' is ambiguous: '%s' or '--%s'", word, match->typed, found.other);
        weir_option_hint_help(table, err);
    } else if (found.perf_option) {
        fail_perf_option(table, found.perf_option, match->typed, err);
    }
    match->option = found.option;
    match->negated = found.negated;
    return found.count == 1 && found.option;
}

bool weir_option_match_long(const struct weir_option_table *table, const char *name, size_t length,
                            struct weir_option_match *match, struct weir_error *err)
{
    char word[WEIR_OPTION_TEXT_BYTES];
    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    match->option = weir_option_find(table, word, &match->negated);
    snprintf(match->typed, sizeof(match->typed), "--%.*s", (int)sizeof(match->typed) - 3, word);
    if (match->option)
        return true;
    const struct weir_perf_option *perf_option = find_perf_option(table, word, 0);
    if (perf_option) {
        fail_perf_option(table, perf_option, match->typed, err);
        return false;
    }
    return check_removed(table, word, err) && find_abbreviated(table, word, match, err);
}

/* A bundle that is the head of a long name: one dash was forgotten. */
static const struct weir_option *find_undashed(const struct weir_option_table *table, const char *bundle)
{
    size_t length = strcspn(bundle, "=");
    for (size_t i = 0; length >= TYPO_LETTERS_MIN && weir_option_at(table, i); i++) {
        const struct weir_option *option = weir_option_at(table, i);
        if (option->long_name && strncmp(option->long_name, bundle, length) == 0)
            return option;
    }
    return NULL;
}

int weir_option_fail_short(const struct weir_option_table *table, const char *bundle, char letter,
                           struct weir_error *err)
{
    const struct weir_perf_option *perf_option = find_perf_option(table, NULL, letter);
    const struct weir_option *meant = find_undashed(table, bundle);
    if (perf_option && !meant) {
        const char typed[] = {'-', letter, '\0'};
        return fail_perf_option(table, perf_option, typed, err);
    }
    if (bundle[1])
        weir_error_set(err, -EINVAL, "unknown option '-%c' in '-%s'", letter, bundle);
    else
        weir_error_set(err, -EINVAL, "unknown option '-%c'", letter);
    if (meant)
        weir_error_hint(err, "did you mean '--%s' (with two dashes)?", meant->long_name);
    else
        weir_option_hint_help(table, err);
    return -EINVAL;
}
