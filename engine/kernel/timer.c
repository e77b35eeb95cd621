/* Timers as descriptors; see timer.h. */
#include "engine/kernel/timer.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

int weir_timer_open(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

void weir_timer_set_after(int fd, uint64_t after_ns)
{
    const struct itimerspec when = {.it_value = weir_clock_timespec(after_ns)};
    timerfd_settime(fd, 0, &when, NULL);
}

void weir_timer_set_at(int fd, uint64_t at_ns)
{
    const struct itimerspec when = {.it_value = weir_clock_timespec(at_ns)};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void weir_timer_repeat(int fd, uint64_t period_ns)
{
    const struct timespec period = weir_clock_timespec(period_ns);
    const struct itimerspec when = {.it_interval = period, .it_value = period};
    timerfd_settime(fd, 0, &when, NULL);
}

void weir_timer_drain(int fd)
{
    uint64_t ignored;
    ssize_t got = read(fd, &ignored, sizeof(ignored)); /* EAGAIN when there is nothing: as good */
    (void)got;
}
