/* Threads onto CPUs: against the running kernel, and against one that refuses. */
#include "topology/thread_affinity.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>

#include "tests/io/refuse_call.h"

static struct weir_cpuset current_affinity(void)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_thread_affinity(&set), 0);
    return set;
}

Test(thread_affinity, pinning_to_a_cpu_that_does_not_exist_is_refused_and_keeps_the_affinity)
{
    struct weir_cpuset before = current_affinity(), absent = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_add(&absent, WEIR_CPU_LIMIT - 1), 0);
    cr_expect_eq(weir_thread_pin(&absent), -EINVAL);
    struct weir_cpuset after = current_affinity();
    cr_expect(weir_cpuset_equal(&before, &after));
    weir_cpuset_fini(&before);
    weir_cpuset_fini(&absent);
    weir_cpuset_fini(&after);
}

Test(thread_affinity, pinning_to_no_cpu_keeps_the_affinity)
{
    struct weir_cpuset before = current_affinity(), none = WEIR_CPUSET_INIT;
    cr_expect_eq(weir_thread_pin(&none), 0);
    struct weir_cpuset after = current_affinity();
    cr_expect(weir_cpuset_equal(&before, &after));
    weir_cpuset_fini(&before);
    weir_cpuset_fini(&after);
}

Test(thread_affinity, pinned_thread_runs_there_and_is_told_so)
{
    struct weir_cpuset before = current_affinity();
    WEIR_CPUSET_FOREACH(cpu, &before) {
        struct weir_cpuset one = WEIR_CPUSET_INIT;
        cr_assert_eq(weir_cpuset_add(&one, (unsigned)cpu), 0);
        cr_assert_eq(weir_thread_pin(&one), 0);
        struct weir_cpuset after = current_affinity();
        cr_expect(weir_cpuset_equal(&after, &one));
        cr_expect_eq(sched_getcpu(), cpu);
        weir_cpuset_fini(&one);
        weir_cpuset_fini(&after);
    }
    weir_cpuset_fini(&before);
}

Test(thread_affinity, cpus_that_do_not_exist_are_left_out_of_a_pin)
{
    struct weir_cpuset before = current_affinity(), wish = WEIR_CPUSET_INIT;
    int cpu = weir_cpuset_next(&before, 0);
    cr_assert_eq(weir_cpuset_add(&wish, (unsigned)cpu), 0);
    cr_assert_eq(weir_cpuset_add(&wish, WEIR_CPU_LIMIT - 1), 0);
    cr_expect_eq(weir_thread_pin(&wish), 0);
    struct weir_cpuset after = current_affinity();
    cr_expect_eq(weir_cpuset_count(&after), 1);
    cr_expect(weir_cpuset_has(&after, (unsigned)cpu));
    weir_cpuset_fini(&before);
    weir_cpuset_fini(&wish);
    weir_cpuset_fini(&after);
}

Test(thread_affinity, refused_affinity_calls_are_passed_on)
{
    refuse_call(SYS_sched_setaffinity, EPERM);
    refuse_call(SYS_sched_getaffinity, ENOSYS);
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_add(&set, 0), 0);
    cr_expect_eq(weir_thread_pin(&set), -EPERM);
    cr_expect_eq(weir_thread_affinity(&set), -ENOSYS);
    cr_expect_eq(weir_cpuset_count(&set), 1); /* unchanged */
    weir_cpuset_fini(&set);
}

/* What a kernel of more CPUs than the first try has room for answers. */
Test(thread_affinity, mask_that_never_suffices_ends_the_search)
{
    refuse_call(SYS_sched_getaffinity, EINVAL);
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_expect_eq(weir_thread_affinity(&set), -EINVAL);
    cr_expect_null(set.words);
}

Test(thread_affinity, mask_longer_than_cpu_set_t_is_asked_for)
{
    refuse_call_with(SYS_sched_getaffinity, 1, CPU_SETSIZE / 8, EINVAL);
    struct weir_cpuset set = current_affinity();
    cr_expect_eq(set.word_count, 2 * CPU_SETSIZE / 64);
    cr_expect_not(weir_cpuset_is_empty(&set));
    cr_expect_not(weir_cpuset_has(&set, 2 * CPU_SETSIZE - 1));
    weir_cpuset_fini(&set);
}
