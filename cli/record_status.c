/* The status that `weir record` shows. Coordinator thread, but for draw_end(). */
#include "cli/record_status.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/status_text.h"
#include "cli/value.h"

#define LINE_PERIOD_MS  500
#define PLAIN_PERIOD_MS 1000
#define PATIENCE_MS     300 /* an end that takes longer is shown */
#define PLAIN_COLUMNS   132

/* ---- the option ---- */

int weir_status_choice_parse(struct weir_status_choice *choice, const char *text, struct weir_error *err)
{
    static const char *const words[] = {
        [WEIR_STATUS_AUTO] = "auto",
        [WEIR_STATUS_NEVER] = "never",
        [WEIR_STATUS_ALWAYS] = "always",
        [WEIR_STATUS_JSON] = "json",
    };
    for (int kind = WEIR_STATUS_AUTO; kind <= WEIR_STATUS_JSON; kind++) {
        if (strcmp(text, words[kind]) == 0) {
            *choice = (struct weir_status_choice){.kind = (enum weir_status_kind)kind, .json_fd = STDERR_FILENO};
            return 0;
        }
    }
    uint64_t fd;
    if (strncmp(text, "json:", 5) == 0 && weir_value_parse_number(text + 5, &fd) == 0 && fd <= INT32_MAX) {
        *choice = (struct weir_status_choice){.kind = WEIR_STATUS_JSON, .json_fd = (int)fd};
        return 0;
    }
    weir_error_set(err, -EINVAL, "option '--status': '%s' is none of never, auto, always, json and json:FD", text);
    weir_error_hint(err, "FD is the number of a descriptor, as in --status=json:3 3>status.json");
    return -EINVAL;
}

/* ---- while data flows ---- */

/* The figures of the oldest tick in memory; at first those of no data. */
static struct weir_record_figures earlier(const struct weir_record_status *status)
{
    if (status->ticks < WEIR_RECORD_STATUS_MEMORY)
        return (struct weir_record_figures){0};
    return status->before[status->ticks % WEIR_RECORD_STATUS_MEMORY];
}

static void show_figures(void *ctx, const struct weir_record_figures *figures)
{
    struct weir_record_status *status = ctx;
    char text[WEIR_STATUS_TEXT_BYTES];
    if (status->ticks > 0 &&
        figures->elapsed_ns < status->before[(status->ticks - 1) % WEIR_RECORD_STATUS_MEMORY].elapsed_ns)
        status->ticks = 0; /* another run of a benchmark */
    const struct weir_record_figures before = earlier(status);
    status->before[status->ticks++ % WEIR_RECORD_STATUS_MEMORY] = *figures;
    if (weir_service_hears(&status->service)) {
        weir_status_text_recording(text, figures, &before, PLAIN_COLUMNS, false);
        weir_service_tell_state(&status->service, weir_clock_now_ns(&weir_clock_monotonic), text);
    }
    if (!status->is_shown)
        return;
    unsigned columns = status->has_line ? weir_status_line_columns(&status->line) : PLAIN_COLUMNS;
    weir_status_text_recording(text, figures, &before, columns, status->colors);
    if (status->has_line)
        weir_status_line_draw(&status->line, text);
    else
        weir_print_status(status->print, text);
}

static void tell_started(void *ctx)
{
    struct weir_record_status *status = ctx;
    weir_service_tell_ready(&status->service);
}

/* A pipe that is ready takes PIPE_BUF bytes at once (pipe(7)), which is more than a line. */
static void write_json(void *ctx, const char *line, size_t bytes)
{
    const struct weir_record_status *status = ctx;
    struct pollfd to = {.fd = status->json_fd, .events = POLLOUT};
    if (poll(&to, 1, 0) != 1 || !(to.revents & POLLOUT))
        return;
    ssize_t written = write(status->json_fd, line, bytes);
    (void)written;
}

static void notice_write(void *ctx)
{
    struct weir_record_status *status = ctx;
    weir_status_line_notice_write(&status->line);
}

/* ---- while the recording ends ---- */

static void draw_step(struct weir_record_status *status)
{
    char text[WEIR_STATUS_TEXT_BYTES];
    uint64_t taken_ns = weir_clock_now_ns(&weir_clock_monotonic) - status->ending_since_ns;
    enum weir_ending_step step = atomic_load_explicit(&status->step, memory_order_relaxed);
    weir_status_text_ending(text, step, taken_ns, weir_status_line_columns(&status->line));
    weir_status_line_draw(&status->line, text);
}

