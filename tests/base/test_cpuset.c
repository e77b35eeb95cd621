/* CPU sets: the list grammar with the column of each error, sizes beyond cpu_set_t, set algebra, formatting. */
#include "base/cpuset.h"

#include "base/bits.h"
#include "tests/base/failing_alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct weir_cpuset parsed(const char *list)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_parse(&set, list, NULL), 0, "'%s'", list);
    return set;
}

/* The set must have that list form. */
static void expect_list(const struct weir_cpuset *set, const char *list)
{
    char text[256];
    cr_expect_eq(weir_cpuset_format(set, text, sizeof(text)), strlen(list));
    cr_expect_str_eq(text, list);
}

Test(cpuset, bad_lists_are_refused_at_the_offending_column)
{
    const struct {
        const char *list, *what;
    } cases[] = {
        {"x", "bad CPU list 'x' at column 1"},
        {"-1", "bad CPU list '-1' at column 1"},
        {",1", "bad CPU list ',1' at column 1"},
        {"1,", "bad CPU list '1,' at column 3"},
        {"1,,2", "bad CPU list '1,,2' at column 3"},
        {"1-", "bad CPU list '1-' at column 3"},
        {"1-x", "bad CPU list '1-x' at column 3"},
        {"1--2", "bad CPU list '1--2' at column 3"},
        {"1-2-3", "bad CPU list '1-2-3' at column 4"},
        {"0-3x", "bad CPU list '0-3x' at column 4"},
        {"0x10", "bad CPU list '0x10' at column 2"},
        {"+1", "bad CPU list '+1' at column 1"},
        {"1, 2", "bad CPU list '1, 2' at column 3"},
        {"1 ,2", "bad CPU list '1 ,2' at column 2"},
        {"1 2", "bad CPU list '1 2' at column 2"},
        {"0-7:1/2", "bad CPU list '0-7:1/2' at column 4"},
        {"8,3-1", "bad CPU list '8,3-1' at column 5"},
        {"0,65536", "bad CPU list '0,65536' at column 3"},
        {"0-65536", "bad CPU list '0-65536' at column 3"},
        {"99999999999999999999999", "bad CPU list '99999999999999999999999' at column 1"},
        {" \t1,?\n", "bad CPU list '1,?' at column 3"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_cpuset set = parsed("5");
        struct weir_error err = {0};
        cr_expect_eq(weir_cpuset_parse(&set, cases[i].list, &err), -EINVAL, "'%s'", cases[i].list);
        cr_expect_eq(err.code, -EINVAL);
        cr_expect_str_eq(err.what, cases[i].what);
        expect_list(&set, "5");
        weir_cpuset_fini(&set);
    }
}

Test(cpuset, parse_without_memory_blames_memory_and_changes_nothing)
{
    struct weir_cpuset set = parsed("5");
    struct weir_error err = {0};
    failing_alloc_after(1);
    cr_expect_eq(weir_cpuset_parse(&set, "1,64", &err), -ENOMEM);
    cr_expect_str_eq(err.what, "cannot parse CPU list: Cannot allocate memory");
    expect_list(&set, "5");
    weir_cpuset_fini(&set);
}

Test(cpuset, add_refuses_what_is_beyond_the_limit)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_expect_eq(weir_cpuset_add(&set, WEIR_CPU_LIMIT), -EINVAL);
    cr_expect_eq(weir_cpuset_add(&set, UINT32_MAX), -EINVAL);
    cr_expect_null(set.words);
    cr_expect_eq(weir_cpuset_add(&set, WEIR_CPU_LIMIT - 1), 0);
    cr_expect_eq(weir_cpuset_count(&set), 1);
    expect_list(&set, "65535");
    weir_cpuset_fini(&set);
}

Test(cpuset, add_without_memory_leaves_the_set_as_it_was)
{
    struct weir_cpuset set = parsed("3");
    failing_alloc_after(0);
    cr_expect_eq(weir_cpuset_add(&set, 64), -ENOMEM);
    expect_list(&set, "3");
    weir_cpuset_fini(&set);
}

