/* Sample filters: perf's terms, words and grammar, what weir accepts beyond them, and what each term needs. */
#include "engine/events/sample_filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "tests/format/temp_tree.h"

/* ---- refusals ---- */

static const char grammar[] = "TERM ==|!=|>|>=|<|<=|& VALUE; ',' between comparisons means and, '||' means or, and "
                              "binds closer; the terms are: ip pid tid cpu time period uid ... (weir-record(1))";

static const struct {
    const char *text;
    int code;
    const char *what, *hint;
} refusals[] = {
    {"", -EINVAL, "sample filter '': expected a term at column 1", grammar},
    {" ", -EINVAL, "sample filter ' ': expected a term at column 2", grammar},
    {"ip", -EINVAL, "sample filter 'ip': expected an operator at column 3", grammar},
    {"ip = 1", -EINVAL, "sample filter 'ip = 1': expected an operator at column 4", grammar},
    {"ip && 1", -EINVAL, "sample filter 'ip && 1': expected an operator at column 4", grammar},
    {"ip >", -EINVAL, "sample filter 'ip >': expected a value at column 5", grammar},
    {"ip > -1", -EINVAL, "sample filter 'ip > -1': expected a value at column 6", grammar},
    {"ip > 0x", -EINVAL, "sample filter 'ip > 0x': expected a number at column 6", grammar},
    {"ip > 12k", -EINVAL, "sample filter 'ip > 12k': expected a number at column 6", grammar},
    {"ip > 1,", -EINVAL, "sample filter 'ip > 1,': expected a term at column 8", grammar},
    {"ip > 1 ||", -EINVAL, "sample filter 'ip > 1 ||': expected a term at column 10", grammar},
    {"ip > 1 ip < 2", -EINVAL, "sample filter 'ip > 1 ip < 2': expected ',', '&&', '||' or the end at column 8",
     grammar},
    {"(ip > 1)", -EINVAL, "sample filter '(ip > 1)': expected a term at column 1", grammar},
    {"perio > 1", -EINVAL, "sample filter 'perio > 1': unknown term 'perio'", "did you mean 'period'?"},
    {"prev_state == 1", -EINVAL, "sample filter 'prev_state == 1': unknown term 'prev_state'", grammar},
    {"period > load", -EINVAL, "sample filter 'period > load': 'load' is no value of 'period'",
     "it takes a number, such as 100 or 0x64"},
    {"mem_dtlb == hit", -EINVAL, "sample filter 'mem_dtlb == hit': 'hit' is no value of 'mem_dtlb'",
     "its words are na l1_hit l1_miss l2_hit l2_miss any_hit any_miss walk os fault; a number does too"},
    {"time > 18446744073709551616", -ERANGE,
     "sample filter 'time > 18446744073709551616': number '18446744073709551616' is beyond 64 bits", ""},
    {"cgroup > /", -EINVAL, "sample filter 'cgroup > /': cgroup takes '==' or '!=' only", ""},
    {"ip > 1 && cpu == 0 || cpu == 1", -EINVAL,
     "sample filter 'ip > 1 && cpu == 0 || cpu == 1': '&&' and '||' in one filter",
     "write ',' for and: 'A, B || C' means A and (B or C); two --filter mean and, too"},
};

Test(sample_filter, wrong_texts_are_refused_and_leave_the_filter)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        struct weir_sample_filter filter = {.count = 1}, before = filter;
        struct weir_error err = {0};
        cr_expect_eq(weir_sample_filter_parse(&filter, refusals[i].text, NULL, &err), refusals[i].code, "%s",
                     refusals[i].text);
        cr_expect_str_eq(err.what, refusals[i].what, "%s", err.what);
        cr_expect_str_eq(err.hint, refusals[i].hint, "%s", err.hint);
        cr_expect_eq(memcmp(&filter, &before, sizeof(filter)), 0);
    }
}

