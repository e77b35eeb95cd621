/* `weir info` and `weir verify`: from their arguments to format/info.h, format/timeline_text.h and format/verify.h.
 * Main thread. */
#include "cli/inspect_command.h"

#include <signal.h>
#include <stdio.h>

#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/inspect_options.h"
#include "cli/reading.h"
#include "format/info.h"
#include "format/timeline_text.h"
#include "format/verify.h"

/* Parses; -1, or the exit status with which the command ends here. */
static int begin(const struct weir_invocation *invocation, const struct weir_command *command,
                 struct weir_inspect_arguments *arguments, const struct weir_print *print)
{
    struct weir_error err = {0};
    int result = weir_inspect_arguments_parse(command, arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(print, command, invocation->arguments);
    return result < 0 ? weir_answer_refusal(print, result, &err) : -1;
}

/* Shows text, if it is whole, then the error of reading; the exit status. */
static int end(const struct weir_print *print, struct weir_buf *text, int code, const struct weir_error *err)
{
    int shown = text->used > 0 && weir_buf_error(text) == 0 ? weir_answer_text(print, text) : WEIR_EXIT_OK;
    weir_buf_fini(text);
    if (code < 0)
        weir_print_error(print, err);
    return code < 0 ? weir_exit_status_of_reading(code) : shown;
}

/* Shows the timeline; the exit status. */
static int show_timeline(const struct weir_inspect_arguments *arguments, struct weir_print *print)
{
    struct weir_error err = {0};
    struct weir_reading reading;
    weir_reading_begin(&reading, print, "weir info", true);
    const struct weir_timeline_options options = {
        .path = arguments->input_path,
        .json = arguments->json,
        .notices = &reading.notices,
        .gate = &reading.gate,
        .write = weir_reading_write,
    };
    signal(SIGPIPE, SIG_DFL); /* weir info --timeline | head ends as cat | head does */
    int code = weir_timeline_show(&options, &err);
    weir_reading_end(&reading);
    return weir_reading_flush(print, code, &err);
}

int weir_info_main(const struct weir_invocation *invocation)
{
    struct weir_print print = {.stream = stderr};
    struct weir_inspect_arguments arguments;
    struct weir_error err = {0};
    int status = begin(invocation, &weir_info_command, &arguments, &print);
    if (status >= 0)
        return status;
    if (arguments.timeline)
        return show_timeline(&arguments, &print);
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_reading reading;
    weir_reading_begin(&reading, &print, "weir info", false);
    int code = weir_info_append(arguments.input_path, &reading.gate, arguments.json, &text, &err);
    weir_reading_end(&reading);
    return end(&print, &text, code, &err);
}

int weir_verify_main(const struct weir_invocation *invocation)
{
    struct weir_print print = {.stream = stderr};
    struct weir_inspect_arguments arguments;
    struct weir_error err = {0};
    int status = begin(invocation, &weir_verify_command, &arguments, &print);
    if (status >= 0)
        return status;
    struct weir_buf text = WEIR_BUF_INIT;
    unsigned failures = 0;
    print.quiet = arguments.quiet;
    struct weir_reading reading;
    weir_reading_begin(&reading, &print, "weir verify", false);
    int code = arguments.json ? weir_verify_append_json(arguments.input_path, &reading.gate, &text, &failures, &err)
                              : weir_verify_append(arguments.input_path, &reading.gate, &text, &failures, &err);
    weir_reading_end(&reading);
    if (code < 0 && arguments.json)
        weir_buf_reset(&text); /* half of an object is none */
    if (arguments.quiet && code == 0)
        weir_buf_reset(&text);
    status = end(&print, &text, code, &err);
    return status == WEIR_EXIT_OK && failures > 0 ? WEIR_EXIT_BAD_INPUT : status;
}
