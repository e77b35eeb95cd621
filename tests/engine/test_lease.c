/* The lease of a recording, by a clock of the test. The timer is the kernel's: it expires at once where that clock lies
 * in the past of the machine's. */
#include "engine/control/lease.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "tests/engine/fake_clock.h"

#define START_NS  WEIR_NS_PER_S
#define LENGTH_S  5u
#define LENGTH_NS (LENGTH_S * WEIR_NS_PER_S)

struct fixture {
    struct fake_clock fake;
    struct weir_clock clock;
    struct weir_poll_set polls;
    struct weir_lease lease;
    unsigned ends;
};

static void count_end(void *ctx)
{
    ((struct fixture *)ctx)->ends++;
}

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.polls = WEIR_POLL_SET_INIT, .lease = WEIR_LEASE_INIT, .fake.now_ns = START_NS};
    f->clock = fake_clock_interface(&f->fake);
    const struct weir_lease_setup setup = {
        .length_s = LENGTH_S, .clock = &f->clock, .polls = &f->polls, .run_out = count_end, .ctx = f};
    cr_assert_eq(weir_lease_open(&f->lease, &setup, NULL), 0);
}

static void fixture_fini(struct fixture *f)
{
    weir_poll_set_fini(&f->polls);
    weir_lease_close(&f->lease);
    weir_lease_close(&f->lease);
}

Test(lease, recording_without_one_refuses_a_renewal)
{
    struct weir_lease lease = WEIR_LEASE_INIT;
    struct weir_error err = {0};
    cr_expect_eq(weir_lease_renew(&lease, &err), -EOPNOTSUPP);
    cr_expect_str_eq(err.what, "the recording has no lease");
    cr_expect_eq(weir_lease_left_ns(&lease), 0);
    weir_lease_close(&lease);
    weir_lease_close(NULL);
}

Test(lease, does_not_run_out_before_it_begins)
{
    struct fixture f;
    fixture_init(&f);
    f.fake.now_ns += 2 * LENGTH_NS;
    cr_expect_eq(weir_poll_set_wait(&f.polls, 0), 0);
    cr_expect_eq(weir_lease_left_ns(&f.lease), 0);
    fixture_fini(&f);
}

Test(lease, runs_out_after_its_length_and_not_after_a_renewal)
{
    struct fixture f;
    fixture_init(&f);
    cr_assert_eq(weir_lease_renew(&f.lease, NULL), 0);
    cr_expect_eq(weir_lease_left_ns(&f.lease), LENGTH_NS);
    f.fake.now_ns += LENGTH_NS - 1;
    cr_expect_eq(weir_lease_left_ns(&f.lease), 1);
    cr_expect_eq(weir_poll_set_wait(&f.polls, 0), 1); /* the machine runs for longer than 6 s */
    cr_expect_eq(f.ends, 0);
    cr_assert_eq(weir_lease_renew(&f.lease, NULL), 0);
    f.fake.now_ns += LENGTH_NS - 1;
    cr_expect_eq(weir_poll_set_wait(&f.polls, 0), 1);
    cr_expect_eq(f.ends, 0);
    cr_assert_eq(weir_lease_renew(&f.lease, NULL), 0);
    f.fake.now_ns += LENGTH_NS;
    cr_expect_eq(weir_lease_left_ns(&f.lease), 1);
    cr_expect_eq(weir_poll_set_wait(&f.polls, 0), 1);
    cr_expect_eq(f.ends, 1);
    cr_expect_eq(weir_poll_set_wait(&f.polls, 0), 0);
    fixture_fini(&f);
}
