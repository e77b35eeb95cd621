/*
 * `weir record`: from its arguments to a recording, and from the recording's end to closing lines and exit status.
 *
 *   parse -> configuration files -> rules between options -> events -> weir_record_run() -> closing lines -> re-raised
 * signal or exit status
 *
 * Main thread; weir_record_run() makes it the coordinator.
 */
#include "cli/record_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/buf.h"
#include "cli/answer.h"
#include "cli/config_options.h"
#include "cli/event_options.h"
#include "cli/exit_status.h"
#include "cli/preset_apply.h"
#include "cli/record_needs.h"
#include "cli/record_options.h"
#include "cli/record_outcome.h"
#include "cli/record_report.h"
#include "cli/sample_arguments.h"
#include "cli/target_options.h"
#include "engine/bpf/sample_filter_program.h"
#include "engine/events/cgroup.h"
#include "engine/events/event_list.h"
#include "engine/session/record.h"

_Static_assert(WEIR_VALUE_FREQ_MAX == WEIR_RECORD_FREQ_MAX, "\"max\" must reach the engine as it is");

#define PPM_PER_PERCENT 10000.0

/* Adds facts that only the running program knows. */
static void complete_options(struct weir_record_options *options, const struct weir_invocation *invocation,
                             const struct weir_notice_sink *notices)
{
    options->caller.drop_privileges = true;
    options->caller.command_line = (const char *const *)invocation->argv;
    options->caller.command_line_count = invocation->argc;
    options->caller.ignored_before = &invocation->ignored;
    options->notices = notices;
}

static void print_report(struct weir_print *print, const struct weir_record_output *output,
                         const struct weir_record_result *result)
{
    struct weir_report_context context = {
        .output_path = output->path,
        .is_stream = output->kind == WEIR_RECORD_OUTPUT_STREAM,
        .stamped = result->stamped,
    };
    struct weir_buf text = WEIR_BUF_INIT;
    if (print->verbosity >= 1)
        weir_report_ledger(&text, result);
    weir_report_closing(&text, result, &context);
    weir_print_lines(print, weir_buf_str(&text));
    weir_buf_fini(&text);
}

/* Writes the file of --report. 0, or -errno of an error that is printed. */
static int write_outcome(const struct weir_record_arguments *arguments, const struct weir_record_outcome *outcome,
                         const struct weir_print *print)
{
    struct weir_error err = {0};
    int code = weir_record_outcome_write(arguments, outcome, &err);
    if (code < 0)
        weir_print_error(print, &err);
    return code;
}

/* Answers that nothing is recorded because of err. The exit status. */
static int refuse(const struct weir_record_arguments *arguments, const struct weir_print *print, int code,
                  const struct weir_error *err)
{
    int status = weir_answer_refusal(print, code, err);
    const struct weir_record_outcome outcome = {.err = err, .exit_status = status};
    write_outcome(arguments, &outcome, print);
    return status;
}

/* The exit status. */
static int record(struct weir_record_arguments *arguments, struct weir_print *print)
{
    /* The workload gets back what weir was called with. */
    signal(SIGXFSZ, SIG_IGN); /* a file-size limit is then EFBIG of the write */
    signal(SIGPIPE, SIG_IGN); /* messages that nobody reads are no reason to stop recording */

    sigset_t before;
    sigprocmask(SIG_SETMASK, NULL, &before);

    struct weir_record_result result = {0};
    struct weir_error err = {0};
    bool workload_failed = false;
    struct weir_record_status shown;
    if (weir_record_status_begin(&shown, &arguments->status, print))
        arguments->options.watch = &shown.watch;
    int code = weir_record_run(&arguments->options, &result, &workload_failed, &err);
    weir_record_status_end(&shown);
    arguments->options.watch = NULL;

    /* A failure at the end leaves a file with the good part of the recording. */
    if (result.file_bytes > 0)
        print_report(print, &arguments->options.output, &result);
    if (code < 0 && err.code == 0)
        weir_error_set_errno(&err, code, "cannot record");
    if (err.code != 0)
        weir_print_error(print, &err);

    int status = code < 0 ? weir_exit_status_of_failure(code, workload_failed) : weir_exit_status_of_result(&result);
    int number = code == 0 ? result.signal : 0;
    bool is_good = code == 0 && (status == WEIR_EXIT_OK || number != 0);
    if (is_good && arguments->max_loss_given && weir_exit_status_is_loss(&result, arguments->max_loss_ppm)) {
        weir_error_set(&err, -ENOBUFS, "more samples were lost than --max-loss %g allows",
                       (double)arguments->max_loss_ppm / PPM_PER_PERCENT);
        weir_print_error(print, &err);
        status = WEIR_EXIT_LOSS;
        number = 0;
    }
    const struct weir_record_outcome outcome = {.result = &result, .err = &err, .exit_status = status};
    if (write_outcome(arguments, &outcome, print) < 0 && is_good) {
        status = WEIR_EXIT_FAILURE;
        number = 0;
    }
    weir_record_result_fini(&result);
    if (number != 0)
        weir_answer_by_signal(number);
    sigprocmask(SIG_SETMASK, &before, NULL); /* one that came when recording had ended of itself ends weir here */
    return status;
}

