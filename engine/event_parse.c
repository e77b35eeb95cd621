/*
 * From -e text to events: a scanner and a recursive-descent parser, one function per production. Main thread, set-up.
 *
 *   events      = event { "," event } .
 *   event       = ( symbol | raw | tracepoint ) [ ":" modifiers ] .
 *   symbol      = a name of event_names.c .
 *   raw         = "r" hex digit { hex digit } .                           at most 16 digits
 *   tracepoint  = word ":" word .
 *   modifiers   = ( "u" | "k" | "h" | "I" | "G" | "H" | "p" | "P" | "D" | "e" ) { ... } .
 *
 * Blanks may stand between tokens. Every error names the column, from 1, of the token that cannot be there. What each
 * modifier sets follows get_event_modifier(), tools/perf/util/parse-events.c, Linux 6.1; as there, giving any modifier
 * replaces all defaults, so that `cycles:I` counts guests and `cycles` does not.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/event_list_internal.h"
#include "format/tracefs.h"

#define RAW_DIGITS_MAX  16
#define MODIFIERS       "ukhIGHpPDe"
#define MODIFIERS_GROUP "SW" /* of perf: sampling read and weak groups; both need an event group */
#define MODIFIERS_BPF   "b"  /* of perf: counting by BPF, for perf stat */

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_SIGN, /* one character that no word has: , : / { } ... */
};

struct token {
    enum token_kind kind;
    const char *text; /* borrowed from the parsed text, not terminated */
    size_t length;
    unsigned column; /* from 1 */
};

struct parser {
    const char *text; /* borrowed */
    const char *next; /* behind the token */
    struct token token;
    struct weir_event_list *list;
    char tracefs[PATH_MAX]; /* empty until a tracepoint needs it */
    struct weir_error *err;
};

/* ---- scanner ---- */

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_-.*?[]!@", c));
}

static void advance(struct parser *parser)
{
    const char *at = parser->next;
    while (isspace((unsigned char)*at))
        at++;

    struct token *token = &parser->token;
    token->text = at;
    token->column = (unsigned)(at - parser->text) + 1;
    token->kind = TOKEN_END;
    if (is_word_character(*at)) {
        token->kind = TOKEN_WORD;
        while (is_word_character(*at))
            at++;
    } else if (*at) {
        token->kind = TOKEN_SIGN;
        at++;
    }
    token->length = (size_t)(at - token->text);
    parser->next = at;
}

static bool at_sign(const struct parser *parser, char sign)
{
    return parser->token.kind == TOKEN_SIGN && parser->token.text[0] == sign;
}

/* Steps over the sign when it is the next token. */
static bool accept_sign(struct parser *parser, char sign)
{
    bool there = at_sign(parser, sign);
    if (there)
        advance(parser);
    return there;
}

/* Something else stands where `wanted` should. */
static int set_unexpected(struct parser *parser, const char *wanted)
{
    const struct token *token = &parser->token;
    if (token->kind == TOKEN_END)
        return weir_error_set(parser->err, -EINVAL, "%s expected at column %u, at the end of '%s'", wanted,
                              token->column, parser->text);
    return weir_error_set(parser->err, -EINVAL, "%s expected at column %u, not '%.*s'", wanted, token->column,
                          (int)token->length, token->text);
}

static int set_unsupported(struct parser *parser, const struct token *token, const char *what, const char *hint)
{
    weir_error_set(parser->err, -EINVAL, "%s at column %u is not supported", what, token->column);
    weir_error_hint(parser->err, "%s", hint);
    return -EINVAL;
}

/* ---- modifiers ---- */

/* Times that each letter stands in the modifiers. */
struct modifiers {
    unsigned char count[UCHAR_MAX + 1];
};

static int count_modifier(struct parser *parser, struct modifiers *modifiers, char letter, unsigned column)
{
    if (strchr(MODIFIERS_GROUP, letter))
        return weir_error_set(parser->err, -EINVAL, "modifier '%c' at column %u is for event groups", letter, column);
    if (strchr(MODIFIERS_BPF, letter))
        return weir_error_set(parser->err, -EINVAL, "modifier '%c' at column %u is for counting, not for recording",
                              letter, column);
    if (!strchr(MODIFIERS, letter)) {
        weir_error_set(parser->err, -EINVAL, "unknown modifier '%c' at column %u", letter, column);
        weir_error_hint(parser->err, "modifiers are u (user), k (kernel), h (hypervisor), I (not idle), G (guest), "
                                     "H (host), p, pp, ppp, P (precise), D (pinned), e (exclusive)");
        return -EINVAL;
    }
    unsigned char *count = &modifiers->count[(unsigned char)letter];
    if (letter == 'p' && *count == WEIR_PRECISE_IP_MAX)
        return weir_error_set(parser->err, -EINVAL, "modifier 'p' more than %d times at column %u", WEIR_PRECISE_IP_MAX,
                              column);
    if (letter != 'p' && *count == 1)
        return weir_error_set(parser->err, -EINVAL, "modifier '%c' given twice at column %u", letter, column);
    (*count)++;
    return 0;
}

