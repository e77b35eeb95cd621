#include "report/unwinding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/bytes.h"
#include "format/records.h"
#include "format/stream_cuts.h"
#include "report/copied_stacks.h"
#include "report/survey.h"
#include "report/unwinding_file.h"
#include "unwind/unwound_sample.h"

#define PASSES 2u

struct run {
    const struct weir_unwinding_options *options;
    struct weir_unwinding_result *result;
    struct weir_perf_input *inputs; /* PASSES */
    struct weir_survey survey;
    struct weir_copied_stacks stacks;
    struct weir_unwinding_file file;
    uint64_t number; /* of records before the present one */
};

/* ---- records ---- */

static int copy_sample(struct run *run, const struct weir_record_view *record)
{
    const struct weir_input_event *event = weir_input_event_of(&run->inputs[1].events, record);
    uint8_t out[UINT16_MAX + 1 + WEIR_UNWOUND_GROWTH_MAX];
    struct weir_unwind_chain chain;
    struct weir_sample sample;
    size_t bad_offset;
    if (event && !weir_unwound_is_wanted(&event->attr)) {
        run->result->samples++;
        return weir_unwinding_file_append(&run->file, record->data, record->bytes);
    }
    if (!event || weir_sample_parse(&sample, &event->layout, record->data, record->bytes, &bad_offset) < 0) {
        run->result->left_out++;
        return 0;
    }
    uint64_t time = weir_survey_clock(&run->survey, event, record, run->number);
    struct weir_task_found task = weir_task_history_find(&run->survey.history, sample.id.pid, sample.id.tid, time);
    weir_copied_stacks_unwind(&run->stacks, &event->layout, &sample, task.process, time, &chain);
    size_t bytes = weir_unwound_write(out, record->data, record->bytes, &event->layout, &sample, &chain);
    if (bytes == 0) { /* a record that is full without a stack */
        chain.count = 0;
        bytes = weir_unwound_write(out, record->data, record->bytes, &event->layout, &sample, &chain);
    }
    run->result->samples++;
    return weir_unwinding_file_append(&run->file, out, bytes);
}

static int fail_write(int code, struct weir_error *err)
{
    return code < 0 ? weir_error_set_errno(err, code, "cannot write the unwound recording") : 0;
}

static int copy_record(struct run *run, const struct weir_record_view *record, struct weir_error *err)
{
    int result = 0;
    if (record->type == WEIR_RECORD_AUXTRACE) {
        weir_error_set(err, -ENOTSUP, "%s has AUX areas, which weir unwind does not copy", run->options->shown);
        return -ENOTSUP;
    }
    if (record->type == WEIR_RECORD_COMPRESSED || record->type == WEIR_RECORD_COMPRESSED2)
        return 0; /* the records in it follow */
    if (run->inputs[1].is_pipe && weir_stream_cuts_has(record->type)) {
        if (record->type == WEIR_RECORD_BUILD_ID)
            weir_buf_append(&run->file.build_ids, record->data, record->bytes);
        result = weir_buf_error(&run->file.build_ids);
    } else {
        run->result->records++;
        result = record->type == PERF_RECORD_SAMPLE
                     ? copy_sample(run, record)
                     : weir_unwinding_file_append(&run->file, record->data, record->bytes);
    }
    return fail_write(result, err);
}

static int copy_all(struct run *run, struct weir_error *err)
{
    struct weir_record_view record;
    int result;
    while ((result = weir_perf_input_next(&run->inputs[1], &record, &run->result->damage)) > 0) {
        result = copy_record(run, &record, err);
        if (result < 0)
            return result;
        run->number++;
    }
    if (result == 0)
        run->result->damage.code = 0;
    if (result < 0 && result != -EBADMSG) {
        *err = run->result->damage;
        return result;
    }
    return 0;
}

/* ---- the run ---- */

