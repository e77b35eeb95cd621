/*
 * From -e text to events: a recursive-descent parser, one function per production. Main thread, set-up.
 *
 *   events      = item { "," item } .
 *   item        = group | event .
 *   group       = [ word ] "{" event { "," event } "}" [ ":" modifiers ] .
 *   event       = bpf
 *               | ( symbol | cache | raw | number ":" number ) [ terms ] [ suffix ]
 *               | breakpoint [ suffix ] | pmu [ suffix ] | alias [ suffix ] | pfm [ suffix ]
 *               | tracepoint [ suffix ] .
 *   symbol      = a name of engine/events/event_names.h .
 *   cache       = a name of engine/events/cache_events.h .
 *   raw         = "r" hex digit { hex digit } .                           at most 16 digits
 *   pfm         = EVENT [ "." mask ] .                                    event_parse_pfm.c
 *   suffix      = ":" modifiers | modifiers .                             without the colon only behind a slash
 *
 * bpf, modifiers, terms, breakpoint, tracepoint, pmu and alias have files of their own, event_parse_*.c. A word is
 * tried in this order: symbol, cache, raw, number, alias, libpfm4's events, tracepoint. Blanks may stand between
 * tokens. Every error names the column, from 1, of the wrong token.
 *
 * Source: tools/perf/util/parse-events.{l,y,c}, Linux 6.1, and the events that this perf opened (docs/compatibility.md
 * has the differences).
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__i386__) || defined(__x86_64__)
#include <cpuid.h>
#endif

#include "engine/events/cache_events.h"
#include "engine/events/event_names.h"
#include "engine/events/event_parse_internal.h"
#include "engine/events/event_ratio.h"
#include "engine/events/pfm.h"

#define RAW_DIGITS_MAX 16

/* ---- for all productions ---- */

void weir_event_parser_advance(struct weir_event_parser *parser)
{
    weir_event_scan_next(&parser->scan, WEIR_SCAN_EVENTS);
}

static bool at_sign(const struct weir_event_parser *parser, char sign)
{
    return weir_event_token_is_sign(&parser->scan.token, sign);
}

bool weir_event_parser_accept(struct weir_event_parser *parser, char sign)
{
    bool there = at_sign(parser, sign);
    if (there)
        weir_event_parser_advance(parser);
    return there;
}

int weir_event_parser_unexpected(struct weir_event_parser *parser, const char *wanted)
{
    const struct weir_event_token *token = &parser->scan.token;
    if (token->kind == WEIR_TOKEN_END)
        return weir_error_set(parser->err, -EINVAL, "%s expected at column %u, at the end of '%s'", wanted,
                              token->column, parser->scan.text);
    return weir_error_set(parser->err, -EINVAL, "%s expected at column %u, not '%.*s'", wanted, token->column,
                          (int)token->length, token->text);
}

int weir_event_parser_no_memory(struct weir_event_parser *parser)
{
    return weir_error_set(parser->err, -ENOMEM, "out of memory");
}

struct weir_event *weir_event_parser_append(struct weir_event_parser *parser)
{
    struct weir_event *event = weir_event_list_append(parser->list);
    if (event)
        event->attr.exclude_guest = 1; /* perf record leaves guests out, unless modifiers say otherwise */
    else
        weir_event_parser_no_memory(parser);
    return event;
}

int weir_event_parser_read_pmus(struct weir_event_parser *parser)
{
    if (parser->pmus_read)
        return 0;
    if (weir_pmu_list_read(&parser->pmus, parser->sysfs_root) < 0)
        return weir_event_parser_no_memory(parser);
    parser->pmus_read = true;
    return 0;
}

int weir_event_parser_describe_pmus(struct weir_event_parser *parser)
{
    int result = weir_event_parser_read_pmus(parser);
    for (size_t i = 0; result == 0 && i < parser->pmus.count; i++) {
        if (weir_pmu_describe(&parser->pmus, &parser->pmus.pmus[i]) < 0)
            result = weir_event_parser_no_memory(parser);
    }
    return result;
}

/* ---- generic and raw events ---- */

/* An event of a type and config, with its terms. The token is behind the event. */
static int parse_numeric(struct weir_event_parser *parser, uint32_t type, uint64_t config)
{
    size_t first = parser->list->count;
    struct weir_event_term_list terms = {.count = 0};
    int result = weir_event_terms_parse(parser, &terms);
    if (result < 0)
        return result;
    struct weir_event *event = weir_event_parser_append(parser);
    if (!event)
        return -ENOMEM;
    event->attr.type = type;
    event->attr.config = config;
    result = weir_event_terms_apply(parser, &terms, WEIR_TERMS_OF_SYMBOL, first);
    bool of_cores = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
    return result == 0 && of_cores ? weir_event_hybrid_expand(parser, first) : result;
}