Test(cpuset, algebra_without_memory_leaves_the_destination_as_it_was)
{
    struct weir_cpuset a = parsed("0-3"), b = parsed("2-5"), dst = parsed("9");
    failing_alloc_after(0);
    cr_expect_eq(weir_cpuset_and(&dst, &a, &b), -ENOMEM);
    failing_alloc_after(0);
    cr_expect_eq(weir_cpuset_or(&a, &a, &b), -ENOMEM);
    failing_alloc_after(0);
    cr_expect_eq(weir_cpuset_without(&dst, &a, &b), -ENOMEM);
    failing_alloc_after(0);
    cr_expect_eq(weir_cpuset_copy(&dst, &a), -ENOMEM);
    expect_list(&dst, "9");
    expect_list(&a, "0-3");
    weir_cpuset_fini(&a);
    weir_cpuset_fini(&b);
    weir_cpuset_fini(&dst);
}

Test(cpuset, empty_set_holds_nothing)
{
    struct weir_cpuset empty = WEIR_CPUSET_INIT, cleared = parsed("70");
    weir_cpuset_remove(&cleared, 70);
    weir_cpuset_remove(&empty, 70);
    cr_expect(weir_cpuset_is_empty(&empty));
    cr_expect(weir_cpuset_is_empty(&cleared));
    cr_expect(weir_cpuset_equal(&empty, &cleared));
    cr_expect_eq(weir_cpuset_count(&cleared), 0);
    cr_expect_eq(weir_cpuset_next(&cleared, 0), -1);
    cr_expect_not(weir_cpuset_has(&empty, 0));
    cr_expect_not(weir_cpuset_intersects(&cleared, &cleared));
    cr_expect(weir_cpuset_is_subset(&empty, &cleared));
    expect_list(&empty, "");
    weir_cpuset_fini(&cleared);
    weir_cpuset_fini(&cleared);
    weir_cpuset_fini(NULL);
}

Test(cpuset, blank_lists_are_the_empty_set)
{
    const char *const blank[] = {"", "\n", " \t\r\n"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(blank); i++) {
        struct weir_cpuset set = parsed("5");
        cr_expect_eq(weir_cpuset_parse(&set, blank[i], NULL), 0);
        cr_expect(weir_cpuset_is_empty(&set));
        weir_cpuset_fini(&set);
    }
}

Test(cpuset, good_lists_are_normalised)
{
    const struct {
        const char *list, *normal;
        unsigned count;
    } cases[] = {
        {"0", "0", 1},           {"0-3,8,10-11\n", "0-3,8,10-11", 7},
        {"3-3", "3", 1},         {"7,5,6", "5-7", 3},
        {"0-5,3-8", "0-8", 9},   {"007", "7", 1},
        {" 63-64 ", "63-64", 2}, {"0-65535", "0-65535", 65536},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_cpuset set = parsed(cases[i].list);
        cr_expect_eq(weir_cpuset_count(&set), cases[i].count, "'%s'", cases[i].list);
        expect_list(&set, cases[i].normal);
        weir_cpuset_fini(&set);
    }
}

Test(cpuset, numbers_beyond_cpu_set_t_are_kept)
{
    struct weir_cpuset set = parsed("1023-1025,4096,65535");
    cr_expect_eq(weir_cpuset_count(&set), 5);
    cr_expect(weir_cpuset_has(&set, 1024));
    cr_expect(weir_cpuset_has(&set, 65535));
    cr_expect_not(weir_cpuset_has(&set, 1026));
    cr_expect_not(weir_cpuset_has(&set, 65536));
    cr_expect_not(weir_cpuset_has(&set, UINT32_MAX));
    cr_expect_eq(weir_cpuset_next(&set, 1026), 4096);
    cr_expect_eq(weir_cpuset_next(&set, 4097), 65535);
    cr_expect_eq(weir_cpuset_next(&set, 65536), -1);
    weir_cpuset_fini(&set);
}

