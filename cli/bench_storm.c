#include "cli/bench_storm.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/answer.h"
#include "cli/bench_storm_report.h"
#include "cli/exit_status.h"
#include "cli/option.h"
#include "cli/print.h"
#include "cli/surroundings.h"
#include "engine/bench/storm.h"

#define LOAD      "Load"
#define RECORDERS "Recorders"
#define OTHER     "Other options"

#define RUNS_DEFAULT 5
#define RUNS_MAX     64
#define CALLS_MAX    1000000000000ull
#define TRACEPOINT   "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"

struct arguments {
    const struct weir_storm_case *what;
    uint64_t calls; /* 0: those of the case */
    uint64_t runs;
    struct weir_text_list recorders; /* empty: those that take part anyway */
    const char *perf, *folder;
    bool json, quiet;
};

#define FIELD(name, type) WEIR_OPTION_FIELD(struct arguments, name, type)

static int apply_case(void *object, const char *text, struct weir_error *err)
{
    struct weir_buf names = WEIR_BUF_INIT;
    for (const struct weir_storm_case *one = weir_storm_cases; one->name; one++) {
        weir_buf_printf(&names, "%s%s", names.used ? ", " : "", one->name);
        if (strcmp(one->name, text) == 0) {
            ((struct arguments *)object)->what = one;
            weir_buf_fini(&names);
            return 0;
        }
    }
    weir_error_set(err, -EINVAL, "option '--case': '%s' is no case", text);
    weir_error_hint(err, "the cases are %s", weir_buf_str(&names));
    weir_buf_fini(&names);
    return -EINVAL;
}

static int add_recorder(void *object, const char *text, struct weir_error *err)
{
    struct weir_buf names = WEIR_BUF_INIT;
    int result = -EINVAL;
    for (const struct weir_storm_recorder *one = weir_storm_recorders; result == -EINVAL && one->name; one++) {
        weir_buf_printf(&names, "%s'%s'", names.used ? ", " : "", one->name);
        if (strcmp(one->name, text) == 0)
            result = weir_text_list_add(&((struct arguments *)object)->recorders, text);
    }
    if (result == -EINVAL) {
        weir_error_set(err, -EINVAL, "option '--recorder': '%s' is no recorder", text);
        weir_error_hint(err, "the recorders are %s", weir_buf_str(&names));
    } else if (result < 0) {
        weir_error_set_errno(err, result, "cannot keep option '--recorder'");
    }
    weir_buf_fini(&names);
    return result;
}

static const struct weir_option options[] = {
    {
        WEIR_OPTION_CUSTOM_OF(0, "case", "CASE", apply_case),
        .default_text = "enter",
        .section = LOAD,
        .help = "the load and the events: enter, callchain, clock, ring-512k, ring-2m, default-one or default-all",
        .details = "enter: one thread on each CPU calls getppid(2), and each call is a sample. callchain: with call "
                   "chains. clock: 10000 samples per second. ring-512k, ring-2m: enter with smaller rings. "
                   "default-one, default-all: entry and exit of system calls, with each recorder's own size of rings.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "calls", "N", WEIR_OPTION_NUMBER, FIELD(calls, uint64_t)),
        .min = 1,
        .max = CALLS_MAX,
        .default_text = "of the case: 1000000 to 2500000",
        .section = LOAD,
        .help = "calls of each thread of the load",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "runs", "N", WEIR_OPTION_NUMBER, FIELD(runs, uint64_t)),
        .min = 1,
        .max = RUNS_MAX,
        .default_text = "5",
        .section = LOAD,
        .help = "measure each recorder N times, in turn",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "recorder", "NAME", add_recorder),
        .repeatable = true,
        .default_text = "none, perf and weir",
        .section = RECORDERS,
        .help =
            "measure this recorder: none (the load alone), perf, 'perf --aio=4', 'perf --threads', 'perf -z', 'perf "
            "build ids', weir, 'weir -r 1', 'weir -z', 'weir -M 64M' or 'weir --overwrite'",
        .details = "Without perf on this machine the default is none and weir.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "perf", "PATH", WEIR_OPTION_TEXT, FIELD(perf, const char *)),
        .default_text = "perf",
        .section = RECORDERS,
        .help = "the program perf",
    },
    {
        WEIR_OPTION_VALUE_OF('o', "output", "DIR", WEIR_OPTION_TEXT, FIELD(folder, const char *)),
        .default_text = ".",
        .section = RECORDERS,
        .help = "record into a folder of its own below DIR, which is removed at the end",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "json", FIELD(json, bool)),
        .section = OTHER,
        .help = "print the results as one JSON object",
    },
    {
        WEIR_OPTION_FLAG_OF('q', "quiet", FIELD(quiet, bool)),
        .section = OTHER,
        .help = "no progress",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...]", NULL};

