/* Opens, reads and shows. */
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "report/digest.h"
#include "report/folded_form.h"
#include "report/html_form.h"
#include "report/json_check.h"
#include "report/json_form.h"
#include "report/perfetto_form.h"
#include "report/pprof_form.h"
#include "report/speedscope_form.h"
#include "report/stdio_form.h"

#define PASSES          2u
#define SWEEP_MAX_BYTES (64u << 20)

/* The progress of one pass is a part of the whole. */
struct pass {
    const struct opening *opening; /* borrowed */
    size_t number;                 /* of the pass, as of its input */
};

/* Inputs that are opened one inside the other, so that the gate is passed when all are open and none has been read. */
struct opening {
    const struct weir_report_options *options;
    struct weir_perf_input *inputs; /* owned; PASSES per recording */
    size_t count, begun;
    bool *is_open; /* owned; by input */
    struct pass passes[PASSES * WEIR_REPORT_RECORDINGS_MAX];
};

/* The inputs are read in their order, each as a whole. */
static void tell_pass(void *ctx, uint64_t done_bytes, uint64_t bytes_of_pass)
{
    const struct pass *pass = ctx;
    const struct opening *opening = pass->opening;
    const struct weir_input_progress *progress = &opening->options->gate->progress;
    uint64_t total_bytes = 0;
    (void)bytes_of_pass;
    for (size_t i = 0; i < opening->count; i++) {
        total_bytes += opening->inputs[i].source.file_bytes;
        done_bytes += i < pass->number ? opening->inputs[i].source.file_bytes : 0;
    }
    progress->tell(progress->ctx, done_bytes, total_bytes);
}

static int open_rest(void *ctx, struct weir_error *err)
{
    struct opening *opening = ctx;
    const struct weir_report_options *options = opening->options;
    if (opening->begun == opening->count)
        return options->gate ? options->gate->opened(options->gate->ctx, err) : 0;
    size_t number = opening->begun++;
    struct weir_input_gate gate = {.opened = open_rest, .ctx = opening};
    opening->passes[number] = (struct pass){.opening = opening, .number = number};
    if (options->gate && options->gate->progress.tell)
        gate.progress = (struct weir_input_progress){.tell = tell_pass, .ctx = &opening->passes[number]};
    int result = weir_perf_input_open_gated(&opening->inputs[number], options->paths[number / PASSES], &gate, err);
    opening->is_open[number] = result == 0;
    return result;
}

/* A stream is read from a copy, whose name means nothing to the user. */
static void show_names(struct opening *opening, struct weir_error *err)
{
    const struct weir_report_options *options = opening->options;
    for (size_t i = 0; i < options->path_count; i++) {
        const char *name = strcmp(options->shown[i], "-") == 0 ? "standard input" : options->shown[i];
        size_t length = strlen(options->paths[i]);
        if (strcmp(options->paths[i], options->shown[i]) == 0)
            continue;
        for (size_t pass = 0; pass < PASSES; pass++) {
            char *path = opening->inputs[i * PASSES + pass].source.path;
            snprintf(path, sizeof(opening->inputs[0].source.path), "%s", name);
        }
        if (strncmp(err->what, options->paths[i], length) == 0) {
            char rest[sizeof(err->what)];
            snprintf(rest, sizeof(rest), "%s", err->what + length);
            weir_error_set(err, err->code, "%s%s", name, rest);
        }
    }
}

static void close_inputs(struct opening *opening)
{
    for (size_t i = 0; opening->is_open && i < opening->count; i++) {
        if (opening->is_open[i])
            weir_perf_input_close(&opening->inputs[i]);
    }
    free(opening->is_open);
    free(opening->inputs);
}

/* ---- one recording ---- */

static int find_event(struct weir_digest *digest, const char *name, struct weir_error *err)
{
    digest->only_event = UINT32_MAX;
    for (size_t i = 0; name && i < digest->input->events.count; i++) {
        if (strcmp(digest->input->events.list[i].name, name) == 0)
            digest->only_event = (uint32_t)i;
    }
    if (!name || digest->only_event != UINT32_MAX)
        return 0;
    weir_error_set(err, -ENOENT, "%s has no event '%s'", digest->path, name);
    weir_error_hint(err, "weir info %s lists its events", digest->path);
    return -ENOENT;
}

static int read_recording(struct weir_digest *digest, const struct weir_report_options *options,
                          struct weir_perf_input inputs[PASSES], struct weir_error *err)
{
    digest->input = &inputs[0];
    int result = weir_survey_run(&digest->survey, &inputs[0], &options->places, err);
    if (result == 0)
        result = find_event(digest, options->event, err);
    if (result == 0)
        result = weir_sampling_run(&digest->fold, &digest->counts, &digest->survey, &inputs[1], options->threads, err);
    return result;
}

