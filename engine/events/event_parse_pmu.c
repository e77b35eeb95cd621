/*
 * Events of the PMUs in sysfs: pmu/terms/, aliases by their bare name, and the generic events on machines with several
 * kinds of cores. Main thread, set-up; reads sysfs.
 *
 *   pmu   = word terms .       the PMUs that the word stands for: weir_pmu_matches()
 *   alias = word [ terms ] .   every PMU that has an alias of that name
 *
 * Terms apply as in perf 6.1 (perf_pmu__config(), tools/perf/util/pmu.c). The generic terms come first, including
 * config=. Then the bit fields, from aliases and from the user, are OR-ed into the config words. So
 * cpu/mem-loads,ldlat=30/ with an alias that has ldlat=3 gives 31. Where an event with an AUX area has a default
 * config, a field replaces its bits.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/events/aux_terms.h"
#include "engine/events/cache_events.h"
#include "engine/events/event_names.h"
#include "engine/events/event_parse_internal.h"

/* One event of a PMU in the making. */
struct build {
    struct weir_event_parser *parser;
    struct weir_pmu *pmu; /* borrowed, described */
    size_t event;         /* index */
    const struct weir_event_term_list *terms;
    unsigned unit_column; /* column of the alias with a unit or scale; 0: none yet */
    bool replaces;        /* a field replaces its bits of the PMU's default config */
};

static struct weir_event *built(const struct build *build)
{
    return &build->parser->list->events[build->event];
}

/* ---- raw and field terms ---- */

/* r1a8 or r0x1a8 */
static bool is_raw_term(const struct weir_event_term_text *term, uint64_t *config)
{
    struct weir_event_token digits = term->name;
    if (term->value.kind != WEIR_TOKEN_END || digits.length < 2 || digits.text[0] != 'r')
        return false;
    char text[2 + 16 + 1] = "0x";
    bool prefixed = digits.length > 3 && digits.text[1] == '0' && digits.text[2] == 'x';
    size_t skip = prefixed ? 3 : 1, length = digits.length - skip;
    if (length > 16)
        return false;
    memcpy(text + 2, digits.text + skip, length);
    digits.text = text;
    digits.length = length + 2;
    return weir_event_token_number(&digits, config);
}

/* "?" in an alias: the user has to give that term. */
static bool is_parameter(const struct weir_event_term_text *term)
{
    return weir_event_token_is(&term->value, "?");
}

