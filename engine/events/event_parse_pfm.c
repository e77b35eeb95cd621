/*
 * Events by libpfm4's names: the list of --pfm-events, and words of -e that nothing else knows. Main thread, set-up.
 *
 *   pfm events = item { "," item } .
 *   item       = "{" event { "," event } "}" | event .
 *   event      = what libpfm4 takes: [ PMU "::" ] EVENT { ( ":" | "." ) ( mask | modifier ) } .
 *
 * Source: tools/perf/util/pfm.c, Linux 6.12. That perf skips empty events, and takes a group without its end.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/events/event_parse_internal.h"
#include "engine/events/pfm.h"

static int set_refused(struct weir_event_parser *parser, const char *name, unsigned column,
                       const struct weir_error *reason)
{
    if (reason->code != -ENOTSUP)
        weir_error_set(parser->err, reason->code, "libpfm4: %s ('%s' at column %u)", reason->what, name, column);
    else
        weir_error_set(parser->err, reason->code, "%s", reason->what);
    char word[WEIR_EVENT_WORD_BYTES];
    size_t length = 0;
    for (; name[length] && length + 1 < sizeof(word); length++)
        word[length] = (char)(name[length] == ':' ? '.' : tolower((unsigned char)name[length]));
    word[length] = '\0';
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, word);
    weir_pfm_offer(&suggest);
    if (weir_suggest_best(&suggest) && strcmp(weir_suggest_best(&suggest), word) != 0)
        weir_error_hint(parser->err, "did you mean '%s'?", weir_suggest_best(&suggest));
    else
        weir_error_hint(parser->err, "%s", weir_pfm_hint());
    return reason->code;
}

/* A period or frequency in the text holds as that of a term does. */
static void take_period(struct weir_event *event)
{
    if (event->attr.sample_period == 0)
        return;
    event->terms.given |= event->attr.freq ? WEIR_TERM_FREQ : WEIR_TERM_PERIOD;
    event->terms.freq_hz = event->attr.freq ? event->attr.sample_freq : 0;
    event->terms.period = event->attr.freq ? 0 : event->attr.sample_period;
    event->attr.freq = 0;
    event->attr.sample_period = 0;
}

/* Takes CPUs and name of the PMU that the event is of. */
static int take_pmu(struct weir_event_parser *parser, struct weir_event *event)
{
    int result = weir_event_parser_read_pmus(parser);
    const struct weir_pmu *pmu = result < 0 ? NULL : weir_pmu_find_type(&parser->pmus, event->attr.type);
    if (!pmu)
        return result;
    event->pmu_name = strdup(pmu->name);
    if (!event->pmu_name || weir_cpuset_copy(&event->pmu_cpus, &pmu->cpus) < 0)
        return weir_event_parser_no_memory(parser);
    return 0;
}

/* Appends the event that libpfm4 calls by that name. The event's own name is left to the caller. 0 or -errno; reason:
 * what libpfm4 says, while the parser's error is not set. */
static int add(struct weir_event_parser *parser, const char *name, struct weir_error *reason)
{
    struct weir_event *event = weir_event_parser_append(parser);
    if (!event)
        return -ENOMEM;
    int result = weir_pfm_encode(name, &event->attr, reason);
    if (result < 0) {
        weir_event_list_truncate(parser->list, parser->list->count - 1);
        return result;
    }
    event->modifiers_given = event->attr.exclude_kernel || event->attr.exclude_user;
    take_period(event);
    return take_pmu(parser, event);
}

int weir_event_pfm_word_parse(struct weir_event_parser *parser, const struct weir_event_token *word, bool *found)
{
    char name[WEIR_EVENT_WORD_BYTES];
    struct weir_error reason = {0};
    *found = false;
    if (parser->sysfs_root || word->length >= sizeof(name)) /* libpfm4 knows this machine only */
        return 0;
    weir_event_token_copy(word, name, sizeof(name));
    int result = add(parser, name, &reason);
    *found = result == 0;
    return reason.code != 0 ? 0 : result;
}

/* ---- --pfm-events ---- */

/* The event at text, of that length. */
static int parse_event(struct weir_event_parser *parser, const char *text, size_t length)
{
    unsigned column = (unsigned)(text - parser->scan.text) + 1;
    struct weir_error reason = {0};
    char *name = strndup(text, length);
    if (!name)
        return weir_event_parser_no_memory(parser);
    int result = length == 0 ? weir_error_set(parser->err, -EINVAL, "an event expected at column %u", column)
                             : add(parser, name, &reason);
    if (reason.code != 0)
        set_refused(parser, name, column, &reason);
    if (result == 0)
        parser->list->events[parser->list->count - 1].name = name;
    else
        free(name);
    return result;
}

static int fail_at(struct weir_event_parser *parser, const char *at, const char *wanted)
{
    unsigned column = (unsigned)(at - parser->scan.text) + 1;
    if (!*at)
        return weir_error_set(parser->err, -EINVAL, "%s expected at column %u, at the end of '%s'", wanted, column,
                              parser->scan.text);
    return weir_error_set(parser->err, -EINVAL, "%s expected at column %u, not '%c'", wanted, column, *at);
}

/* Behind the brace; *at: behind the group. */
static int parse_group(struct weir_event_parser *parser, const char **at)
{
    size_t leader = parser->list->count;
    for (;;) {
        size_t length = strcspn(*at, ",{}");
        int result = parse_event(parser, *at, length);
        if (result < 0)
            return result;
        parser->list->events[parser->list->count - 1].leader = leader;
        *at += length;
        if (**at != ',')
            break;
        ++*at;
    }
    if (**at != '}')
        return fail_at(parser, *at, "',' or '}'");
    ++*at;
    return 0;
}

int weir_event_list_parse_pfm(struct weir_event_list *list, const char *text, struct weir_error *err)
{
    struct weir_event_parser parser = {.list = list, .scan.text = text, .err = err};
    size_t count = list->count;
    int result = 0;
    for (const char *at = text;; at++) {
        if (*at == '{') {
            at++;
            result = parse_group(&parser, &at);
        } else {
            size_t length = strcspn(at, ",{}");
            result = parse_event(&parser, at, length);
            at += length;
        }
        if (result == 0 && *at && *at != ',')
            result = fail_at(&parser, at, "',' or the end");
        if (result < 0 || !*at)
            break;
    }
    if (result < 0)
        weir_event_list_truncate(list, count);
    weir_pmu_list_fini(&parser.pmus);
    return result;
}
