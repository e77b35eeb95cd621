/* The grammar of --threads: what is refused, with which words and at which column, and what is taken. */
#include "topology/plan_internal.h"

#include "base/bits.h"
#include "topology/plan.h"

#include <criterion/criterion.h>
#include <errno.h>

#define MASKS_HINT "masks are <cpus>/<affinity>[:<cpus>/<affinity>]..., for example 0-3/0-3:4-7/4-7"
#define LIST_HINT  "a CPU list is like 0-3,8: ranges ascend, numbers are below 65536"

Test(plan_spec, bad_argument_is_refused_with_words_and_column)
{
    static const struct {
        const char *spec, *what, *hint;
    } cases[] = {
        {"bogus", "--threads=bogus: unknown layout",
         "layouts are cpu, core, package, numa, or masks <cpus>/<affinity>:..."},
        {"packge", "--threads=packge: unknown layout", "did you mean --threads=package?"},
        {"cores", "--threads=cores: unknown layout", "did you mean --threads=core?"},
        {"0", "--threads=0: '/' missing at column 2", MASKS_HINT},
        {"0-3/0-3:4-7", "--threads=0-3/0-3:4-7: '/' missing at column 12", MASKS_HINT},
        {"/0", "--threads=/0: CPUs to drain missing at column 1", MASKS_HINT},
        {"0/", "--threads=0/: CPUs to run on missing at column 3", MASKS_HINT},
        {"0/:1/1", "--threads=0/:1/1: CPUs to run on missing at column 3", MASKS_HINT},
        {":0/0", "--threads=:0/0: empty mask at column 1", MASKS_HINT},
        {"0/0:", "--threads=0/0:: empty mask at column 5", MASKS_HINT},
        {"0/0::1/1", "--threads=0/0::1/1: empty mask at column 5", MASKS_HINT},
        {"0/0/0", "--threads=0/0/0: unexpected '/' at column 4", MASKS_HINT},
        {"0/x", "--threads=0/x: unexpected 'x' at column 3", MASKS_HINT},
        {" 0/0", "--threads= 0/0: unexpected ' ' at column 1", MASKS_HINT},
        {"0/0 :1/1", "--threads=0/0 :1/1: unexpected ' ' at column 4", MASKS_HINT},
        {"0/0:1/numa", "--threads=0/0:1/numa: unexpected 'n' at column 7", MASKS_HINT},
        {"1/5-4", "--threads=1/5-4: bad CPU list '5-4' at column 3 of the list that begins at column 3", LIST_HINT},
        {"0,,1/0", "--threads=0,,1/0: bad CPU list '0,,1' at column 3 of the list that begins at column 1", LIST_HINT},
        {"65536/0", "--threads=65536/0: bad CPU list '65536' at column 1 of the list that begins at column 1",
         LIST_HINT},
        {"0-3/0:2/1", "--threads=0-3/0:2/1: CPU 2 is drained twice, again by the mask at column 7",
         "each CPU to record belongs into one mask; affinities may overlap"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_error err = {0};
        cr_expect_eq(weir_plan_check_spec(cases[i].spec, &err), -EINVAL, "%s", cases[i].spec);
        cr_expect_eq(err.code, -EINVAL);
        cr_expect_str_eq(err.what, cases[i].what);
        cr_expect_str_eq(err.hint, cases[i].hint);
    }
}

Test(plan_spec, error_may_be_dropped)
{
    cr_expect_eq(weir_plan_check_spec("0/0:", NULL), -EINVAL);
    cr_expect_eq(weir_plan_check_spec("bogus", NULL), -EINVAL);
    cr_expect_eq(weir_plan_check_spec("3-1/0", NULL), -EINVAL);
}

Test(plan_spec, output_is_untouched_on_failure)
{
    struct weir_plan_spec spec = {.layout = WEIR_PLAN_LAYOUT_NUMA, .mask_count = 0};
    cr_expect_eq(weir_plan_spec_parse(&spec, "0/0:1/1:", NULL), -EINVAL);
    cr_expect_eq(spec.layout, WEIR_PLAN_LAYOUT_NUMA);
    cr_expect_null(spec.masks);
    weir_plan_spec_fini(NULL);
}

Test(plan_spec, layouts_are_words_in_any_case)
{
    static const struct {
        const char *text;
        enum weir_plan_layout layout;
    } cases[] = {
        {NULL, WEIR_PLAN_LAYOUT_CPU},    {"", WEIR_PLAN_LAYOUT_CPU},      {"cpu", WEIR_PLAN_LAYOUT_CPU},
        {"core", WEIR_PLAN_LAYOUT_CORE}, {"numa", WEIR_PLAN_LAYOUT_NUMA}, {"package", WEIR_PLAN_LAYOUT_PACKAGE},
        {"CPU", WEIR_PLAN_LAYOUT_CPU},   {"Numa", WEIR_PLAN_LAYOUT_NUMA},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_plan_spec spec;
        cr_assert_eq(weir_plan_spec_parse(&spec, cases[i].text, NULL), 0);
        cr_expect_eq(spec.layout, cases[i].layout);
        cr_expect_eq(spec.mask_count, 0);
        weir_plan_spec_fini(&spec);
    }
}

static void expect_list(const struct weir_cpuset *set, const char *list)
{
    char text[64];
    weir_cpuset_format(set, text, sizeof(text));
    cr_expect_str_eq(text, list);
}

/* The example of perf-record(1). */
Test(plan_spec, masks_are_kept_as_written)
{
    struct weir_plan_spec spec;
    cr_assert_eq(weir_plan_spec_parse(&spec, "0,2-4/2-4:1,5-7/5-7", NULL), 0);
    cr_expect_eq(spec.layout, WEIR_PLAN_LAYOUT_MASKS);
    cr_assert_eq(spec.mask_count, 2);
    expect_list(&spec.masks[0].cpus, "0,2-4");
    expect_list(&spec.masks[0].affinity, "2-4");
    cr_expect_eq(spec.masks[0].column, 1);
    expect_list(&spec.masks[1].cpus, "1,5-7");
    expect_list(&spec.masks[1].affinity, "5-7");
    cr_expect_eq(spec.masks[1].column, 11);
    weir_plan_spec_fini(&spec);
}

Test(plan_spec, affinities_may_overlap)
{
    cr_expect_eq(weir_plan_check_spec("0-3/0:4-7/0", NULL), 0);
}
