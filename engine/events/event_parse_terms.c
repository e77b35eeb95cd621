/*
 * Terms between slashes, and the generic ones, which every event may have. Main thread, set-up.
 *
 *   terms = "/" [ term { "," term } ] "/" .
 *   term  = word [ "=" ( word | "'" text "'" ) ] .
 *
 * Source: perf-record(1), "EVENT", and perf-list(1); for the terms of tracepoints config_term_tracepoint(),
 * tools/perf/util/parse-events.c, Linux 6.1. Of two terms of one name the last one counts.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/branch_filter.h"
#include "engine/events/event_parse_internal.h"

#define STACK_BYTES_MAX   65528u /* sample_stack_user: a multiple of 8 that fits 16 bits */
#define STACK_BYTES_ALIGN 8u
#define MAX_STACK_MAX     UINT16_MAX

enum term_kind {
    KIND_NUMBER, /* min to max */
    KIND_FLAG,   /* nothing, 0 or 1 */
    KIND_TEXT,
    KIND_LIST, /* a text that may be a number */
};

static int set_number(struct weir_event *event, enum weir_event_term term, uint64_t value)
{
    struct weir_event_terms *terms = &event->terms;
    terms->given |= term;
    switch (term) {
    case WEIR_TERM_PERIOD:
        terms->given &= ~(uint32_t)WEIR_TERM_FREQ;
        terms->period = value;
        break;
    case WEIR_TERM_FREQ:
        terms->given &= ~(uint32_t)WEIR_TERM_PERIOD;
        terms->freq_hz = value;
        break;
    case WEIR_TERM_STACK_SIZE:
        terms->stack_bytes = (uint32_t)weir_align_up(value, STACK_BYTES_ALIGN);
        break;
    case WEIR_TERM_MAX_STACK:
        terms->max_stack = (uint32_t)value;
        break;
    case WEIR_TERM_MAX_EVENTS:
        break; /* perf trace's limit; recording has no use for it */
    case WEIR_TERM_AUX_SAMPLE_SIZE:
        terms->aux_sample_bytes = (uint32_t)value;
        break;
    default:
        return -EINVAL;
    }
    return 0;
}

static int set_flag(struct weir_event *event, enum weir_event_term term, bool value)
{
    struct weir_event_terms *terms = &event->terms;
    terms->given |= term;
    switch (term) {
    case WEIR_TERM_TIME:
        terms->time = value;
        break;
    case WEIR_TERM_INHERIT:
        terms->inherit = value;
        break;
    case WEIR_TERM_OVERWRITE:
        terms->overwrite = value;
        break;
    case WEIR_TERM_PERCORE:
        break; /* perf stat's; recording has no use for it */
    case WEIR_TERM_AUX_OUTPUT:
        terms->aux_output = value;
        break;
    default:
        return -EINVAL;
    }
    return 0;
}

void weir_event_term_set_config(struct weir_event *event, unsigned word, uint64_t clear, uint64_t set)
{
    struct perf_event_attr *attr = &event->attr;
    if (word == 0)
        attr->config = (attr->config & ~clear) | set;
    else if (word == 1)
        attr->config1 = (attr->config1 & ~clear) | set;
    else if (word == 2)
        attr->config2 = (attr->config2 & ~clear) | set;
    else if (word == 3)
        attr->config3 = (attr->config3 & ~clear) | set;
    else
        attr->config4 = (attr->config4 & ~clear) | set;
}

/* One generic term. */
struct term_row {
    const char *name;
    enum term_kind kind;
    int term;      /* enum weir_event_term; 0: a config word or the name */
    unsigned word; /* of config */
    uint64_t min, max;
    bool of_tracepoints;
};

