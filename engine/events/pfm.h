/*
 * The events that libpfm4 knows of this machine's CPU, by the names of its vendor (inst_retired:any_p). libpfm4 is an
 * optional part of weir. Each function says what it does without libpfm4, and for a CPU that libpfm4 does not know.
 *
 * libpfm4 keeps its state in the process, and the environment steers it (LIBPFM_FORCE_PMU). Main thread, set-up;
 * allocates, reads sysfs. Source: pfm_get_perf_event_encoding(3).
 */
#ifndef WEIR_ENGINE_EVENTS_PFM_H
#define WEIR_ENGINE_EVENTS_PFM_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/suggest.h"

#define WEIR_PFM_WORD_BYTES 128 /* for a name in lower case */

/* An event, or an event with one of its unit masks. Texts are borrowed until the visitor returns. */
struct weir_pfm_event {
    const char *name; /* PMU::EVENT:MASK, as libpfm4 spells it */
    const char *word; /* event.mask in lower case, as -e takes it */
    const char *pmu;
    const char *description;
};

/* Whether libpfm4 knows the events of this machine's CPU, beside those of every machine. */
bool weir_pfm_knows_cpu(void);

/*
 * Writes type, configs, levels, precision and period of an event into attr, as the text says. It may have unit masks
 * and modifiers of libpfm4, EVENT:MASK:u:period=N. 0; -ENOENT: no such event; -EINVAL: another fault of the text;
 * -ENOTSUP: weir is built without libpfm4. err says it in libpfm4's words, without a hint.
 */
int weir_pfm_encode(const char *text, struct perf_event_attr *attr, struct weir_error *err);

/* Visits the events of this machine's CPU by name until the visitor returns non-zero, and returns that. */
int weir_pfm_visit(int (*visit)(void *ctx, const struct weir_pfm_event *event), void *ctx);

/* Offers the words of these events as suggestions. */
void weir_pfm_offer(struct weir_suggest *suggest);

/* A hint for a word that is near no name: the command that lists this CPU's events, or the form in which to write
 * them. */
const char *weir_pfm_hint(void);

#endif