Test(sample_filter, more_comparisons_than_the_program_takes_are_refused)
{
    struct weir_sample_filter filter = {0};
    for (unsigned i = 0; i < WEIR_SAMPLE_FILTER_MAX; i++)
        cr_assert_eq(weir_sample_filter_parse(&filter, "ip > 1", NULL, NULL), 0);
    struct weir_error err = {0};
    cr_expect_eq(weir_sample_filter_parse(&filter, "ip > 1", NULL, &err), -E2BIG);
    cr_expect_str_eq(err.what, "sample filter 'ip > 1': an event can have at most 64 comparisons");
    cr_expect_eq(filter.count, WEIR_SAMPLE_FILTER_MAX);
}

/* ---- grammar ---- */

/* Writes a filter in a form without freedom: "ip>1 cpu==0|cpu==1". */
static const char *show(const struct weir_sample_filter *filter)
{
    static const char *const signs[] = {"==", "!=", ">", ">=", "<", "<=", "&"};
    static char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < filter->count; i++) {
        const struct weir_sample_comparison *c = &filter->comparisons[i];
        bool last = i + 1 == filter->count;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%llu%s", weir_sample_term_name(c->term),
                                 signs[c->op], c->value,
                                 !c->ends_clause ? "|"
                                 : last          ? ""
                                                 : " ");
    }
    return text;
}

static const struct {
    const char *text, *shown;
} accepted[] = {
    {"ip == 1", "ip==1"},
    {"ip != 1", "ip!=1"},
    {"ip > 1", "ip>1"},
    {"ip >= 1", "ip>=1"},
    {"ip < 1", "ip<1"},
    {"ip <= 1", "ip<=1"},
    {"ip & 1", "ip&1"},
    {"ip < 0xffffffff00000000", "ip<18446744069414584320"},
    {"ip < 0XfFfF", "ip<65535"},
    {"time <= 18446744073709551615", "time<=18446744073709551615"},
    {"cpu == 010", "cpu==10"}, /* as in perf */
    {"period > 1000, ip > 0", "period>1000 ip>0"},
    {"period > 1000 , cpu > 0 || ip > 0", "period>1000 cpu>0|ip>0"},
    {"cpu == 0 || cpu == 1 || cpu == 2,pid == 7", "cpu==0|cpu==1|cpu==2 pid==7"},
    {"period > 1000 && ip < 0x10", "period>1000 ip<16"},
    {"period>1000&&ip<0x10", "period>1000 ip<16"},
    {"\tcpu>=1||cpu&4\n", "cpu>=1|cpu&4"},
};

Test(sample_filter, clauses_are_alternatives_of_which_each_must_hold)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(accepted); i++) {
        struct weir_sample_filter filter = {0};
        struct weir_error err = {0};
        cr_expect_eq(weir_sample_filter_parse(&filter, accepted[i].text, NULL, &err), 0, "%s", err.what);
        cr_expect_str_eq(show(&filter), accepted[i].shown, "%s: %s", accepted[i].text, show(&filter));
    }
}

Test(sample_filter, a_second_text_adds_clauses)
{
    struct weir_sample_filter filter = {0};
    cr_assert_eq(weir_sample_filter_parse(&filter, "ip > 1 || ip < 9", NULL, NULL), 0);
    cr_assert_eq(weir_sample_filter_parse(&filter, "uid == 1000", NULL, NULL), 0);
    cr_expect_str_eq(show(&filter), "ip>1|ip<9 uid==1000", "%s", show(&filter));
}

/* Each term of perf 6.12's lexer, and the name that the term has in messages. */
static const struct {
    const char *name, *shown;
} names[] = {
    {"ip", "ip"},
    {"id", "id"},
    {"tid", "tid"},
    {"pid", "pid"},
    {"cpu", "cpu"},
    {"time", "time"},
    {"addr", "addr"},
    {"period", "period"},
    {"txn", "txn"},
    {"weight", "weight"},
    {"weight1", "weight1"},
    {"weight2", "weight2"},
    {"weight3", "weight3"},
    {"ins_lat", "weight2"},
    {"p_stage_cyc", "weight3"},
    {"retire_lat", "weight3"},
    {"phys_addr", "phys_addr"},
    {"code_pgsz", "code_pgsz"},
    {"data_pgsz", "data_pgsz"},
    {"mem_op", "mem_op"},
    {"mem_lvlnum", "mem_lvlnum"},
    {"mem_lvl", "mem_lvlnum"},
    {"mem_snoop", "mem_snoop"},
    {"mem_remote", "mem_remote"},
    {"mem_lock", "mem_lock"},
    {"mem_dtlb", "mem_dtlb"},
    {"mem_blk", "mem_blk"},
    {"mem_hops", "mem_hops"},
    {"uid", "uid"},
    {"gid", "gid"},
};

