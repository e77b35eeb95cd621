/* `weir top`: connections, keys and time; top_screen.h draws. Main thread. */
#include "cli/top_command.h"

#include <errno.h>

#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/status_options.h"

#if defined(WEIR_NCURSES) && defined(WEIR_JANSSON)

#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/recordings.h"
#include "cli/top_link.h"
#include "cli/top_screen.h"

#define HISTORY       6 /* views, whose oldest is what rates are computed from */
#define ARMED_NS      (3 * WEIR_NS_PER_S)
#define MESSAGE_NS    (5 * WEIR_NS_PER_S)
#define MESSAGE_BYTES 640
#define ESC_DELAY_MS  25

struct top {
    uint64_t period_ms;
    struct weir_running running;      /* the recording; its fd is the link's */
    struct weir_top_link asks, tells; /* status; commands */
    struct weir_status_view views[HISTORY];
    uint64_t view_count; /* so far; views[count % HISTORY] is the next to be replaced */
    uint64_t asked_ns;
    struct weir_top_model model;
    struct weir_buf title;
    char message[MESSAGE_BYTES];
    uint64_t message_until_ns; /* 0: as long as nothing else is to be said */
    int armed_key;             /* was pressed once and takes effect when it is pressed again; 0: none */
    uint64_t armed_until_ns;
    bool leaves;
};

static uint64_t now_ns(void)
{
    return weir_clock_now_ns(&weir_clock_monotonic);
}

static void say(struct top *top, uint64_t for_ns, const char *text)
{
    snprintf(top->message, sizeof(top->message), "%s", text);
    top->message_until_ns = for_ns > 0 ? now_ns() + for_ns : 0;
}

/* ---- the recording ---- */

static void forget_views(struct top *top)
{
    for (unsigned i = 0; i < HISTORY; i++)
        weir_status_view_fini(&top->views[i]);
    top->view_count = 0;
    top->model.now = top->model.before = NULL;
}

static void detach(struct top *top)
{
    weir_top_link_close(&top->asks);
    weir_top_link_close(&top->tells);
}

/* Takes ownership of the connection in running. */
static void attach(struct top *top, const struct weir_running *running)
{
    detach(top);
    forget_views(top);
    top->running = *running;
    weir_top_link_open(&top->asks, running->fd);
    weir_buf_reset(&top->title);
    weir_buf_printf(&top->title, "weir top: %d ", (int)running->pid);
    weir_recordings_append_command(&top->title, running->pid);
    top->model.title = weir_buf_str(&top->title);
    top->asked_ns = 0;
    say(top, 0, "");
}

/* Attaches to the recording of the process, or to the first one after it. False: there is none. */
static bool attach_to(struct top *top, pid_t pid, bool next)
{
    struct weir_recordings found;
    if (weir_recordings_find(&found, &pid, next ? 0 : 1) < 0)
        return false;
    size_t chosen = 0;
    while (next && chosen < found.count && found.at[chosen].pid <= pid)
        chosen++;
    if (chosen == found.count)
        chosen = 0;
    bool any = found.count > 0;
    if (any) {
        attach(top, &found.at[chosen]);
        found.at[chosen].fd = -1;
    }
    weir_recordings_fini(&found);
    return any;
}

static void end_recording(struct top *top, const struct weir_error *err)
{
    char text[MESSAGE_BYTES];
    detach(top);
    snprintf(text, sizeof(text), "%s.  n next  q quit", err->what);
    say(top, 0, text);
}

static void take_view(struct top *top, const struct weir_buf *line)
{
    struct weir_error err;
    struct weir_status_view *view = &top->views[top->view_count % HISTORY];
    weir_status_view_fini(view);
    int result = weir_status_view_parse(view, (const char *)line->data, line->used);
    if (result < 0) {
        weir_status_view_fini(view);
        forget_views(top);
        weir_error_set_errno(&err, result, "cannot read the answer of the recording");
        end_recording(top, &err);
        return;
    }
    top->model.now = view;
    top->view_count++;
    top->model.before = top->view_count < HISTORY ? &top->views[0] : &top->views[top->view_count % HISTORY];
}

