/* `weir bench drain`: from its arguments to a simulated run, and from the result to text or JSON. Main thread. */
#include "cli/bench_command.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/answer.h"
#include "cli/bench_options.h"
#include "cli/bench_report.h"
#include "cli/bench_series.h"
#include "cli/exit_status.h"
#include "cli/record_report.h"
#include "cli/record_status.h"
#include "engine/sim/simulate.h"
#include "engine/sim/simulate_search.h"

static int show_result(struct weir_print *print, const struct weir_bench_arguments *arguments,
                       const struct weir_simulate_options *options, const struct weir_simulate_found *found,
                       const struct weir_simulate_result *result)
{
    struct weir_buf text = WEIR_BUF_INIT;
    if (print->verbosity >= 1) {
        weir_report_ledger(&text, &result->record);
        weir_print_lines(print, weir_buf_str(&text));
        weir_buf_reset(&text);
    }
    if (arguments->json)
        weir_bench_report_json(&text, options, arguments->goal, found, result);
    else
        weir_bench_report_text(&text, options, arguments->goal, found, result);
    return weir_answer_text(print, &text);
}

/* One run, with parsed arguments; the exit status. *number: the signal to raise again, or 0. */
static int simulate(struct weir_bench_arguments *arguments, struct weir_print *print, int *number)
{
    struct weir_error err = {0};
    int code =
        weir_bench_arguments_resolve(arguments, (uint64_t)sysconf(_SC_PAGESIZE), arguments->options.notices, &err);
    if (code < 0)
        return weir_answer_refusal(print, code, &err);

    struct weir_simulate_options options = weir_bench_arguments_simulate_options(arguments);
    struct weir_simulate_result result = {0};
    struct weir_simulate_found found;
    struct weir_record_status shown;
    if (weir_record_status_begin(&shown, &(struct weir_status_choice){.kind = WEIR_STATUS_AUTO}, print))
        options.record.watch = &shown.watch;
    shown.watch.enter_step = NULL; /* there are several runs, each with an end of its own */
    code = weir_simulate_search(&options, arguments->goal, arguments->probe_ns, &found, &result, &err);
    weir_record_status_end(&shown);
    if (code == 0)
        code = weir_bench_check_balance(&result, &err);

    if (code < 0 && err.code == 0)
        weir_error_set_errno(&err, code, "cannot run the benchmark");
    int status = WEIR_EXIT_FAILURE;
    if (code < 0)
        weir_print_error(print, &err);
    else
        status = show_result(print, arguments, &options, &found, &result);
    *number = result.record.signal;
    weir_simulate_result_fini(&result);
    return status;
}

int weir_bench_drain_main(const struct weir_invocation *invocation)
{
    struct weir_bench_arguments arguments;
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    weir_bench_arguments_init(&arguments);
    int result = weir_bench_arguments_parse(&arguments, invocation->arguments, &err);
    if (result != WEIR_OPTIONS_PARSED) {
        weir_bench_arguments_fini(&arguments);
        return result == WEIR_OPTIONS_HELP ? weir_answer_help(&print, &weir_bench_drain_command, invocation->arguments)
                                           : weir_answer_refusal(&print, result, &err);
    }
    print.verbosity = arguments.verbosity;
    print.quiet = arguments.quiet;
    const struct weir_notice_sink notices = weir_print_sink(&print);
    arguments.options.notices = &notices;
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is then EFBIG of the write */
    int number = 0;
    int status = weir_bench_arguments_want_series(&arguments) ? weir_bench_series_run(&arguments, &print, &number)
                                                              : simulate(&arguments, &print, &number);
    weir_bench_arguments_fini(&arguments);
    if (number != 0) /* so that a shell's loop ends, too */
        weir_answer_by_signal(number);
    return status;
}
