/* The words of -j: what perf 6.1 was seen to open for each, but that levels alone keep their meaning. */
#include "engine/events/branch_filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>

#include "base/bits.h"

#define UNTOUCHED 0x5a5aull

Test(branch_filter, what_is_no_word_is_refused_and_nothing_is_set)
{
    static const struct {
        const char *text, *what, *hint;
    } refused[] = {
        {"foo", "unknown branch filter 'foo'", NULL},
        {"", "unknown branch filter ''", NULL},
        {"any,", "unknown branch filter ''", NULL},
        {",any", "unknown branch filter ''", NULL},
        {"any;u", "unknown branch filter 'any;u'", NULL},
        {"any_cal", "unknown branch filter 'any_cal'", "did you mean 'any_call'?"},
        {"u,an_ret,k", "unknown branch filter 'an_ret'", "did you mean 'any_ret'?"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct weir_error err = {0};
        uint64_t filter = UNTOUCHED;
        cr_expect_eq(weir_branch_filter_parse(refused[i].text, &filter, &err), -EINVAL, "%s", refused[i].text);
        cr_expect_str_eq(err.what, refused[i].what);
        cr_expect_neq(err.hint[0], '\0');
        if (refused[i].hint)
            cr_expect_str_eq(err.hint, refused[i].hint);
        cr_expect_eq(filter, UNTOUCHED);
    }
}

Test(branch_filter, words_are_perfs)
{
    static const struct {
        const char *text;
        uint64_t want;
    } texts[] = {
        {"any", PERF_SAMPLE_BRANCH_ANY},
        {"ANY,u", PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER},
        {"u,any_call", PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY_CALL},
        {"any,save_type", PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE},
        {"any,hw_index", PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX},
        {"any,counter", PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_COUNTERS},
        {"call,priv", PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_PRIV_SAVE},
        {"any_ret,k,hv", PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV},
        {"ind_call,ind_jmp,cond", PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_IND_JUMP | PERF_SAMPLE_BRANCH_COND},
        {"abort_tx,in_tx,no_tx", PERF_SAMPLE_BRANCH_ABORT_TX | PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX},
        {"stack,no_flags,no_cycles",
         PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES},
        /* levels alone: any branch there */
        {"u", PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY},
        {"k,u", PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct weir_error err = {0};
        uint64_t filter = UNTOUCHED;
        cr_expect_eq(weir_branch_filter_parse(texts[i].text, &filter, &err), 0, "%s: %s", texts[i].text, err.what);
        cr_expect_eq(filter, texts[i].want, "%s: %#llx", texts[i].text, (unsigned long long)filter);
    }
}