static int check_input(const struct run *run, struct weir_error *err)
{
    const struct weir_perf_input *input = &run->inputs[0];
    const char *name = run->options->shown;
    bool has_stacks = false;
    int ordered = weir_perf_input_check_order(input, err);
    if (ordered < 0)
        return ordered;
    for (size_t i = 0; i < input->events.count; i++)
        has_stacks |= weir_unwound_is_wanted(&input->events.list[i].attr);
    if (input->directory[0])
        return weir_error_set(err, -ENOTSUP, "%s is a directory, whose files weir unwind does not join", name);
    if (input->is_unfinished) {
        weir_error_set(err, -ENOTSUP, "%s is not finished", name);
        weir_error_hint(err, "weir recover %s makes a finished file of it", name);
        return -ENOTSUP;
    }
    if (has_stacks)
        return 0;
    weir_error_set(err, -ENODATA, "no event of %s has user stacks", name);
    weir_error_hint(err, "weir record --call-graph dwarf copies them");
    return -ENODATA;
}

static int fail(int code, struct weir_error *err)
{
    return code < 0 ? weir_error_set_errno(err, code, "cannot unwind the recording") : 0;
}

/* perf opens no file without a record. */
static int append_round(struct run *run)
{
    struct weir_buf record = WEIR_BUF_INIT;
    weir_record_finished_round(&record);
    int result = weir_buf_error(&record);
    if (result == 0)
        result = weir_unwinding_file_append(&run->file, record.data, record.used);
    run->result->records++;
    weir_buf_fini(&record);
    return result;
}

/* After the first pass. */
static int copy_unwound(struct run *run, int fd, struct weir_error *err)
{
    const struct weir_survey *survey = &run->survey;
    int result = check_input(run, err);
    if (result == 0 && !survey->machine)
        result = weir_error_set(err, -ENOTSUP, "%s: weir does not unwind stacks of %s", run->options->shown,
                                weir_string(&survey->strings, survey->machine_name));
    if (result < 0)
        return result;
    result = fail(weir_copied_stacks_init(&run->stacks, survey, WEIR_COPIED_STACKS_TABLES_BYTES), err);
    if (result < 0)
        return result;
    result = fail_write(weir_unwinding_file_begin(&run->file, fd, &run->inputs[0]), err);
    if (result == 0)
        result = copy_all(run, err);
    if (result == 0 && run->file.data_bytes == 0)
        result = fail_write(append_round(run), err);
    if (result == 0)
        result = fail_write(weir_unwinding_file_end(&run->file, &run->inputs[1]), err);
    run->result->written_bytes = run->file.head_bytes + run->file.data_bytes;
    weir_unwinding_file_fini(&run->file);
    run->result->counts = run->stacks.counts;
    weir_copied_stacks_fini(&run->stacks);
    return result;
}

static int run_passes(struct run *run, int fd, struct weir_error *err)
{
    int result = weir_survey_run(&run->survey, &run->inputs[0], &run->options->places, err);
    if (result == 0)
        result = copy_unwound(run, fd, err);
    run->result->read_bytes = run->inputs[0].source.file_bytes;
    weir_survey_fini(&run->survey);
    return result;
}

/* The second opening, inside the first: the gate is passed when both are open and nothing has been read. */
static int open_second(void *ctx, struct weir_error *err)
{
    struct run *run = ctx;
    return weir_perf_input_open_gated(&run->inputs[1], run->options->path, run->options->gate, err);
}

int weir_unwinding_run(const struct weir_unwinding_options *options, int fd, struct weir_unwinding_result *result,
                       struct weir_error *err)
{
    struct weir_perf_input inputs[PASSES] = {{.is_pipe = false}};
    struct run run = {.options = options, .result = result, .inputs = inputs};
    const struct weir_input_gate gate = {.opened = open_second, .ctx = &run};
    struct stat status;
    *result = (struct weir_unwinding_result){.records = 0};
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return weir_error_set(err, -EINVAL, "the output is not a regular file, and its head is written last");
    int code = weir_perf_input_open_gated(&inputs[0], options->path, &gate, err);
    if (code < 0)
        return code;
    code = run_passes(&run, fd, err);
    weir_perf_input_close(&inputs[1]);
    weir_perf_input_close(&inputs[0]);
    return code;
}
