/* The texts of a digest, and what it lacks. */
#include "report/digest.h"

#include <inttypes.h>
#include <string.h>

#include "format/text_out.h"
#include "format/unwound_sum.h"

#define UNKNOWN "[unknown]"

const char *weir_digest_symbol(const struct weir_digest *digest, weir_frame frame)
{
    const char *name = weir_objects_symbol(&digest->survey.objects, weir_frame_object(frame), weir_frame_symbol(frame));
    if (!name[0])
        return UNKNOWN;
    /* The kernel is written in C: a name there that looks mangled is not mangled. */
    enum weir_object_kind kind = digest->survey.objects.list[weir_frame_object(frame)]->kind;
    bool may_be_mangled = digest->names && (kind == WEIR_OBJECT_FILE || kind == WEIR_OBJECT_PERF_MAP);
    return may_be_mangled ? weir_symbol_names_get(digest->names, frame, name) : name;
}

const char *weir_digest_object(const struct weir_digest *digest, weir_frame frame)
{
    const struct weir_object *object = digest->survey.objects.list[weir_frame_object(frame)];
    const char *path = weir_string(&digest->survey.strings, object->path);
    return path[0] ? path : UNKNOWN;
}

const char *weir_digest_comm(const struct weir_digest *digest, uint32_t task)
{
    return task == WEIR_ROW_NONE ? UNKNOWN
                                 : weir_string(&digest->survey.strings, digest->survey.history.tasks[task].comm);
}

uint64_t weir_digest_lost(const struct weir_digest *digest, uint32_t event)
{
    /* A LOST record has the losses of all events of its ring under the id of one. So the sums decide which kind tells
     * all: the greater of the two for each event would count losses of several events twice. */
    const struct weir_survey *survey = &digest->survey;
    const struct weir_survey_event *counts = &survey->events[event];
    return (survey->lost > survey->lost_samples ? counts->lost : counts->lost_samples) + counts->shed;
}

static void count_failures(const struct weir_objects *objects, uint64_t failures[4])
{
    for (size_t i = 0; i < objects->count; i++) {
        bool is_file = objects->list[i]->kind == WEIR_OBJECT_FILE;
        if (is_file && atomic_load_explicit(&objects->list[i]->is_loaded, memory_order_relaxed)) /* threads are gone */
            failures[objects->list[i]->failure]++;
    }
}

static void append_failures(struct weir_buf *out, uint64_t count, const char *reason)
{
    if (count > 0)
        weir_buf_printf(out, "no symbols of %" PRIu64 " file%s: %s\n", count, count == 1 ? "" : "s", reason);
}

/* Copied user stacks: of which machine they are not unwound, and which end early, and why. */
static void append_stacks(const struct weir_digest *digest, struct weir_buf *out)
{
    const struct weir_survey *survey = &digest->survey;
    const uint64_t *ends = digest->counts.stacks.ends;
    bool has_dumps = false;
    for (size_t i = 0; i < survey->event_count; i++)
        has_dumps |= survey->events[i].has_dumps && survey->events[i].samples > 0;
    if (has_dumps && !survey->machine) {
        weir_buf_printf(out, "weir does not unwind stacks of ");
        weir_text_append(out, weir_string(&survey->strings, survey->machine_name),
                         strlen(weir_string(&survey->strings, survey->machine_name)));
        weir_buf_printf(out, ": the user's part of a stack is the sample's own function\n");
    }
    for (unsigned end = WEIR_UNWIND_OUTERMOST + 1; end < WEIR_UNWIND_ENDS; end++) {
        if (ends[end] > 0)
            weir_buf_printf(out, "%" PRIu64 " of %" PRIu64 " copied stacks %s\n", ends[end], survey->samples,
                            weir_unwound_end_text(end));
    }
}

void weir_digest_notes(const struct weir_digest *digest, struct weir_buf *out)
{
    const struct weir_survey *survey = &digest->survey;
    uint64_t failures[4] = {0};
    count_failures(&survey->objects, failures);
    if (survey->end.code < 0)
        weir_buf_printf(out, "%s\n", survey->end.what);
    if (digest->counts.malformed > 0)
        weir_buf_printf(out, "%" PRIu64 " samples are malformed and left out\n", digest->counts.malformed);
    if (digest->counts.unknown > 0)
        weir_buf_printf(out, "%" PRIu64 " samples are of no event in the header and left out\n",
                        digest->counts.unknown);
    if (survey->deferred.left_out > 0)
        weir_buf_printf(out, "%" PRIu64 " deferred call chains are malformed, or beyond the limit of %u MiB\n",
                        survey->deferred.left_out, WEIR_DEFERRED_MAX_BYTES >> 20);
    if (survey->history.events_dropped > 0)
        weir_buf_printf(out, "%" PRIu64 " side records are beyond the limit of %u and left out\n",
                        survey->history.events_dropped, WEIR_TASK_RECORDS_MAX);
    if (digest->fold.is_cut)
        weir_buf_printf(out, "the stacks are more than %u nodes: the innermost calls of some are left out\n",
                        WEIR_FOLD_STACKS_MAX);
    append_failures(out, failures[WEIR_OBJECT_MISSING], "not here, or not readable");
    append_failures(out, failures[WEIR_OBJECT_MISMATCH], "changed since the recording (build id)");
    append_failures(out, failures[WEIR_OBJECT_STRIPPED], "none inside");
    append_stacks(digest, out);
    const struct weir_object *kernel = survey->objects.list[WEIR_OBJECT_NUMBER_KERNEL];
    if (kernel->failure == WEIR_OBJECT_MISMATCH)
        weir_buf_printf(out, "no symbols of the kernel, which is not the one that runs here\n");
    else if (kernel->failure != WEIR_OBJECT_LOADED)
        weir_buf_printf(out, "no symbols of the kernel: /proc/kallsyms hides its addresses\n");
}

void weir_digest_remedies(const struct weir_digest *digest, struct weir_buf *out)
{
    uint64_t lost = 0, shed = 0, throttled = 0;
    for (size_t i = 0; i < digest->survey.event_count; i++) {
        const struct weir_survey_event *event = &digest->survey.events[i];
        lost += event->lost > event->lost_samples ? event->lost : event->lost_samples;
        shed += event->shed;
        throttled += event->throttled;
    }
    if (lost > 0)
        weir_buf_printf(out,
                        "rings were full: larger rings (weir record -m), readers that run at once (-r 1), or fewer "
                        "samples (a lower -F, a higher -c)\n");
    if (shed > 0)
        weir_buf_printf(out, "the output was slower than the events: more memory between them (weir record "
                             "--buffer-size), or compression (-z)\n");
    if (throttled > 0)
        weir_buf_printf(out,
                        "the kernel throttled events: a lower -F, or a higher kernel.perf_event_max_sample_rate\n");
}