static void apply_modifiers(const struct modifiers *modifiers, struct weir_event *event)
{
    const unsigned char *count = modifiers->count;
    struct perf_event_attr *attr = &event->attr;

    bool levels = count['u'] || count['k'] || count['h'];
    attr->exclude_user = levels && !count['u'];
    attr->exclude_kernel = levels && !count['k'];
    attr->exclude_hv = levels && !count['h'];
    attr->exclude_idle = count['I'];

    bool machines = count['G'] || count['H'];
    attr->exclude_host = machines && !count['H'];
    attr->exclude_guest = machines ? !count['G'] : count['u'] || count['p'];

    attr->precise_ip = count['P'] ? WEIR_PRECISE_IP_MAX : count['p'];
    attr->pinned = count['D'];
    attr->exclusive = count['e'];
    event->precise_max = count['P'];
    event->modifiers_given = levels || machines || count['I'];
}

static int parse_modifiers(struct parser *parser, struct weir_event *event)
{
    const struct token *token = &parser->token;
    if (token->kind != TOKEN_WORD)
        return set_unexpected(parser, "a modifier");

    struct modifiers modifiers = {0};
    for (size_t i = 0; i < token->length; i++) {
        int result = count_modifier(parser, &modifiers, token->text[i], token->column + (unsigned)i);
        if (result < 0)
            return result;
    }
    apply_modifiers(&modifiers, event);
    advance(parser);
    return 0;
}

/* ---- tracepoints ---- */

/* Sets event's type and id from its two names. */
static int look_up_tracepoint(struct parser *parser, struct weir_event *event, struct weir_error *err)
{
    int result = 0;
    if (!parser->tracefs[0])
        result = weir_tracefs_find(parser->tracefs, sizeof(parser->tracefs), err);
    uint64_t id = 0;
    if (result == 0)
        result = weir_tracefs_event_id(parser->tracefs, event->tracepoint_system, event->tracepoint_name, &id, err);
    if (result == 0) {
        event->attr.type = PERF_TYPE_TRACEPOINT;
        event->attr.config = id;
    }
    return result;
}

/* `cyclse:u` reads as tracepoint u of cyclse. Says what was meant when it is a known name but for a slip. */
static bool is_misspelt_symbol(const char *system, const char *name, struct weir_suggest *suggest)
{
    weir_suggest_init(suggest, system);
    weir_event_names_offer(suggest);
    return weir_suggest_best(suggest) && name[strspn(name, MODIFIERS MODIFIERS_GROUP MODIFIERS_BPF)] == '\0';
}

static int set_no_tracepoint(struct parser *parser, const struct token *start, const struct weir_event *event,
                             const struct weir_error *reason)
{
    struct weir_suggest suggest;
    if (is_misspelt_symbol(event->tracepoint_system, event->tracepoint_name, &suggest)) {
        weir_error_set(parser->err, -ENOENT, "unknown event '%s' at column %u", event->tracepoint_system,
                       start->column);
        weir_error_hint(parser->err, "did you mean '%s'?", weir_suggest_best(&suggest));
        return -ENOENT;
    }
    weir_error_set(parser->err, reason->code, "%s (event '%s' at column %u)", reason->what, event->name, start->column);
    weir_error_hint(parser->err, "%s", reason->hint);
    return reason->code;
}

/* start: the system's word; the parser stands on the colon behind it. */
static int parse_tracepoint(struct parser *parser, const struct token *start, struct weir_event *event)
{
    advance(parser);
    const struct token name = parser->token;
    if (name.kind != TOKEN_WORD)
        return set_unexpected(parser, "the name of a tracepoint");
    if (strcspn(start->text, "*?[") < start->length || strcspn(name.text, "*?[") < name.length)
        return set_unsupported(parser, start, "tracepoint pattern", "name each tracepoint: -e SYSTEM:NAME,...");
    advance(parser);

    event->tracepoint_system = strndup(start->text, start->length);
    event->tracepoint_name = strndup(name.text, name.length);
    if (!event->tracepoint_system || !event->tracepoint_name ||
        asprintf(&event->name, "%s:%s", event->tracepoint_system, event->tracepoint_name) < 0) {
        event->name = NULL; /* asprintf(3) leaves it undefined */
        return weir_error_set(parser->err, -ENOMEM, "out of memory");
    }

    struct weir_error reason;
    return look_up_tracepoint(parser, event, &reason) < 0 ? set_no_tracepoint(parser, start, event, &reason) : 0;
}

/* ---- symbols and raw events ---- */

