/* The options of `weir doctor`. Main thread. */
#include "cli/doctor_options.h"

#include <errno.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/surroundings.h"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_doctor_arguments, name, type)
#define OUTPUT            "Output"

static const struct weir_option options[] = {
    {
        WEIR_OPTION_FLAG_OF('j', "json", FIELD(json, bool)),
        .section = OUTPUT,
        .help = "print a JSON array, one object for each check",
    },
    {
        WEIR_OPTION_FLAG_OF('a', "all", FIELD(all, bool)),
        .section = OUTPUT,
        .help = "show passed checks, too",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...] [FOLDER]", NULL};

static const char *const description[] = {
    "Looks at the limits on this user's recordings on this system, and names the command that removes "
    "each: perf events and hardware counters, kernel.perf_event_paranoid, capabilities, locked memory "
    "for rings and buffers, file descriptors, kernel addresses, the NMI watchdog, tracefs, seccomp "
    "filters, io_uring, O_DIRECT and free space in FOLDER (by default the current one), and NUMA "
    "nodes. Nothing is changed.",
    "note: recordings work, with less than there could be. limited: some recordings are refused. bad: "
    "none works. weir record names the same commands in its hints; a setting by sudo sysctl lasts "
    "until the next boot.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir doctor", "Obstacles on this machine, if any."},
    {"weir doctor --json /var/lib/weir | jq -r '.[] | select(.fix) | .fix'", "The commands alone."},
    {NULL, NULL},
};

static const struct weir_exit_meaning exits[] = {
    {"0", "Nothing limits recordings, but for notes."},
    {"1", "Some recordings are refused, or all."},
    {"125", "weir itself failed; a line on standard error says why."},
    {"129", "An option or an argument is wrong; nothing was touched."},
    {NULL, NULL},
};

const struct weir_command weir_doctor_command = {
    .name = "doctor",
    .summary = "show the limits on recordings on this system, and the commands that remove them",
    .usages = usages,
    .description = description,
    .exits = exits,
    .examples = examples,
    .files = weir_files_of_limits,
    .options = {.command = "weir doctor", WEIR_OPTION_ONE_PART(options)},
};

int weir_doctor_arguments_parse(struct weir_doctor_arguments *arguments, char *const *argv, struct weir_error *err)
{
    size_t used;
    *arguments = (struct weir_doctor_arguments){.folder = "."};
    int result = weir_options_parse(&weir_doctor_command.options, arguments, argv, &used, err);
    if (result != WEIR_OPTIONS_PARSED || !argv[used])
        return result;
    arguments->folder = argv[used];
    argv += used + 1;
    result = weir_options_parse(&weir_doctor_command.options, arguments, argv, &used, err);
    if (result == WEIR_OPTIONS_PARSED && argv[used]) {
        weir_error_set(err, -EINVAL, "unexpected argument '%s'", argv[used]);
        weir_error_hint(err, "'weir doctor' takes one folder");
        return -EINVAL;
    }
    return result;
}
