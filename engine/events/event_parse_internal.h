/*
 * The productions of the event grammar, which the files of the parser share.
 *
 * A production is called with its first token in the scanner, and leaves the token behind its last one there. It
 * appends the events that the text stands for, and returns 0 or -errno with the parser's error set. After a failure
 * weir_event_list_parse() removes the events that were appended. Main thread, set-up; allocates, and reads sysfs and
 * tracefs.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_PARSE_INTERNAL_H
#define WEIR_ENGINE_EVENTS_EVENT_PARSE_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/suggest.h"
#include "engine/events/event_parse.h"
#include "engine/events/event_scan.h"
#include "engine/events/pmu.h"

#define WEIR_EVENT_TERMS_MAX 64 /* between two slashes */

struct weir_event_parser {
    struct weir_event_scanner scan;
    struct weir_event_list *list; /* borrowed */
    const char *sysfs_root;       /* borrowed; NULL: /sys */
    char tracefs[PATH_MAX];       /* empty until a tracepoint needs it */
    struct weir_pmu_list pmus;    /* empty until an event needs it */
    bool pmus_read;
    struct weir_error *err; /* borrowed; NULL: unwanted */
};

/* ---- event_parse.c: what every production needs ---- */

void weir_event_parser_advance(struct weir_event_parser *parser);

/* Skips the sign when it is the token, and returns whether it was. */
bool weir_event_parser_accept(struct weir_event_parser *parser, char sign);

/* Sets the error that another token stands where `wanted` should. -EINVAL. */
int weir_event_parser_unexpected(struct weir_event_parser *parser, const char *wanted);

int weir_event_parser_no_memory(struct weir_event_parser *parser);

/* Appends an event with the defaults of perf record: the host only, all levels. NULL: out of memory, error set. */
struct weir_event *weir_event_parser_append(struct weir_event_parser *parser);

/* Reads the list of PMUs, once. 0 or -ENOMEM with the error set. */
int weir_event_parser_read_pmus(struct weir_event_parser *parser);

/* Reads the list of PMUs and describes them all. 0 or -ENOMEM with the error set. */
int weir_event_parser_describe_pmus(struct weir_event_parser *parser);

/* ---- event_parse_modifiers.c ---- */

/* modifiers = letter { letter }. The token is a word. Applies them to the events from index `first` on. */
int weir_event_modifiers_parse(struct weir_event_parser *parser, size_t first, bool group);

/* ---- event_parse_terms.c ---- */

struct weir_event_term_text {
    struct weir_event_token name;
    struct weir_event_token value; /* kind END: none */
};

struct weir_event_term_list {
    struct weir_event_term_text terms[WEIR_EVENT_TERMS_MAX];
    size_t count;
};

/* terms = "/" [ term { "," term } ] "/". Their texts are borrowed. Without a slash there are no terms. */
int weir_event_terms_parse(struct weir_event_parser *parser, struct weir_event_term_list *terms);

/* Terms without slashes, up to the end of the scanned text: the content of an alias file. */
int weir_event_terms_parse_all(struct weir_event_parser *parser, struct weir_event_term_list *terms);

/* The terms that an event may have. */
enum weir_event_term_place {
    WEIR_TERMS_OF_SYMBOL,     /* the generic ones */
    WEIR_TERMS_OF_TRACEPOINT, /* the generic ones that choose neither event nor period */
    WEIR_TERMS_OF_PMU,        /* the generic ones, and those of the PMU */
};

/* Applies a generic term. 0; -EINVAL or -ENOMEM; -ENOENT without an error set: it is no generic term of that place. */
int weir_event_term_apply(struct weir_event_parser *parser, const struct weir_event_term_text *term,
                          enum weir_event_term_place place, struct weir_event *event);

/* Applies generic terms to the events from index `first` on. -EINVAL for any other term. */
int weir_event_terms_apply(struct weir_event_parser *parser, const struct weir_event_term_list *terms,
                           enum weir_event_term_place place, size_t first);

/* Offers the names of the generic terms of that place as suggestions. */
void weir_event_terms_offer(struct weir_suggest *suggest, enum weir_event_term_place place);

/* Reads the value of a term. 0; -EINVAL: it is missing, not a number, below min or above max. */
int weir_event_term_number(struct weir_event_parser *parser, const struct weir_event_term_text *term, uint64_t min,
                           uint64_t max, uint64_t *number);

/* Clears, then sets bits of a config word, which is below WEIR_PMU_CONFIG_WORDS. */
void weir_event_term_set_config(struct weir_event *event, unsigned word, uint64_t clear, uint64_t set);

/* ---- one file for each kind of event ---- */

/* breakpoint = "mem" ":" number [ "/" number ] [ ":" access ] [ terms ]. The token is "mem". *more: modifiers follow
 * the access without a colon, and are the token. */
int weir_event_breakpoint_parse(struct weir_event_parser *parser, bool *more);

/* tracepoint = word ":" word [ terms ]. The token is the colon behind system. */
int weir_event_tracepoint_parse(struct weir_event_parser *parser, const struct weir_event_token *system);

/* Appends one tracepoint. start: the token that an error names. */
int weir_event_tracepoint_add(struct weir_event_parser *parser, const struct weir_event_token *start,
                              const char *system, const char *name);

/* Names the events from index `first` on that are tracepoints by number (2:NNN), so that their formats can be recorded.
 * Numbers that no tracepoint has stay as they are. */
int weir_event_tracepoint_name_ids(struct weir_event_parser *parser, size_t first);

/* pmu = word terms; an alias when the word stands for no PMU. The token is the first slash. */
int weir_event_pmu_parse(struct weir_event_parser *parser, const struct weir_event_token *word);

/* alias = word [ terms ], on every PMU that has the alias. The token is behind the word. *found: a PMU has it. */
int weir_event_alias_parse(struct weir_event_parser *parser, const struct weir_event_token *word, bool *found);

/* Appends the event that libpfm4 calls by the word, as this machine has it. *found: it does. The token is behind the
 * word. 0 or -ENOMEM. */
int weir_event_pfm_word_parse(struct weir_event_parser *parser, const struct weir_event_token *word, bool *found);

/* The length of the BPF file's name at the start of the text; 0: the text does not begin with one. */
size_t weir_event_bpf_length(const char *text);

/* bpf: a file name of that length, which begins at the token. */
int weir_event_bpf_parse(struct weir_event_parser *parser, size_t length);

/* On machines with several kinds of cores: makes of each generic event from index `first` on one event for each kind.
 */
int weir_event_hybrid_expand(struct weir_event_parser *parser, size_t first);

/* Offers the aliases of all PMUs as suggestions. */
void weir_event_aliases_offer(struct weir_event_parser *parser, struct weir_suggest *suggest);

#endif
