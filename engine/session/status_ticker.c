/* Tells a watch how the recording is. Coordinator thread. */
#include "engine/session/status_ticker.h"

#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/kernel/timer.h"

static void on_tick(void *ctx, short revents)
{
    struct weir_status_ticker *ticker = ctx;
    const struct weir_record_watch *watch = ticker->watch;
    (void)revents;
    weir_timer_drain(ticker->timer_fd);
    const struct weir_status_sources sources = ticker->sources(ticker->ctx);
    if (watch->tell_figures) {
        struct weir_record_figures figures;
        weir_status_gather(&sources, &figures);
        watch->tell_figures(watch->ctx, &figures);
    }
    if (watch->tell_line) {
        weir_buf_reset(&ticker->line);
        weir_status_append(&sources, false, &ticker->line);
        if (weir_buf_error(&ticker->line) == 0)
            watch->tell_line(watch->ctx, (const char *)ticker->line.data, ticker->line.used);
    }
}

static void on_ready(void *ctx, short revents)
{
    const struct weir_status_ticker *ticker = ctx;
    (void)revents;
    ticker->watch->ready(ticker->watch->ctx);
}

int weir_status_ticker_open(struct weir_status_ticker *ticker, const struct weir_record_watch *watch,
                            struct weir_poll_set *polls, struct weir_error *err)
{
    ticker->watch = watch;
    ticker->timer_fd = watch->period_ms > 0 ? weir_timer_open() : -1;
    int result = watch->period_ms > 0 && ticker->timer_fd < 0 ? ticker->timer_fd : 0;
    if (ticker->timer_fd >= 0)
        result = weir_poll_set_add(polls, ticker->timer_fd, POLLIN, on_tick, ticker);
    if (result == 0 && watch->ready_fd >= 0)
        result = weir_poll_set_add(polls, watch->ready_fd, POLLIN, on_ready, ticker);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot show the status of the recording");
    if (ticker->timer_fd >= 0)
        weir_timer_repeat(ticker->timer_fd, watch->period_ms * WEIR_NS_PER_MS);
    return 0;
}

void weir_status_ticker_close(struct weir_status_ticker *ticker)
{
    if (!ticker || !ticker->watch)
        return;
    if (ticker->timer_fd >= 0)
        close(ticker->timer_fd);
    weir_buf_fini(&ticker->line);
    *ticker = (struct weir_status_ticker){0};
}