Test(cpuset, foreach_visits_each_member_once_in_order)
{
    struct weir_cpuset set = parsed("0,63-64,1100");
    const int expected[] = {0, 63, 64, 1100};
    size_t visits = 0;
    WEIR_CPUSET_FOREACH(cpu, &set) {
        cr_assert_lt(visits, WEIR_ARRAY_COUNT(expected));
        cr_expect_eq(cpu, expected[visits]);
        visits++;
    }
    cr_expect_eq(visits, WEIR_ARRAY_COUNT(expected));
    weir_cpuset_fini(&set);
}

Test(cpuset, algebra_over_sets_of_different_sizes)
{
    struct weir_cpuset small = parsed("0-3"), large = parsed("2-5,2000"), dst = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_and(&dst, &small, &large), 0);
    expect_list(&dst, "2-3");
    cr_assert_eq(weir_cpuset_or(&dst, &small, &large), 0);
    expect_list(&dst, "0-5,2000");
    cr_assert_eq(weir_cpuset_without(&dst, &small, &large), 0);
    expect_list(&dst, "0-1");
    cr_assert_eq(weir_cpuset_without(&dst, &large, &small), 0);
    expect_list(&dst, "4-5,2000");
    cr_assert_eq(weir_cpuset_copy(&dst, &large), 0);
    expect_list(&dst, "2-5,2000");
    weir_cpuset_fini(&small);
    weir_cpuset_fini(&large);
    weir_cpuset_fini(&dst);
}

Test(cpuset, destination_may_be_an_operand)
{
    struct weir_cpuset a = parsed("0-3"), b = parsed("2-5,2000");
    cr_assert_eq(weir_cpuset_or(&a, &a, &b), 0);
    expect_list(&a, "0-5,2000");
    cr_assert_eq(weir_cpuset_without(&b, &a, &b), 0);
    expect_list(&b, "0-1");
    cr_assert_eq(weir_cpuset_copy(&a, &a), 0);
    expect_list(&a, "0-5,2000");
    cr_assert_eq(weir_cpuset_without(&a, &a, &a), 0);
    cr_expect(weir_cpuset_is_empty(&a));
    weir_cpuset_fini(&a);
    weir_cpuset_fini(&b);
}

Test(cpuset, comparison_does_not_depend_on_allocated_size)
{
    struct weir_cpuset small = parsed("1,3"), shrunk = parsed("1,3,500"), other = parsed("500");
    cr_expect_not(weir_cpuset_equal(&small, &shrunk));
    cr_expect(weir_cpuset_is_subset(&small, &shrunk));
    cr_expect_not(weir_cpuset_is_subset(&shrunk, &small));
    cr_expect(weir_cpuset_intersects(&other, &shrunk));
    cr_expect_not(weir_cpuset_intersects(&other, &small));
    cr_expect_not(weir_cpuset_intersects(&small, &other));
    weir_cpuset_remove(&shrunk, 500);
    cr_expect(weir_cpuset_equal(&small, &shrunk));
    cr_expect(weir_cpuset_equal(&shrunk, &small));
    weir_cpuset_fini(&small);
    weir_cpuset_fini(&shrunk);
    weir_cpuset_fini(&other);
}

Test(cpuset, format_is_cut_at_any_size_and_tells_the_whole_length)
{
    static const char whole[] = "0-3,8,1000-1001";
    struct weir_cpuset set = parsed(whole);
    cr_expect_eq(weir_cpuset_format(&set, NULL, 0), strlen(whole));
    for (size_t bytes = 1; bytes <= sizeof(whole) + 1; bytes++) {
        char text[sizeof(whole) + 2], expected[sizeof(text)];
        memset(text, '#', sizeof(text));
        cr_expect_eq(weir_cpuset_format(&set, text, bytes), strlen(whole));
        snprintf(expected, bytes, "%s", whole);
        cr_expect_str_eq(text, expected);
        if (bytes < sizeof(text))
            cr_expect_eq(text[bytes], '#', "byte behind %zu touched", bytes);
    }
    weir_cpuset_fini(&set);
}
