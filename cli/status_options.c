/* The options of `weir status` and `weir top`. Main thread. */
#include "cli/status_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/surroundings.h"
#include "cli/value.h"

static const struct weir_exit_meaning exits[] = {
    {"0", "A running recording was found."},
    {"1", "None was found, or one did not answer."},
    {"125", "weir itself failed; a line on standard error says why."},
    {"129", "An option or an argument is wrong; nothing was touched."},
    {NULL, NULL},
};

/* ---- weir status ---- */

static const struct weir_option status_options[] = {
    {
        WEIR_OPTION_FLAG_OF('j', "json", WEIR_OPTION_FIELD(struct weir_status_arguments, json, bool)),
        .section = "Output",
        .help = "print a JSON object for each recording, one a line",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const status_usages[] = {"[OPTION...] [PID...]", NULL};

static const char *const status_description[] = {
    "Asks the running recordings of this user, or those of the processes PID, how they are: time, samples and their "
    "rate, data, losses, memory in use. Root asks the recordings of all users.",
    "Recordings need no preparation. Each listens at a socket in $XDG_RUNTIME_DIR/weir, /run/user/UID/weir, or "
    "/run/weir "
    "for root, which nobody else can enter. A recording that nobody asks does nothing for this.",
    NULL,
};

static const struct weir_example status_examples[] = {
    {"weir status", "All recordings, two lines each."},
    {"weir status --json | jq '.status.lost'", "Losses, for a program."},
    {NULL, NULL},
};

const struct weir_command weir_status_command = {
    .name = "status",
    .summary = "show how the running recordings are",
    .usages = status_usages,
    .description = status_description,
    .exits = exits,
    .examples = status_examples,
    .files = weir_files_of_running,
    .environment = weir_environment_of_running,
    .options = {.command = "weir status", WEIR_OPTION_ONE_PART(status_options)},
};

static int parse_pid(const char *word, pid_t *pid, struct weir_error *err)
{
    uint64_t number;
    if (weir_value_parse_number(word, &number) < 0 || number == 0 || number > INT_MAX) {
        weir_error_set(err, -EINVAL, "'%s' is not the number of a process", word);
        weir_error_hint(err, "'weir status' lists the recordings and their processes");
        return -EINVAL;
    }
    *pid = (pid_t)number;
    return 0;
}

static size_t count_words(char *const *argv)
{
    size_t count = 0;
    while (argv[count])
        count++;
    return count;
}

int weir_status_arguments_parse(struct weir_status_arguments *arguments, char *const *argv, struct weir_error *err)
{
    size_t used;
    *arguments = (struct weir_status_arguments){.pids = calloc(count_words(argv) + 1, sizeof(*arguments->pids))};
    if (!arguments->pids)
        return weir_error_set_errno(err, -ENOMEM, "cannot take the arguments");
    for (;;) {
        int result = weir_options_parse(&weir_status_command.options, arguments, argv, &used, err);
        if (result != WEIR_OPTIONS_PARSED || !argv[used])
            return result;
        result = parse_pid(argv[used], &arguments->pids[arguments->pid_count++], err);
        if (result < 0)
            return result;
        argv += used + 1;
    }
}

void weir_status_arguments_fini(struct weir_status_arguments *arguments)
{
    free(arguments->pids);
    arguments->pids = NULL;
}

/* ---- weir top ---- */

static const struct weir_option top_options[] = {
    {
        WEIR_OPTION_VALUE_OF('d', "delay", "MS", WEIR_OPTION_NUMBER,
                             WEIR_OPTION_FIELD(struct weir_top_command_arguments, period_ms, uint64_t)),
        .min = 100,
        .max = 60000,
        .unit = "ms",
        .default_text = "1000",
        .section = "Output",
        .help = "ask the recording so often",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const top_usages[] = {"[OPTION...] [PID]", NULL};

static const char *const top_description[] = {
    "Attaches to a running recording (the first one that weir status lists, or that of the process PID) and draws it: "
    "a "
    "cell for each CPU, grouped by NUMA node and package, with the fill of its ring, its rate or its losses; totals, "
    "memory, the readers' waits, the latency of the output, and the CPU under the cursor.",
    "Keys: f, r and l choose fill, rate and losses; arrows, Home and End move the cursor; n goes to the next "
    "recording; "
    "s takes a snapshot, w rotates the output, e enables or disables events, x stops the recording, k renews its "
    "lease; q leaves, and the "
    "recording goes on. w, x, and e where it disables, take effect only when pressed twice.",
    "In the cells, a dot is nothing and 1 to 9 are tenths: of the ring, or of the highest rate. In the view of losses, "
    "! "
    "means losses in the last seconds and + earlier ones. A CPU that is offline has a minus sign.",
    NULL,
};

static const struct weir_example top_examples[] = {
    {"weir top", "The recording of this user."},
    {"weir top 1234", "That of process 1234; as root, whoever runs it."},
    {NULL, NULL},
};

const struct weir_command weir_top_command = {
    .name = "top",
    .summary = "watch a running recording, CPU by CPU, and control it by keys",
    .usages = top_usages,
    .description = top_description,
    .exits = exits,
    .examples = top_examples,
    .files = weir_files_of_running,
    .environment = weir_environment_of_top,
    .options = {.command = "weir top", WEIR_OPTION_ONE_PART(top_options)},
};

int weir_top_command_arguments_parse(struct weir_top_command_arguments *arguments, char *const *argv,
                                     struct weir_error *err)
{
    size_t used;
    *arguments = (struct weir_top_command_arguments){.period_ms = WEIR_TOP_PERIOD_MS_DEFAULT};
    int result = weir_options_parse(&weir_top_command.options, arguments, argv, &used, err);
    if (result != WEIR_OPTIONS_PARSED || !argv[used])
        return result;
    result = parse_pid(argv[used], &arguments->pid, err);
    if (result < 0)
        return result;
    argv += used + 1;
    result = weir_options_parse(&weir_top_command.options, arguments, argv, &used, err);
    if (result == WEIR_OPTIONS_PARSED && argv[used]) {
        weir_error_set(err, -EINVAL, "unexpected argument '%s'", argv[used]);
        weir_error_hint(err, "'weir top' shows one recording");
        return -EINVAL;
    }
    return result;
}
