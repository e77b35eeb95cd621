/*
 * Events by libpfm4's names, on a Skylake (LIBPFM_FORCE_PMU). The attrs are those that perf 6.12, built with libpfm4,
 * was seen to open for the same text; tests/parity/cases/pfm compares the two where such a perf is at hand.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_catalog.h"
#include "engine/events/event_parse.h"
#include "engine/events/pfm.h"

static struct weir_event_list list;
static struct weir_error err;

/* Before libpfm4 starts, which is once in a process; each test is one. */
static void init(void)
{
    setenv("LIBPFM_FORCE_PMU", "skl", 1);
    list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    err = (struct weir_error){0};
}

static void fini(void)
{
    weir_event_list_fini(&list);
}

TestSuite(event_parse_pfm, .init = init, .fini = fini);

static bool is_built(void)
{
    struct perf_event_attr attr = {0};
    return weir_pfm_encode("inst_retired:any_p", &attr, NULL) != -ENOTSUP;
}

#define SKIP_WITHOUT_LIBPFM4() \
    if (!is_built())           \
    cr_skip_test("needs libpfm4: scripts/deps installs it")

Test(event_parse_pfm, build_without_libpfm4_says_so)
{
    if (is_built())
        return;
    cr_expect_eq(weir_event_list_parse_pfm(&list, "inst_retired:any_p", &err), -ENOTSUP);
    cr_expect_str_eq(err.what, "this weir is built without libpfm4");
    cr_expect(strstr(err.hint, "cpu/event=0xNN"));
}

static const struct {
    const char *text;
    int code;
    const char *what;
} refusals[] = {
    {"nosuch", -ENOENT, "libpfm4: event not found ('nosuch' at column 1)"},
    {"inst_retired:any_p,{nosuch}", -ENOENT, "libpfm4: event not found ('nosuch' at column 21)"},
    {"inst_retired:nosuch", -EINVAL, "libpfm4: invalid event attribute ('inst_retired:nosuch' at column 1)"},
    {"inst_retired:any_p,", -EINVAL, "an event expected at column 20"},
    {",", -EINVAL, "an event expected at column 1"},
    {"{}", -EINVAL, "an event expected at column 2"},
    {"{inst_retired:any_p,}", -EINVAL, "an event expected at column 21"},
    {"{inst_retired:any_p", -EINVAL, "',' or '}' expected at column 20, at the end of '{inst_retired:any_p'"},
    {"{inst_retired:any_p,{a}}", -EINVAL, "an event expected at column 21"},
    {"{inst_retired:any_p{", -EINVAL, "',' or '}' expected at column 20, not '{'"},
    {"inst_retired:any_p}", -EINVAL, "',' or the end expected at column 19, not '}'"},
    {"{inst_retired:any_p}:u", -EINVAL, "',' or the end expected at column 21, not ':'"},
};

Test(event_parse_pfm, bad_text_is_refused_with_its_column)
{
    SKIP_WITHOUT_LIBPFM4();
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        int result = weir_event_list_parse_pfm(&list, refusals[i].text, &err);
        cr_expect_eq(result, refusals[i].code, "%s: %d", refusals[i].text, result);
        cr_expect_str_eq(err.what, refusals[i].what);
        cr_expect_eq(list.count, 0, "%s", refusals[i].text);
    }
}

static const struct {
    const char *text;
    uint64_t config;
    bool exclude_user, exclude_kernel;
    unsigned precise_ip;
} events[] = {
    {"inst_retired:any_p", 0xc0, false, false, 0},
    {"mem_load_retired.l3_miss", 0x20d1, false, false, 0},
    {"MEM_LOAD_RETIRED:L3_MISS:u:k", 0x20d1, false, false, 0},
    {"skl::inst_retired:any_p:u", 0xc0, false, true, 0},
    {"inst_retired:any_p:c=1:u:precise=2", 0x10000c0, false, true, 2},
};

Test(event_parse_pfm, event_has_the_attr_that_perf_opens)
{
    SKIP_WITHOUT_LIBPFM4();
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(events); i++) {
        weir_event_list_truncate(&list, 0);
        cr_assert_eq(weir_event_list_parse_pfm(&list, events[i].text, &err), 0, "%s: %s", events[i].text, err.what);
        cr_assert_eq(list.count, 1);
        const struct perf_event_attr *attr = &list.events[0].attr;
        cr_expect_str_eq(list.events[0].name, events[i].text);
        cr_expect_eq(attr->type, PERF_TYPE_RAW);
        cr_expect_eq(attr->config, events[i].config, "%s: %#llx", events[i].text, (unsigned long long)attr->config);
        cr_expect_eq(attr->exclude_user, events[i].exclude_user);
        cr_expect_eq(attr->exclude_kernel, events[i].exclude_kernel);
        cr_expect_eq(attr->precise_ip, events[i].precise_ip);
        cr_expect_eq(attr->exclude_guest, 1);
        cr_expect_eq(list.events[0].modifiers_given, events[i].exclude_user || events[i].exclude_kernel);
    }
}

