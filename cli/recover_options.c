/* The options of `weir recover`: those of engine/upkeep/recover.h. Main thread. */
#include "cli/recover_options.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/input_options.h"
#include "cli/surroundings.h"

#define INPUT  "Input"
#define OUTPUT "Output"
#define OTHER  "Other options"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_recover_arguments, name, type)

static const struct weir_option options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), "recover FILE, a file or a directory"),
    {
        WEIR_OPTION_FLAG_OF(0, "assume-this-kernel", FIELD(assume_this_kernel, bool)),
        .section = INPUT,
        .help = "describe tracepoints by this kernel without comparing kernel and boot",
        .details = "Tracepoints of a recording of another kernel are then decoded wrongly, or as other events.",
    },
    {
        WEIR_OPTION_VALUE_OF('o', "output", "FILE", WEIR_OPTION_TEXT, FIELD(output_path, const char *)),
        .default_text = "the input's name and .recovered",
        .section = OUTPUT,
        .help = "write the result to FILE, which must not exist (of a directory: a directory)",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "in-place", FIELD(in_place, bool)),
        .section = OUTPUT,
        .help = "change the file itself",
        .details = "Bytes that are no records are lost then. weir refuses a file that is still being recorded, "
                   "symbolic links, and files with other names, and writes through none of them. weir cannot tell "
                   "whether a stream is still being written.",
    },
    {
        WEIR_OPTION_FLAG_OF('q', "quiet", FIELD(quiet, bool)),
        .section = OTHER,
        .help = "print no summary",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...] [FILE]", NULL};

static const char *const description[] = {
    "Makes an unfinished file (its recorder was killed, the machine went down), or a cut or damaged "
    "one, into a perf.data file that perf reads whole. The data of the new file ends with the last "
    "whole record, and its header is complete. The input is unchanged unless --in-place is given.",
    "Of a directory (perf's parallel layout) each file ends with its last whole record, and DIR/data is completed. A "
    "copy of the kernel (--kcore) goes along.",
    "A saved stream (weir record -o - >FILE) becomes a file with head and features, on which every perf command "
    "works: perf sched finds no events in a saved stream. With --in-place it stays a stream. In both it ends with its "
    "last whole record, and with the losses of each event that its LOST records report. The build ids of a stream "
    "come last, and are not made anew.",
    "A recording of tracepoints is useless without their formats, which are written last. weir takes "
    "them from this machine's tracefs, but only if the running kernel recorded the file since its "
    "boot: the kernel's address and length in the file are the present ones, the file was last written "
    "after the boot, no sample is of the future, each tracepoint id is one of this kernel, and each "
    "sample has the id of its event.",
    "Refused: recordings of big-endian machines.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir recover perf.data", "Writes perf.data.recovered."},
    {"weir recover --in-place perf.data && perf report", "Repairs the file and reads it."},
    {NULL, NULL},
};

const struct weir_command weir_recover_command = {
    .name = "recover",
    .summary = "make an unfinished, cut or damaged recording readable for perf",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_reading,
    .examples = examples,
    .files = weir_files_of_reading,
    .options = {.command = "weir recover", WEIR_OPTION_ONE_PART(options)},
};

int weir_recover_arguments_parse(struct weir_recover_arguments *arguments, char *const *argv, struct weir_error *err)
{
    *arguments = (struct weir_recover_arguments){0};
    int result = weir_input_options_parse(&weir_recover_command.options, arguments, &arguments->input_path, argv, err);
    if (result != WEIR_OPTIONS_PARSED)
        return result;
    if (arguments->in_place && arguments->output_path) {
        weir_error_set(err, -EINVAL, "--in-place and -o exclude each other");
        weir_error_hint(err, "-o writes another file, --in-place changes '%s' itself", arguments->input_path);
        return -EINVAL;
    }
    if (strcmp(arguments->input_path, "-") == 0) {
        weir_error_set(err, -EINVAL, "cannot recover from a stream");
        weir_error_hint(err, "save it to a file, and recover that file");
        return -EINVAL;
    }
    return 0;
}
