#include "engine/control/lease.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "engine/kernel/timer.h"

static void on_timer(void *ctx, short revents)
{
    struct weir_lease *lease = ctx;
    (void)revents;
    weir_timer_drain(lease->timer_fd);
    if (weir_clock_now_ns(lease->setup.clock) >= lease->until_ns) /* else a renewal came after the expiry */
        lease->setup.run_out(lease->setup.ctx);
}

int weir_lease_open(struct weir_lease *lease, const struct weir_lease_setup *setup, struct weir_error *err)
{
    lease->setup = *setup;
    lease->timer_fd = weir_timer_open();
    int result = lease->timer_fd < 0 ? lease->timer_fd : 0;
    if (result == 0)
        result = weir_poll_set_add(setup->polls, lease->timer_fd, POLLIN, on_timer, lease);
    return result < 0 ? weir_error_set_errno(err, result, "cannot set a timer for the lease") : 0;
}

int weir_lease_renew(struct weir_lease *lease, struct weir_error *err)
{
    if (lease->timer_fd < 0) {
        weir_error_set(err, -EOPNOTSUPP, "the recording has no lease");
        weir_error_hint(err, "give it one with --lease SECONDS");
        return -EOPNOTSUPP;
    }
    lease->until_ns = weir_clock_now_ns(lease->setup.clock) + lease->setup.length_s * WEIR_NS_PER_S;
    weir_timer_set_at(lease->timer_fd, lease->until_ns);
    return 0;
}

uint64_t weir_lease_left_ns(const struct weir_lease *lease)
{
    if (lease->timer_fd < 0 || lease->until_ns == 0)
        return 0;
    uint64_t now_ns = weir_clock_now_ns(lease->setup.clock);
    return lease->until_ns > now_ns ? lease->until_ns - now_ns : 1;
}

void weir_lease_close(struct weir_lease *lease)
{
    if (!lease)
        return;
    if (lease->timer_fd >= 0)
        close(lease->timer_fd);
    *lease = (struct weir_lease)WEIR_LEASE_INIT;
}