static const char *const description[] = {
    "Measures recorders on this machine: what each costs and loses beside a storm of events on every CPU. Needs root.",
    "Each recorder runs as a program of its own and records the whole machine, while threads of this command are the "
    "load. The load is counted in the file of each recorder. The machine should have nothing else to do.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir bench storm", "weir beside the installed perf."},
    {"weir bench storm --case callchain --recorder weir --recorder 'perf --threads' --runs 3",
     "Two recorders, with call chains."},
    {NULL, NULL},
};

const struct weir_command weir_bench_storm_command = {
    .name = "bench storm",
    .summary = "measure what weir and an installed perf cost and lose beside a storm of events",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_bench,
    .examples = examples,
    .environment = weir_environment_of_programs,
    .options = {.command = "weir bench storm", WEIR_OPTION_ONE_PART(options)},
};

struct storm {
    const struct arguments *arguments;
    struct weir_storm_options options;
    struct weir_storm_results results;
    struct weir_storm_measure *measures; /* owned; RUNS_MAX for each recorder */
    const struct weir_notice_sink *notices;
    sigset_t ending;
    int signal;
};

static bool is_named(const struct arguments *arguments, const struct weir_storm_recorder *recorder)
{
    for (size_t i = 0; i < arguments->recorders.count; i++) {
        if (strcmp(arguments->recorders.items[i], recorder->name) == 0)
            return true;
    }
    return false;
}