/* The thread. */
static void *draw_end(void *ctx)
{
    struct weir_record_status *status = ctx;
    struct pollfd fds[] = {{.fd = status->stop_fd, .events = POLLIN}, {.fd = status->line.watch_fd, .events = POLLIN}};
    uint64_t due_ns = status->ending_since_ns + PATIENCE_MS * WEIR_NS_PER_MS;
    for (;;) {
        uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
        if (now_ns >= due_ns) {
            draw_step(status);
            due_ns = now_ns + LINE_PERIOD_MS * WEIR_NS_PER_MS;
        }
        poll(fds, 2, (int)((due_ns - weir_clock_now_ns(&weir_clock_monotonic)) / WEIR_NS_PER_MS) + 1);
        if (fds[0].revents)
            return NULL;
        if (fds[1].revents)
            weir_status_line_notice_write(&status->line);
    }
}

/* Without a thread the end is not shown. */
static void start_thread(struct weir_record_status *status)
{
    sigset_t all, before;
    status->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (status->stop_fd < 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&status->thread, NULL, draw_end, status) != 0) {
        close(status->stop_fd);
        status->stop_fd = -1;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void enter_step(void *ctx, enum weir_ending_step step)
{
    struct weir_record_status *status = ctx;
    weir_service_tell_stopping(&status->service);
    atomic_store_explicit(&status->step, step, memory_order_relaxed); /* see the field */
    if (status->ending_since_ns > 0 || !status->has_line)
        return;
    status->ending_since_ns = weir_clock_now_ns(&weir_clock_monotonic);
    start_thread(status);
}

/* ---- life ---- */

static bool chooses_line(const struct weir_status_choice *choice, const struct weir_print *print)
{
    bool suits = weir_status_line_suits(fileno(print->stream));
    return suits && (choice->kind == WEIR_STATUS_ALWAYS || (choice->kind == WEIR_STATUS_AUTO && !print->quiet));
}

/* What the user sees. The watch has no period if that is nothing. */
static void begin_show(struct weir_record_status *status, const struct weir_status_choice *choice)
{
    struct weir_record_watch *watch = &status->watch;
    if (choice->kind == WEIR_STATUS_JSON) {
        status->json_fd = choice->json_fd;
        watch->tell_line = write_json;
        watch->period_ms = PLAIN_PERIOD_MS;
        return;
    }
    status->has_line = chooses_line(choice, status->print);
    status->is_shown = status->has_line || choice->kind == WEIR_STATUS_ALWAYS;
    if (!status->is_shown)
        return;
    watch->tell_figures = show_figures;
    watch->period_ms = PLAIN_PERIOD_MS;
    if (!status->has_line)
        return;
    weir_status_line_open(&status->line, fileno(status->print->stream), true);
    status->print->line = &status->line;
    status->colors = !getenv("NO_COLOR");
    watch->period_ms = LINE_PERIOD_MS;
    watch->enter_step = enter_step;
    watch->ready_fd = status->line.watch_fd;
    watch->ready = notice_write;
}

/* The service manager shares the period of the user's line, if there is one. */
static void begin_service(struct weir_record_status *status)
{
    struct weir_record_watch *watch = &status->watch;
    weir_service_open(&status->service);
    uint64_t period_ms = weir_service_period_ms(&status->service);
    if (period_ms == 0)
        return;
    watch->started = tell_started;
    watch->tell_figures = show_figures;
    watch->enter_step = enter_step;
    if (watch->period_ms == 0 || watch->period_ms > period_ms)
        watch->period_ms = period_ms;
}

bool weir_record_status_begin(struct weir_record_status *status, const struct weir_status_choice *choice,
                              struct weir_print *print)
{
    *status = (struct weir_record_status){.print = print, .json_fd = -1, .stop_fd = -1};
    status->watch = (struct weir_record_watch){.ready_fd = -1, .ctx = status};
    begin_show(status, choice);
    begin_service(status);
    return status->watch.period_ms > 0;
}

void weir_record_status_end(struct weir_record_status *status)
{
    if (status->stop_fd >= 0) {
        eventfd_write(status->stop_fd, 1);
        pthread_join(status->thread, NULL);
        close(status->stop_fd);
    }
    status->stop_fd = -1;
    if (status->has_line) {
        status->print->line = NULL;
        weir_status_line_close(&status->line);
    }
    status->has_line = false;
    weir_service_close(&status->service);
}