/* TYPE:CONFIG, both numbers. The token is the colon. */
static int parse_type_config(struct weir_event_parser *parser, const struct weir_event_token *word, uint64_t type)
{
    if (type > UINT32_MAX)
        return weir_error_set(parser->err, -EINVAL, "event type '%.*s' at column %u has more than 32 bits",
                              (int)word->length, word->text, word->column);
    weir_event_parser_advance(parser);
    uint64_t config;
    if (!weir_event_token_number(&parser->scan.token, &config))
        return weir_event_parser_unexpected(parser, "the config of the event (a number)");
    weir_event_parser_advance(parser);
    return parse_numeric(parser, (uint32_t)type, config);
}

/* Whether the word has the form of a raw event: "r" and only hex digits, however many. */
static bool is_raw(const struct weir_event_token *word)
{
    if (word->length < 2 || word->text[0] != 'r')
        return false;
    for (size_t i = 1; i < word->length; i++)
        if (!isxdigit((unsigned char)word->text[i]))
            return false;
    return true;
}

static int parse_raw(struct weir_event_parser *parser, const struct weir_event_token *word)
{
    if (word->length - 1 > RAW_DIGITS_MAX)
        return weir_error_set(parser->err, -EINVAL, "raw event '%.*s' at column %u has more than %d hex digits",
                              (int)word->length, word->text, word->column, RAW_DIGITS_MAX);
    char digits[RAW_DIGITS_MAX + 1] = {0};
    memcpy(digits, word->text + 1, word->length - 1);
    return parse_numeric(parser, PERF_TYPE_RAW, strtoull(digits, NULL, 16));
}

/* ---- unknown words ---- */

static int offer_name(void *ctx, const char *name)
{
    weir_suggest_offer(ctx, name);
    return 0;
}

static bool is_counted_only(const char *name)
{
    return strcmp(name, "duration_time") == 0 || strcmp(name, "user_time") == 0 || strcmp(name, "system_time") == 0;
}