Test(sample_filter, all_terms_of_perf_are_known)
{
    bool seen[WEIR_SAMPLE_TERMS] = {[WEIR_SAMPLE_CGROUP] = true};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        char text[64], shown[64];
        struct weir_sample_filter filter = {0};
        snprintf(text, sizeof(text), "%s == 3", names[i].name);
        snprintf(shown, sizeof(shown), "%s==3", names[i].shown);
        cr_expect_eq(weir_sample_filter_parse(&filter, text, NULL, NULL), 0, "%s", text);
        cr_expect_str_eq(show(&filter), shown, "%s: %s", text, show(&filter));
        seen[filter.comparisons[0].term] = true;
    }
    for (unsigned term = 0; term < WEIR_SAMPLE_TERMS; term++)
        cr_expect(seen[term], "term %u has no name", term);
    cr_expect_null(weir_sample_term_name(WEIR_SAMPLE_TERMS));
}

/* Numbers of include/uapi/linux/perf_event.h. */
static const struct {
    const char *text;
    unsigned long long value;
} word_cases[] = {
    {"mem_op == na", 1},        {"mem_op == load", 2},       {"mem_op == store", 4},      {"mem_op == pfetch", 8},
    {"mem_op == exec", 16},     {"mem_lvl == l1", 1},        {"mem_lvl == l2", 2},        {"mem_lvl == l3", 3},
    {"mem_lvlnum == l4", 4},    {"mem_lvl == cxl", 9},       {"mem_lvl == io", 10},       {"mem_lvl == any_cache", 11},
    {"mem_lvl == lfb", 12},     {"mem_lvl == ram", 13},      {"mem_lvl == pmem", 14},     {"mem_snoop == na", 1},
    {"mem_snoop == none", 2},   {"mem_snoop == hit", 4},     {"mem_snoop == miss", 8},    {"mem_snoop == hitm", 16},
    {"mem_snoop == fwd", 32},   {"mem_snoop == peer", 64},   {"mem_remote == remote", 1}, {"mem_lock == na", 1},
    {"mem_lock == locked", 2},  {"mem_dtlb == na", 1},       {"mem_dtlb == l1_hit", 10},  {"mem_dtlb == l1_miss", 12},
    {"mem_dtlb == l2_hit", 18}, {"mem_dtlb == l2_miss", 20}, {"mem_dtlb == any_hit", 2},  {"mem_dtlb == any_miss", 4},
    {"mem_dtlb == walk", 32},   {"mem_dtlb == os", 64},      {"mem_dtlb == fault", 64},   {"mem_blk == na", 1},
    {"mem_blk == by_data", 2},  {"mem_blk == by_addr", 4},   {"mem_hops == hops0", 1},    {"mem_hops == hops1", 2},
    {"mem_hops == hops2", 3},   {"mem_hops == hops3", 4},
};

Test(sample_filter, words_of_memory_terms_are_the_kernels_numbers)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(word_cases); i++) {
        struct weir_sample_filter filter = {0};
        struct weir_error err = {0};
        cr_expect_eq(weir_sample_filter_parse(&filter, word_cases[i].text, NULL, &err), 0, "%s", err.what);
        cr_expect_eq(filter.comparisons[0].value, word_cases[i].value, "%s: %llu", word_cases[i].text,
                     filter.comparisons[0].value);
    }
}

/* ---- cgroups ---- */

