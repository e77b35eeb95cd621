/*
 * The comparisons of the BPF program of sample filters, as C of this machine: no test machine has events that fill in
 * weights and sources of data. The kernel's functions are not called.
 */
#include "engine/bpf/sample_filter_compare.h"

#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/sample_filter.h"

static bool sample_passes(const char *text, const struct perf_sample_data *sample)
{
    struct weir_sample_filter filter = {0};
    struct weir_error err = {0};
    struct perf_sample_data copy = *sample;
    cr_assert_eq(weir_sample_filter_parse(&filter, text, NULL, &err), 0, "%s", err.what);
    return passes(&filter, &copy, 77);
}

/* A load that hit the third level, with each part of the source another number. */
static struct perf_sample_data make_load(void)
{
    const union perf_mem_data_src source = {
        .mem_op = PERF_MEM_OP_LOAD,
        .mem_snoop = PERF_MEM_SNOOP_HITM,
        .mem_lock = PERF_MEM_LOCK_LOCKED,
        .mem_dtlb = PERF_MEM_TLB_L2 | PERF_MEM_TLB_HIT,
        .mem_lvl_num = PERF_MEM_LVLNUM_L3,
        .mem_remote = PERF_MEM_REMOTE_REMOTE,
        .mem_blk = PERF_MEM_BLK_ADDR,
        .mem_hops = PERF_MEM_HOPS_2,
    };
    const union perf_sample_weight weight = {.var1_dw = 100000, .var2_w = 2000, .var3_w = 30};
    return (struct perf_sample_data){
        .sample_flags = PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_ADDR,
        .data_src.val = source.val,
        .weight.full = weight.full,
        .addr = 0x1000,
    };
}

static const struct {
    const char *filter;
    bool passes;
} loads[] = {
    {"mem_op == store", false},
    {"mem_op == load", true},
    {"mem_op & load", true},
    {"mem_op & store", false},
    {"mem_lvl > l2", true},
    {"mem_lvl == l3", true},
    {"mem_lvlnum > l3", false},
    {"mem_snoop == hitm", true},
    {"mem_snoop == hit", false},
    {"mem_snoop & fwd", false},
    {"mem_remote == remote", true},
    {"mem_lock == locked", true},
    {"mem_lock == na", false},
    {"mem_dtlb == l2_hit", true},
    {"mem_dtlb & any_hit", true},
    {"mem_dtlb & walk", false},
    {"mem_blk == by_addr", true},
    {"mem_blk == by_data", false},
    {"mem_hops == hops2", true},
    {"mem_hops < hops2", false},
    {"weight1 == 100000", true},
    {"weight2 == 2000", true},
    {"ins_lat == 2000", true},
    {"weight3 == 30", true},
    {"retire_lat == 30, p_stage_cyc == 30", true},
    {"weight == 8452839236011680", true}, /* 30 << 48 | 2000 << 32 | 100000 */
    {"id == 77", true},
    {"addr == 0x1000", true},
    {"addr == 0x1000, mem_op == store", false},
    {"addr == 0x1000, mem_op == store || mem_lvl == l3", true},
    {"addr == 1 || mem_op == load, mem_lvl == l1 || mem_lvl == l2", false},
};

Test(sample_filter_compare, parts_of_memory_samples)
{
    const struct perf_sample_data sample = make_load();
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(loads); i++)
        cr_expect_eq(sample_passes(loads[i].filter, &sample), loads[i].passes, "%s", loads[i].filter);
}

Test(sample_filter_compare, snoop_has_its_extension)
{
    struct perf_sample_data sample = make_load();
    const union perf_mem_data_src source = {.mem_snoop = PERF_MEM_SNOOP_NA, .mem_snoopx = PERF_MEM_SNOOPX_FWD};
    sample.data_src.val = source.val;
    cr_expect(sample_passes("mem_snoop & fwd", &sample));
    cr_expect(sample_passes("mem_snoop == 33", &sample));
    cr_expect_not(sample_passes("mem_snoop & peer", &sample));
}

/* What the kernel did not fill in is no secret for those who may write filters. */
Test(sample_filter_compare, fields_that_the_sample_lacks_are_zero)
{
    struct perf_sample_data sample;
    memset(&sample, 0xa5, sizeof(sample));
    sample.sample_flags = 0;
    static const char *const terms[] = {"ip",      "tid",       "pid",       "cpu",        "time",       "addr",
                                        "period",  "txn",       "weight",    "weight1",    "weight2",    "weight3",
                                        "mem_op",  "phys_addr", "code_pgsz", "data_pgsz",  "mem_lvlnum", "mem_snoop",
                                        "mem_blk", "mem_lock",  "mem_dtlb",  "mem_remote", "mem_hops"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(terms); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s == 0", terms[i]);
        cr_expect(sample_passes(text, &sample), "%s", text);
    }
}
