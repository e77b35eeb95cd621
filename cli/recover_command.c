/* `weir recover`: from its arguments to engine/upkeep/recover.h, and what was done as lines. Main thread. */
#include "cli/recover_command.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/progress.h"
#include "cli/recover_options.h"
#include "engine/upkeep/recover.h"
#include "format/text_out.h"

#define SUFFIX ".recovered"

static void append_what_was_made(struct weir_buf *text, const char *path, const struct weir_recovery *recovery)
{
    weir_buf_printf(text, "[ weir recover: %" PRIu64 " records (%" PRIu64 " samples) in ", recovery->records,
                    recovery->samples);
    weir_text_append(text, path, strlen(path));
    weir_buf_printf(text, " ]\n");
}

/* copy_path: NULL in place. */
static void append_that_it_is_whole(struct weir_buf *text, const char *copy_path, const struct weir_recovery *recovery)
{
    weir_buf_printf(text, "[ weir recover: Nothing to recover: all %" PRIu64 " records can be read", recovery->records);
    if (copy_path) {
        weir_buf_printf(text, "; a copy is ");
        weir_text_append(text, copy_path, strlen(copy_path));
    }
    weir_buf_printf(text, " ]\n");
}

static void report(struct weir_print *print, const struct weir_recover_arguments *arguments, const char *output_path,
                   const struct weir_recovery *recovery)
{
    struct weir_buf text = WEIR_BUF_INIT;
    if (recovery->is_whole)
        append_that_it_is_whole(&text, arguments->in_place ? NULL : output_path, recovery);
    else
        append_what_was_made(&text, arguments->in_place ? arguments->input_path : output_path, recovery);
    if (!recovery->is_whole && recovery->said_end && recovery->data_end > recovery->said_end)
        weir_buf_printf(&text, "[ weir recover: %" PRIu64 " bytes more than the header said ]\n",
                        recovery->data_end - recovery->said_end);
    if (recovery->dropped_bytes > 0 && recovery->dropped_is_blank)
        weir_buf_printf(&text,
                        "[ weir recover: Left out %" PRIu64 " bytes of space that was reserved for more data ]\n",
                        recovery->dropped_bytes);
    else if (recovery->dropped_bytes > 0)
        weir_buf_printf(&text, "[ weir recover: Left out %" PRIu64 " bytes at %#" PRIx64 ", which are no records ]\n",
                        recovery->dropped_bytes, recovery->data_end);
    for (size_t i = 0; i < recovery->part_count; i++) {
        const struct weir_recovery_part *part = &recovery->parts[i];
        if (part->dropped_bytes > 0)
            weir_buf_printf(&text,
                            "[ weir recover: Left out %" PRIu64 " bytes at %#" PRIx64
                            " of data.%zu, which are no records ]\n",
                            part->dropped_bytes, part->kept_bytes, i);
    }
    weir_print_lines(print, weir_buf_str(&text));
    weir_buf_fini(&text);
}

/* Bytes of a path without the slashes at the end of a directory's. */
static int bytes_of_name(const char *path)
{
    size_t length = strnlen(path, PATH_MAX);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return (int)length;
}

static int recover(const struct weir_recover_arguments *arguments, struct weir_print *print)
{
    char default_path[PATH_MAX];
    const char *output_path = arguments->output_path ? arguments->output_path : default_path;
    struct weir_recovery recovery = {0};
    struct weir_error err = {0};
    int length = snprintf(default_path, sizeof(default_path), "%.*s" SUFFIX, bytes_of_name(arguments->input_path),
                          arguments->input_path);
    const struct weir_notice_sink notices = weir_print_sink(print);
    struct weir_progress progress;
    weir_progress_begin(&progress, print, "weir recover", false);
    const struct weir_recover_options options = {
        .input_path = arguments->input_path,
        .output_path = arguments->in_place ? NULL : output_path,
        .assume_same_boot = arguments->assume_this_kernel,
        .notices = &notices,
        .progress = weir_progress_of_input(&progress),
    };
    int code = length < (int)sizeof(default_path)
                   ? weir_recover_run(&options, &recovery, &err)
                   : weir_error_set(&err, -ENAMETOOLONG, "the name of the input is too long");
    weir_progress_end(&progress);
    if (code < 0)
        weir_print_error(print, &err);
    else
        report(print, arguments, output_path, &recovery);
    weir_recovery_fini(&recovery);
    return weir_exit_status_of_reading(code);
}

int weir_recover_main(const struct weir_invocation *invocation)
{
    struct weir_recover_arguments arguments;
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    int result = weir_recover_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_recover_command, invocation->arguments);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);
    print.quiet = arguments.quiet;
    return recover(&arguments, &print);
}