/* As perf: with a pipe as stdout, weir streams to the process at its end, unless the output is to become files. */
static void choose_output(struct weir_record_arguments *arguments)
{
    struct weir_record_options *options = &arguments->options;
    struct stat st;
    if (!weir_record_options_want_files(arguments) && fstat(STDOUT_FILENO, &st) == 0 && S_ISFIFO(st.st_mode)) {
        options->output.path = WEIR_RECORD_OUTPUT_STDOUT;
        options->output.kind = WEIR_RECORD_OUTPUT_STREAM;
    }
}

/* With parsed arguments; the exit status. */
static int resolve_and_record(struct weir_record_arguments *arguments, const struct weir_settings *settings,
                              const struct weir_invocation *invocation, struct weir_print *print)
{
    const struct weir_notice_sink notices = weir_print_sink(print);
    struct weir_error err = {0};
    int code = weir_record_options_resolve(arguments, (uint64_t)sysconf(_SC_PAGESIZE), &notices, &err);
    if (code < 0)
        return refuse(arguments, print, code, &err);

    if (arguments->status.kind == WEIR_STATUS_JSON && fcntl(arguments->status.json_fd, F_GETFD) < 0) {
        code =
            weir_error_set_errno(&err, -errno, "descriptor %d of --status cannot be used", arguments->status.json_fd);
        return weir_answer_refusal(print, code, &err);
    }
    choose_output(arguments);
    complete_options(&arguments->options, invocation, &notices);
    struct weir_event_list events = WEIR_EVENT_LIST_INIT;
    struct weir_event_list rotate_on = WEIR_EVENT_LIST_INIT, snapshot_on = WEIR_EVENT_LIST_INIT;
    arguments->options.events = &events;
    arguments->options.rotation.events = &rotate_on;
    arguments->options.snapshot.on.events = &snapshot_on;
    code = weir_target_options_fill(arguments, &err);
    if (code == 0)
        code = weir_event_options_collect(arguments, &events, &err);
    if (code == 0)
        code = weir_record_options_resolve_events(arguments, &events, &err);
    if (code == 0)
        code = weir_record_needs_check(arguments, settings, &notices, &err);
    if (code == 0)
        code = weir_target_options_filter_user(arguments, &events, &notices, &err);
    if (code == 0)
        code = weir_event_options_check_filters(arguments, &events, &err);
    if (code == 0)
        code = weir_cgroup_open(&events, NULL, &err);
    if (code == 0)
        code = weir_event_options_collect_triggers(&arguments->rotate_on, "--switch-output-event", &rotate_on, &err);
    if (code == 0)
        code = weir_event_options_collect_triggers(&arguments->snapshot_on, "--snapshot-on", &snapshot_on, &err);
    int status = code < 0 ? refuse(arguments, print, code, &err) : record(arguments, print);
    weir_event_list_fini(&events);
    weir_event_list_fini(&rotate_on);
    weir_event_list_fini(&snapshot_on);
    return status;
}

/* The exit status. */
static int show_registers(const struct weir_print *print)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_registers_describe(&text);
    return weir_answer_text(print, &text);
}

/* The exit status. */
static int setup_filter(const struct weir_record_arguments *arguments, struct weir_print *print)
{
    print->verbosity = arguments->verbosity;
    print->quiet = arguments->quiet;
    const struct weir_notice_sink notices = weir_print_sink(print);
    struct weir_error err = {0};
    int code = arguments->setup_filter == WEIR_SETUP_FILTER_PIN ? weir_sample_program_pin(NULL, &notices, &err)
                                                                : weir_sample_program_unpin(NULL, &err);
    if (code == 0)
        return WEIR_EXIT_OK;
    weir_print_error(print, &err);
    return weir_exit_status_of_failure(code, false);
}

/* Where the arguments came from. The arguments borrow texts from set. */
struct origins {
    struct weir_settings settings;
    struct weir_config_set set;
};

static void origins_fini(struct origins *origins)
{
    weir_settings_fini(&origins->settings);
    weir_config_set_fini(&origins->set);
}

/* Adds the entries of the configuration files to the arguments from the command line. 0 or -errno with err. */
static int configure(struct weir_record_arguments *arguments, struct origins *origins,
                     const struct weir_notice_sink *notices, struct weir_error *err)
{
    const struct weir_option_table *table = &weir_record_command.options;
    struct weir_config_places places;
    weir_config_places_init(&places);
    int result = weir_config_set_load(&origins->set, &places, notices, err);
    if (result == 0 && weir_config_join_dump_sizes(&origins->set.perf, notices) < 0)
        result = weir_error_set_errno(err, -ENOMEM, "cannot keep the settings of perf's files");
    if (result < 0)
        return result;

    struct weir_record_arguments scratch;
    weir_record_arguments_init(&scratch);
    result = weir_config_check(table, &origins->set, &scratch, notices, err);
    weir_record_arguments_fini(&scratch);
    return result < 0 ? result : weir_config_apply(table, &origins->set, arguments, &origins->settings, err);
}