Test(sample_filter, cgroups_are_looked_up)
{
    struct temp_tree tree;
    temp_tree_init(&tree);
    char mounts[2 * PATH_MAX], path[PATH_MAX];
    temp_tree_write_text(&tree, "none", "tmpfs /tmp tmpfs rw 0 0\n");
    format_text(mounts, sizeof(mounts), "none %s cgroup2 rw 0 0\n", tree.root);
    temp_tree_write_text(&tree, "mounts", mounts);
    struct weir_sample_filter filter = {0};
    struct weir_error err = {0};

    temp_tree_path(&tree, "none", path);
    cr_expect_eq(weir_sample_filter_parse(&filter, "cgroup == /", path, &err), -ENODEV);
    cr_expect_str_eq(err.what, "sample filter 'cgroup == /': no cgroup hierarchy is mounted");
    temp_tree_path(&tree, "mounts", path);
    cr_expect_eq(weir_sample_filter_parse(&filter, "cgroup == absent", path, &err), -ENOENT);
    cr_expect(strstr(err.what, "cannot find cgroup 'absent' in "), "%s", err.what);
    cr_expect_eq(weir_sample_filter_parse(&filter, "cgroup ==  ", path, &err), -EINVAL);
    cr_expect_eq(filter.count, 0);
    temp_tree_fini(&tree);
}

/* ---- against an attr ---- */

static const struct {
    const char *filter;
    uint64_t sample_type;
    const char *what, *hint; /* NULL: the sample type suffices */
} needs[] = {
    {"addr > 0", PERF_SAMPLE_IP, "event cs has no PERF_SAMPLE_ADDR, which the term 'addr' of its filter needs",
     "weir record -d samples it"},
    {"addr > 0", PERF_SAMPLE_ADDR, NULL, NULL},
    {"ip > 0, code_pgsz > 4096", PERF_SAMPLE_IP,
     "event cs has no PERF_SAMPLE_CODE_PAGE_SIZE, which the term 'code_pgsz' of its filter needs",
     "weir record --code-page-size samples it"},
    {"data_pgsz > 4096", 0,
     "event cs has no PERF_SAMPLE_DATA_PAGE_SIZE, which the term 'data_pgsz' of its filter needs",
     "weir record --data-page-size samples it"},
    {"phys_addr > 1", 0, "event cs has no PERF_SAMPLE_PHYS_ADDR, which the term 'phys_addr' of its filter needs",
     "weir record --phys-data samples it"},
    {"mem_op == load", 0, "event cs has no PERF_SAMPLE_DATA_SRC, which the term 'mem_op' of its filter needs",
     "weir record -d samples it"},
    {"cpu == 1", 0, "event cs has no PERF_SAMPLE_CPU, which the term 'cpu' of its filter needs",
     "weir record --sample-cpu samples it"},
    {"time > 1", 0, "event cs has no PERF_SAMPLE_TIME, which the term 'time' of its filter needs",
     "weir record -T samples it"},
    {"txn > 1", 0, "event cs has no PERF_SAMPLE_TRANSACTION, which the term 'txn' of its filter needs",
     "weir record --transaction samples it"},
    {"ins_lat > 1", PERF_SAMPLE_WEIGHT,
     "event cs has no PERF_SAMPLE_WEIGHT_STRUCT, which the term 'weight2' of its filter needs",
     "weir record -W samples it"},
    {"weight > 1", PERF_SAMPLE_WEIGHT, NULL, NULL},
    {"weight > 1", PERF_SAMPLE_WEIGHT_STRUCT, NULL, NULL}, /* -W on x86: perf 6.12 refuses the term there */
    {"id == 1", PERF_SAMPLE_IDENTIFIER, NULL, NULL},
    {"id == 1", PERF_SAMPLE_ID, NULL, NULL},
    {"uid == 0, gid == 0, period > 1", 0, NULL, NULL},
    {"ip == 0", 0, "event cs has no PERF_SAMPLE_IP, which the term 'ip' of its filter needs", ""},
};

Test(sample_filter, a_term_needs_its_sample_type)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(needs); i++) {
        const struct perf_event_attr attr = {.sample_type = needs[i].sample_type};
        struct weir_sample_filter filter = {0};
        struct weir_error err = {0};
        cr_assert_eq(weir_sample_filter_parse(&filter, needs[i].filter, NULL, NULL), 0);
        cr_expect_eq(weir_sample_filter_check(&filter, "cs", &attr, &err), needs[i].what ? -EINVAL : 0);
        cr_expect_str_eq(err.what, needs[i].what ? needs[i].what : "", "%s", err.what);
        cr_expect_str_eq(err.hint, needs[i].what ? needs[i].hint : "", "%s", err.hint);
    }
}
