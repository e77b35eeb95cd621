/*
 * What AUXTRACE_INFO tells decoders, word by word in the order of perf's enums (aux_info.c names their files). No
 * machine of ours has such a PMU: the values follow from the files of FAKE_TRACE as perf 6.1 takes them. Where Intel's
 * are played, tests/parity/cases/aux compares them with perf's own.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(__i386__) || defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/aux_rig.h"

#define ROOM 64

struct info {
    struct aux_rig rig;
    struct weir_aux_facts facts;
    uint32_t type;
    uint64_t words[ROOM];
    size_t count;
};

static void info_init(struct info *info, const char *events)
{
    *info = (struct info){.count = ROOM};
    aux_rig_init(&info->rig, events);
    info->facts = (struct weir_aux_facts){
        .time_shift = 31,
        .time_mult = 0x40000000,
        .time_zero = 123456789012345,
        .cap_user_time_zero = true,
        .system_wide = true,
        .cpus = &info->rig.cpus,
        .sysfs_root = info->rig.tree.root,
    };
}

static int describe(struct info *info)
{
    return weir_aux_info_describe(&info->rig.plan, &info->rig.list, &info->facts, &info->type, info->words,
                                  &info->count);
}

static void expect(struct info *info, uint32_t type, const uint64_t *words, size_t count)
{
    cr_assert_eq(describe(info), 0);
    cr_expect_eq(info->type, type);
    cr_assert_eq(info->count, count, "%zu words", info->count);
    cr_expect_leq(count, weir_aux_info_words_max(&info->rig.list, weir_cpuset_count(&info->rig.cpus)));
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(info->words[i], words[i], "word %zu: 0x%llx", i, (unsigned long long)info->words[i]);
}

static void tsc_ratio(uint64_t ratio[2])
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
#if defined(__i386__) || defined(__x86_64__)
    __get_cpuid(0x15, &eax, &ebx, &ecx, &edx);
#endif
    (void)ecx;
    (void)edx;
    ratio[0] = ebx;
    ratio[1] = eax;
}

/* ---- refusals ---- */

Test(aux_info, no_room_and_no_pmu_are_told)
{
    struct info info;
    info_init(&info, "intel_pt//");
    aux_rig_prepare(&info.rig);
    info.count = 17;
    info.words[17] = 42;
    cr_expect_eq(describe(&info), -ENOSPC);
    cr_expect_eq(info.count, 18);
    cr_expect_eq(info.words[17], 42);
    info.facts.sysfs_root = "/nonexistent";
    cr_expect_eq(describe(&info), -ENODEV);
    aux_rig_fini(&info.rig);
}

Test(aux_info, every_failing_allocation_is_told)
{
    struct info info;
    info_init(&info, "intel_pt//");
    aux_rig_prepare(&info.rig);
    unsigned failures = 0;
    for (int result = -1; result != 0; failures++) {
        failing_alloc_after(failures);
        result = describe(&info);
        failing_alloc_never();
        cr_assert(result == 0 || result == -ENOMEM, "allocation %u", failures);
    }
    cr_expect_gt(failures, 10);
    aux_rig_fini(&info.rig);
}

/* ---- Intel ---- */

Test(aux_info, intel_pt)
{
    struct info info;
    info_init(&info, "intel_pt//");
    aux_rig_prepare(&info.rig);
    uint64_t ratio[2];
    tsc_ratio(ratio);
    const uint64_t words[] = {
        8, 31,     0x40000000, 123456789012345, 1,        1 << 10, 1 << 11, 3, 0,
        1, 1 << 9, 0xf << 14,  ratio[0],        ratio[1], 1 << 1,  34,      0, 1,
    };
    expect(&info, 1, words, WEIR_ARRAY_COUNT(words));
    aux_rig_fini(&info.rig);
}

Test(aux_info, intel_pt_of_tasks_in_snapshots)
{
    struct info info;
    info_init(&info, "intel_pt//u");
    info.rig.options.snapshot = true;
    info.rig.setting.system_wide = info.facts.system_wide = false;
    info.facts.cap_user_time_zero = false;
    temp_tree_write_text(&info.rig.tree, "bus/event_source/devices/intel_pt/caps/event_trace", "0\n");
    aux_rig_prepare(&info.rig);
    cr_assert_eq(describe(&info), 0);
    cr_expect_eq(info.words[1], 31);
    cr_expect_eq(info.words[4], 0, "cap_user_time_zero");
    cr_expect_eq(info.words[7], 3, "switches of all tasks");
    cr_expect_eq(info.words[8], 1, "snapshot");
    cr_expect_eq(info.words[9], 1, "areas of CPUs");
    cr_expect_eq(info.words[17], 0, "event trace");

    info.rig.limits.cap_perfmon = false;
    aux_rig_prepare(&info.rig);
    cr_assert_eq(describe(&info), 0);
    cr_expect_eq(info.words[7], 2, "switches of the tasks that are recorded");

    info.rig.setting.per_thread = info.facts.per_thread = true;
    aux_rig_prepare(&info.rig);
    cr_assert_eq(describe(&info), 0);
    cr_expect_eq(info.words[7], 0, "none");
    cr_expect_eq(info.words[9], 0, "areas of tasks");
    aux_rig_fini(&info.rig);
}

