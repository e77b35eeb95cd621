/*
 * SYSTEM:NAME, a tracepoint, or a pattern for several. Dynamic probes (kprobe_events, uprobe_events) are tracepoints.
 * Main thread, set-up; reads tracefs.
 *
 *   tracepoint = word ":" word [ terms ] .
 *
 * A pattern (glob(7)) in either word stands for all tracepoints that match, in the order of tracefs, as in perf. Unlike
 * in perf 6.1, a system that matches but has no matching event is no error.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/events/event_names.h"
#include "engine/events/event_parse_internal.h"
#include "engine/events/pfm.h"
#include "format/tracefs.h"

static int find_tracefs(struct weir_event_parser *parser, struct weir_error *err)
{
    return parser->tracefs[0] ? 0 : weir_tracefs_find(parser->tracefs, sizeof(parser->tracefs), err);
}

/* Appends the event and looks up its id. Sets reason when the tracepoint is wrong, the parser's error on -ENOMEM. */
static int add(struct weir_event_parser *parser, const char *system, const char *name, struct weir_error *reason)
{
    struct weir_event *event = weir_event_parser_append(parser);
    if (!event)
        return -ENOMEM;
    event->tracepoint_system = strdup(system);
    event->tracepoint_name = strdup(name);
    if (!event->tracepoint_system || !event->tracepoint_name || asprintf(&event->name, "%s:%s", system, name) < 0) {
        event->name = NULL; /* asprintf(3) leaves it undefined */
        return weir_event_parser_no_memory(parser);
    }
    uint64_t id = 0;
    int result = find_tracefs(parser, reason);
    if (result == 0)
        result = weir_tracefs_event_id(parser->tracefs, system, name, &id, reason);
    event->attr.type = PERF_TYPE_TRACEPOINT;
    event->attr.config = id;
    return result;
}

/* ---- one tracepoint ---- */

/* Whether `cyclse:u`, which reads as tracepoint u of system cyclse, is a misspelt name of an event; suggest has it. */
static bool is_misspelt_symbol(struct weir_event_parser *parser, const char *system, const char *name,
                               struct weir_suggest *suggest)
{
    weir_suggest_init(suggest, system);
    if (!weir_event_is_modifiers(name))
        return false;
    weir_event_names_offer(suggest);
    weir_event_aliases_offer(parser, suggest);
    if (!parser->sysfs_root)
        weir_pfm_offer(suggest);
    return weir_suggest_best(suggest) != NULL;
}

static int set_no_tracepoint(struct weir_event_parser *parser, const struct weir_event_token *start, const char *system,
                             const char *name, const struct weir_error *reason)
{
    struct weir_suggest suggest;
    if (is_misspelt_symbol(parser, system, name, &suggest)) {
        weir_error_set(parser->err, -ENOENT, "unknown event '%s' at column %u", system, start->column);
        weir_error_hint(parser->err, "did you mean '%s'?", weir_suggest_best(&suggest));
        return -ENOENT;
    }
    weir_error_set(parser->err, reason->code, "%s (event '%s:%s' at column %u)", reason->what, system, name,
                   start->column);
    weir_error_hint(parser->err, "%s", reason->hint);
    return reason->code;
}

int weir_event_tracepoint_add(struct weir_event_parser *parser, const struct weir_event_token *start,
                              const char *system, const char *name)
{
    struct weir_error reason = {0};
    int result = add(parser, system, name, &reason);
    return result < 0 && result != -ENOMEM ? set_no_tracepoint(parser, start, system, name, &reason) : result;
}

/* ---- patterns ---- */

struct match {
    struct weir_event_parser *parser;
    const char *system, *name; /* patterns */
    struct weir_error *reason;
};

static int add_match(void *ctx, const char *system, const char *name)
{
    const struct match *match = ctx;
    if (fnmatch(match->system, system, 0) != 0 || fnmatch(match->name, name, 0) != 0)
        return 0;
    int result = add(match->parser, system, name, match->reason);
    if (result != -ENOENT && result != -EINVAL)
        return result;
    /* The tracepoint is gone, or has no id. */
    weir_event_list_truncate(match->parser->list, match->parser->list->count - 1);
    return 0;
}