static void tell_notes(const struct weir_digest *digest, const struct weir_notice_sink *notices)
{
    struct weir_buf notes = WEIR_BUF_INIT;
    weir_digest_notes(digest, &notes);
    for (const char *line = weir_buf_str(&notes); line && *line;) {
        size_t length = strcspn(line, "\n");
        weir_notice(notices, WEIR_NOTICE_WARNING, "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    weir_buf_fini(&notes);
}

#ifdef WEIR_PROTOBUF

static void append_protobuf(enum weir_report_form form, const struct weir_digest *digest, struct weir_buf *out)
{
    if (form == WEIR_REPORT_PPROF)
        weir_pprof_append(out, digest);
    else
        weir_perfetto_append(out, digest);
}

bool weir_report_has_form(enum weir_report_form form)
{
    (void)form;
    return true;
}

#else

static void append_protobuf(enum weir_report_form form, const struct weir_digest *digest, struct weir_buf *out)
{
    (void)form;
    (void)digest;
    weir_buf_fail(out, -ENOTSUP);
}

bool weir_report_has_form(enum weir_report_form form)
{
    return form != WEIR_REPORT_PPROF && form != WEIR_REPORT_PERFETTO;
}

#endif

static void append_form(const struct weir_report_options *options, const struct weir_digest *digests,
                        const struct weir_buf *sweep, struct weir_buf *out)
{
    switch (options->form) {
    case WEIR_REPORT_HTML:
        weir_html_append(out, digests, options->path_count, sweep);
        break;
    case WEIR_REPORT_STDIO:
        weir_stdio_append(out, &digests[0]);
        break;
    case WEIR_REPORT_FOLDED:
        weir_folded_append(out, &digests[0]);
        break;
    case WEIR_REPORT_JSON:
        weir_json_append(out, digests, options->path_count, sweep);
        break;
    case WEIR_REPORT_SPEEDSCOPE:
        weir_speedscope_append(out, &digests[0]);
        break;
    case WEIR_REPORT_PPROF:
    case WEIR_REPORT_PERFETTO:
        append_protobuf(options->form, &digests[0], out);
        break;
    }
}

/* Reads the results of a sweep; they are put into a page, so they have to be JSON. */
static int read_sweep(const char *path, struct weir_buf *sweep, struct weir_error *err)
{
    struct stat status;
    int fd = weir_regular_file_open(AT_FDCWD, path, &status);
    if (fd < 0)
        return weir_error_set_errno(err, fd == -ENODATA ? -EINVAL : fd, "cannot open %s", path);
    int result = 0;
    if (status.st_size > SWEEP_MAX_BYTES)
        result = weir_error_set(err, -EFBIG, "%s: more than %u bytes", path, SWEEP_MAX_BYTES);
    uint8_t *room = result == 0 ? weir_buf_extend(sweep, (size_t)status.st_size) : NULL;
    if (result == 0 && !room)
        result = weir_error_set_errno(err, -ENOMEM, "cannot read %s", path);
    if (result == 0 && pread(fd, room, (size_t)status.st_size, 0) != status.st_size)
        result = weir_error_set_errno(err, errno ? -errno : -EIO, "cannot read %s", path);
    if (result == 0 && !weir_json_is_value(sweep->data, sweep->used))
        result = weir_error_set(err, -EBADMSG, "%s: neither a recording nor JSON", path);
    close(fd);
    return result;
}

static int read_all(const struct weir_report_options *options, struct weir_perf_input *inputs,
                    struct weir_digest *digests, struct weir_symbol_names *names, struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < options->path_count; i++) {
        digests[i].path = options->shown[i];
        digests[i].names = options->raw_names ? NULL : &names[i];
        result = weir_symbol_names_init(&names[i]);
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot make the report");
        result = read_recording(&digests[i], options, &inputs[i * PASSES], err);
    }
    for (size_t i = 0; result == 0 && i < options->path_count; i++)
        tell_notes(&digests[i], options->notices);
    return result;
}

static int report(const struct weir_report_options *options, struct weir_perf_input *inputs, struct weir_buf *out,
                  struct weir_error *err)
{
    struct weir_digest digests[WEIR_REPORT_RECORDINGS_MAX] = {{.path = NULL}};
    struct weir_symbol_names names[WEIR_REPORT_RECORDINGS_MAX] = {{.strings = {.key = {{0}}}}};
    struct weir_buf sweep = WEIR_BUF_INIT;
    int result = options->sweep_path ? read_sweep(options->sweep_path, &sweep, err) : 0;
    if (result == 0)
        result = read_all(options, inputs, digests, names, err);
    if (result == 0) {
        append_form(options, digests, options->sweep_path ? &sweep : NULL, out);
        result = weir_buf_error(out);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot make the report");
    }
    for (size_t i = 0; i < options->path_count; i++) {
        weir_fold_fini(&digests[i].fold);
        weir_survey_fini(&digests[i].survey);
        weir_symbol_names_fini(&names[i]);
    }
    weir_buf_fini(&sweep);
    return result;
}

int weir_report_run(const struct weir_report_options *options, struct weir_buf *out, struct weir_error *err)
{
    struct opening opening = {.options = options, .count = PASSES * options->path_count};
    opening.inputs = calloc(opening.count + 1, sizeof(*opening.inputs));
    opening.is_open = calloc(opening.count + 1, sizeof(*opening.is_open));
    int result = opening.inputs && opening.is_open ? open_rest(&opening, err)
                                                   : weir_error_set_errno(err, -ENOMEM, "cannot make the report");
    if (opening.inputs)
        show_names(&opening, err);
    if (result == 0)
        result = report(options, opening.inputs, out, err);
    close_inputs(&opening);
    return result;
}