static void ask(struct top *top)
{
    struct weir_error err = {0};
    int result = weir_top_link_ask(&top->asks, "status -v", &err);
    top->asked_ns = now_ns();
    if (result == -EALREADY)
        say(top, MESSAGE_NS, "the recording does not answer");
    else if (result < 0)
        end_recording(top, &err);
}

static void take_answer(struct top *top)
{
    struct weir_error err = {0};
    int result = weir_top_link_take(&top->asks, &err);
    if (result == 1)
        take_view(top, &top->asks.answer);
    else if (result < 0)
        end_recording(top, &err);
}

/* ---- commands ---- */

static void command(struct top *top, const char *line)
{
    struct weir_error err = {0};
    if (top->asks.fd < 0)
        return;
    if (top->tells.fd < 0) {
        int fd = weir_recordings_connect_again(&top->running);
        if (fd < 0) {
            say(top, MESSAGE_NS, "the recording takes no further connection");
            return;
        }
        weir_top_link_open(&top->tells, fd);
    }
    int result = weir_top_link_ask(&top->tells, line, &err);
    if (result == -EALREADY)
        say(top, MESSAGE_NS, "the command before is still under way");
    else
        say(top, result < 0 ? MESSAGE_NS : 0, result < 0 ? err.what : line);
}

static void take_done(struct top *top)
{
    struct weir_error err = {0};
    int result = weir_top_link_take(&top->tells, &err);
    if (result == 0)
        return;
    say(top, MESSAGE_NS, result > 0 ? "done" : err.what);
    if (result < 0 && result != -EREMOTEIO)
        weir_top_link_close(&top->tells);
}

/* Whether a key that ends something was pressed for the second time. */
static bool is_meant(struct top *top, int key, const char *question)
{
    bool meant = top->armed_key == key && now_ns() < top->armed_until_ns;
    top->armed_key = meant ? 0 : key;
    top->armed_until_ns = now_ns() + ARMED_NS;
    if (!meant)
        say(top, ARMED_NS, question);
    return meant;
}

static void toggle(struct top *top, int key)
{
    if (!top->model.now || strcmp(top->model.now->state, "disabled") == 0)
        command(top, "enable");
    else if (is_meant(top, key, "Disable all events? Press e again."))
        command(top, "disable");
}

/* ---- keys ---- */

static bool take_move(struct top *top, int key)
{
    static const struct {
        int key;
        enum weir_top_move move;
    } moves[] = {{KEY_LEFT, WEIR_TOP_LEFT}, {KEY_RIGHT, WEIR_TOP_RIGHT}, {KEY_UP, WEIR_TOP_UP},
                 {KEY_DOWN, WEIR_TOP_DOWN}, {KEY_HOME, WEIR_TOP_HOME},   {KEY_END, WEIR_TOP_END}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(moves); i++) {
        if (moves[i].key == key) {
            weir_top_screen_move(&top->model, moves[i].move);
            return true;
        }
    }
    return false;
}

static void take_key(struct top *top, int key)
{
    if (take_move(top, key))
        return;
    if (key != top->armed_key)
        top->armed_key = 0;
    switch (key) {
    case 'f':
        top->model.metric = WEIR_TOP_FILL;
        break;
    case 'r':
        top->model.metric = WEIR_TOP_RATE;
        break;
    case 'l':
        top->model.metric = WEIR_TOP_LOSSES;
        break;
    case 's':
        command(top, "snapshot");
        break;
    case 'w':
        if (is_meant(top, key, "End this file and begin the next one? Press w again."))
            command(top, "switch");
        break;
    case 'e':
        toggle(top, key);
        break;
    case 'x':
        if (is_meant(top, key, "Stop the recording? Press x again."))
            command(top, "stop");
        break;
    case 'k':
        command(top, "lease");
        break;
    case 'n':
        if (!attach_to(top, top->running.pid, true))
            say(top, MESSAGE_NS, "no recording is running");
        break;
    case 'q':
        top->leaves = true;
        break;
    default:
        break;
    }
}