/* True when the word has the form of a raw event: "r" and nothing but hex digits, however many. */
static bool is_raw(const struct token *word)
{
    if (word->length < 2 || word->text[0] != 'r')
        return false;
    for (size_t i = 1; i < word->length; i++)
        if (!isxdigit((unsigned char)word->text[i]))
            return false;
    return true;
}

static int parse_raw(struct parser *parser, const struct token *word, struct weir_event *event)
{
    if (word->length - 1 > RAW_DIGITS_MAX)
        return weir_error_set(parser->err, -EINVAL, "raw event '%.*s' at column %u has more than %d hex digits",
                              (int)word->length, word->text, word->column, RAW_DIGITS_MAX);
    char digits[RAW_DIGITS_MAX + 1] = {0};
    memcpy(digits, word->text + 1, word->length - 1);
    event->attr.type = PERF_TYPE_RAW;
    event->attr.config = strtoull(digits, NULL, 16);
    return 0;
}

static int set_unknown(struct parser *parser, const struct token *word)
{
    char name[WEIR_ERROR_TEXT_BYTES / 2];
    snprintf(name, sizeof(name), "%.*s", (int)word->length, word->text);
    weir_error_set(parser->err, -ENOENT, "unknown event '%s' at column %u", name, word->column);

    struct weir_suggest suggest;
    weir_suggest_init(&suggest, name);
    weir_event_names_offer(&suggest);
    if (weir_suggest_best(&suggest))
        weir_error_hint(parser->err, "did you mean '%s'?", weir_suggest_best(&suggest));
    else
        weir_error_hint(parser->err, "events are the generic hardware and software ones of perf-list(1), raw ones "
                                     "(rNNN, hexadecimal) and tracepoints (SYSTEM:NAME)");
    return -ENOENT;
}

/* ---- events ---- */

/* What comes before the modifiers. */
static int parse_event_source(struct parser *parser, struct weir_event *event)
{
    const struct token word = parser->token;
    if (at_sign(parser, '{'))
        return set_unsupported(parser, &word, "event group", "list the events without braces: -e a,b");
    if (word.kind != TOKEN_WORD)
        return set_unexpected(parser, "an event");
    advance(parser);
    if (at_sign(parser, '/'))
        return set_unsupported(parser, &word, "event with terms (/.../)", "a raw event may be written as rNNN");

    const struct weir_event_name *symbol = weir_event_name_find(word.text, word.length);
    if (symbol) {
        event->attr.type = symbol->type;
        event->attr.config = symbol->config;
        return 0;
    }
    if (is_raw(&word))
        return parse_raw(parser, &word, event);
    if (!at_sign(parser, ':'))
        return set_unknown(parser, &word);
    if (word.length == 3 && memcmp(word.text, "mem", 3) == 0)
        return set_unsupported(parser, &word, "hardware breakpoint (mem:)", "record a tracepoint or a software event");
    return parse_tracepoint(parser, &word, event);
}

static int parse_event(struct parser *parser)
{
    struct weir_event *event = weir_event_list_append(parser->list);
    if (!event)
        return weir_error_set(parser->err, -ENOMEM, "out of memory");
    event->attr.exclude_guest = 1; /* perf record looks at the host, unless modifiers say otherwise */

    const char *start = parser->token.text;
    int result = parse_event_source(parser, event);
    const char *end = parser->token.text;
    if (result == 0 && accept_sign(parser, ':')) {
        end = parser->token.text + parser->token.length;
        result = parse_modifiers(parser, event);
    }
    if (result < 0 || event->name) /* a tracepoint's name is its own, without the modifiers */
        return result;

    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    event->name = strndup(start, (size_t)(end - start));
    return event->name ? 0 : weir_error_set(parser->err, -ENOMEM, "out of memory");
}

static int parse_events(struct parser *parser)
{
    do {
        int result = parse_event(parser);
        if (result < 0)
            return result;
    } while (accept_sign(parser, ','));
    return parser->token.kind == TOKEN_END ? 0 : set_unexpected(parser, "',' or the end");
}

int weir_event_list_parse_with(struct weir_event_list *list, const char *text, const char *tracefs_root,
                               struct weir_error *err)
{
    struct parser parser = {.text = text, .next = text, .list = list, .err = err};
    if (tracefs_root && (size_t)snprintf(parser.tracefs, sizeof(parser.tracefs), "%s", tracefs_root) >= PATH_MAX)
        return weir_error_set(err, -ENAMETOOLONG, "path of tracefs is too long: %s", tracefs_root);

    size_t count = list->count;
    advance(&parser);
    int result = parse_events(&parser);
    if (result < 0)
        weir_event_list_truncate(list, count);
    return result;
}

int weir_event_list_parse(struct weir_event_list *list, const char *text, struct weir_error *err)
{
    return weir_event_list_parse_with(list, text, NULL, err);
}