static int add_matches(struct weir_event_parser *parser, const struct weir_event_token *start, const char *system,
                       const char *name)
{
    struct weir_error reason = {0};
    struct match match = {.parser = parser, .system = system, .name = name, .reason = &reason};
    size_t count = parser->list->count;
    int result = find_tracefs(parser, &reason);
    if (result == 0) {
        result = weir_tracefs_visit(parser->tracefs, add_match, &match);
        if (result < 0 && result != -ENOMEM && reason.code != result)
            weir_error_set_errno(&reason, result, "cannot list the tracepoints in %s/events", parser->tracefs);
    }
    if (result == -ENOMEM)
        return weir_event_parser_no_memory(parser);
    if (result < 0) {
        weir_error_set(parser->err, result, "%s (event '%s:%s' at column %u)", reason.what, system, name,
                       start->column);
        weir_error_hint(parser->err, "%s", reason.hint);
        return result;
    }
    if (parser->list->count > count)
        return 0;
    weir_error_set(parser->err, -ENOENT, "no tracepoint matches '%s:%s' at column %u", system, name, start->column);
    weir_error_hint(parser->err,
                    "'weir list tracepoint' shows all of them; quote patterns, so that the shell does not expand them");
    return -ENOENT;
}

static bool is_pattern(const char *word)
{
    return strpbrk(word, "*?[") != NULL;
}

int weir_event_tracepoint_parse(struct weir_event_parser *parser, const struct weir_event_token *system_token)
{
    weir_event_parser_advance(parser);
    const struct weir_event_token name_token = parser->scan.token;
    if (name_token.kind != WEIR_TOKEN_WORD)
        return weir_event_parser_unexpected(parser, "the name of a tracepoint");
    if (system_token->length >= WEIR_EVENT_WORD_BYTES || name_token.length >= WEIR_EVENT_WORD_BYTES)
        return weir_error_set(parser->err, -ENOENT, "no tracepoint has a name as long as that at column %u",
                              system_token->column);
    char system[WEIR_EVENT_WORD_BYTES], name[WEIR_EVENT_WORD_BYTES];
    weir_event_token_copy(system_token, system, sizeof(system));
    weir_event_token_copy(&name_token, name, sizeof(name));
    weir_event_parser_advance(parser);

    size_t first = parser->list->count;
    struct weir_event_term_list terms = {.count = 0};
    int result = weir_event_terms_parse(parser, &terms);
    if (result < 0)
        return result;
    if (is_pattern(system) || is_pattern(name)) {
        result = add_matches(parser, system_token, system, name);
    } else {
        result = weir_event_tracepoint_add(parser, system_token, system, name);
    }
    return result < 0 ? result : weir_event_terms_apply(parser, &terms, WEIR_TERMS_OF_TRACEPOINT, first);
}

/* ---- tracepoints by number ---- */

struct id_search {
    struct weir_event_parser *parser;
    struct weir_event *event;
};

static int take_name_of_id(void *ctx, const char *system, const char *name)
{
    const struct id_search *search = ctx;
    uint64_t id;
    if (weir_tracefs_event_id(search->parser->tracefs, system, name, &id, NULL) < 0 || id != search->event->attr.config)
        return 0;
    search->event->tracepoint_system = strdup(system);
    search->event->tracepoint_name = strdup(name);
    return search->event->tracepoint_system && search->event->tracepoint_name ? 1 : -ENOMEM;
}

int weir_event_tracepoint_name_ids(struct weir_event_parser *parser, size_t first)
{
    for (size_t i = first; i < parser->list->count; i++) {
        struct weir_event *event = &parser->list->events[i];
        if (event->attr.type != PERF_TYPE_TRACEPOINT || event->tracepoint_system || find_tracefs(parser, NULL) < 0)
            continue;
        struct id_search search = {.parser = parser, .event = event};
        if (weir_tracefs_visit(parser->tracefs, take_name_of_id, &search) == -ENOMEM)
            return weir_event_parser_no_memory(parser);
    }
    return 0;
}
