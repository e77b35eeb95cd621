/* Serves a client of the control protocol. Coordinator thread; never blocks. */
#include "engine/control/control_channel.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- answers ---- */

/* Descriptors that the caller passes may block, so no call in this file relies on O_NONBLOCK. */

/* A pipe that is ready takes at least PIPE_BUF bytes at once (pipe(7)); a longer write might block. MSG_NOSIGNAL
 * prevents SIGPIPE from closed sockets; for pipes the caller ignores SIGPIPE. */
static ssize_t write_now(int fd, const void *data, size_t bytes)
{
    ssize_t written = send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0 || errno != ENOTSOCK)
        return written;
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    if (bytes <= PIPE_BUF && poll(&room, 1, 0) > 0)
        return write(fd, data, bytes);
    errno = bytes <= PIPE_BUF ? EAGAIN : EMSGSIZE;
    return -1;
}

/* Called after poll(2) found the descriptor ready, so read(2) does not block. */
static ssize_t read_now(int fd, void *data, size_t bytes)
{
    ssize_t got = recv(fd, data, bytes, MSG_DONTWAIT);
    return got < 0 && errno == ENOTSOCK ? read(fd, data, bytes) : got;
}

static void write_answer(struct weir_control_channel *channel)
{
    weir_buf_append_u8(&channel->answer, '\0');
    size_t bytes = channel->answer.used;
    if (weir_buf_error(&channel->answer) == 0 &&
        write_now(channel->out_fd, channel->answer.data, bytes) == (ssize_t)bytes)
        return;
    int code = weir_buf_error(&channel->answer) ? -weir_buf_error(&channel->answer) : errno;
    if (channel->dropped++ == 0 && channel->source == WEIR_TRIGGER_BY_CONTROL)
        weir_notice(channel->host->notices, WEIR_NOTICE_WARNING,
                    "the answers to control commands are not read, and dropped: %s", strerror(code));
}

static void answer_ok(struct weir_control_channel *channel)
{
    if (channel->out_fd < 0 || channel->quiet)
        return;
    weir_buf_printf(&channel->answer, "ack\n");
    write_answer(channel);
}

/* The first refusal of a client is a warning. Later ones are verbose notices, so that garbage causes no flood of
 * warnings. */
