#include "cli/record_outcome.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bits.h"
#include "format/text_out.h"
#include "io/output_file.h"

static const char *end_name(enum weir_record_end end)
{
    static const char *const names[] = {
        [WEIR_RECORD_END_WORKLOAD] = "workload", [WEIR_RECORD_END_SIGNAL] = "signal",
        [WEIR_RECORD_END_TARGETS] = "targets",   [WEIR_RECORD_END_SCHEDULE] = "schedule",
        [WEIR_RECORD_END_ASKED] = "asked",       [WEIR_RECORD_END_LEASE] = "lease",
        [WEIR_RECORD_END_CONSUMER] = "consumer", [WEIR_RECORD_END_SIZE] = "size",
        [WEIR_RECORD_END_SPACE] = "space",       [WEIR_RECORD_END_OUTPUT] = "output",
        [WEIR_RECORD_END_DRY_RUN] = "dry-run",
    };
    return (size_t)end < WEIR_ARRAY_COUNT(names) ? names[end] : NULL;
}

static void append_text_or_null(const char *text, struct weir_buf *out)
{
    if (text && text[0])
        weir_text_append_json_string(out, text);
    else
        weir_buf_printf(out, "null");
}

static void append_outcome(const struct weir_record_options *options, const struct weir_record_outcome *outcome,
                           struct weir_buf *out)
{
    const struct weir_record_result *result = outcome->result;
    bool has_file = result && result->file_bytes > 0;
    weir_buf_printf(out, "{\"version\":\"" WEIR_VERSION "\",\"output\":");
    weir_text_append_json_string(out, options->output.path);
    weir_buf_printf(out, ",\"exit_status\":%d,\"error\":", outcome->exit_status);
    append_text_or_null(outcome->err->code != 0 ? outcome->err->what : NULL, out);
    weir_buf_printf(out, ",\"hint\":");
    append_text_or_null(outcome->err->code != 0 ? outcome->err->hint : NULL, out);
    weir_buf_printf(out, ",\"end\":");
    append_text_or_null(has_file ? end_name(result->end) : NULL, out);
    weir_buf_printf(out,
                    ",\"files\":%" PRIu64 ",\"file_bytes\":%" PRIu64 ",\n \"ledger\":", has_file ? result->files : 0,
                    has_file ? result->file_bytes : 0);
    if (has_file && result->ledger) {
        const struct weir_ledger_content content = weir_record_result_ledger(result);
        weir_ledger_append_json(&content, out);
    } else {
        weir_buf_printf(out, "null");
    }
    weir_buf_printf(out, "}\n");
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat here, there;
    return lstat(one, &here) == 0 && lstat(other, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino && S_ISREG(here.st_mode);
}

static int refuse_output(const char *path, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "'%s' cannot be both the report and the recording", path);
    weir_error_hint(err, "give --report a name of its own: --report '%s.json'", path);
    return -EINVAL;
}

int weir_record_outcome_check(const struct weir_record_arguments *arguments, struct weir_error *err)
{
    const char *path = arguments->report_path;
    if (!path)
        return 0;
    const struct weir_record_options *options = &arguments->options;
    if (options->output.kind == WEIR_RECORD_OUTPUT_FILE && strcmp(path, options->output.path) == 0)
        return refuse_output(path, err);
    return weir_output_file_check(path, err);
}

int weir_record_outcome_write(const struct weir_record_arguments *arguments, const struct weir_record_outcome *outcome,
                              struct weir_error *err)
{
    const char *path = arguments->report_path;
    const struct weir_record_options *options = &arguments->options;
    if (!path || options->dry_run)
        return 0;
    bool has_file = outcome->result && outcome->result->file_bytes > 0;
    if (has_file && options->output.kind == WEIR_RECORD_OUTPUT_FILE && is_same_file(path, options->output.path))
        return refuse_output(path, err);
    struct weir_buf text = WEIR_BUF_INIT;
    append_outcome(options, outcome, &text);
    int code = weir_buf_error(&text);
    if (code < 0)
        weir_error_set_errno(err, code, "cannot build the report");
    else
        code = weir_output_file_write_whole(path, text.data, text.used, err);
    weir_buf_fini(&text);
    return code;
}
