/* --control's argument. */
#include "engine/plan/control_spec.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"

Test(control_spec, argument_that_names_nothing_is_refused)
{
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"", "it takes fd:CTL[,ACK] or fifo:CTL[,ACK], not ''"},
        {"3", "it takes fd:CTL[,ACK] or fifo:CTL[,ACK], not '3'"},
        {"fd:", "'' in --control is not the number of a descriptor"},
        {"fd:x", "'x' in --control is not the number of a descriptor"},
        {"fd:-1", "'-1' in --control is not the number of a descriptor"},
        {"fd:3,", "'' in --control is not the number of a descriptor"},
        {"fd:3,4,5", "'4,5' in --control is not the number of a descriptor"},
        {"fd:3 ", "'3 ' in --control is not the number of a descriptor"},
        {"fd:2147483648", "'2147483648' in --control is not the number of a descriptor"},
        {"fd:99999999999999999999", "'99999999999999999999' in --control is not the number of a descriptor"},
        {"fifo:", "--control fifo: names no fifo"},
        {"fifo:,ack", "--control fifo: names no fifo"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_control_spec spec = WEIR_CONTROL_SPEC_INIT;
        struct weir_error err;
        cr_expect_eq(weir_control_spec_parse(&spec, cases[i].text, &err), -EINVAL, "'%s'", cases[i].text);
        cr_expect_str_eq(err.what, cases[i].what);
        cr_expect_not(spec.given);
    }
}

Test(control_spec, no_memory_for_names_is_told)
{
    for (unsigned successes = 0; successes < 2; successes++) {
        struct weir_control_spec spec = WEIR_CONTROL_SPEC_INIT;
        failing_alloc_after(successes);
        cr_assert_eq(weir_control_spec_parse(&spec, "fifo:a,b", NULL), -ENOMEM);
        failing_alloc_never();
        cr_assert_not(spec.given);
    }
}

Test(control_spec, arguments_are_understood)
{
    struct weir_control_spec spec = WEIR_CONTROL_SPEC_INIT;
    cr_assert_eq(weir_control_spec_parse(&spec, "fd:0x10,07", NULL), 0);
    cr_assert(spec.given);
    cr_assert_eq(spec.ctl_fd, 16);
    cr_assert_eq(spec.ack_fd, 7);
    cr_assert_eq(weir_control_spec_parse(&spec, "fd:0", NULL), 0);
    cr_assert_eq(spec.ctl_fd, 0);
    cr_assert_eq(spec.ack_fd, -1);
    cr_assert_eq(weir_control_spec_parse(&spec, "fifo:a b,c,d", NULL), 0);
    cr_assert_str_eq(spec.ctl_path, "a b");
    cr_assert_str_eq(spec.ack_path, "c,d");
    cr_assert_eq(weir_control_spec_parse(&spec, "fifo:a,", NULL), 0);
    cr_assert_str_eq(spec.ctl_path, "a");
    cr_assert_null(spec.ack_path);
    weir_control_spec_fini(&spec);
    weir_control_spec_fini(&spec);
    weir_control_spec_fini(NULL);
}