static bool same_name(const struct weir_event_token *a, const struct weir_event_token *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static int check_parameter(const struct build *build, const struct weir_event_term_text *parameter)
{
    for (size_t i = 0; i < build->terms->count; i++) {
        const struct weir_event_term_text *term = &build->terms->terms[i];
        if (same_name(&term->name, &parameter->name) && term->value.kind != WEIR_TOKEN_END)
            return 0;
    }
    weir_error_set(build->parser->err, -EINVAL, "an alias of %s needs term '%.*s' to be given", build->pmu->name,
                   (int)parameter->name.length, parameter->name.text);
    weir_error_hint(build->parser->err, "%s/ALIAS,%.*s=VALUE/", build->pmu->name, (int)parameter->name.length,
                    parameter->name.text);
    return -EINVAL;
}

static int set_unknown_term(const struct build *build, const struct weir_event_term_text *term)
{
    char name[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(&term->name, name, sizeof(name));
    struct weir_error *err = build->parser->err;
    weir_error_set(err, -EINVAL, "unknown term '%s' at column %u for PMU %s", name, term->name.column,
                   build->pmu->name);
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, name);
    for (size_t i = 0; i < build->pmu->alias_count; i++)
        weir_suggest_offer(&suggest, build->pmu->aliases[i].name);
    for (size_t i = 0; i < build->pmu->format_count; i++)
        weir_suggest_offer(&suggest, build->pmu->formats[i].name);
    weir_event_terms_offer(&suggest, WEIR_TERMS_OF_PMU);
    if (weir_suggest_best(&suggest))
        weir_error_hint(err, "did you mean '%s'?", weir_suggest_best(&suggest));
    else
        weir_error_hint(err, "'weir list pmu' shows what %s has", build->pmu->name);
    return -EINVAL;
}

static int apply_field(const struct build *build, const struct weir_event_term_text *term,
                       const struct weir_pmu_format *format)
{
    uint64_t value = 1;
    int result = term->value.kind == WEIR_TOKEN_END
                     ? 0
                     : weir_event_term_number(build->parser, term, 0, weir_pmu_format_max(format), &value);
    if (result < 0)
        return result;
    if (format->word == 0)
        built(build)->aux_attr.config_given |= format->mask;
    weir_event_term_set_config(built(build), format->word, build->replaces ? format->mask : 0,
                               weir_pmu_format_place(format, value));
    return 0;
}

/* @SINK of CoreSight: the buffer for the trace. */
static int apply_sink(const struct build *build, const struct weir_event_term_text *term)
{
    char name[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(&term->name, name, sizeof(name));
    uint64_t id;
    if (!weir_pmu_sink(&build->parser->pmus, build->pmu, name + 1, &id))
        return weir_error_set(build->parser->err, -EINVAL, "PMU %s has no sink '%s' (column %u)", build->pmu->name,
                              name + 1, term->name.column);
    weir_event_term_set_config(built(build), 2, 0, id);
    return 0;
}

static int apply_pmu_term(struct build *build, const struct weir_event_term_text *term)
{
    if (is_parameter(term))
        return check_parameter(build, term);
    if (term->name.text[0] == '@')
        return apply_sink(build, term);
    const struct weir_pmu_format *format = weir_pmu_find_format(build->pmu, term->name.text, term->name.length);
    if (format)
        return apply_field(build, term, format);
    uint64_t config;
    if (!is_raw_term(term, &config))
        return set_unknown_term(build, term);
    weir_event_term_set_config(built(build), 0, 0, config);
    return 0;
}

/* ---- aliases ---- */

/* The alias that a term names: NAME or event=NAME. NULL: none. */
static const struct weir_pmu_alias *find_alias(const struct weir_pmu *pmu, const struct weir_event_term_text *term)
{
    uint64_t number;
    if (term->value.kind == WEIR_TOKEN_END)
        return weir_pmu_find_alias(pmu, term->name.text, term->name.length);
    if (weir_event_token_is(&term->name, "event") && !weir_event_token_number(&term->value, &number))
        return weir_pmu_find_alias(pmu, term->value.text, term->value.length);
    return NULL;
}

static int take_unit(struct build *build, const struct weir_pmu_alias *alias, unsigned column)
{
    if (!alias->unit && alias->scale == 1)
        return 0;
    if (build->unit_column)
        return weir_error_set(build->parser->err, -EINVAL, "aliases at columns %u and %u both have a unit or scale",
                              build->unit_column, column);
    build->unit_column = column;
    struct weir_event *event = built(build);
    char *unit = alias->unit ? strdup(alias->unit) : NULL;
    if (alias->unit && !unit)
        return weir_event_parser_no_memory(build->parser);
    free(event->unit);
    event->unit = unit;
    event->scale = alias->scale;
    return 0;
}

/* Applies the terms that the alias stands for. */
static int apply_alias(struct build *build, const struct weir_pmu_alias *alias)
{
    struct weir_error reason = {0};
    struct weir_event_parser parser = {.err = &reason, .list = build->parser->list};
    struct weir_event_term_list terms = {.count = 0};
    parser.scan.text = parser.scan.next = alias->terms;
    weir_event_scan_next(&parser.scan, WEIR_SCAN_TERMS);
    int result = weir_event_terms_parse_all(&parser, &terms);
    for (size_t i = 0; result == 0 && i < terms.count; i++) {
        int applied = weir_event_term_apply(&parser, &terms.terms[i], WEIR_TERMS_OF_PMU, built(build));
        result = applied == -ENOENT ? apply_pmu_term(build, &terms.terms[i]) : applied;
    }
    if (result < 0 && reason.code != 0)
        weir_error_set(build->parser->err, result, "alias '%s' of PMU %s: %s", alias->name, build->pmu->name,
                       reason.what);
    return result;
}

/* ---- generic events of one kind of core ---- */

/* cpu/cycles/ and cpu_core/LLC-loads/: the term is a generic event, counted on that PMU. */
static bool apply_generic_event(const struct build *build, const struct weir_event_term_text *term)
{
    struct weir_event *event = built(build);
    const char *what;
    uint64_t config;
    if (term->value.kind != WEIR_TOKEN_END || !weir_pmu_is_core(build->pmu))
        return false;
    const struct weir_event_name *name = weir_event_name_find(term->name.text, term->name.length);
    if (name && name->type == PERF_TYPE_HARDWARE) {
        event->attr.type = PERF_TYPE_HARDWARE;
        config = name->config;
    } else if (weir_cache_event_find(term->name.text, term->name.length, &config, &what) == 0) {
        event->attr.type = PERF_TYPE_HW_CACHE;
    } else {
        return false;
    }
    if (weir_pmu_is_hybrid_core(build->pmu))
        config |= (uint64_t)build->pmu->type << PERF_PMU_TYPE_SHIFT;
    event->attr.config = config;
    return true;
}

/* ---- events ---- */

static int set_pmu(struct weir_event_parser *parser, struct weir_event *event, const struct weir_pmu *pmu)
{
    event->attr.type = pmu->type;
    event->pmu_name = strdup(pmu->name);
    if (!event->pmu_name || weir_cpuset_copy(&event->pmu_cpus, &pmu->cpus) < 0)
        return weir_event_parser_no_memory(parser);
    return 0;
}

static int apply_terms(struct build *build)
{
    bool done[WEIR_EVENT_TERMS_MAX] = {false};
    int result = 0;
    for (size_t i = 0; result == 0 && i < build->terms->count; i++) {
        result = weir_event_term_apply(build->parser, &build->terms->terms[i], WEIR_TERMS_OF_PMU, built(build));
        done[i] = result == 0;
        if (done[i] && weir_event_token_is(&build->terms->terms[i].name, "config"))
            built(build)->aux_attr.config_given = UINT64_MAX;
        if (result == -ENOENT)
            result = 0;
    }
    for (size_t i = 0; result == 0 && i < build->terms->count; i++) {
        const struct weir_event_term_text *term = &build->terms->terms[i];
        const struct weir_pmu_alias *alias = done[i] ? NULL : find_alias(build->pmu, term);
        if (alias) {
            result = take_unit(build, alias, term->name.column);
            if (result == 0)
                result = apply_alias(build, alias);
        } else if (!done[i] && !apply_generic_event(build, term)) {
            result = apply_pmu_term(build, term);
        }
    }
    return result;
}

/* Appends the event of pmu that the terms describe. */
static int add(struct weir_event_parser *parser, struct weir_pmu *pmu, const struct weir_event_term_list *terms)
{
    struct weir_event *event = weir_event_parser_append(parser);
    if (!event)
        return -ENOMEM;
    struct build build = {.parser = parser, .pmu = pmu, .event = parser->list->count - 1, .terms = terms};
    int result = set_pmu(parser, event, pmu);
    if (result == 0)
        build.replaces = weir_aux_terms_begin(event, &parser->pmus, pmu);
    return result < 0 ? result : apply_terms(&build);
}

static int set_unknown_pmu(struct weir_event_parser *parser, const char *word, unsigned column)
{
    weir_error_set(parser->err, -ENOENT, "this machine has no PMU '%s' (column %u)", word, column);
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, word);
    for (size_t i = 0; i < parser->pmus.count; i++)
        weir_suggest_offer(&suggest, parser->pmus.pmus[i].name);
    if (weir_suggest_best(&suggest))
        weir_error_hint(parser->err, "did you mean '%s'?", weir_suggest_best(&suggest));
    else
        weir_error_hint(parser->err, "'weir list pmu' shows its PMUs; the kernel or hypervisor decides");
    return -ENOENT;
}

/* Whether the word stands for the PMU. exact: a PMU has that very name, and only it is meant. */
static bool is_meant(const struct weir_pmu *pmu, const char *word, bool exact)
{
    return exact ? strcmp(pmu->name, word) == 0 : weir_pmu_matches(pmu, word);
}

/* Appends an event for each PMU that the word stands for. The token is the first slash. */
static int add_all(struct weir_event_parser *parser, const char *word, bool exact)
{
    struct weir_pmu_list *pmus = &parser->pmus;
    struct weir_event_term_list terms = {.count = 0};
    int result = weir_event_terms_parse(parser, &terms);
    for (size_t i = 0; result == 0 && i < pmus->count; i++) {
        if (!is_meant(&pmus->pmus[i], word, exact))
            continue;
        result = weir_pmu_describe(pmus, &pmus->pmus[i]) < 0 ? weir_event_parser_no_memory(parser)
                                                             : add(parser, &pmus->pmus[i], &terms);
    }
    return result;
}

/* *exact: a PMU has that very name. *any: the word stands for a PMU. */
static void find_pmus(const struct weir_pmu_list *pmus, const char *word, bool *exact, bool *any)
{
    *exact = *any = false;
    for (size_t i = 0; i < pmus->count; i++) {
        *exact = *exact || strcmp(pmus->pmus[i].name, word) == 0;
        *any = *any || weir_pmu_matches(&pmus->pmus[i], word);
    }
}

int weir_event_pmu_parse(struct weir_event_parser *parser, const struct weir_event_token *word_token)
{
    char word[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(word_token, word, sizeof(word));
    bool exact = false, any = false;
    int result = weir_event_parser_read_pmus(parser);
    if (result == 0)
        find_pmus(&parser->pmus, word, &exact, &any);
    if (result == 0 && !any)
        result = weir_event_alias_parse(parser, word_token, &any);
    else if (result == 0)
        result = add_all(parser, word, exact);
    return result == 0 && !any ? set_unknown_pmu(parser, word, word_token->column) : result;
}

int weir_event_alias_parse(struct weir_event_parser *parser, const struct weir_event_token *word, bool *found)
{
    *found = false;
    int result = weir_event_parser_describe_pmus(parser);
    struct weir_pmu_list *pmus = &parser->pmus;
    for (size_t i = 0; result == 0 && i < pmus->count; i++)
        *found = *found || weir_pmu_find_alias(&pmus->pmus[i], word->text, word->length);
    if (result < 0 || !*found)
        return result;

    struct weir_event_term_list terms = {.count = 0};
    result = weir_event_terms_parse(parser, &terms);
    if (result == 0 && terms.count == WEIR_EVENT_TERMS_MAX)
        result = weir_error_set(parser->err, -EINVAL, "more than %d terms at column %u", WEIR_EVENT_TERMS_MAX - 1,
                                word->column);
    if (result < 0)
        return result;
    terms.terms[terms.count++] = (struct weir_event_term_text){.name = *word};
    for (size_t i = 0; result == 0 && i < pmus->count; i++) {
        if (weir_pmu_find_alias(&pmus->pmus[i], word->text, word->length))
            result = add(parser, &pmus->pmus[i], &terms);
    }
    return result;
}

void weir_event_aliases_offer(struct weir_event_parser *parser, struct weir_suggest *suggest)
{
    if (weir_event_parser_describe_pmus(parser) < 0)
        return;
    for (size_t i = 0; i < parser->pmus.count; i++) {
        const struct weir_pmu *pmu = &parser->pmus.pmus[i];
        for (size_t j = 0; j < pmu->alias_count; j++)
            weir_suggest_offer(suggest, pmu->aliases[j].name);
    }
}

/* ---- several kinds of cores ---- */

/* Binds the event to that core PMU. */
static int bind(struct weir_event_parser *parser, size_t index, const struct weir_pmu *pmu)
{
    struct weir_event *event = &parser->list->events[index];
    uint32_t type = event->attr.type;
    int result = set_pmu(parser, event, pmu);
    if (result < 0 || type == PERF_TYPE_RAW)
        return result;
    event->attr.type = type;
    event->attr.config = (event->attr.config & PERF_HW_EVENT_MASK) | (uint64_t)pmu->type << PERF_PMU_TYPE_SHIFT;
    return 0;
}

static int expand_one(struct weir_event_parser *parser, size_t index)
{
    const struct weir_event original = parser->list->events[index]; /* owns nothing yet but a name by name= */
    size_t kinds = 0;
    for (size_t i = 0; i < parser->pmus.count; i++) {
        if (!weir_pmu_is_hybrid_core(&parser->pmus.pmus[i]))
            continue;
        size_t at = index;
        if (kinds++ > 0) {
            struct weir_event *copy = weir_event_parser_append(parser);
            if (!copy)
                return -ENOMEM;
            at = parser->list->count - 1;
            *copy = original;
            copy->leader = at;
            copy->name = original.name ? strdup(original.name) : NULL;
            if (original.name && !copy->name)
                return weir_event_parser_no_memory(parser);
        }
        int result = bind(parser, at, &parser->pmus.pmus[i]);
        if (result < 0)
            return result;
    }
    return 0;
}

int weir_event_hybrid_expand(struct weir_event_parser *parser, size_t first)
{
    int result = weir_event_parser_read_pmus(parser);
    bool hybrid = false;
    for (size_t i = 0; i < parser->pmus.count; i++)
        hybrid = hybrid || strncmp(parser->pmus.pmus[i].name, "cpu_", 4) == 0;
    if (result == 0 && hybrid)
        result = weir_event_parser_describe_pmus(parser);
    size_t end = parser->list->count;
    for (size_t i = first; result == 0 && hybrid && i < end; i++)
        result = expand_one(parser, i);
    return result;
}
