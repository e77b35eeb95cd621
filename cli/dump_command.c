/* `weir dump`: from its arguments to format/dump.h, and its text to standard output. Main thread. */
#include "cli/dump_command.h"

#include <signal.h>
#include <stdio.h>

#include "cli/answer.h"
#include "cli/dump_options.h"
#include "cli/exit_status.h"
#include "cli/progress.h"
#include "engine/upkeep/sandbox.h"
#include "format/dump.h"

static int write_out(void *ctx, const char *text, size_t bytes, struct weir_error *err)
{
    (void)ctx;
    return weir_print_output_bytes(text, bytes, err);
}

/* With parsed arguments; the exit status. */
static int dump(struct weir_dump_arguments *arguments, struct weir_print *print)
{
    const struct weir_notice_sink notices = weir_print_sink(print);
    struct weir_error err = {0};
    uint64_t records;
    int code = weir_dump_arguments_resolve(arguments, &err);
    if (code < 0)
        return weir_answer_refusal(print, code, &err);
    struct weir_sandbox_gate sandbox = {.kind = WEIR_SANDBOX_READING, .notices = &notices};
    struct weir_input_gate gate = weir_sandbox_input_gate(&sandbox);
    struct weir_progress progress;
    weir_progress_begin(&progress, print, "weir dump", true);
    gate.progress = weir_progress_of_input(&progress);
    const struct weir_dump_options options = {
        .path = arguments->input_path,
        .filter = &arguments->filter,
        .limit = arguments->limit,
        .json = arguments->json,
        .notices = &notices,
        .gate = &gate,
        .write = write_out,
    };
    code = weir_dump_run(&options, &records, &err);
    weir_progress_end(&progress);
    struct weir_error output_error = {0};
    int flushed = weir_print_output("", &output_error);
    if (code < 0)
        weir_print_error(print, &err);
    else if (flushed < 0)
        weir_print_error(print, &output_error);
    return weir_exit_status_of_reading(code < 0 ? code : flushed);
}

int weir_dump_main(const struct weir_invocation *invocation)
{
    struct weir_dump_arguments arguments;
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    weir_dump_arguments_init(&arguments);
    int status;
    int result = weir_dump_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP) {
        status = weir_answer_help(&print, &weir_dump_command, invocation->arguments);
    } else if (result < 0) {
        status = weir_answer_refusal(&print, result, &err);
    } else {
        print.quiet = arguments.quiet;
        signal(SIGPIPE, SIG_DFL); /* weir dump | head ends as cat | head does */
        status = dump(&arguments, &print);
    }
    weir_dump_arguments_fini(&arguments);
    return status;
}
