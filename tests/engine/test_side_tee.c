/* The tee: bytes come out as they went in, also across the end of the ring, and what finds no room is counted. */
#include "engine/drain/side_tee.h"

#include "tests/base/failing_alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#define BYTES 64u

Test(side_tee, size_that_is_no_power_of_two_is_refused, .signal = SIGABRT)
{
    struct weir_side_tee tee;
    weir_side_tee_init(&tee, 48);
}

Test(side_tee, without_memory_it_says_so)
{
    struct weir_side_tee tee;
    failing_alloc_after(0);
    cr_assert_eq(weir_side_tee_init(&tee, BYTES), -ENOMEM);
    failing_alloc_never();
    weir_side_tee_fini(&tee);
    weir_side_tee_fini(NULL);
}

Test(side_tee, block_without_room_is_left_out_whole_and_counted)
{
    struct weir_side_tee tee;
    struct weir_buf out = WEIR_BUF_INIT;
    const uint8_t block[BYTES + 1] = {1, 2, 3};
    cr_assert_eq(weir_side_tee_init(&tee, BYTES), 0);
    weir_side_tee_push(&tee, block, BYTES + 1);
    cr_assert_eq(weir_side_tee_drain(&tee, &out), 0);
    weir_side_tee_push(&tee, block, 40);
    weir_side_tee_push(&tee, block, 32);
    cr_assert_eq(weir_side_tee_missed(&tee), 2);
    cr_assert_eq(weir_side_tee_drain(&tee, &out), 40);
    weir_side_tee_push(&tee, block, BYTES);
    cr_assert_eq(weir_side_tee_missed(&tee), 2, "there was room again");
    cr_assert_eq(weir_side_tee_drain(&tee, &out), BYTES);
    weir_side_tee_fini(&tee);
    weir_buf_fini(&out);
}

Test(side_tee, bytes_stay_when_there_is_no_memory_for_them)
{
    struct weir_side_tee tee;
    struct weir_buf out = WEIR_BUF_INIT;
    cr_assert_eq(weir_side_tee_init(&tee, BYTES), 0);
    weir_side_tee_push(&tee, "12345678", 8);
    failing_alloc_after(0);
    cr_assert_eq(weir_side_tee_drain(&tee, &out), -ENOMEM);
    failing_alloc_never();
    weir_buf_reset(&out);
    cr_assert_eq(weir_side_tee_drain(&tee, &out), 8);
    cr_assert_arr_eq(out.data, "12345678", 8);
    weir_side_tee_fini(&tee);
    weir_buf_fini(&out);
}

Test(side_tee, bytes_come_out_in_order_across_the_end)
{
    struct weir_side_tee tee;
    struct weir_buf out = WEIR_BUF_INIT;
    cr_assert_eq(weir_side_tee_init(&tee, BYTES), 0);
    uint8_t next_in = 0, next_out = 0;
    for (unsigned round = 0; round < 100; round++) {
        uint8_t block[BYTES];
        size_t bytes = 1 + round * 7 % BYTES;
        for (size_t i = 0; i < bytes; i++)
            block[i] = next_in++;
        weir_side_tee_push(&tee, block, bytes);
        weir_buf_reset(&out);
        cr_assert_eq(weir_side_tee_drain(&tee, &out), (int64_t)bytes);
        for (size_t i = 0; i < bytes; i++)
            cr_assert_eq(out.data[i], next_out++);
    }
    cr_assert_eq(weir_side_tee_missed(&tee), 0);
    weir_side_tee_fini(&tee);
    weir_buf_fini(&out);
}
