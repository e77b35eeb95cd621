/* The options of `weir report`: those of report/report.h. Main thread. */
#include "cli/report_options.h"

#include <errno.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/input_options.h"
#include "cli/surroundings.h"

#define FORM  "Form of the report"
#define OTHER "Other options"

#define THREADS_MAX 64

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_report_arguments, name, type)

static const struct weir_option options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), WEIR_INPUT_HELP),
    {
        WEIR_OPTION_VALUE_OF(0, "symfs", "DIR", WEIR_OPTION_TEXT, FIELD(symfs, const char *)),
        .section = "Input",
        .help = "look for files with symbols below DIR",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "debuginfod", FIELD(debuginfod, bool)),
        .section = "Input",
        .help = "ask the servers of DEBUGINFOD_URLS for symbols that files here lack",
        .details = "By debuginfod-find(1) of elfutils, which keeps what it gets. The servers learn the build ids.",
    },
    {
        WEIR_OPTION_VALUE_OF('o', "output", "FILE", WEIR_OPTION_TEXT, FIELD(output_path, const char *)),
        .section = FORM,
        .default_text = "report.html for a page, else standard output",
        .help = "write the report to FILE; - is standard output",
        .details = "FILE is replaced when the report is complete.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "stdio", FIELD(stdio, bool)),
        .section = FORM,
        .help = "tables as text: samples by task, file and symbol",
        .details =
            "Columns are separated by tabs: percent of the weight, samples, weight, task, file, symbol. A sample "
            "counts where its own address lies, as with perf report --no-children --sort comm,dso,sym; "
            "addresses without a symbol are one row per file.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "folded", FIELD(folded, bool)),
        .section = FORM,
        .help = "stacks as text, one line each, as flamegraph.pl reads them",
        .details = "A line is the name of the task, its frames from the outermost to the innermost, and the number of "
                   "samples. The stack [lost] counts lost samples. With several events, the event comes first.",
    },
    {
        WEIR_OPTION_FLAG_OF('j', "json", FIELD(json, bool)),
        .section = FORM,
        .help = "everything as one JSON object, for programs",
        .details = "Two recordings are two members of its list.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "speedscope", FIELD(speedscope, bool)),
        .section = FORM,
        .help = "a file for speedscope",
        .details = "Losses are the frame [lost].",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "pprof", FIELD(pprof, bool)),
        .section = FORM,
        .help = "a profile for pprof, not compressed",
        .details = "Losses are the function [lost], and comments.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "perfetto", FIELD(perfetto, bool)),
        .section = FORM,
        .help = "a trace with samples of stacks, for Perfetto",
        .details = "Losses are packets that count lost records.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "event", "NAME", WEIR_OPTION_TEXT, FIELD(event, const char *)),
        .section = FORM,
        .help = "only samples of this event",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "no-demangle", FIELD(no_demangle, bool)),
        .section = FORM,
        .help = "call functions of C++ and Rust as their files do",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "threads", "N", WEIR_OPTION_UNSIGNED, FIELD(threads, unsigned)),
        .min = 1,
        .max = THREADS_MAX,
        .default_text = "one per CPU",
        .section = OTHER,
        .help = "resolve and fold samples in N threads",
    },
    {
        WEIR_OPTION_FLAG_OF('q', "quiet", FIELD(quiet, bool)),
        .section = OTHER,
        .help = "no notices",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...] [FILE]", "[OPTION...] BEFORE AFTER", NULL};

static const char *const description[] = {
    "Makes a page of a recording: where its samples are, by time, CPU, task, file, symbol and stack, and what was lost "
    "when. The page is one file, needs no network, and opens in any browser. Of two recordings it shows the "
    "difference.",
    "A FILE of JSON has the results of weir bench drain --sweep --json, which the page shows as curves.",
    "Other forms are text and the formats of other viewers; each tells the losses.",
    "Reads perf.data files, perf's directories, and streams, of weir and of perf, of machines of either byte order, "
    "also damaged and unfinished ones: up to the first byte that makes no sense, which a notice names. A stream is "
    "copied into a file below TMPDIR "
    "(/var/tmp), as a recording is read twice.",
    "Copied user stacks (--call-graph dwarf) are unwound as weir unwind does, and call stacks that the CPU recorded as "
    "branches (--call-graph lbr) are call chains.",
    "Symbols are of the files that were mapped, if their build ids are the recorded ones, of their debug files, of "
    "perf's cache of build ids (~/.debug), of the running kernel, and of /tmp/perf-PID.map and jitdump files for code "
    "that programs have generated.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir report", "The page report.html of perf.data."},
    {"weir report before.data after.data", "What has changed."},
    {"weir report --stdio | head", "The hottest functions of perf.data."},
    {"weir report --folded -o - | flamegraph.pl > flame.svg", "A flame graph."},
    {NULL, NULL},
};

