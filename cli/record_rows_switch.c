/* Rows of `weir record`: several files, one after another. Main thread. */
#include "cli/record_rows_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/value.h"

static int fail(const char *text, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "option '--switch-output': '%s' is not \"signal\", a size or a time", text);
    weir_error_hint(err,
                    "a size is bytes or has a suffix of B, K, M and G, a time has one of s, m, h and d: 100M, 30s");
    return -EINVAL;
}

static int apply_switch_output(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    uint64_t bytes = 0, ns = 0;
    bool is_signal = !text || strcmp(text, "signal") == 0;
    if (!is_signal && (weir_value_parse_size_or_time(text, &bytes, &ns) < 0 || bytes + ns == 0))
        return fail(text, err);
    arguments->options.rotation.enabled = true;
    arguments->options.rotation.bytes = bytes;
    arguments->options.rotation.period_ns = ns;
    return 0;
}

/* The words of text as an argument vector, in one block to be freed. NULL: no memory. */
static char **split(const char *text)
{
    size_t words_max = strlen(text) / 2 + 2;
    size_t bytes = strlen(text) + 1;
    char **argv = malloc(words_max * sizeof(*argv) + bytes);
    if (!argv)
        return NULL;
    char *copy = memcpy(argv + words_max, text, bytes);
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        argv[count++] = word;
    argv[count] = NULL;
    return argv;
}

static int apply_on_rotate(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    char **command = split(text);
    if (!command)
        return weir_error_set_errno(err, -ENOMEM, "option '--on-rotate'");
    if (!command[0]) {
        free(command);
        weir_error_set(err, -EINVAL, "option '--on-rotate': the argument is empty");
        weir_error_hint(err, "a program and its arguments: --on-rotate 'gzip -1'");
        return -EINVAL;
    }
    free(arguments->on_rotate);
    arguments->on_rotate = command;
    arguments->options.rotation.command = command;
    return 0;
}

static int apply_on_full(void *object, const char *text, struct weir_error *err)
{
    static const char *const words[] = {
        [WEIR_RECORD_ON_FULL_STOP] = "stop",
        [WEIR_RECORD_ON_FULL_ROTATE] = "rotate",
        [WEIR_RECORD_ON_FULL_SUSPEND] = "suspend",
    };
    struct weir_record_arguments *arguments = object;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            arguments->options.output.on_full = (enum weir_record_on_full)i;
            return 0;
        }
    }
    weir_error_set(err, -EINVAL, "option '--on-full': '%s' is not stop, rotate or suspend", text);
    weir_error_hint(err, "--on-full=suspend --keep-free 1G waits until there is room again");
    return -EINVAL;
}

static const struct weir_option options[] = {
    {
        WEIR_OPTION_CUSTOM_OF(0, "switch-output", "signal|SIZE|TIME", apply_switch_output),
        .argument_optional = true,
        .help = "continue in a new file at SIGUSR2, and after SIZE (100M) or every TIME (30s)",
        .details = "Each file is complete in itself, and begins with the tasks and maps of its time; a rotation loses "
                   "and doubles no event. A finished file is FILE.TIME, in UTC, with a number behind it where that "
                   "name is taken; the file being written is FILE. Side records of the last moment before a rotation "
                   "are in both files.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "switch-max-files", "N", WEIR_OPTION_UNSIGNED,
                             FIELD(options.rotation.max_files, unsigned)),
        .max = UINT32_MAX,
        .default_text = "all",
        .help = "keep the newest N files of this recording and remove the others; 0: all stay",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "timestamp-filename", FIELD(options.rotation.timestamp, bool)),
        .help = "name the finished file FILE.TIME, in UTC, and never replace one",
        .details = "--switch-output implies it.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "keep-free", "SIZE", WEIR_OPTION_SIZE, FIELD(options.output.keep_free_bytes, uint64_t)),
        .min = 1,
        .max = UINT64_MAX,
        .help = "leave SIZE of the output's file system free: below that, it counts as full",
        .details = "weir looks ten times a second; records from before are still written.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "on-full", "stop|rotate|suspend", apply_on_full),
        .default_text = "stop",
        .help = "when the file system is full, also by --keep-free: end, remove the oldest files, or wait for room",
        .details = "rotate needs --switch-output and removes files of this recording only; recording ends when there "
                   "are none. An ending file gets the records in memory, so the buffers then take a quarter of the "
                   "free space at most. During a suspension the kernel counts all samples as lost, and weir reports "
                   "them so; mappings and task names are still recorded. The command runs on after any end of the "
                   "recording.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "on-rotate", "COMMAND", apply_on_rotate),
        .help = "run COMMAND with the path of each finished file as its last argument",
        .details = "weir splits COMMAND at blanks and starts it without a shell. At the end of the recording weir "
                   "waits for the command, until a signal comes. A failure is one warning.",
    },
};

const struct weir_option_rows weir_record_switch_rows = WEIR_OPTION_ROWS_OF("Several files", options);
