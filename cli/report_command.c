/*
 * `weir report`: from its arguments to report/report.h in a child process, whose output goes to the file. Main thread.
 */
#include "cli/report_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "base/write_whole.h"
#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/reading.h"
#include "cli/report_input.h"
#include "cli/report_options.h"
#include "report/debug_finder.h"
#include "report/report_file.h"

#define DEFAULT_PAGE "report.html"

struct making { /* what the child needs */
    struct weir_report_options *options;
    struct weir_print *print;
    struct weir_debug_finder *finder; /* NULL: no server is asked */
};

static void serve(void *ctx)
{
    const struct making *making = ctx;
    weir_debug_finder_serve(making->finder);
}

/* In the child; the exit status. */
static int make(void *ctx, int fd)
{
    const struct making *making = ctx;
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_reading reading;
    struct weir_error err = {0};
    weir_reading_begin(&reading, making->print, "weir report", false);
    reading.sandbox.kind = WEIR_SANDBOX_SYMBOLS;
    making->options->gate = &reading.gate;
    int result = weir_report_run(making->options, &text, &err);
    weir_reading_end(&reading);
    if (result < 0) {
        weir_print_error(making->print, &err);
        weir_buf_fini(&text);
        return weir_exit_status_of_reading(result);
    }
    result = weir_write_whole(fd, text.data, text.used);
    weir_buf_fini(&text);
    if (result < 0) {
        weir_error_set_errno(&err, result, "cannot write the report");
        weir_print_error(making->print, &err);
    }
    return result < 0 ? WEIR_EXIT_FAILURE : WEIR_EXIT_OK;
}

/* Whether a regular file begins as an object of JSON does: then it is no recording. */
static bool is_json(const char *path)
{
    struct stat status;
    char first = '\0';
    int fd = strcmp(path, "-") != 0 ? weir_regular_file_open(AT_FDCWD, path, &status) : -1;
    if (fd < 0)
        return false;
    bool is_object = pread(fd, &first, 1, 0) == 1 && first == '{';
    close(fd);
    return is_object;
}

/* Moves the results of a sweep from the recordings to sweep_path. */
static int take_sweep(struct weir_report_arguments *arguments, struct weir_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < arguments->path_count; i++) {
        if (arguments->sweep_path || !is_json(arguments->paths[i]))
            arguments->paths[kept++] = arguments->paths[i];
        else
            arguments->sweep_path = arguments->paths[i];
    }
    arguments->path_count = kept;
    if (!arguments->sweep_path || arguments->form == WEIR_REPORT_HTML || arguments->form == WEIR_REPORT_JSON)
        return 0;
    weir_error_set(err, -EINVAL, "%s has results of a benchmark, which only a page and --json show",
                   arguments->sweep_path);
    return -EINVAL;
}

/* With parsed arguments; the exit status. */
static int report(struct weir_report_arguments *arguments, struct weir_print *print)
{
    const struct weir_notice_sink notices = weir_print_sink(print);
    char copies[WEIR_REPORT_RECORDINGS_MAX][PATH_MAX], cache[PATH_MAX], vdso[WEIR_VDSO_PATH_BYTES];
    int copy_fds[WEIR_REPORT_RECORDINGS_MAX];
    struct weir_error err = {0};
    const char *paths[WEIR_REPORT_RECORDINGS_MAX] = {NULL};
    if (take_sweep(arguments, &err) < 0)
        return weir_answer_refusal(print, err.code, &err);
    for (size_t i = 0; i < arguments->path_count; i++) {
        paths[i] = arguments->paths[i];
        if (weir_report_input_spool(&paths[i], copies[i], &copy_fds[i], &err) < 0)
            return weir_answer_refusal(print, err.code, &err);
    }
    struct weir_report_options options = {
        .paths = paths,
        .shown = arguments->paths,
        .sweep_path = arguments->sweep_path,
        .path_count = arguments->path_count,
        .form = arguments->form,
        .event = arguments->event,
        .threads = arguments->threads,
        .raw_names = arguments->no_demangle,
        .places = {.root = arguments->symfs},
        .notices = &notices,
    };
    weir_report_input_find_cache(cache, &options.places);
    int vdso_fd = weir_report_input_open_vdso(vdso, &options.places);
    weir_build_id_of_kernel(NULL, &options.places.running_kernel); /* unknown without it */
    struct weir_debug_finder finder = {{-1, -1}, {-1, -1}};
    struct making making = {.options = &options, .print = print, .finder = &finder};
    struct weir_report_maker maker = {.make = make, .ctx = &making};
    if (arguments->debuginfod) {
        if (weir_debug_finder_open(&finder, &err) < 0)
            return weir_answer_refusal(print, err.code, &err);
        options.places.fetch = weir_debug_finder_fetch;
        options.places.fetch_ctx = &finder;
        maker.serve = serve;
    }
    const char *name = arguments->output_path                ? arguments->output_path
                       : arguments->form == WEIR_REPORT_HTML ? DEFAULT_PAGE
                                                             : "-";
    const char *path = strcmp(name, "-") != 0 ? name : NULL;
    int status = WEIR_EXIT_FAILURE;
    int result = weir_report_file_run(&maker, path, &status, &err);
    if (vdso_fd >= 0)
        close(vdso_fd);
    if (result == 0 && status == WEIR_EXIT_OK && path)
        weir_notice(&notices, WEIR_NOTICE_INFO, "the report is in %s", path);
    if (result == -EPIPE)
        weir_answer_by_signal(SIGPIPE);
    else if (result < 0) {
        weir_print_error(print, &err);
        status = weir_exit_status_of_reading(result);
    }
    return status;
}

int weir_report_main(const struct weir_invocation *invocation)
{
    struct weir_report_arguments arguments;
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    int result = weir_report_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_report_command, invocation->arguments);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);
    print.quiet = arguments.quiet;
    signal(SIGPIPE, SIG_DFL); /* weir report | head ends as cat | head does */
    return report(&arguments, &print);
}