const struct weir_command weir_report_command = {
    .name = "report",
    .summary = "show where the samples of a recording are, in a page or as text",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_reading,
    .examples = examples,
    .files = weir_files_of_symbols,
    .environment = weir_environment_of_reports,
    .options = {.command = "weir report", WEIR_OPTION_ONE_PART(options)},
};

static int add_path(struct weir_report_arguments *arguments, const char *path, struct weir_error *err)
{
    if (arguments->path_count == WEIR_REPORT_RECORDINGS_MAX) {
        weir_error_set(err, -EINVAL, "unexpected argument '%s'", path);
        weir_error_hint(err, "'weir report' reads one recording, or two to compare them");
        return -EINVAL;
    }
    arguments->paths[arguments->path_count++] = path;
    return 0;
}

static int choose_form(struct weir_report_arguments *arguments, struct weir_error *err)
{
    const struct {
        const char *name;
        bool is_chosen;
        enum weir_report_form form;
    } forms[] = {
        {"--stdio", arguments->stdio, WEIR_REPORT_STDIO},
        {"--folded", arguments->folded, WEIR_REPORT_FOLDED},
        {"--json", arguments->json, WEIR_REPORT_JSON},
        {"--speedscope", arguments->speedscope, WEIR_REPORT_SPEEDSCOPE},
        {"--pprof", arguments->pprof, WEIR_REPORT_PPROF},
        {"--perfetto", arguments->perfetto, WEIR_REPORT_PERFETTO},
    };
    const char *chosen = NULL;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(forms); i++) {
        if (!forms[i].is_chosen)
            continue;
        if (chosen) {
            weir_error_set(err, -EINVAL, "option '%s' cannot be used with '%s'", forms[i].name, chosen);
            weir_error_hint(err, "a report has one form");
            return -EINVAL;
        }
        chosen = forms[i].name;
        arguments->form = forms[i].form;
    }
    if (!weir_report_has_form(arguments->form)) {
        weir_error_set(err, -EINVAL, "option '%s' needs protobuf-c, without which weir was built", chosen);
        weir_error_hint(err, "--folded, --speedscope and --json are always there");
        return -EINVAL;
    }
    if (arguments->path_count > 1 && arguments->form != WEIR_REPORT_JSON && arguments->form != WEIR_REPORT_HTML) {
        weir_error_set(err, -EINVAL, "unexpected argument '%s'", arguments->paths[1]);
        weir_error_hint(err, "two recordings are compared in a page, or with --json");
        return -EINVAL;
    }
    return 0;
}

int weir_report_arguments_parse(struct weir_report_arguments *arguments, char *const *argv, struct weir_error *err)
{
    size_t used;
    *arguments = (struct weir_report_arguments){.path_count = 0};
    int result = weir_options_parse(&weir_report_command.options, arguments, argv, &used, err);
    while (result == WEIR_OPTIONS_PARSED && argv[used]) {
        result = add_path(arguments, argv[used], err);
        argv += used + 1;
        if (result == 0)
            result = weir_options_parse(&weir_report_command.options, arguments, argv, &used, err);
    }
    if (result == WEIR_OPTIONS_PARSED && arguments->input_path)
        result = add_path(arguments, arguments->input_path, err);
    if (result == WEIR_OPTIONS_PARSED && arguments->path_count == 0)
        result = add_path(arguments, WEIR_INPUT_DEFAULT, err);
    return result == WEIR_OPTIONS_PARSED ? choose_form(arguments, err) : result;
}
