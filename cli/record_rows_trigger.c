/* Rows of `weir record`: requests to a running recording. Main thread. */
#include "cli/record_rows_internal.h"

#include <errno.h>
#include <string.h>

static int apply_control(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    struct weir_error below = {0};
    int result = weir_control_spec_parse(&arguments->options.control, text, &below);
    if (result < 0) {
        weir_error_set(err, result, "option '--control': %s", below.what);
        weir_error_hint(err, "%s", below.hint);
    }
    return result;
}

static void clear_control(void *object)
{
    struct weir_record_arguments *arguments = object;
    weir_control_spec_fini(&arguments->options.control);
}

static int apply_snapshot_on(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (text[0] == '\0')
        return weir_error_set(err, -EINVAL, "option '--snapshot-on': the argument is empty");
    if (strcmp(text, "exit") == 0)
        arguments->options.snapshot.at_exit = true;
    else if (strcmp(text, "crash") == 0)
        arguments->options.snapshot.on.crash = true;
    else if (weir_text_list_add(&arguments->snapshot_on, text) < 0)
        return weir_error_set_errno(err, -ENOMEM, "option '--snapshot-on'");
    return 0;
}

static const struct weir_option options[] = {
    {
        WEIR_OPTION_CUSTOM_OF(0, "control", "fd:CTL[,ACK]|fifo:CTL[,ACK]", apply_control),
        .negatable = true,
        .clear = clear_control,
        .help = "take commands from descriptor or fifo CTL, one a line, and answer to ACK",
        .details =
            "Commands are enable [EVENT], disable [EVENT], evlist [-v|-g|-F], dump, snapshot, snapshot-alloc, "
            "switch, status (a line of JSON), lease, ping and stop. Each is answered when it is done, by ack, or by "
            "error: and the reason. With -D -1 no event counts before the first enable.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "lease", "SECONDS", WEIR_OPTION_NUMBER, FIELD(options.lease_s, uint64_t)),
        .unit = "s",
        .min = 1,
        .max = UINT32_MAX,
        .help = "end the recording when no controller has sent the command lease for SECONDS",
        .details =
            "So a recording does not outlive the program that has started it on many machines. A controller is a "
            "client of --control, of the socket that weir status asks, or the command itself. The end is that "
            "of the command stop: the file is finished, and a workload gets SIGTERM. weir status shows the time "
            "that is left.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "switch-output-event", "EVENT", WEIR_OPTION_TEXT_LIST,
                             FIELD(rotate_on, struct weir_text_list)),
        .repeatable = true,
        .help = "continue in another file whenever EVENT occurs; implies --switch-output=signal",
        .details = "EVENT is any event of -e, on the same CPUs and tasks; it is recorded only if -e names it, too. "
                   "Every occurrence counts, unless it names a period. A filter stands behind another colon, as in "
                   "sched:sched_process_exit:comm == \"make\".",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "snapshot-on", "EVENT[:FILTER]|exit|crash", apply_snapshot_on),
        .repeatable = true,
        .help = "take a snapshot of -M or -S when EVENT occurs, at the end, or when the command crashes",
        .details = "EVENT and FILTER are as for --switch-output-event. exit is --snapshot-on-exit; crash is "
                   "--snapshot-on-exit for a command killed by SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS or "
                   "SIGTRAP.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "snapshot-hold-off", "MS", WEIR_OPTION_NUMBER,
                             FIELD(options.snapshot.on.hold_off_ms, uint64_t)),
        .unit = "ms",
        .max = UINT32_MAX,
        .default_text = "1000",
        .help = "ignore further occurrences of --snapshot-on for MS milliseconds after one",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "snapshot-keep", "N", WEIR_OPTION_NUMBER, FIELD(snapshot_keep, uint64_t)),
        .min = 1,
        .max = UINT32_MAX,
        .default_text = "dumps in one file; of snapshots by command, the newest",
        .help = "put each snapshot into a file of its own, FILE.TIME, and keep the newest N; 1: each replaces the last",
        .details = "A file is removed once the next one is whole. Each file is complete in itself, as with "
                   "--switch-output; samples after the last snapshot are in none, unless --snapshot-on-exit takes "
                   "one. Without this option, snapshots by SIGUSR2, events and dump follow one another in FILE. A "
                   "snapshot by the commands snapshot and snapshot-alloc (also by libweir) replaces the one before: "
                   "it is FILE.TIME, and FILE at the end, unless FILE holds dumps. With -S alone, and where files are "
                   "not plain, or named or counted by other options, these snapshots follow one another, too.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "ftrace-snapshot", FIELD(options.snapshot.ftrace, bool)),
        .help = "let ftrace take a snapshot with each of weir's, in tracefs' file snapshot",
        .details = "Needs a kernel with CONFIG_TRACER_SNAPSHOT. Without -M only ftrace takes a snapshot. ftrace takes "
                   "one at the end when --snapshot-on exit or crash asks for it.",
    },
};

const struct weir_option_rows weir_record_trigger_rows = WEIR_OPTION_ROWS_OF("Control and triggers", options);
