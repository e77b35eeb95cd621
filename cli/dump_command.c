/* `weir dump`: from its arguments to format/dump.h, and its text to standard output. Main thread. */
#include "cli/dump_command.h"

#include <signal.h>
#include <stdio.h>

#include "cli/answer.h"
#include "cli/dump_options.h"
#include "cli/exit_status.h"
#include "cli/reading.h"
#include "format/dump.h"

/* With parsed arguments; the exit status. */
static int dump(struct weir_dump_arguments *arguments, struct weir_print *print)
{
    struct weir_error err = {0};
    uint64_t records;
    int code = weir_dump_arguments_resolve(arguments, &err);
    if (code < 0)
        return weir_answer_refusal(print, code, &err);
    struct weir_reading reading;
    weir_reading_begin(&reading, print, "weir dump", true);
    const struct weir_dump_options options = {
        .path = arguments->input_path,
        .filter = &arguments->filter,
        .limit = arguments->limit,
        .json = arguments->json,
        .notices = &reading.notices,
        .gate = &reading.gate,
        .write = weir_reading_write,
    };
    code = weir_dump_run(&options, &records, &err);
    weir_reading_end(&reading);
    return weir_reading_flush(print, code, &err);
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
