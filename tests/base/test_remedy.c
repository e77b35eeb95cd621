/* The table of remedies: whole commands, with and without a value. */
#include "base/remedy.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

Test(remedy, every_one_says_something_that_fits)
{
    for (int remedy = 0; remedy < WEIR_REMEDY_COUNT; remedy++) {
        char text[WEIR_REMEDY_BYTES];
        bool has_object = remedy == WEIR_REMEDY_TRACEFS_MODE || remedy == WEIR_REMEDY_MEMORY_CGROUP;
        cr_expect_str_neq(has_object ? weir_remedy_on((enum weir_remedy)remedy, INT64_MIN, "/a/b", text)
                                     : weir_remedy((enum weir_remedy)remedy, INT64_MIN, text),
                          "");
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

Test(remedy, object_stands_where_the_command_wants_it)
{
    char text[WEIR_REMEDY_BYTES], longest[2 * WEIR_REMEDY_BYTES];
    cr_expect_str_eq(weir_remedy_on(WEIR_REMEDY_TRACEFS_MODE, 0, "/t", text), "sudo mount -o remount,mode=755 /t");
    cr_expect_str_eq(weir_remedy_on(WEIR_REMEDY_MEMORY_CGROUP, 4096, "/c/memory.max", text),
                     "sudo sh -c 'echo 4096 >/c/memory.max'");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    cr_expect_eq(strlen(weir_remedy_on(WEIR_REMEDY_TRACEFS_MODE, 0, longest, text)), WEIR_REMEDY_BYTES - 1);
}

/* kallsyms_show_value(), kernel/kallsyms.c: all four causes, and what each of them takes. */
Test(remedy, hidden_kernel_may_take_two_knobs)
{
    static const struct {
        int kptr_restrict, paranoid;
        bool cap_syslog;
        const char *command;
    } rows[] = {
        {1, 1, false, "sudo sysctl kernel.kptr_restrict=0"},
        {0, 2, false, "sudo sysctl kernel.perf_event_paranoid=1"},
        {2, 4, false, "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1"},
        {2, 4, true, "sudo sysctl kernel.kptr_restrict=0"},
    };
    char text[WEIR_REMEDY_BYTES];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cr_expect_str_eq(weir_remedy_hidden_kernel(rows[i].kptr_restrict, rows[i].paranoid, rows[i].cap_syslog, text),
                         rows[i].command);
}
