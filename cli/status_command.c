/* `weir status`: asks the running recordings how they are. Main thread. */
#include "cli/status_command.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/recordings.h"
#include "cli/status_options.h"
#include "cli/status_text.h"
#include "cli/status_view.h"
#include "format/text_out.h"

#define BYTES_PER_MB 1e6

static void append_lines(struct weir_buf *text, const struct weir_running *running, const struct weir_status_view *view)
{
    char number[16], duration[16];
    double seconds = view->elapsed_ms > 0 ? (double)view->elapsed_ms / 1000.0 : 1;
    weir_buf_printf(text, "%d ", (int)running->pid);
    weir_recordings_append_command(text, running->pid);
    weir_buf_printf(text, "\n    %s %s, %" PRIu64 " samples (%s/s), %.1f MB, lost %" PRIu64, view->state,
                    weir_status_text_duration(duration, view->elapsed_ms * WEIR_NS_PER_MS), view->samples,
                    weir_status_text_number(number, (double)view->samples / seconds),
                    (double)view->bytes / BYTES_PER_MB, view->lost + view->shed);
    if (view->pool_bytes > 0)
        weir_buf_printf(text, ", pool %.0f %%", 100.0 * (double)view->pool_used_bytes / (double)view->pool_bytes);
    weir_buf_printf(text, ", %" PRIu64 " file%s", view->files, view->files == 1 ? "" : "s");
    if (view->has_lease)
        weir_buf_printf(text, ", lease %s", weir_status_text_duration(duration, view->lease_left_ms * WEIR_NS_PER_MS));
    weir_buf_printf(text, "\n");
}

/* line: with its newline, parsed before. */
static void append_json(struct weir_buf *text, const struct weir_running *running, const struct weir_buf *line)
{
    struct weir_buf command = WEIR_BUF_INIT;
    size_t bytes = line->used;
    while (bytes > 0 && line->data[bytes - 1] == '\n')
        bytes--;
    weir_recordings_append_command(&command, running->pid);
    weir_buf_printf(text, "{\"pid\":%d,\"user\":%u,\"command\":", (int)running->pid, (unsigned)running->user);
    weir_text_append_json_string(text, weir_buf_str(&command));
    weir_buf_printf(text, ",\"status\":");
    weir_buf_append(text, line->data, bytes);
    weir_buf_printf(text, "}\n");
    weir_buf_fini(&command);
}

/* 0 or -errno with err. */
static int show(const struct weir_running *running, bool json, struct weir_buf *text, struct weir_error *err)
{
    struct weir_buf line = WEIR_BUF_INIT;
    struct weir_status_view view;
    int result = weir_recordings_ask(running->fd, "status", &line, err);
    if (result == 0) {
        result = weir_status_view_parse(&view, (const char *)line.data, line.used);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot read the answer of the recording");
        else if (json)
            append_json(text, running, &line);
        else
            append_lines(text, running, &view);
        weir_status_view_fini(&view);
    }
    weir_buf_fini(&line);
    return result;
}

/* Returns the exit status. */
static int show_all(const struct weir_print *print, const struct weir_status_arguments *arguments)
{
    struct weir_recordings recordings;
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_error err = {0};
    int result = weir_recordings_find(&recordings, arguments->pids, arguments->pid_count);
    if (result < 0) {
        weir_error_set_errno(&err, result, "cannot look for recordings");
        weir_print_error(print, &err);
        return WEIR_EXIT_FAILURE;
    }
    bool all_answer = recordings.count > 0 && recordings.count >= arguments->pid_count;
    if (!all_answer) {
        weir_error_set(&err, -ESRCH, "%s",
                       arguments->pid_count > 0 ? "not every PID is a recording that can be asked"
                                                : "no recording is running that can be asked");
        weir_error_hint(&err, "root finds the recordings of all users");
        weir_print_error(print, &err);
    }
    for (size_t i = 0; i < recordings.count; i++) {
        err = (struct weir_error){0};
        int shown = show(&recordings.at[i], arguments->json, &text, &err);
        if (shown == 0 || (shown == -EPIPE && arguments->pid_count == 0)) /* it has ended meanwhile */
            continue;
        struct weir_error named = {0};
        weir_error_set(&named, err.code, "process %d: %s", (int)recordings.at[i].pid, err.what);
        weir_print_error(print, &named);
        all_answer = false;
    }
    weir_recordings_fini(&recordings);
    int status = weir_answer_text(print, &text);
    return status == WEIR_EXIT_OK && !all_answer ? WEIR_EXIT_BAD_INPUT : status;
}

int weir_status_main(const struct weir_invocation *invocation)
{
    const struct weir_print print = {.stream = stderr};
    struct weir_status_arguments arguments;
    struct weir_error err = {0};
    int status, result = weir_status_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == 0 && !weir_status_view_is_built())
        result = weir_error_set(&err, -EOPNOTSUPP, "weir was built without jansson, which weir status needs");
    if (result == WEIR_OPTIONS_HELP)
        status = weir_answer_help(&print, &weir_status_command, invocation->arguments);
    else if (result < 0)
        status = weir_answer_refusal(&print, result, &err);
    else
        status = show_all(&print, &arguments);
    weir_status_arguments_fini(&arguments);
    return status;
}