static void tell_refusal(struct weir_control_channel *channel, const struct weir_error *err)
{
    bool told = channel->source != WEIR_TRIGGER_BY_CONTROL || channel->refused++ > 0;
    weir_notice(channel->host->notices, told ? WEIR_NOTICE_VERBOSE : WEIR_NOTICE_WARNING, "control: %s%s%s%s",
                err->what, err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
}

static void answer_error(struct weir_control_channel *channel, const struct weir_error *err)
{
    tell_refusal(channel, err);
    if (channel->out_fd < 0 || channel->quiet)
        return;
    weir_buf_reset(&channel->answer);
    weir_buf_printf(&channel->answer, "error: %s\n", err->what);
    write_answer(channel);
}

static void answer(struct weir_control_channel *channel, int result, const struct weir_error *err)
{
    if (result < 0)
        answer_error(channel, err);
    else
        answer_ok(channel);
    weir_buf_reset(&channel->answer);
}

/* ---- commands ---- */

/* Sends the lines of the answer as notices to the user. */
static void show_answer(struct weir_control_channel *channel)
{
    weir_notice_text(channel->host->notices, WEIR_NOTICE_INFO, weir_buf_str(&channel->answer));
    weir_buf_reset(&channel->answer);
}

static void handle(struct weir_control_channel *channel);

static void on_done(void *ctx, int result, const struct weir_error *err)
{
    struct weir_control_channel *channel = ctx;
    answer(channel, result, err);
    channel->busy = false;
    handle(channel);
}

static void request(struct weir_control_channel *channel, enum weir_trigger trigger)
{
    channel->request = (struct weir_trigger_request){
        .trigger = trigger,
        .source = channel->source,
        .done = on_done,
        .ctx = channel,
    };
    weir_triggers_request(channel->host->triggers, &channel->request);
}

/* A command for one event takes effect at once and needs no trigger. */
static void toggle_events(struct weir_control_channel *channel, const struct weir_control_command *command)
{
    const struct weir_control_host *host = channel->host;
    bool on = command->verb == WEIR_CONTROL_ENABLE;
    struct weir_error err = {0};
    if (command->event)
        on_done(channel, host->toggle_event(host->ctx, command->event, on, &err), &err);
    else
        request(channel, on ? WEIR_TRIGGER_ENABLE : WEIR_TRIGGER_DISABLE);
}

/* Returns the trigger of a command that may have to wait for others. NONE: the command takes effect at once. */
static enum weir_trigger trigger_of(enum weir_control_verb verb)
{
    switch (verb) {
    case WEIR_CONTROL_DUMP:
        return WEIR_TRIGGER_DUMP;
    case WEIR_CONTROL_SNAPSHOT:
        return WEIR_TRIGGER_SNAPSHOT;
    case WEIR_CONTROL_SNAPSHOT_ALLOC:
        return WEIR_TRIGGER_SNAPSHOT_ALLOC;
    case WEIR_CONTROL_SWITCH:
        return WEIR_TRIGGER_ROTATE;
    case WEIR_CONTROL_STOP:
        return WEIR_TRIGGER_STOP;
    case WEIR_CONTROL_ENABLE:
    case WEIR_CONTROL_DISABLE:
    case WEIR_CONTROL_EVLIST:
    case WEIR_CONTROL_STATUS:
    case WEIR_CONTROL_PING:
    case WEIR_CONTROL_LEASE:
        break;
    }
    return WEIR_TRIGGER_NONE;
}

static void execute(struct weir_control_channel *channel, const struct weir_control_command *command)
{
    const struct weir_control_host *host = channel->host;
    struct weir_error err = {0};
    int result = 0;
    channel->busy = true;
    switch (command->verb) {
    case WEIR_CONTROL_ENABLE:
    case WEIR_CONTROL_DISABLE:
        toggle_events(channel, command);
        return;
    case WEIR_CONTROL_DUMP:
    case WEIR_CONTROL_SNAPSHOT:
    case WEIR_CONTROL_SNAPSHOT_ALLOC:
    case WEIR_CONTROL_SWITCH:
    case WEIR_CONTROL_STOP:
        request(channel, trigger_of(command->verb));
        return;
    case WEIR_CONTROL_EVLIST:
        host->list_events(host->ctx, command->detail, &channel->answer);
        if (channel->lists_to_user)
            show_answer(channel);
        break;
    case WEIR_CONTROL_STATUS:
        host->tell_status(host->ctx, command->detail, &channel->answer);
        if (channel->out_fd < 0)
            show_answer(channel);
        break;
    case WEIR_CONTROL_LEASE:
        result = host->renew_lease(host->ctx, &err);
        break;
    case WEIR_CONTROL_PING:
        break;
    }
    on_done(channel, result, &err);
}

static void take_line(struct weir_control_channel *channel, int got, const char *line)
{
    struct weir_control_command command = {0};
    struct weir_error err;
    int result = got;
    if (got < 0)
        weir_error_set(&err, got, "a control command is longer than %d bytes", WEIR_CONTROL_LINE_MAX);
    else
        result = weir_control_parse(line, &command, &err);
    if (result == 0 && channel->over)
        result = weir_error_set(&err, -ESHUTDOWN, "the recording has ended");
    channel->quiet = command.quiet;
    if (result < 0)
        answer(channel, result, &err);
    else
        execute(channel, &command);
}

/* Refuses a line that comes while a command is under way, if it wants no answer and its trigger is busy. False: the
 * line has to wait. */
static bool refuse_unanswered(struct weir_control_channel *channel, int got, const char *line)
{
    struct weir_control_command command;
    struct weir_error err = {0};
    if (got < 0 || weir_control_parse(line, &command, &err) < 0 || !command.quiet)
        return false;
    enum weir_trigger trigger = trigger_of(command.verb);
    if (trigger == WEIR_TRIGGER_NONE || weir_triggers_refuse_busy(channel->host->triggers, trigger, &err) == 0)
        return false;
    tell_refusal(channel, &err);
    return true;
}

/* ---- the descriptor ---- */

static void hang_up(struct weir_control_channel *channel)
{
    weir_poll_set_remove(channel->sources, channel->in_fd);
    if (channel->out_fd >= 0 && channel->out_fd != channel->in_fd)
        close(channel->out_fd);
    close(channel->in_fd);
    channel->in_fd = channel->out_fd = -1;
    if (channel->ended)
        channel->ended(channel->ended_ctx);
}

static int next_line(struct weir_control_channel *channel, const char **line)
{
    int late = channel->late_error;
    channel->late_error = 0;
    if (late < 0)
        return late;
    return channel->at_end ? weir_control_lines_last(&channel->lines, line)
                           : weir_control_lines_next(&channel->lines, line);
}

/* Takes one command off the budget of this turn. False: the budget is used up. */
static bool take_from_budget(const struct weir_control_channel *channel)
{
    struct weir_control_budget *budget = channel->host->budget;
    if (budget->turn != channel->sources->turns)
        *budget = (struct weir_control_budget){.turn = channel->sources->turns};
    if (budget->used == WEIR_CONTROL_COMMANDS)
        return false;
    budget->used++;
    return true;
}

enum progress {
    WANTS_INPUT, /* no line is whole */
    WANTS_TURN,  /* there may be another line, for the next turn of the loop */
    WANTS_END,   /* a line has to wait for the end of the command under way */
};

/* Handles one line, if one has arrived. */
static enum progress handle_line(struct weir_control_channel *channel)
{
    const char *line = NULL;
    int got = next_line(channel, &line);
    if (got == WEIR_CONTROL_LINE_NONE)
        return WANTS_INPUT;
    if (!channel->busy)
        take_line(channel, got, line);
    else if (!refuse_unanswered(channel, got, line)) {
        if (got < 0)
            channel->late_error = got;
        else
            weir_control_lines_put_back(&channel->lines);
        return WANTS_END;
    }
    return WANTS_TURN;
}

static void handle(struct weir_control_channel *channel)
{
    if (channel->handling || channel->in_fd < 0)
        return; /* the call of handle() on the stack goes on by itself, or the channel is closed */
    bool may_go_on = take_from_budget(channel);
    channel->handling = true;
    enum progress progress = may_go_on ? handle_line(channel) : WANTS_TURN;
    channel->handling = false;
    if (progress == WANTS_INPUT && channel->at_end && !channel->busy) {
        hang_up(channel);
        return;
    }
    weir_poll_set_change(channel->sources, channel->in_fd, progress != WANTS_END && !channel->at_end ? POLLIN : 0);
    if (progress == WANTS_TURN)
        weir_poll_set_call_again(channel->sources, channel->in_fd);
    if (may_go_on)
        weir_poll_set_move_last(channel->sources, channel->in_fd);
}

static void read_input(struct weir_control_channel *channel)
{
    size_t room;
    char *to = weir_control_lines_room(&channel->lines, &room);
    if (room == 0)
        return; /* the room is full of lines that have to wait */
    ssize_t got = read_now(channel->in_fd, to, room);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        weir_control_lines_add(&channel->lines, (size_t)got);
    else
        channel->at_end = true;
}

/* Reads only once per call, so that a flood of input leaves time for other sources. revents is 0 if lines of an earlier
 * turn are left. */
static void on_ready(void *ctx, short revents)
{
    struct weir_control_channel *channel = ctx;
    if (revents && !channel->at_end)
        read_input(channel);
    handle(channel);
}

static int listen_in(struct weir_control_channel *channel, struct weir_poll_set *sources)
{
    channel->sources = sources;
    int result = weir_poll_set_add(sources, channel->in_fd, POLLIN, on_ready, channel);
    if (result < 0)
        weir_control_channel_fini(channel);
    return result;
}

int weir_control_channel_init(struct weir_control_channel *channel, const struct weir_control_channel *setup)
{
    *channel = *setup;
    weir_control_lines_init(&channel->lines);
    channel->answer = (struct weir_buf)WEIR_BUF_INIT;
    return listen_in(channel, channel->host->sources);
}

void weir_control_channel_end(struct weir_control_channel *channel, struct weir_poll_set *sources)
{
    channel->over = true;
    if (channel->in_fd < 0)
        return;
    weir_poll_set_remove(channel->sources, channel->in_fd);
    listen_in(channel, sources); /* closes the channel on failure */
}

void weir_control_channel_fini(struct weir_control_channel *channel)
{
    if (!channel)
        return;
    channel->ended = NULL;
    if (channel->in_fd >= 0)
        hang_up(channel);
    weir_buf_fini(&channel->answer);
}