static const struct term_row rows[] = {
    {"config", KIND_NUMBER, 0, 0, 0, UINT64_MAX, false},
    {"config1", KIND_NUMBER, 0, 1, 0, UINT64_MAX, false},
    {"config2", KIND_NUMBER, 0, 2, 0, UINT64_MAX, false},
    {"config3", KIND_NUMBER, 0, 3, 0, UINT64_MAX, false},
    {"config4", KIND_NUMBER, 0, 4, 0, UINT64_MAX, false},
    {"name", KIND_TEXT, 0, 0, 0, 0, false},
    {"metric-id", KIND_TEXT, WEIR_TERM_METRIC_ID, 0, 0, 0, false},
    {"period", KIND_NUMBER, WEIR_TERM_PERIOD, 0, 1, INT64_MAX, false},
    {"freq", KIND_NUMBER, WEIR_TERM_FREQ, 0, 1, UINT32_MAX, false},
    {"branch_type", KIND_TEXT, WEIR_TERM_BRANCH, 0, 0, 0, false},
    {"time", KIND_FLAG, WEIR_TERM_TIME, 0, 0, 1, false},
    {"call-graph", KIND_TEXT, WEIR_TERM_CALL_GRAPH, 0, 0, 0, true},
    {"stack-size", KIND_NUMBER, WEIR_TERM_STACK_SIZE, 0, 1, STACK_BYTES_MAX, true},
    {"max-stack", KIND_NUMBER, WEIR_TERM_MAX_STACK, 0, 1, MAX_STACK_MAX, true},
    {"nr", KIND_NUMBER, WEIR_TERM_MAX_EVENTS, 0, 1, UINT32_MAX, true},
    {"max-events", KIND_NUMBER, WEIR_TERM_MAX_EVENTS, 0, 1, UINT32_MAX, true},
    {"inherit", KIND_FLAG, WEIR_TERM_INHERIT, 0, 0, 1, true},
    {"no-inherit", KIND_FLAG, WEIR_TERM_INHERIT, 0, 0, 1, true},
    {"overwrite", KIND_FLAG, WEIR_TERM_OVERWRITE, 0, 0, 1, true},
    {"no-overwrite", KIND_FLAG, WEIR_TERM_OVERWRITE, 0, 0, 1, true},
    {"percore", KIND_FLAG, WEIR_TERM_PERCORE, 0, 0, 1, false},
    {"aux-output", KIND_FLAG, WEIR_TERM_AUX_OUTPUT, 0, 0, 1, true},
    {"aux-action", KIND_TEXT, WEIR_TERM_AUX_ACTION, 0, 0, 0, true},
    {"cpu", KIND_LIST, WEIR_TERM_CPU, 0, 0, 0, false},
    {"ratio-to-prev", KIND_LIST, WEIR_TERM_RATIO, 0, 0, 0, false},
    {"aux-sample-size", KIND_NUMBER, WEIR_TERM_AUX_SAMPLE_SIZE, 0, 0, UINT32_MAX, true},
};

static bool may_stand(const struct term_row *row, enum weir_event_term_place place)
{
    return place != WEIR_TERMS_OF_TRACEPOINT || row->of_tracepoints;
}