/* ---- the loop ---- */

static void draw(struct top *top)
{
    if (top->message_until_ns > 0 && now_ns() >= top->message_until_ns)
        say(top, 0, "");
    top->model.message = top->message;
    weir_top_screen_draw(&top->model);
}

/* Waits until something has come, or the next question is due. */
static void await_event(struct top *top)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = top->asks.fd, .events = POLLIN},
                           {.fd = top->tells.fd, .events = POLLIN}};
    uint64_t due_ns = top->asked_ns + top->period_ms * WEIR_NS_PER_MS, at_ns = now_ns();
    int left_ms = due_ns > at_ns ? (int)((due_ns - at_ns) / WEIR_NS_PER_MS) + 1 : 0;
    if (top->asks.fd < 0)
        left_ms = (int)top->period_ms;
    if (poll(fds, WEIR_ARRAY_COUNT(fds), left_ms) > 0) {
        top->leaves |= (fds[0].revents & (POLLHUP | POLLERR)) != 0; /* the terminal has gone */
        if (fds[1].revents)
            take_answer(top);
        if (fds[2].revents && top->tells.fd >= 0)
            take_done(top);
    }
    for (int key; (key = getch()) != ERR && !top->leaves;)
        take_key(top, key);
    if (top->asks.fd >= 0 && now_ns() >= top->asked_ns + top->period_ms * WEIR_NS_PER_MS)
        ask(top);
}

/* Returns the exit status. */
static int run(struct top *top, const struct weir_print *print)
{
    struct weir_error err = {0};
    setlocale(LC_CTYPE, "");
    SCREEN *terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? newterm(NULL, stdout, stdin) : NULL;
    if (!terminal) {
        const char *term = getenv("TERM");
        weir_error_set(&err, -ENOTTY, "cannot draw on this terminal (TERM is '%s')", term ? term : "");
        weir_error_hint(&err, "weir status --json shows the same elsewhere");
        weir_print_error(print, &err);
        return WEIR_EXIT_FAILURE;
    }
    cbreak();
    noecho();
    nodelay(stdscr, true);
    keypad(stdscr, true);
    curs_set(0);
    set_escdelay(ESC_DELAY_MS);
    while (!top->leaves) {
        draw(top);
        await_event(top);
    }
    endwin();
    delscreen(terminal);
    return WEIR_EXIT_OK;
}

static int watch(const struct weir_top_command_arguments *arguments, const struct weir_print *print)
{
    struct top top = {.period_ms = arguments->period_ms,
                      .asks = WEIR_TOP_LINK_INIT,
                      .tells = WEIR_TOP_LINK_INIT,
                      .title = WEIR_BUF_INIT,
                      .model.title = ""};
    struct weir_error err = {0};
    int status = WEIR_EXIT_BAD_INPUT;
    if (attach_to(&top, arguments->pid, arguments->pid == 0)) {
        status = run(&top, print);
    } else {
        if (arguments->pid > 0)
            weir_error_set(&err, -ESRCH, "process %d is no recording that can be asked", (int)arguments->pid);
        else
            weir_error_set(&err, -ESRCH, "no recording is running that can be asked");
        weir_error_hint(&err, "root finds the recordings of all users");
        weir_print_error(print, &err);
    }
    detach(&top);
    forget_views(&top);
    weir_buf_fini(&top.title);
    return status;
}

#else

static int watch(const struct weir_top_command_arguments *arguments, const struct weir_print *print)
{
    struct weir_error err = {0};
    (void)arguments;
    weir_error_set(&err, -EOPNOTSUPP, "weir was built without ncurses or jansson, which weir top needs");
    weir_print_error(print, &err);
    return WEIR_EXIT_FAILURE;
}

#endif

int weir_top_main(const struct weir_invocation *invocation)
{
    const struct weir_print print = {.stream = stderr};
    struct weir_top_command_arguments arguments;
    struct weir_error err = {0};
    int result = weir_top_command_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_top_command, invocation->arguments);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);
    return watch(&arguments, &print);
}