/* Whether a program of that name or path can be run. */
static bool is_installed(const char *program)
{
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    const char *path = getenv("PATH");
    char place[PATH_MAX];
    for (const char *at = path ? path : ""; *at;) {
        size_t length = strcspn(at, ":");
        int written = snprintf(place, sizeof(place), "%.*s/%s", (int)length, at, program);
        if (written > 0 && (size_t)written < sizeof(place) && access(place, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static void choose_recorders(struct storm *storm)
{
    const struct arguments *arguments = storm->arguments;
    bool has_perf = is_installed(arguments->perf);
    if (!has_perf && arguments->recorders.count == 0)
        weir_notice(storm->notices, WEIR_NOTICE_WARNING, "there is no '%s' here: weir is measured alone",
                    arguments->perf);
    for (size_t i = 0; weir_storm_recorders[i].name; i++) {
        const struct weir_storm_recorder *recorder = &weir_storm_recorders[i];
        bool takes_part = arguments->recorders.count > 0 ? is_named(arguments, recorder)
                                                         : !recorder->on_request && (has_perf || !recorder->is_perf);
        if (takes_part)
            storm->results.runs_of[i] = storm->measures + i * RUNS_MAX;
    }
}

static bool was_ended(struct storm *storm)
{
    const struct timespec now = {0};
    int number = sigtimedwait(&storm->ending, NULL, &now);
    if (number > 0 && storm->signal == 0)
        storm->signal = number;
    return storm->signal != 0;
}

static int measure_all(struct storm *storm, struct weir_error *err)
{
    struct weir_storm_results *results = &storm->results;
    for (unsigned run = 0; run < results->runs; run++) {
        for (size_t i = 0; weir_storm_recorders[i].name; i++) {
            struct weir_storm_measure measure;
            if (!results->runs_of[i])
                continue;
            int code = weir_storm_run(&storm->options, &weir_storm_recorders[i], &measure, err);
            if (was_ended(storm)) /* it has reached the recorder, too */
                return 0;
            if (code < 0)
                return code;
            storm->measures[i * RUNS_MAX + results->run_counts[i]++] = measure;
            weir_notice(storm->notices, WEIR_NOTICE_INFO, "run %u of %u: %s: %.3f CPU s, %llu events, %llu lost",
                        run + 1, results->runs, weir_storm_recorders[i].name, measure.cpu_seconds,
                        (unsigned long long)measure.data.samples, (unsigned long long)weir_storm_lost(&measure));
        }
    }
    return 0;
}

static int show(const struct storm *storm, const struct weir_print *print)
{
    struct weir_buf text = WEIR_BUF_INIT;
    if (storm->arguments->json)
        weir_bench_storm_append_json(&storm->results, &text);
    else
        weir_bench_storm_append_text(&storm->results, &text);
    return weir_answer_text(print, &text);
}

/* Refuses a load whose events this user may not record. 0 or -errno with err. */
static int check_events(const struct weir_storm_case *what, struct weir_error *err)
{
    if (what->kind != WEIR_STORM_LOAD_SYSCALLS || access(TRACEPOINT, R_OK) == 0)
        return 0;
    int code = -errno;
    weir_error_set_errno(err, code, "this user may not record raw_syscalls:sys_enter");
    weir_error_hint(err, "run it as root, with tracefs mounted; --case clock needs no tracepoint");
    return code;
}

/* Measures in a folder of its own. The exit status. */
static int run_in_folder(struct storm *storm, const char *folder, const struct weir_print *print)
{
    struct weir_error err = {0};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length < 0)
        return weir_answer_refusal(print, weir_error_set_errno(&err, -errno, "cannot find this program"), &err);
    self[length] = '\0';
    storm->options = (struct weir_storm_options){
        .what = storm->arguments->what,
        .calls = storm->arguments->calls,
        .weir = self,
        .perf = storm->arguments->perf,
        .dir = folder,
    };
    int code = measure_all(storm, &err);
    storm->results.interrupted = storm->signal != 0;
    unsigned done = 0;
    for (size_t i = 0; i < WEIR_STORM_RECORDERS_MAX; i++)
        done += storm->results.run_counts[i];
    int status = done > 0 || storm->arguments->json ? show(storm, print) : WEIR_EXIT_OK;
    if (storm->signal != 0)
        weir_notice(storm->notices, WEIR_NOTICE_WARNING, "interrupted: the runs that are done are shown");
    if (code == 0)
        return status;
    weir_print_error(print, &err);
    return WEIR_EXIT_FAILURE;
}

/* The exit status; *number: the signal to raise again, or 0. */
static int run(const struct arguments *arguments, struct weir_print *print, int *number)
{
    struct weir_error err = {0};
    const struct weir_notice_sink notices = weir_print_sink(print);
    struct storm storm = {
        .arguments = arguments,
        .notices = &notices,
        .results = {.what = arguments->what,
                    .calls = arguments->calls ? arguments->calls : arguments->what->calls,
                    .runs = (unsigned)arguments->runs},
        .measures = calloc((size_t)WEIR_STORM_RECORDERS_MAX * RUNS_MAX, sizeof(*storm.measures)),
    };
    char folder[PATH_MAX];
    int code = check_events(arguments->what, &err);
    if (code == 0 && !storm.measures)
        code = weir_error_set_errno(&err, -ENOMEM, "cannot keep the results");
    if (code == 0 && snprintf(folder, sizeof(folder), "%s/weir-storm-XXXXXX", arguments->folder) >= (int)sizeof(folder))
        code = weir_error_set_errno(&err, -ENAMETOOLONG, "cannot make a folder in '%s'", arguments->folder);
    if (code == 0 && !mkdtemp(folder))
        code = weir_error_set_errno(&err, -errno, "cannot make a folder in '%s'", arguments->folder);
    if (code < 0) {
        free(storm.measures);
        return weir_answer_refusal(print, code, &err);
    }
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t before;
    sigemptyset(&storm.ending);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending); i++)
        sigaddset(&storm.ending, ending[i]);
    sigprocmask(SIG_BLOCK, &storm.ending, &before);
    choose_recorders(&storm);
    int status = run_in_folder(&storm, folder, print);
    rmdir(folder);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(storm.measures);
    *number = storm.signal;
    return status;
}

int weir_bench_storm_main(const struct weir_invocation *invocation)
{
    struct arguments arguments = {.what = weir_storm_cases, .runs = RUNS_DEFAULT, .perf = "perf", .folder = "."};
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    size_t used;
    int number = 0, status;
    int result = weir_options_parse(&weir_bench_storm_command.options, &arguments, invocation->arguments, &used, &err);
    if (result == WEIR_OPTIONS_PARSED && invocation->arguments[used]) {
        result = weir_error_set(&err, -EINVAL, "unexpected argument '%s'", invocation->arguments[used]);
        weir_error_hint(&err, "'%s' takes options only", weir_bench_storm_command.options.command);
    }
    print.quiet = arguments.quiet;
    if (result == WEIR_OPTIONS_HELP)
        status = weir_answer_help(&print, &weir_bench_storm_command, invocation->arguments);
    else if (result < 0)
        status = weir_answer_refusal(&print, result, &err);
    else
        status = run(&arguments, &print, &number);
    weir_text_list_fini(&arguments.recorders);
    if (number != 0)
        weir_answer_by_signal(number);
    return status;
}
