/*
 * The modifiers of an event or a group. Main thread, set-up.
 *
 *   modifiers = letter { letter } .     one each of u k h I G H P S D W e b R X, up to three p
 *
 * Source: get_event_modifier(), tools/perf/util/parse-events.c, Linux 6.1; R is perf 6.12's, X 6.18's. Any modifier
 * replaces all defaults: `cycles:I` counts guests and `cycles` does not. The modifiers of a group add to those of its
 * members, but only the leader is pinned or exclusive. R and X change nothing here. R makes perf stat show a latency. X
 * keeps perf from moving an event to another group, which weir never does.
 */
#include <errno.h>

#include "engine/events/event_parse_internal.h"

static int add_letter(struct weir_event_parser *parser, struct weir_event_modifiers *modifiers, char letter,
                      unsigned column)
{
    uint16_t bit = weir_event_modifier_bit(letter);
    if (!bit) {
        weir_error_set(parser->err, -EINVAL, "unknown modifier '%c' at column %u", letter, column);
        weir_error_hint(parser->err,
                        "modifiers are u (user), k (kernel), h (hypervisor), I (not idle), G (guest), H (host), p, pp, "
                        "ppp, P (precise), S (read the group), D (pinned), W (weak group), e (exclusive), b (by BPF), "
                        "R (latency), X (keep the group)");
        return -EINVAL;
    }
    if (letter == 'p' && modifiers->precise == WEIR_PRECISE_IP_MAX)
        return weir_error_set(parser->err, -EINVAL, "modifier 'p' more than %d times at column %u", WEIR_PRECISE_IP_MAX,
                              column);
    if (letter != 'p' && (modifiers->letters & bit))
        return weir_error_set(parser->err, -EINVAL, "modifier '%c' given twice at column %u", letter, column);
    modifiers->letters |= bit;
    modifiers->precise += letter == 'p';
    return 0;
}

/* Adds letters to those of the event. group: the letters are its group's, and an event that leaves guests out keeps
 * doing so. */
static int apply(struct weir_event_parser *parser, size_t index, const struct weir_event_modifiers *add, bool group)
{
    struct weir_event *event = &parser->list->events[index];
    struct perf_event_attr *attr = &event->attr;
    struct weir_event_modifiers all = event->modifiers;
    all.letters |= add->letters;
    all.precise += add->precise;
    if (all.precise > WEIR_PRECISE_IP_MAX)
        return weir_error_set(parser->err, -EINVAL, "modifier 'p' more than %d times for '%s', its group's included",
                              WEIR_PRECISE_IP_MAX, event->name);
    event->modifiers = all;

    bool levels = weir_event_modifiers_have(&all, 'u') || weir_event_modifiers_have(&all, 'k') ||
                  weir_event_modifiers_have(&all, 'h');
    attr->exclude_user = levels && !weir_event_modifiers_have(&all, 'u');
    attr->exclude_kernel = levels && !weir_event_modifiers_have(&all, 'k');
    attr->exclude_hv = levels && !weir_event_modifiers_have(&all, 'h');
    attr->exclude_idle = weir_event_modifiers_have(&all, 'I');

    bool machines = weir_event_modifiers_have(&all, 'G') || weir_event_modifiers_have(&all, 'H');
    bool no_guest =
        (group && attr->exclude_guest) || weir_event_modifiers_have(&all, 'u') || weir_event_modifiers_have(&all, 'p');
    attr->exclude_host = machines && !weir_event_modifiers_have(&all, 'H');
    attr->exclude_guest = machines ? !weir_event_modifiers_have(&all, 'G') : no_guest;

    attr->precise_ip = weir_event_modifiers_have(&all, 'P') ? WEIR_PRECISE_IP_MAX : all.precise;
    event->precise_max = weir_event_modifiers_have(&all, 'P');
    event->modifiers_given = levels || machines || attr->exclude_idle;
    event->sample_read = weir_event_modifiers_have(&all, 'S');
    event->weak_group = weir_event_modifiers_have(&all, 'W');
    if (event->leader == index) {
        attr->pinned = weir_event_modifiers_have(&all, 'D');
        attr->exclusive = weir_event_modifiers_have(&all, 'e');
    }
    return 0;
}

int weir_event_modifiers_parse(struct weir_event_parser *parser, size_t first, bool group)
{
    const struct weir_event_token word = parser->scan.token;
    if (word.kind != WEIR_TOKEN_WORD)
        return weir_event_parser_unexpected(parser, "a modifier");

    struct weir_event_modifiers given = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < word.length; i++)
        result = add_letter(parser, &given, word.text[i], word.column + (unsigned)i);
    for (size_t i = first; result == 0 && i < parser->list->count; i++)
        result = apply(parser, i, &given, group);
    if (result == 0)
        weir_event_parser_advance(parser);
    return result;
}
