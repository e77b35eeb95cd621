/*
 * The name of a BPF file, and the events of its programs. Main thread, set-up.
 *
 *   bpf = any characters but "," "{" "}" that end in ".o", ".bpf" or ".c" .
 *
 * As in perf record of Linux 4.8 (tools/perf/util/parse-events.l), which tries it before all other events. Unlike
 * there, it takes no terms and no modifiers.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bits.h"
#include "engine/events/bpf_programs.h"
#include "engine/events/event_parse_internal.h"

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

/* Gives the programs to the list. 0; or -ENOMEM, and they stay the caller's. */
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
    event->terms.given = WEIR_TERM_INHERIT; /* no-inherit: maps take no inherited event (perf_event_read_local()) */
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
