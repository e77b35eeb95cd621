/* How the joining of call chains is told. */
#include "format/joined_sum.h"

#include <criterion/criterion.h>

static void expect_text(const struct weir_joined_sum *sum, const char *text)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_joined_append_text(sum, &out);
    cr_expect_str_eq(weir_buf_str(&out), text);
    weir_buf_fini(&out);
}

Test(joined_sum, each_cause_of_a_missing_part_is_told)
{
    const struct weir_joined_sum sum = {10, 4, 3, 2, 1, 9, 2};
    cr_expect_eq(weir_joined_without(&sum), 6);
    expect_text(&sum, "4 of 10 deferred call chains have their user part; of the others, 3 came too late or were "
                      "lost, 2 could not be read by the kernel, 1 had no room");
}

Test(joined_sum, whole_chains_have_no_cause)
{
    expect_text(&(struct weir_joined_sum){.samples = 7, .joined = 7, .records = 7},
                "7 of 7 deferred call chains have their user part");
}

Test(joined_sum, json_has_every_count)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_joined_append_json(&(struct weir_joined_sum){10, 4, 3, 2, 1, 9, 2}, &out);
    cr_expect_str_eq(weir_buf_str(&out), "{\"samples\":10,\"joined\":4,\"apart\":3,\"unreadable\":2,\"no_room\":1,"
                                         "\"records\":9,\"unused\":2}");
    weir_buf_fini(&out);
}
