/* The table of remedies: whole commands, with and without a value. */
#include "base/remedy.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(remedy, every_one_says_something_that_fits)
{
    for (int remedy = 0; remedy < WEIR_REMEDY_COUNT; remedy++) {
        char text[WEIR_REMEDY_BYTES];
        cr_expect_str_neq(weir_remedy((enum weir_remedy)remedy, INT64_MIN, text), "");
        cr_expect_lt(strlen(text), WEIR_REMEDY_BYTES - 1, "cut: %s", text);
    }
}

Test(remedy, value_stands_at_the_end)
{
    char text[WEIR_REMEDY_BYTES];
    cr_expect_str_eq(weir_remedy(WEIR_REMEDY_PARANOID, -1, text), "sudo sysctl kernel.perf_event_paranoid=-1");
    cr_expect_str_eq(weir_remedy(WEIR_REMEDY_NOFILE, 70000, text), "ulimit -n 70000");
    cr_expect_str_eq(weir_remedy(WEIR_REMEDY_MEMLOCK, 7, text), "sudo prlimit --pid $$ --memlock=unlimited");
}
