/* Rows of `weir record`: what may be asked of a recording while it runs. Main thread. */
#include "cli/record_rows.h"

#include <errno.h>

#define SECTION "Control and triggers"

static int apply_control(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    struct weir_error below = {0};
    int result = weir_control_spec_parse(&arguments->control, text, &below);
    if (result < 0) {
        weir_error_set(err, result, "option '--control': %s", below.what);
        weir_error_hint(err, "%s", below.hint);
    }
    return result;
}

static void clear_control(void *object)
{
    struct weir_record_arguments *arguments = object;
    weir_control_spec_fini(&arguments->control);
}

static const struct weir_option options[] = {
    {
        .long_name = "control",
        .argument = "fd:CTL[,ACK]|fifo:CTL[,ACK]",
        .kind = WEIR_OPTION_CUSTOM,
        .negatable = true,
        .apply = apply_control,
        .clear = clear_control,
        .section = SECTION,
        .help = "take commands from descriptor or fifo CTL, one a line, and answer to ACK",
        .details =
            "Commands are enable [EVENT], disable [EVENT], evlist [-v|-g|-F], dump, snapshot, snapshot-alloc, switch, "
            "status (a line of JSON), ping and stop. Each is answered by ack, or by error: and why, once it is "
            "done. With -D -1 nothing counts before the first enable.",
    },
};

const struct weir_option_rows weir_record_trigger_rows = WEIR_OPTION_ROWS(options);
