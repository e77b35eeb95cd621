/*
 * Sample filters: what --filter gives to an event that takes no filter of the kernel's own. A BPF program compares each
 * sample with the filter before the kernel writes the sample (engine/bpf/sample_filter_program.h).
 *
 *     filter     = clause { ( "," | "&&" ) clause } .       all clauses must hold
 *     clause     = comparison { "||" comparison } .         one comparison must hold
 *     comparison = TERM ( "==" | "!=" | ">" | ">=" | "<" | "<=" | "&" ) value .
 *     value      = DECIMAL | "0x" HEX | WORD | PATH .       WORD of a mem_* term; PATH of the term cgroup
 *
 * "||" binds closer than ",". In C it binds less close than "&&", so a filter with both "&&" and "||" is refused.
 *
 * Grammar and terms are those of perf; "&&" and the freedom to leave out blanks are weir's. perf takes any word after
 * any term, weir the words of the term only. Source: util/bpf-filter.l and util/bpf-filter.y in tools/perf of Linux
 * 6.12.
 *
 * Main thread, set-up. Pure, but for cgroups: these are looked up as they are parsed.
 */
#ifndef WEIR_ENGINE_EVENTS_SAMPLE_FILTER_H
#define WEIR_ENGINE_EVENTS_SAMPLE_FILTER_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "base/error.h"
#include "engine/bpf/sample_filter_entry.h"

/*
 * Appends the clauses of a text to a filter; {0} is the filter that all samples pass. mounts NULL: /proc/self/mounts.
 * 0; -EINVAL: wrong grammar, or a word of another term; -ERANGE: a number beyond 64 bits; -E2BIG: more than
 * WEIR_SAMPLE_FILTER_MAX comparisons; -ENODEV and the errno of open(2) for a cgroup. On failure err says why, with
 * hint, and the filter is unchanged.
 */
int weir_sample_filter_parse(struct weir_sample_filter *filter, const char *text, const char *mounts,
                             struct weir_error *err);

/* Checks that samples of an event have all that the filter looks at. 0; or -EINVAL: err names the event, the term and
 * the sample type, and the hint is the option that samples it. */
int weir_sample_filter_check(const struct weir_sample_filter *filter, const char *event,
                             const struct perf_event_attr *attr, struct weir_error *err);

/* Whether the filter looks at the term. */
bool weir_sample_filter_has(const struct weir_sample_filter *filter, enum weir_sample_term term);

/* Returns the name of a term. NULL: there are fewer. */
const char *weir_sample_term_name(unsigned term);

#endif
