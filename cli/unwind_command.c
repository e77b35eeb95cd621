/*
 * `weir unwind`: from its arguments to report/unwinding.h in a child process, which writes to a file that gets its name
 * when it is complete. Main thread.
 */
#include "cli/unwind_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/reading.h"
#include "cli/report_input.h"
#include "cli/unwind_options.h"
#include "format/text_out.h"
#include "format/unwound_sum.h"
#include "report/report_file.h"
#include "report/unwinding.h"

#define SUFFIX    ".unwound"
#define FILE_MODE 0600 /* of recordings, which tell what others run */

struct making { /* what the child needs */
    struct weir_unwinding_options *options;
    const char *output_path;
    struct weir_print *print;
};

static void append_file(struct weir_buf *text, const char *path, const struct weir_unwinding_result *result)
{
    const struct weir_unwound_counts *counts = &result->counts;
    weir_buf_printf(text, "[ weir unwind: %" PRIu64 " samples, %.1f user frames each of %" PRIu64 " stacks, in ",
                    result->samples, counts->unwound ? (double)counts->frames / (double)counts->unwound : 0.0,
                    counts->unwound);
    weir_text_append(text, path, strlen(path));
    weir_buf_printf(text, ": %.1f MB became %.1f MB ]\n", (double)result->read_bytes / 1e6,
                    (double)result->written_bytes / 1e6);
}

static void print_summary(const struct making *making, const struct weir_unwinding_result *result)
{
    struct weir_buf text = WEIR_BUF_INIT;
    append_file(&text, making->output_path, result);
    for (unsigned end = 0; end < WEIR_UNWIND_ENDS; end++) {
        if (result->counts.ends[end] > 0)
            weir_buf_printf(&text, "[ weir unwind: %" PRIu64 " stacks %s ]\n", result->counts.ends[end],
                            weir_unwound_end_text(end));
    }
    weir_print_lines(making->print, weir_buf_str(&text));
    weir_buf_fini(&text);
}

/* In the child; the exit status. */
static int make(void *ctx, int fd)
{
    const struct making *making = ctx;
    struct weir_reading reading;
    struct weir_unwinding_result result;
    struct weir_error err = {0};
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        fchmod(fd, FILE_MODE); /* before the sandbox, and while the file is empty */
    weir_reading_begin(&reading, making->print, "weir unwind", false);
    reading.sandbox.kind = WEIR_SANDBOX_SYMBOLS;
    making->options->gate = &reading.gate;
    int code = weir_unwinding_run(making->options, fd, &result, &err);
    weir_reading_end(&reading);
    if (code < 0) {
        weir_print_error(making->print, &err);
        return weir_exit_status_of_reading(code);
    }
    if (result.damage.code < 0)
        weir_notice(&reading.notices, WEIR_NOTICE_WARNING, "the input ends early: %s", result.damage.what);
    if (result.left_out > 0)
        weir_notice(&reading.notices, WEIR_NOTICE_WARNING,
                    "%" PRIu64 " samples are left out: they are malformed, or of no event", result.left_out);
    print_summary(making, &result);
    return WEIR_EXIT_OK;
}

static int unwind(const struct weir_unwind_arguments *arguments, struct weir_print *print)
{
    char copy[PATH_MAX], cache[PATH_MAX], default_path[PATH_MAX], vdso[WEIR_VDSO_PATH_BYTES];
    int copy_fd, status = WEIR_EXIT_FAILURE;
    struct weir_error err = {0};
    struct weir_unwinding_options options = {
        .path = arguments->input_path, .shown = arguments->input_path, .places = {.root = arguments->symfs}};
    int length = snprintf(default_path, sizeof(default_path), "%s" SUFFIX, arguments->input_path);
    if (length >= (int)sizeof(default_path))
        return weir_answer_refusal(print, weir_error_set(&err, -ENAMETOOLONG, "the name of the input is too long"),
                                   &err);
    if (weir_report_input_spool(&options.path, copy, &copy_fd, &err) < 0)
        return weir_answer_refusal(print, err.code, &err);
    weir_report_input_find_cache(cache, &options.places);
    int vdso_fd = weir_report_input_open_vdso(vdso, &options.places);
    struct making making = {.options = &options,
                            .output_path = arguments->output_path ? arguments->output_path : default_path,
                            .print = print};
    const struct weir_report_maker maker = {.make = make, .ctx = &making};
    int result = weir_report_file_run(&maker, making.output_path, &status, &err);
    if (result < 0) {
        weir_print_error(print, &err);
        status = weir_exit_status_of_reading(result);
    }
    if (vdso_fd >= 0)
        close(vdso_fd);
    if (copy_fd >= 0)
        close(copy_fd);
    return status;
}

int weir_unwind_main(const struct weir_invocation *invocation)
{
    struct weir_unwind_arguments arguments;
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    int result = weir_unwind_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_unwind_command, invocation->arguments);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);
    print.quiet = arguments.quiet;
    return unwind(&arguments, &print);
}