/* The text ends with at least one zero. */
Test(aux_info, intel_pt_with_a_filter)
{
    static const char *const filters[] = {"filter 0x10/0x20@/a", "stop 0x1"}; /* 19 bytes, 8 bytes */
    static const size_t filter_words[] = {3, 2};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(filters); i++) {
        struct info info;
        info_init(&info, "intel_pt//");
        info.rig.list.events[0].filter = strdup(filters[i]);
        aux_rig_prepare(&info.rig);
        cr_assert_eq(describe(&info), 0);
        cr_assert_eq(info.count, 18 + filter_words[i]);
        cr_expect_eq(info.words[16], strlen(filters[i]));
        cr_expect_str_eq((const char *)&info.words[17], filters[i]);
        cr_expect_eq(info.words[17 + filter_words[i]], 1, "event trace");
        cr_expect_leq(info.count, weir_aux_info_words_max(&info.rig.list, 1));
        aux_rig_fini(&info.rig);
    }
}

Test(aux_info, intel_bts)
{
    struct info info;
    info_init(&info, "intel_bts//u");
    info.rig.setting.per_thread = info.facts.per_thread = true;
    info.rig.options.snapshot = true;
    aux_rig_prepare(&info.rig);
    const uint64_t words[] = {9, 31, 0x40000000, 123456789012345, 1, 1};
    expect(&info, 2, words, WEIR_ARRAY_COUNT(words));
    aux_rig_fini(&info.rig);
}

/* ---- Arm ---- */

Test(aux_info, arm_spe)
{
    struct info info;
    info_init(&info, "arm_spe_1//");
    aux_rig_prepare(&info.rig);
    const uint64_t words[] = {11, 0};
    expect(&info, 4, words, WEIR_ARRAY_COUNT(words));
    aux_rig_fini(&info.rig);
}

Test(aux_info, coresight_with_one_unit_of_each_version)
{
    struct info info;
    info_init(&info, "cs_etm/cycacc,contextid,timestamp/");
    info.rig.setting.per_thread = info.facts.per_thread = true;
    cr_assert_eq(weir_cpuset_add(&info.rig.cpus, 2), 0);
    aux_rig_prepare(&info.rig);
    const uint64_t config = 1 << 12 | 1 << 14 | 1 << 28, trcconfigr = 1 << 4 | 1 << 6 | 1 << 11;
    const uint64_t words[] = {
        1,
        UINT64_C(12) << 32 | 3,
        0, /* the head */
        0x4040404040404040,
        0,
        7,
        trcconfigr,
        0x10,
        0x28000ea1,
        0x4100f403,
        0x488,
        0,
        0xcc, /* CPU 0: ETMv4 */
        0x5050505050505050,
        1,
        8,
        trcconfigr,
        0x12,
        0x28000ea1,
        0x4100fff1,
        0x20001088,
        1,
        0xcc,
        0x47705a13, /* ETE */
        0x3030303030303030,
        2,
        4,
        config,
        0x14,
        0x34c01ac2,
        0x4114f250, /* CPU 2: PTM */
    };
    expect(&info, 3, words, WEIR_ARRAY_COUNT(words));
    aux_rig_fini(&info.rig);
}

Test(aux_info, coresight_options_become_bits_of_its_register)
{
    struct info info;
    info_init(&info, "cs_etm/config=0x2000c100/"); /* branch broadcast, both context ids, return stack */
    info.rig.setting.per_thread = info.facts.per_thread = true;
    info.rig.options.snapshot = true;
    aux_rig_prepare(&info.rig);
    cr_assert_eq(describe(&info), 0);
    cr_expect_eq(info.words[2], 1, "snapshot");
    cr_expect_eq(info.words[6], 1 << 3 | 1 << 6 | 1 << 7 | 1 << 15 | 1 << 12, "0x%llx",
                 (unsigned long long)info.words[6]);
    aux_rig_fini(&info.rig);
}
