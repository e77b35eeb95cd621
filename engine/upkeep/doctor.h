/*
 * Judges whether this system lets weir record: limits, privileges and devices. `weir doctor` prints each finding, with
 * the command that fixes it. Pure functions of the facts (engine/upkeep/doctor_facts.h); any thread.
 *
 * Source: perf_event_open(2), Documentation/admin-guide/sysctl/kernel.rst and perf-security.rst, Linux 6.12.
 */
#ifndef WEIR_ENGINE_UPKEEP_DOCTOR_H
#define WEIR_ENGINE_UPKEEP_DOCTOR_H

#include <stddef.h>

#include "base/remedy.h"
#include "engine/upkeep/doctor_facts.h"

enum weir_verdict {
    WEIR_VERDICT_OK,
    WEIR_VERDICT_NOTE,    /* recordings work, with less information than there could be */
    WEIR_VERDICT_LIMITED, /* some recordings are refused */
    WEIR_VERDICT_BAD,     /* every recording is refused */
};

struct weir_finding {
    const char *name; /* "all-cpus"; constant */
    const char *goal; /* what a user may want to do, which this finding allows or not; NULL: none. Constant */
    enum weir_verdict verdict;
    char state[200];             /* the fact, and what it means for a recording */
    char fix[WEIR_REMEDY_BYTES]; /* the command; "": no command is needed or known */
};

#define WEIR_FINDINGS_MAX 24u

/* Fills findings and returns their number. */
size_t weir_doctor_judge(const struct weir_doctor_facts *facts, struct weir_finding findings[WEIR_FINDINGS_MAX]);

/* The word of a verdict: "ok", "note", "limited", "bad". */
const char *weir_verdict_word(enum weir_verdict verdict);

#endif