Test(event_parse_pfm, period_and_frequency_are_terms)
{
    SKIP_WITHOUT_LIBPFM4();
    cr_assert_eq(weir_event_list_parse_pfm(&list, "inst_retired:any_p:period=77,inst_retired:any_p:freq=99", &err), 0);
    cr_expect_eq(list.events[0].terms.given, WEIR_TERM_PERIOD);
    cr_expect_eq(list.events[0].terms.period, 77);
    cr_expect_eq(list.events[1].terms.given, WEIR_TERM_FREQ);
    cr_expect_eq(list.events[1].terms.freq_hz, 99);
    cr_expect(!list.events[1].attr.freq && list.events[1].attr.sample_freq == 0);
}

Test(event_parse_pfm, braces_make_groups)
{
    SKIP_WITHOUT_LIBPFM4();
    static const size_t leaders[] = {0, 1, 1, 3, 3};
    cr_assert_eq(weir_event_list_parse_pfm(&list,
                                           "instruction_retired,{inst_retired:any_p,mem_load_retired:l3_hit},"
                                           "{inst_retired:any_p,instruction_retired}",
                                           &err),
                 0, "%s", err.what);
    cr_assert_eq(list.count, WEIR_ARRAY_COUNT(leaders));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(leaders); i++)
        cr_expect_eq(list.events[i].leader, leaders[i], "%zu", i);
}

Test(event_parse_pfm, unknown_word_of_an_event_list_is_looked_up)
{
    SKIP_WITHOUT_LIBPFM4();
    cr_assert_eq(
        weir_event_list_parse(&list, "cpu-clock,{inst_retired.any_p,mem_load_retired.l3_miss:pp}:u", NULL, &err), 0,
        "%s", err.what);
    cr_assert_eq(list.count, 3);
    cr_expect_str_eq(list.events[1].name, "inst_retired.any_p");
    cr_expect_eq(list.events[1].attr.config, 0xc0);
    cr_expect_str_eq(list.events[2].name, "mem_load_retired.l3_miss:pp");
    cr_expect_eq(list.events[2].attr.config, 0x20d1);
    cr_expect_eq(list.events[2].attr.precise_ip, 2);
    cr_expect(list.events[2].attr.exclude_kernel && list.events[2].leader == 1);
}

Test(event_parse_pfm, misspelt_word_gets_the_nearest_name)
{
    SKIP_WITHOUT_LIBPFM4();
    cr_expect_eq(weir_event_list_parse(&list, "inst_retired.any", NULL, &err), -ENOENT);
    cr_expect_str_eq(err.what, "unknown event 'inst_retired.any' at column 1");
    cr_expect_str_eq(err.hint, "did you mean 'inst_retired.any_p'?");
    cr_expect_eq(weir_event_list_parse_pfm(&list, "mem_load_retired:l3_mis", &err), -EINVAL);
    cr_expect_str_eq(err.hint, "did you mean 'mem_load_retired.l3_miss'?");
}

Test(event_parse_pfm, cpu_that_libpfm4_does_not_know_is_said)
{
    SKIP_WITHOUT_LIBPFM4();
    cr_expect(weir_pfm_knows_cpu());
    cr_expect(strstr(weir_pfm_hint(), "'weir list pfm'"));
}

/* In a process of its own: libpfm4 has started in none before. */
Test(event_parse_pfm, cpu_of_another_kind_has_no_such_event)
{
    setenv("LIBPFM_FORCE_PMU", "nosuch", 1);
    SKIP_WITHOUT_LIBPFM4();
    cr_expect(!weir_pfm_knows_cpu());
    cr_expect_eq(weir_event_list_parse_pfm(&list, "inst_retired:any_p", &err), -ENOENT);
    cr_expect(strstr(err.hint, "libpfm4 does not know this CPU"), "%s", err.hint);
    cr_expect_eq(weir_event_list_parse(&list, "nosuchevent.whatever", NULL, &err), -ENOENT);
    cr_expect(strstr(err.hint, "libpfm4 does not know this CPU"), "%s", err.hint);
}

static int find_entry(void *ctx, const struct weir_catalog_entry *entry)
{
    bool *found = ctx;
    *found |= strcmp(entry->name, "mem_load_retired.l3_miss") == 0 &&
              strcmp(entry->other, "skl::MEM_LOAD_RETIRED:L3_MISS") == 0 && entry->description;
    return 0;
}

Test(event_parse_pfm, catalog_has_both_names)
{
    SKIP_WITHOUT_LIBPFM4();
    bool found = false;
    const struct weir_catalog_setup setup = {.kernel = &weir_kernel_linux, .sections = WEIR_CATALOG_PFM};
    cr_expect_eq(weir_catalog_visit(&setup, find_entry, &found, &err), 0);
    cr_expect(found);
}
