/*
 * mem:ADDRESS[/LENGTH][:ACCESS][/TERMS/], a hardware breakpoint. Main thread, set-up.
 *
 *   breakpoint = "mem" ":" number [ "/" number ] [ ":" access ] [ terms ] .
 *
 * Source: perf_event_open(2), PERF_TYPE_BREAKPOINT. Defaults are those of perf 6.1: reads and writes of 4 bytes, or the
 * execution of the instruction at ADDRESS.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_parse_internal.h"

#define LENGTH_MAX 8

static const struct {
    char letter;
    uint32_t bit;
} accesses[] = {{'r', HW_BREAKPOINT_R}, {'w', HW_BREAKPOINT_W}, {'x', HW_BREAKPOINT_X}};

/* The HW_BREAKPOINT_* bit of an access letter; 0: it is none. */
static uint32_t access_bit(char letter)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(accesses); i++) {
        if (accesses[i].letter == letter)
            return accesses[i].bit;
    }
    return 0;
}

static int parse_number(struct weir_event_parser *parser, const char *wanted, uint64_t *number)
{
    if (!weir_event_token_number(&parser->scan.token, number))
        return weir_event_parser_unexpected(parser, wanted);
    weir_event_parser_advance(parser);
    return 0;
}

/* The token is the word behind the colon: access letters, modifiers behind them, or modifiers alone. */
static int parse_access(struct weir_event_parser *parser, uint32_t *type, bool *more)
{
    const struct weir_event_token word = parser->scan.token;
    if (word.kind != WEIR_TOKEN_WORD)
        return weir_event_parser_unexpected(parser, "an access (r, w, x) or a modifier");
    size_t length = 0;
    for (; length < word.length && access_bit(word.text[length]); length++) {
        if (*type & access_bit(word.text[length]))
            return weir_error_set(parser->err, -EINVAL, "access '%c' given twice at column %u", word.text[length],
                                  word.column + (unsigned)length);
        *type |= access_bit(word.text[length]);
    }
    *more = length < word.length;
    if (*more)
        weir_event_scan_shorten(&parser->scan, length);
    else
        weir_event_parser_advance(parser);
    return 0;
}

/* Whether a length follows. Terms follow a slash as well, but begin with a letter. */
static bool at_length(const struct weir_event_parser *parser)
{
    const char *next = parser->scan.next;
    while (isspace((unsigned char)*next))
        next++;
    return weir_event_token_is_sign(&parser->scan.token, '/') && !isalpha((unsigned char)*next);
}

/* The token is the slash. */
static int parse_length(struct weir_event_parser *parser, uint64_t *length)
{
    weir_event_parser_advance(parser);
    unsigned column = parser->scan.token.column;
    int result = parse_number(parser, "the length of a breakpoint", length);
    if (result == 0 && (*length == 0 || *length > LENGTH_MAX))
        result = weir_error_set(parser->err, -EINVAL, "length of a breakpoint at column %u is not 1 to %d", column,
                                LENGTH_MAX);
    return result;
}

int weir_event_breakpoint_parse(struct weir_event_parser *parser, bool *more)
{
    weir_event_parser_advance(parser); /* mem */
    weir_event_parser_advance(parser); /* : */
    *more = false;
    uint64_t address, length = 0;
    uint32_t type = 0;
    struct weir_event_term_list terms = {.count = 0};
    size_t first = parser->list->count;
    int result = parse_number(parser, "an address (a number)", &address);
    if (result == 0 && at_length(parser))
        result = parse_length(parser, &length);
    if (result == 0 && weir_event_parser_accept(parser, ':'))
        result = parse_access(parser, &type, more);
    if (result == 0)
        result = weir_event_terms_parse(parser, &terms);
    if (result < 0)
        return result;

    struct weir_event *event = weir_event_parser_append(parser);
    if (!event)
        return -ENOMEM;
    if (type == 0)
        type = HW_BREAKPOINT_RW;
    if (length == 0)
        length = type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
    event->attr.type = PERF_TYPE_BREAKPOINT;
    event->attr.bp_addr = address;
    event->attr.bp_len = length;
    event->attr.bp_type = type;
    return weir_event_terms_apply(parser, &terms, WEIR_TERMS_OF_SYMBOL, first);
}