static int set_unknown(struct weir_event_parser *parser, const struct weir_event_token *word)
{
    char name[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(word, name, sizeof(name));
    if (is_counted_only(name))
        return weir_error_set(parser->err, -EINVAL, "event '%s' at column %u is for counting, not for recording", name,
                              word->column);
    weir_error_set(parser->err, -ENOENT, "unknown event '%s' at column %u", name, word->column);

    struct weir_suggest suggest;
    weir_suggest_init(&suggest, name);
    weir_event_names_offer(&suggest);
    weir_cache_events_visit(offer_name, &suggest);
    weir_event_aliases_offer(parser, &suggest);
    if (!parser->sysfs_root)
        weir_pfm_offer(&suggest);
    if (weir_suggest_best(&suggest))
        weir_error_hint(parser->err, "did you mean '%s'?", weir_suggest_best(&suggest));
    else if (!parser->sysfs_root)
        weir_error_hint(parser->err, "'weir list' shows the events of this machine; %s", weir_pfm_hint());
    else
        weir_error_hint(parser->err, "'weir list' shows the events of this machine; a model's own ones are written as "
                                     "cpu/event=0xNN,umask=0xNN/");
    return -ENOENT;
}

/* Replaces the error of an unknown event, and keeps its "did you mean". */
static int set_no_cache_event(struct weir_event_parser *parser, const struct weir_event_token *word, const char *what)
{
    struct weir_error unknown = {0};
    if (parser->err)
        unknown = *parser->err;
    weir_error_set(parser->err, -EINVAL, "no cache event '%.*s' (column %u): %s", (int)word->length, word->text,
                   word->column, what);
    if (strncmp(unknown.hint, "did you mean", strlen("did you mean")) == 0)
        weir_error_hint(parser->err, "%s", unknown.hint);
    return -EINVAL;
}

/* ---- events ---- */

/* Whether the token is a colon with nothing but modifiers behind it. */
static bool is_of_modifiers(const struct weir_event_parser *parser)
{
    struct weir_event_scanner ahead = parser->scan;
    char word[WEIR_EVENT_WORD_BYTES];
    weir_event_scan_next(&ahead, WEIR_SCAN_EVENTS);
    weir_event_token_copy(&ahead.token, word, sizeof(word));
    return ahead.token.kind == WEIR_TOKEN_WORD && weir_event_is_modifiers(word);
}

/* An alias, a tracepoint or an event of libpfm4's. The word is no generic event. */
static int parse_other(struct weir_event_parser *parser, const struct weir_event_token *word)
{
    bool found;
    int result = weir_event_alias_parse(parser, word, &found);
    if (result < 0 || found)
        return result;
    if (at_sign(parser, ':') && !is_of_modifiers(parser))
        return weir_event_tracepoint_parse(parser, word);
    result = weir_event_pfm_word_parse(parser, word, &found);
    if (result < 0 || found)
        return result;
    return at_sign(parser, ':') ? weir_event_tracepoint_parse(parser, word) : set_unknown(parser, word);
}

/* An event without its modifiers. *more: modifiers follow without a colon. */
static int parse_event_source(struct weir_event_parser *parser, bool *more)
{
    const struct weir_event_token word = parser->scan.token;
    size_t bpf = weir_event_bpf_length(word.text);
    if (bpf > 0)
        return weir_event_bpf_parse(parser, bpf);
    if (word.kind != WEIR_TOKEN_WORD)
        return weir_event_parser_unexpected(parser, "an event");
    if (weir_event_token_is(&word, "mem") && *parser->scan.next == ':')
        return weir_event_breakpoint_parse(parser, more);
    weir_event_parser_advance(parser);

    const struct weir_event_name *symbol = weir_event_name_find(word.text, word.length);
    if (symbol)
        return parse_numeric(parser, symbol->type, symbol->config);
    uint64_t number;
    const char *what;
    int cache = weir_cache_event_find(word.text, word.length, &number, &what);
    if (cache == 0)
        return parse_numeric(parser, PERF_TYPE_HW_CACHE, number);
    if (is_raw(&word))
        return parse_raw(parser, &word);
    if (at_sign(parser, ':') && weir_event_token_number(&word, &number))
        return parse_type_config(parser, &word, number);
    size_t count = parser->list->count;
    int result = at_sign(parser, '/') ? weir_event_pmu_parse(parser, &word) : parse_other(parser, &word);
    bool is_cache = result == -ENOENT && cache == -EINVAL && parser->list->count == count && !at_sign(parser, ':');
    return is_cache ? set_no_cache_event(parser, &word, what) : result;
}

/* Names the events from index `first` on as the user wrote them, unless they have a name: tracepoints, and name=. On
 * machines with several kinds of cores the name of a generic event has the kind of core, as in perf. */
static int set_names(struct weir_event_parser *parser, size_t first, const char *text, size_t length)
{
    for (size_t i = first; i < parser->list->count; i++) {
        struct weir_event *event = &parser->list->events[i];
        if (event->name)
            continue;
        bool of_kind = event->pmu_name && !memchr(text, '/', length) && strncmp(event->pmu_name, "cpu_", 4) == 0;
        if (!of_kind)
            event->name = strndup(text, length);
        else if (asprintf(&event->name, "%s/%.*s/", event->pmu_name, (int)length, text) < 0)
            event->name = NULL; /* asprintf(3) leaves it undefined */
        if (!event->name)
            return weir_event_parser_no_memory(parser);
    }
    return 0;
}

static int parse_event(struct weir_event_parser *parser)
{
    size_t first = parser->list->count;
    const char *start = parser->scan.token.text;
    bool more = false;
    int result = parse_event_source(parser, &more);
    if (result == 0)
        result = weir_event_tracepoint_name_ids(parser, first);
    if (result < 0)
        return result;

    const char *end = parser->scan.token.text;
    bool behind_slash = end > start && end[-1] == '/' && parser->scan.token.kind == WEIR_TOKEN_WORD;
    bool modified = weir_event_parser_accept(parser, ':') || more || behind_slash;
    if (modified) {
        end = parser->scan.token.text + parser->scan.token.length;
        result = weir_event_modifiers_parse(parser, first, false);
    }
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    return result < 0 ? result : set_names(parser, first, start, (size_t)(end - start));
}

/* ---- groups ---- */

static bool on_same_pmu(const struct weir_event *a, const struct weir_event *b)
{
    return a->pmu_name && b->pmu_name && strcmp(a->pmu_name, b->pmu_name) == 0;
}

/* The first event of the group on the same PMU; for an event of no PMU, the group's first event. */
static size_t find_leader(const struct weir_event_list *list, size_t first, size_t event)
{
    size_t leader = first;
    if (!list->events[event].pmu_name)
        return first;
    while (leader < event && !on_same_pmu(&list->events[leader], &list->events[event]))
        leader++;
    return leader;
}

/* A group whose first member is one event per PMU becomes one group per PMU, for each PMU counts apart. Returns whether
 * it did. */
static bool set_leaders(struct weir_event_list *list, size_t first, size_t first_member_end)
{
    bool per_pmu = first_member_end > first + 1 && list->events[first].pmu_name;
    for (size_t i = first; i < list->count; i++)
        list->events[i].leader = per_pmu ? find_leader(list, first, i) : first;
    return per_pmu;
}

/* Puts the members of each group behind its leader: GROUP_DESC in a file needs them together. */
static int gather_members(struct weir_event_parser *parser, size_t first)
{
    struct weir_event *events = parser->list->events;
    size_t count = parser->list->count, at = 0;
    struct weir_event *ordered = calloc(count - first, sizeof(*ordered));
    if (!ordered)
        return weir_event_parser_no_memory(parser);
    for (size_t leader = first; leader < count; leader++) {
        size_t place = first + at;
        for (size_t i = leader; events[leader].leader == leader && i < count; i++) {
            if (events[i].leader != leader)
                continue;
            ordered[at] = events[i];
            ordered[at++].leader = place;
        }
    }
    memcpy(&events[first], ordered, at * sizeof(*ordered));
    free(ordered);
    return 0;
}

/* Gives each leader the group's name. */
static int name_groups(struct weir_event_parser *parser, size_t first, const struct weir_event_token *name)
{
    for (size_t i = first; i < parser->list->count; i++) {
        struct weir_event *event = &parser->list->events[i];
        if (event->leader != i)
            continue;
        event->group_name = strndup(name->text, name->length);
        if (!event->group_name)
            return weir_event_parser_no_memory(parser);
    }
    return 0;
}

/* name: of the group; NULL: it has none. The token is the brace. */
static int parse_group(struct weir_event_parser *parser, const struct weir_event_token *name)
{
    size_t first = parser->list->count, first_member_end = 0;
    weir_event_parser_advance(parser);
    do {
        if (at_sign(parser, '{'))
            return weir_event_parser_unexpected(parser, "an event (groups do not nest)");
        int result = parse_event(parser);
        if (result < 0)
            return result;
        if (first_member_end == 0)
            first_member_end = parser->list->count;
    } while (weir_event_parser_accept(parser, ','));
    if (!weir_event_parser_accept(parser, '}'))
        return weir_event_parser_unexpected(parser, "',' or '}'");

    bool apart = set_leaders(parser->list, first, first_member_end);
    int result = apart ? gather_members(parser, first) : 0;
    if (result == 0 && name)
        result = name_groups(parser, first, name);
    if (result == 0 && weir_event_parser_accept(parser, ':'))
        result = weir_event_modifiers_parse(parser, first, true);
    return result;
}

static int parse_item(struct weir_event_parser *parser)
{
    const struct weir_event_token word = parser->scan.token;
    if (at_sign(parser, '{'))
        return parse_group(parser, NULL);
    if (word.kind != WEIR_TOKEN_WORD || *parser->scan.next != '{')
        return parse_event(parser);
    weir_event_parser_advance(parser);
    return parse_group(parser, &word);
}

static int parse_events(struct weir_event_parser *parser)
{
    do {
        int result = parse_item(parser);
        if (result < 0)
            return result;
    } while (weir_event_parser_accept(parser, ','));
    return parser->scan.token.kind == WEIR_TOKEN_END ? 0 : weir_event_parser_unexpected(parser, "',' or the end");
}

int weir_event_list_parse(struct weir_event_list *list, const char *text, const struct weir_event_sources *sources,
                          struct weir_error *err)
{
    static const struct weir_event_sources machine = {NULL, NULL};
    if (!sources)
        sources = &machine;
    struct weir_event_parser parser = {.list = list, .sysfs_root = sources->sysfs_root, .err = err};
    const char *tracefs = sources->tracefs_root;
    if (tracefs && (size_t)snprintf(parser.tracefs, sizeof(parser.tracefs), "%s", tracefs) >= sizeof(parser.tracefs))
        return weir_error_set(err, -ENAMETOOLONG, "path of tracefs is too long: %s", tracefs);

    size_t count = list->count;
    weir_event_scan_start(&parser.scan, text);
    int result = parse_events(&parser);
    if (result == 0 && weir_event_ratios_are_given(list, count))
        result = weir_event_parser_describe_pmus(&parser);
    if (result == 0)
        result = weir_event_ratios_resolve(list, count, &parser.pmus, err);
    if (result < 0)
        weir_event_list_truncate(list, count);
    weir_pmu_list_fini(&parser.pmus);
    return result;
}

/* ---- the default event ---- */

/* AMD counts precise cycles with the IBS PMU, which refuses to leave guests out. */
static bool cpu_is_amd(void)
{
#if defined(__i386__) || defined(__x86_64__)
    unsigned leaf, vendor[3];
    return __get_cpuid(0, &leaf, &vendor[0], &vendor[2], &vendor[1]) &&
           memcmp(vendor, "AuthenticAMD", sizeof(vendor)) == 0;
#else
    return false;
#endif
}

int weir_event_list_add_default(struct weir_event_list *list, const struct weir_event_sources *sources)
{
    size_t first = list->count;
    int result = weir_event_list_parse(list, "cycles:P", sources, NULL);
    for (size_t i = first; result == 0 && i < list->count; i++)
        list->events[i].attr.exclude_guest = !cpu_is_amd();
    return result;
}
