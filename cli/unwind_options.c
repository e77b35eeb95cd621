/* The options of `weir unwind`. Main thread. */
#include "cli/unwind_options.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/input_options.h"
#include "cli/surroundings.h"

#define INPUT  "Input"
#define OUTPUT "Output"
#define OTHER  "Other options"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_unwind_arguments, name, type)

static const struct weir_option options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), WEIR_INPUT_HELP),
    {
        WEIR_OPTION_VALUE_OF(0, "symfs", "DIR", WEIR_OPTION_TEXT, FIELD(symfs, const char *)),
        .section = INPUT,
        .help = "look for the files of mappings below DIR",
    },
    {
        WEIR_OPTION_VALUE_OF('o', "output", "FILE", WEIR_OPTION_TEXT, FIELD(output_path, const char *)),
        .default_text = "the input's name and .unwound",
        .section = OUTPUT,
        .help = "write the result to FILE, in place of an older file of that name",
        .details = "FILE may be the input. It gets its name when it is complete.",
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
    "Replaces the copied user stacks of a recording (--call-graph dwarf) by call chains. The new file is a perf.data "
    "file of a few percent of the size, which all consumers read as if frame pointers had been recorded. Kernel "
    "frames and all other records stay as they are.",
    "The addresses are those that perf script prints for the recording. weir unwinds with the tables .eh_frame and "
    ".debug_frame of the mapped files, as they were mapped at each sample's time, and where there are none with frame "
    "pointers. A file that has another build id than the recorded one is not used, so this is best done where and "
    "soon after the recording was made: the stacks are not in the new file. perf's cache of build ids (~/.debug) is "
    "searched, too.",
    "A chain has at most 127 user frames, the default limit of the kernel. The summary says why chains end. x86_64 "
    "and aarch64, programs of 64 bits; a stack of another program keeps no user frames.",
    "Refused: recordings that are not finished (weir recover makes them so), directories, those with AUX areas, and "
    "those of big-endian machines.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir unwind perf.data", "Writes perf.data.unwound."},
    {"weir unwind -o perf.data", "Replaces perf.data by its smaller form."},
    {NULL, NULL},
};

const struct weir_command weir_unwind_command = {
    .name = "unwind",
    .summary = "replace copied user stacks of a recording by call chains",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_reading,
    .examples = examples,
    .files = weir_files_of_reading,
    .options = {.command = "weir unwind", WEIR_OPTION_ONE_PART(options)},
};

int weir_unwind_arguments_parse(struct weir_unwind_arguments *arguments, char *const *argv, struct weir_error *err)
{
    *arguments = (struct weir_unwind_arguments){0};
    int result = weir_input_options_parse(&weir_unwind_command.options, arguments, &arguments->input_path, argv, err);
    if (result != WEIR_OPTIONS_PARSED)
        return result;
    if (arguments->output_path && strcmp(arguments->output_path, "-") == 0) {
        weir_error_set(err, -EINVAL, "the output cannot be a stream: its head is written last");
        weir_error_hint(err, "-o names a file");
        return -EINVAL;
    }
    if (strcmp(arguments->input_path, "-") == 0 && !arguments->output_path) {
        weir_error_set(err, -EINVAL, "a stream has no name for the output");
        weir_error_hint(err, "-o names the output");
        return -EINVAL;
    }
    return 0;
}
