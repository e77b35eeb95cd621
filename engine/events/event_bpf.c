/*
 * BPF programs as events: from the name of a file in -e to the events that it stands for, and from open events back to
 * the programs. Main thread, then the coordinator.
 *
 *   bpf = any characters but "," "{" "}" that end in ".o", ".bpf" or ".c" .
 *
 * As by perf record of Linux 4.8 (tools/perf/util/parse-events.l), which tries it before all others; it takes no terms
 * and no modifiers here.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bits.h"
#include "engine/events/bpf_programs.h"
#include "engine/events/event_parse_internal.h"
#include "engine/events/event_set_internal.h"

/* ---- parse ---- */

size_t weir_event_bpf_length(const char *text)
{
    static const char *const endings[] = {".o", ".bpf", ".c"};
    size_t length = strcspn(text, ",{}");
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && memcmp(text + length - ending, endings[i], ending) == 0)
            return length;
    }
    return 0;
}

/* Hands the programs over to the list. 0 or -ENOMEM; then they stay the caller's. */
static int keep_programs(struct weir_event_list *list, struct weir_bpf_programs *programs)
{
    struct weir_bpf_programs **all =
        weir_array_grow(list->bpf, sizeof(struct weir_bpf_programs *), list->bpf_count, 1, &list->bpf_room);
    if (!all)
        return -ENOMEM;
    list->bpf = all;
    all[list->bpf_count++] = programs;
    return 0;
}

static int add_output(struct weir_event_parser *parser, const char *name, struct weir_bpf_programs *programs,
                      size_t index)
{
    struct weir_event *event = weir_event_parser_append(parser);
    if (!event)
        return -ENOMEM;
    event->attr.type = PERF_TYPE_SOFTWARE;
    event->attr.config = PERF_COUNT_SW_BPF_OUTPUT;
    event->terms.given = WEIR_TERM_INHERIT; /* and it is not: the kernel takes no other (perf_event_read_local()) */
    event->bpf = programs;
    event->bpf_index = index;
    event->name = strdup(name);
    return event->name ? 0 : weir_event_parser_no_memory(parser);
}

int weir_event_bpf_parse(struct weir_event_parser *parser, size_t length)
{
    const struct weir_event_token start = parser->scan.token;
    static const struct weir_bpf_build nothing_named = {NULL, NULL, NULL};
    const struct weir_bpf_build *build = parser->list->bpf_build ? parser->list->bpf_build : &nothing_named;
    char *path = strndup(start.text, length);
    if (!path)
        return weir_event_parser_no_memory(parser);
    struct weir_bpf_programs *programs = NULL;
    int result = weir_bpf_programs_open(&programs, path, build, parser->err);
    free(path);
    if (result < 0)
        return result;
    if (keep_programs(parser->list, programs) < 0) {
        weir_bpf_programs_free(programs);
        return weir_event_parser_no_memory(parser);
    }
    const struct weir_bpf_event *event;
    for (size_t i = 0; result == 0 && (event = weir_bpf_programs_event(programs, i)); i++)
        result = event->output
                     ? add_output(parser, event->output, programs, i)
                     : weir_event_tracepoint_add(parser, &start, event->tracepoint_system, event->tracepoint_name);
    parser->scan.next = start.text + length;
    weir_event_parser_advance(parser);
    return result;
}

/* ---- open events ---- */

int weir_event_set_direct_outputs(const struct weir_event_set *set, unsigned place)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        const struct weir_event *described = &set->list->events[event];
        int fd = weir_event_set_fd(set, event, place, 0);
        if (!described->bpf || fd < 0)
            continue;
        int result =
            weir_bpf_programs_set_output(described->bpf, described->bpf_index, (unsigned)set->places[place].cpu, fd);
        if (result < 0)
            return result;
    }
    return 0;
}

/* A descriptor of the event, wherever it is open; -1: it is nowhere. */
static int any_fd(const struct weir_event_set *set, unsigned event)
{
    size_t from = weir_event_set_slot(set, event, 0, 0), to = weir_event_set_slot(set, event + 1, 0, 0);
    while (from < to && set->fds[from] < 0)
        from++;
    return from < to ? set->fds[from] : -1;
}

bool weir_event_set_tell_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices)
{
    bool any = false;
    for (unsigned event = 0; event < set->event_count; event++) {
        const struct weir_event *described = &set->list->events[event];
        unsigned count = 0;
        int fd = described->tracepoint_system ? any_fd(set, event) : -1;
        if (fd < 0 || set->kernel->ops->event_programs(set->kernel->ctx, fd, &count) < 0 || count == 0)
            continue;
        any = true;
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "%u BPF program%s of others on %s:%s: what %s filter%s out is neither recorded nor counted "
                    "('bpftool perf' tells whose they are)",
                    count, count == 1 ? "" : "s", described->tracepoint_system, described->tracepoint_name,
                    count == 1 ? "it" : "they", count == 1 ? "s" : "");
    }
    return any;
}

int weir_event_set_start_programs(const struct weir_event_set *set, const struct weir_notice_sink *notices,
                                  struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < set->list->bpf_count; i++)
        result = weir_bpf_programs_load(set->list->bpf[i], notices, err);
    for (unsigned place = 0; result == 0 && place < set->place_count; place++) {
        result = weir_event_set_direct_outputs(set, place);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot direct the outputs of BPF programs on cpu %d",
                                 set->places[place].cpu);
    }
    for (size_t i = 0; result == 0 && i < set->list->bpf_count; i++)
        result = weir_bpf_programs_attach(set->list->bpf[i], notices, err);
    return result;
}
