/* A recording that has been read: what the forms of a report show. One thread makes it; forms only read it. */
#ifndef WEIR_REPORT_DIGEST_H
#define WEIR_REPORT_DIGEST_H

#include "base/buf.h"
#include "report/fold.h"
#include "report/sampling.h"
#include "report/survey.h"
#include "report/symbol_names.h"

struct weir_digest {
    const char *path;              /* as the user gave it; borrowed */
    struct weir_perf_input *input; /* borrowed: events and features */
    struct weir_survey survey;
    struct weir_fold fold;
    struct weir_sampling_result counts;
    struct weir_symbol_names *names; /* borrowed; what symbols are called; NULL: as in their files */
    uint32_t only_event;             /* UINT32_MAX: all events are shown */
};

/* The texts of a frame: "[unknown]" for a symbol or object that is not known. A symbol's is valid up to the next call,
 * the object's as long as the digest. */
const char *weir_digest_symbol(const struct weir_digest *digest, weir_frame frame);
const char *weir_digest_object(const struct weir_digest *digest, weir_frame frame);

/* Returns the name of the task of a cell. */
const char *weir_digest_comm(const struct weir_digest *digest, uint32_t task);

/* Whether an event is shown. */
static inline bool weir_digest_shows(const struct weir_digest *digest, uint32_t event)
{
    return digest->only_event == UINT32_MAX || digest->only_event == event;
}

/* Returns the known number of lost samples of an event: its count by LOST or by LOST_SAMPLES records, whichever kind
 * has the greater sum over all events, plus the samples that weir shed. */
uint64_t weir_digest_lost(const struct weir_digest *digest, uint32_t event);

/* Appends lines with the options that would have prevented the losses of the digest, each with a newline; nothing
 * without losses. */
void weir_digest_remedies(const struct weir_digest *digest, struct weir_buf *out);

/* Appends lines of what is incomplete in the digest, each with a newline. */
void weir_digest_notes(const struct weir_digest *digest, struct weir_buf *out);

#endif