static int show_config(const struct weir_print *print, const struct weir_settings *settings)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_config_print(&text, &weir_record_command.options, settings);
    return weir_answer_text(print, &text);
}

/* With arguments from the command line; the exit status. */
static int configure_and_record(struct weir_record_arguments *arguments, struct origins *origins,
                                const struct weir_invocation *invocation, struct weir_print *print)
{
    struct weir_error err = {0};
    print->verbosity = arguments->verbosity;
    print->quiet = arguments->quiet;
    const struct weir_notice_sink notices = weir_print_sink(print);
    int result = configure(arguments, origins, &notices, &err);
    if (result < 0)
        return weir_answer_refusal(print, result, &err);
    if (arguments->print_config)
        return show_config(print, &origins->settings);
    print->verbosity = arguments->verbosity;
    print->quiet = arguments->quiet;
    result = weir_record_outcome_check(arguments, &err);
    if (result < 0)
        return weir_answer_refusal(print, result, &err);
    return resolve_and_record(arguments, &origins->settings, invocation, print);
}

/* Applies weir --buildid-dir DIR: in front of the command, it stands in front of its options. 0 or -errno with err. */
static int take_buildid_dir(struct weir_record_arguments *arguments, const char *dir, struct weir_settings *settings,
                            struct weir_error *err)
{
    const struct weir_option_table *table = &weir_record_command.options;
    bool negated;
    const struct weir_setting setting = {.option = weir_option_find(table, "buildid-dir", &negated), .value = dir};
    if (!dir)
        return 0;
    if (weir_settings_add(settings, &setting) < 0)
        return weir_error_set_errno(err, -ENOMEM, "cannot keep option '--buildid-dir'");
    return weir_option_apply(table, arguments, setting.option, false, dir, err);
}

/* Applies the options of an invocation. As weir_options_parse(). */
static int parse(struct weir_record_arguments *arguments, const struct weir_invocation *invocation,
                 struct weir_settings *settings, struct weir_error *err)
{
    int result = take_buildid_dir(arguments, invocation->buildid_dir, settings, err);
    return result < 0 ? result : weir_record_options_parse(arguments, invocation->arguments, settings, err);
}

/* Starts anew with the presets that the arguments name: they stand in front of the command line. As parse(). */
static int parse_behind_presets(struct weir_record_arguments *arguments, const struct weir_invocation *invocation,
                                struct weir_settings *settings, struct weir_error *err)
{
    struct weir_print print = {.stream = stderr, .verbosity = arguments->verbosity, .quiet = arguments->quiet};
    const struct weir_notice_sink notices = weir_print_sink(&print);
    struct weir_settings given = *settings;
    struct weir_text_list presets = arguments->presets;
    *settings = (struct weir_settings){0};
    arguments->presets = (struct weir_text_list){0};
    weir_record_arguments_fini(arguments);
    const struct weir_preset_target target = {.table = &weir_record_command.options,
                                              .given = &given,
                                              .arguments = arguments,
                                              .settings = settings,
                                              .notices = &notices};
    int result = weir_presets_apply(&target, &presets, err);
    weir_settings_fini(&given);
    weir_text_list_fini(&presets);
    return result < 0 ? result : parse(arguments, invocation, settings, err);
}

int weir_record_main(const struct weir_invocation *invocation)
{
    /* A SIGUSR2 before or after the recording is no trigger, and its sender cannot know when the recording begins. So
     * this call comes first of all, the more so as the look-up of tracepoints by pattern takes a while. During the
     * recording SIGUSR2 is blocked, so weir reads it all the same. */
    signal(SIGUSR2, SIG_IGN);
    struct weir_record_arguments arguments;
    struct origins origins = {0};
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    weir_record_arguments_init(&arguments);
    int status, result = parse(&arguments, invocation, &origins.settings, &err);
    if (result == WEIR_OPTIONS_PARSED && arguments.presets.count > 0)
        result = parse_behind_presets(&arguments, invocation, &origins.settings, &err);
    if (result == WEIR_OPTIONS_HELP)
        status = weir_answer_help(&print, &weir_record_command, invocation->arguments);
    else if (result < 0)
        status = weir_answer_refusal(&print, result, &err);
    else if (arguments.list_registers)
        status = show_registers(&print);
    else if (arguments.setup_filter != WEIR_SETUP_FILTER_NONE)
        status = setup_filter(&arguments, &print);
    else
        status = configure_and_record(&arguments, &origins, invocation, &print);
    weir_record_arguments_fini(&arguments);
    origins_fini(&origins);
    return status;
}