static const struct term_row *find_row(const struct weir_event_token *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        if (weir_event_token_is(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

void weir_event_terms_offer(struct weir_suggest *suggest, enum weir_event_term_place place)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        if (may_stand(&rows[i], place))
            weir_suggest_offer(suggest, rows[i].name);
    }
}

/* ---- values ---- */

int weir_event_term_number(struct weir_event_parser *parser, const struct weir_event_term_text *term, uint64_t min,
                           uint64_t max, uint64_t *number)
{
    const struct weir_event_token *value = &term->value;
    if (value->kind == WEIR_TOKEN_END)
        return weir_error_set(parser->err, -EINVAL, "term '%.*s' at column %u needs a value, a number",
                              (int)term->name.length, term->name.text, term->name.column);
    if (!weir_event_token_number(value, number))
        return weir_error_set(parser->err, -EINVAL, "value '%.*s' of term '%.*s' at column %u is not a number",
                              (int)value->length, value->text, (int)term->name.length, term->name.text, value->column);
    if (*number < min || *number > max)
        return weir_error_set(parser->err, -EINVAL, "value %.*s of term '%.*s' at column %u is not %llu to %llu",
                              (int)value->length, value->text, (int)term->name.length, term->name.text, value->column,
                              (unsigned long long)min, (unsigned long long)max);
    return 0;
}

static int apply_flag(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                      const struct term_row *row, struct weir_event *event)
{
    uint64_t value = 1;
    int result = term->value.kind == WEIR_TOKEN_END ? 0 : weir_event_term_number(parser, term, 0, 1, &value);
    bool negated = strncmp(row->name, "no-", 3) == 0;
    return result < 0 ? result : set_flag(event, (enum weir_event_term)row->term, negated ? !value : value);
}

static int apply_call_graph(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                            struct weir_event *event)
{
    static const struct {
        const char *word;
        enum weir_call_graph value;
    } words[] = {
        {"no", WEIR_CALL_GRAPH_NONE},
        {"fp", WEIR_CALL_GRAPH_FP},
        {"dwarf", WEIR_CALL_GRAPH_DWARF},
        {"lbr", WEIR_CALL_GRAPH_LBR},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if (weir_event_token_is(&term->value, words[i].word)) {
            event->terms.given |= WEIR_TERM_CALL_GRAPH;
            event->terms.call_graph = words[i].value;
            return 0;
        }
    }
    return weir_error_set(parser->err, -EINVAL,
                          "value '%.*s' of term 'call-graph' at column %u is not fp, dwarf, lbr "
                          "or no",
                          (int)term->value.length, term->value.text, term->value.column);
}

/* The value is a quoted list when it has several kinds of branches. */
static int apply_branch_type(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                             struct weir_event *event)
{
    char text[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(&term->value, text, sizeof(text));
    struct weir_error reason = {0};
    event->terms.branch_filter = 0;
    bool is_none = strcmp(text, "no") == 0;
    if (!is_none && weir_branch_filter_parse(text, &event->terms.branch_filter, &reason) < 0) {
        weir_error_set(parser->err, -EINVAL, "term 'branch_type' at column %u: %s", term->name.column, reason.what);
        weir_error_hint(parser->err, "%s", reason.hint);
        return -EINVAL;
    }
    event->terms.given |= WEIR_TERM_BRANCH;
    return 0;
}

static int apply_aux_action(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                            struct weir_event *event)
{
    static const struct {
        const char *word;
        enum weir_aux_action value;
    } words[] = {
        {"start-paused", WEIR_AUX_ACTION_START_PAUSED},
        {"pause", WEIR_AUX_ACTION_PAUSE},
        {"resume", WEIR_AUX_ACTION_RESUME},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if (!weir_event_token_is(&term->value, words[i].word))
            continue;
        event->terms.given |= WEIR_TERM_AUX_ACTION;
        event->terms.aux_action = words[i].value;
        return 0;
    }
    return weir_error_set(parser->err, -EINVAL,
                          "value '%.*s' of term 'aux-action' at column %u is not pause, resume or start-paused",
                          (int)term->value.length, term->value.text, term->value.column);
}

/* A list of CPUs, quoted when it has a comma, or the name of a PMU: the CPUs on which that PMU counts. */
static int apply_cpus(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                      struct weir_event *event)
{
    char text[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(&term->value, text, sizeof(text));
    event->terms.given |= WEIR_TERM_CPU;
    int result = weir_event_parser_describe_pmus(parser);
    if (result < 0)
        return result;
    for (size_t i = 0; i < parser->pmus.count; i++) {
        if (strcmp(parser->pmus.pmus[i].name, text) == 0)
            return weir_cpuset_copy(&event->pmu_cpus, &parser->pmus.pmus[i].cpus) < 0
                       ? weir_event_parser_no_memory(parser)
                       : 0;
    }
    struct weir_error reason = {0};
    weir_cpuset_fini(&event->pmu_cpus);
    event->pmu_cpus = (struct weir_cpuset)WEIR_CPUSET_INIT;
    result = weir_cpuset_parse(&event->pmu_cpus, text, &reason);
    if (result == -ENOMEM)
        return weir_event_parser_no_memory(parser);
    if (result < 0) {
        weir_error_set(parser->err, -EINVAL, "value '%s' of term 'cpu' at column %u is no list of CPUs and no PMU",
                       text, term->value.column);
        weir_error_hint(parser->err, "cpu=0, cpu=0-3, cpu='0,2', or the name of a PMU as cpu=cpu_atom");
    }
    return result;
}

static int apply_ratio(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                       struct weir_event *event)
{
    char text[WEIR_EVENT_WORD_BYTES], *end;
    weir_event_token_copy(&term->value, text, sizeof(text));
    double ratio = strtod(text, &end);
    if (end == text || *end || !(ratio > 0 && ratio <= UINT32_MAX))
        return weir_error_set(parser->err, -EINVAL,
                              "value '%s' of term 'ratio-to-prev' at column %u is not a number above 0", text,
                              term->value.column);
    event->terms.given |= WEIR_TERM_RATIO;
    event->terms.ratio = ratio;
    return 0;
}

static int apply_name(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                      struct weir_event *event)
{
    char *name = strndup(term->value.text, term->value.length);
    if (!name)
        return weir_event_parser_no_memory(parser);
    free(event->name);
    event->name = name;
    event->name_given = true;
    return 0;
}

static int apply_text(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                      const struct term_row *row, struct weir_event *event)
{
    uint64_t number;
    bool is_number = row->kind == KIND_TEXT && weir_event_token_number(&term->value, &number);
    if (term->value.kind == WEIR_TOKEN_END || term->value.length == 0 || is_number)
        return weir_error_set(parser->err, -EINVAL, "term '%s' at column %u needs a value%s", row->name,
                              term->name.column, row->kind == KIND_TEXT ? ", a word" : "");
    switch (row->term) {
    case WEIR_TERM_CALL_GRAPH:
        return apply_call_graph(parser, term, event);
    case WEIR_TERM_BRANCH:
        return apply_branch_type(parser, term, event);
    case WEIR_TERM_AUX_ACTION:
        return apply_aux_action(parser, term, event);
    case WEIR_TERM_CPU:
        return apply_cpus(parser, term, event);
    case WEIR_TERM_RATIO:
        return apply_ratio(parser, term, event);
    case WEIR_TERM_METRIC_ID:
        event->terms.given |= WEIR_TERM_METRIC_ID;
        return 0;
    default:
        return apply_name(parser, term, event);
    }
}

/* ---- application ---- */

int weir_event_term_apply(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                          enum weir_event_term_place place, struct weir_event *event)
{
    const struct term_row *row = find_row(&term->name);
    if (!row || !may_stand(row, place))
        return -ENOENT;
    if (row->kind == KIND_TEXT || row->kind == KIND_LIST)
        return apply_text(parser, term, row, event);
    if (row->kind == KIND_FLAG)
        return apply_flag(parser, term, row, event);

    bool is_config = row->term == 0;
    uint64_t value = 1; /* config alone is config=1, as in perf; any other term needs its number */
    if (!is_config || term->value.kind != WEIR_TOKEN_END) {
        int result = weir_event_term_number(parser, term, row->min, row->max, &value);
        if (result < 0)
            return result;
    }
    if (!is_config)
        return set_number(event, (enum weir_event_term)row->term, value);
    weir_event_term_set_config(event, row->word, UINT64_MAX, value);
    return 0;
}

static int set_unknown(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                       enum weir_event_term_place place)
{
    char name[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(&term->name, name, sizeof(name));
    weir_error_set(parser->err, -EINVAL, "unknown term '%s' at column %u", name, term->name.column);
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, name);
    weir_event_terms_offer(&suggest, place);
    if (weir_suggest_best(&suggest))
        weir_error_hint(parser->err, "did you mean '%s'?", weir_suggest_best(&suggest));
    else if (place == WEIR_TERMS_OF_TRACEPOINT)
        weir_error_hint(parser->err,
                        "terms of a tracepoint are call-graph, stack-size, max-stack, inherit, no-inherit, "
                        "overwrite and no-overwrite");
    else
        weir_error_hint(parser->err, "terms of every event are config, name, period, freq, time, call-graph, "
                                     "stack-size, max-stack, inherit, no-inherit, overwrite, branch_type, cpu; others "
                                     "need a PMU before the slash");
    return -EINVAL;
}

int weir_event_terms_apply(struct weir_event_parser *parser, const struct weir_event_term_list *terms,
                           enum weir_event_term_place place, size_t first)
{
    for (size_t event = first; event < parser->list->count; event++) {
        for (size_t i = 0; i < terms->count; i++) {
            int result = weir_event_term_apply(parser, &terms->terms[i], place, &parser->list->events[event]);
            if (result == -ENOENT)
                return set_unknown(parser, &terms->terms[i], place);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

/* ---- the text ---- */

/* One term, from the token on. */
static int parse_term(struct weir_event_parser *parser, struct weir_event_term_list *terms)
{
    struct weir_event_scanner *scan = &parser->scan;
    if (scan->token.kind != WEIR_TOKEN_WORD)
        return weir_event_parser_unexpected(parser, "a term");
    if (terms->count == WEIR_EVENT_TERMS_MAX)
        return weir_error_set(parser->err, -EINVAL, "more than %d terms at column %u", WEIR_EVENT_TERMS_MAX,
                              scan->token.column);
    struct weir_event_term_text *term = &terms->terms[terms->count];
    *term = (struct weir_event_term_text){.name = scan->token};
    weir_event_scan_next(scan, WEIR_SCAN_TERMS);
    if (weir_event_token_is_sign(&scan->token, '=')) {
        weir_event_scan_next(scan, WEIR_SCAN_TERMS);
        if (scan->token.kind != WEIR_TOKEN_WORD && scan->token.kind != WEIR_TOKEN_QUOTED)
            return weir_event_parser_unexpected(parser, "a value");
        term->value = scan->token;
        weir_event_scan_next(scan, WEIR_SCAN_TERMS);
    }
    terms->count++;
    return 0;
}

int weir_event_terms_parse(struct weir_event_parser *parser, struct weir_event_term_list *terms)
{
    terms->count = 0;
    if (!weir_event_token_is_sign(&parser->scan.token, '/'))
        return 0;
    do {
        weir_event_scan_next(&parser->scan, WEIR_SCAN_TERMS);
        if (terms->count == 0 && weir_event_token_is_sign(&parser->scan.token, '/'))
            break;
        int result = parse_term(parser, terms);
        if (result < 0)
            return result;
    } while (weir_event_token_is_sign(&parser->scan.token, ','));
    if (!weir_event_token_is_sign(&parser->scan.token, '/'))
        return weir_event_parser_unexpected(parser, "',' or '/'");
    weir_event_parser_advance(parser);
    return 0;
}

int weir_event_terms_parse_all(struct weir_event_parser *parser, struct weir_event_term_list *terms)
{
    terms->count = 0;
    for (;;) {
        int result = parse_term(parser, terms);
        if (result < 0)
            return result;
        if (!weir_event_token_is_sign(&parser->scan.token, ','))
            break;
        weir_event_scan_next(&parser->scan, WEIR_SCAN_TERMS);
    }
    return parser->scan.token.kind == WEIR_TOKEN_END ? 0 : weir_event_parser_unexpected(parser, "','");
}
