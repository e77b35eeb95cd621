/* What is read of the kernel's knobs, and the ring sizes that follow, with limits of the test's own making. */
#include "engine/kernel/kernel_limits.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define UID_MAP_INITIAL  "         0          0 4294967295\n"
#define UID_MAP_ROOTLESS "         0       1000          1\n"

/* ---- a /proc with the files that are read ---- */

struct fake_proc {
    char root[128];
};

static const char *const fake_folders[] = {"sys", "sys/kernel", "self"};

static const char *const fake_files[] = {"sys/kernel/perf_event_paranoid", "sys/kernel/perf_event_mlock_kb",
                                         "sys/kernel/perf_event_max_sample_rate", "self/uid_map"};

static void write_file(const struct fake_proc *fake, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", fake->root, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void fake_proc_init(struct fake_proc *fake)
{
    const char *folder = getenv("TMPDIR");
    snprintf(fake->root, sizeof(fake->root), "%s/weir-proc-XXXXXX", folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(fake->root));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fake_folders); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", fake->root, fake_folders[i]);
        cr_assert_eq(mkdir(path, 0755), 0);
    }
}

static void fake_proc_fini(struct fake_proc *fake)
{
    char path[256];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fake_files); i++) {
        snprintf(path, sizeof(path), "%s/%s", fake->root, fake_files[i]);
        remove(path);
    }
    for (size_t i = WEIR_ARRAY_COUNT(fake_folders); i-- > 0;) {
        snprintf(path, sizeof(path), "%s/%s", fake->root, fake_folders[i]);
        remove(path);
    }
    rmdir(fake->root);
}

/* ---- reading ---- */

Test(kernel_limits, missing_knobs_have_their_values_of_boot)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, fake.root);
    cr_expect_not(limits.has_perf_events);
    cr_expect_eq(limits.perf_event_paranoid, 2);
    cr_expect_eq(limits.mlock_kb, 512 + limits.page_bytes / KIB);
    cr_expect_eq(limits.max_sample_rate_hz, 100000);
    cr_expect_not(limits.in_user_namespace);
    fake_proc_fini(&fake);
}

Test(kernel_limits, garbage_in_knobs_is_as_if_they_were_missing)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    write_file(&fake, "sys/kernel/perf_event_paranoid", "\n");
    write_file(&fake, "sys/kernel/perf_event_mlock_kb", "-5\n");
    write_file(&fake, "sys/kernel/perf_event_max_sample_rate", "99999999999999999999\n");
    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, fake.root);
    cr_expect_not(limits.has_perf_events);
    cr_expect_eq(limits.perf_event_paranoid, 2);
    cr_expect_eq(limits.mlock_kb, 512 + limits.page_bytes / KIB);
    cr_expect_eq(limits.max_sample_rate_hz, 100000);
    fake_proc_fini(&fake);
}

Test(kernel_limits, number_beyond_the_kernels_int_is_as_if_it_were_missing)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    write_file(&fake, "sys/kernel/perf_event_paranoid", "4294967295\n");
    write_file(&fake, "sys/kernel/perf_event_mlock_kb", "18014398509481984\n");
    write_file(&fake, "sys/kernel/perf_event_max_sample_rate", "2147483647\n");
    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, fake.root);
    cr_expect_not(limits.has_perf_events);
    cr_expect_eq(limits.perf_event_paranoid, 2);
    cr_expect_eq(limits.mlock_kb, 512 + limits.page_bytes / KIB);
    cr_expect_eq(limits.max_sample_rate_hz, 2147483647);
    fake_proc_fini(&fake);
}

Test(kernel_limits, knobs_are_read)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    write_file(&fake, "sys/kernel/perf_event_paranoid", "-1\n");
    write_file(&fake, "sys/kernel/perf_event_mlock_kb", "1032\n");
    write_file(&fake, "sys/kernel/perf_event_max_sample_rate", "25000\n");
    write_file(&fake, "self/uid_map", UID_MAP_INITIAL);
    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, fake.root);
    cr_expect(limits.has_perf_events);
    cr_expect_eq(limits.perf_event_paranoid, -1);
    cr_expect_eq(limits.mlock_kb, 1032);
    cr_expect_eq(limits.max_sample_rate_hz, 25000);
    cr_expect_not(limits.in_user_namespace);
    fake_proc_fini(&fake);
}

Test(kernel_limits, capabilities_of_a_user_namespace_do_not_count)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    write_file(&fake, "self/uid_map", UID_MAP_ROOTLESS);
    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, fake.root);
    cr_expect(limits.in_user_namespace);
    cr_expect_not(limits.cap_perfmon);
    cr_expect_not(limits.cap_ipc_lock);
    fake_proc_fini(&fake);
}

/* Bits of CapEff in /proc/self/status: a second opinion on what libcap says. */
static uint64_t effective_capabilities(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    cr_assert_not_null(file);
    char line[256];
    uint64_t bits = 0;
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "CapEff:", 7) == 0)
            bits = strtoull(line + 7, NULL, 16);
    fclose(file);
    return bits;
}

Test(kernel_limits, capabilities_are_those_of_the_process)
{
    const uint64_t ipc_lock = 1ull << 14, sys_admin = 1ull << 21, perfmon = 1ull << 38; /* linux/capability.h */
    struct fake_proc fake;
    fake_proc_init(&fake);
    write_file(&fake, "self/uid_map", UID_MAP_INITIAL);
    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, fake.root);
    uint64_t held = effective_capabilities();
    cr_expect_eq(limits.cap_perfmon, (held & (sys_admin | perfmon)) != 0);
    cr_expect_eq(limits.cap_ipc_lock, (held & ipc_lock) != 0);
    fake_proc_fini(&fake);
}

Test(kernel_limits, descriptor_limit_is_read_and_raised_to_the_hard_one)
{
    struct rlimit nofile;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &nofile), 0);
    cr_assert_gt(nofile.rlim_max, 64);
    nofile.rlim_cur = 64;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &nofile), 0);

    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, NULL);
    cr_expect_eq(limits.nofile, 64);
    cr_expect_eq(weir_kernel_limits_raise_nofile(&limits), 0);
    cr_expect_eq(limits.nofile, limits.nofile_max);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &nofile), 0);
    cr_expect_eq(nofile.rlim_cur, nofile.rlim_max);
}

/* ---- ring sizes ---- */

static const struct weir_kernel_limits privileged = {
    .has_perf_events = true, .perf_event_paranoid = 2, .mlock_kb = 516, .page_bytes = 4096, .cap_ipc_lock = true};

Test(kernel_limits, rings_of_the_privileged_follow_from_memory)
{
    static const struct {
        uint64_t memory_bytes;
        unsigned cpus;
        uint64_t data_bytes, sideband_bytes;
    } cases[] = {
        {24 * GIB, 2, 8 * MIB, MIB},
        {2048 * GIB, 512, 8 * MIB, MIB},
        {64 * 2 * 9 * MIB, 2, 8 * MIB, MIB}, /* exactly 1/64 */
        {64 * 2 * 9 * MIB - 128, 2, 4 * MIB, MIB},
        {8 * GIB, 64, MIB, 512 * KIB}, /* 2 MiB for each CPU */
        {8 * GIB, 128, 512 * KIB, 256 * KIB},
        {GIB, 1024, 512 * KIB, 256 * KIB}, /* never less */
        {0, 1, 512 * KIB, 256 * KIB},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_ring_sizes sizes = weir_ring_bytes_choose(&privileged, cases[i].memory_bytes, cases[i].cpus);
        cr_expect_eq(sizes.data_bytes, cases[i].data_bytes, "row %zu: %" PRIu64, i, sizes.data_bytes);
        cr_expect_eq(sizes.sideband_bytes, cases[i].sideband_bytes, "row %zu: %" PRIu64, i, sizes.sideband_bytes);
    }
}

Test(kernel_limits, rings_of_others_fit_the_mlock_knob)
{
    static const struct {
        uint64_t mlock_kb, page_bytes;
        uint64_t data_bytes, sideband_bytes;
    } cases[] = {
        {516, 4096, 256 * KIB, 128 * KIB}, /* the knob at boot */
        {1032, 4096, 512 * KIB, 256 * KIB},
        {576, 65536, 256 * KIB, 128 * KIB}, /* the same with 64 KiB pages: 9 of them */
        {16, 4096, 4096, 4096},
        {0, 4096, 4096, 4096}, /* does not fit, and mmap(2) will say so */
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_kernel_limits limits = privileged;
        limits.cap_ipc_lock = false;
        limits.mlock_kb = cases[i].mlock_kb;
        limits.page_bytes = cases[i].page_bytes;
        struct weir_ring_sizes sizes = weir_ring_bytes_choose(&limits, 1024 * GIB, 2);
        cr_expect_eq(sizes.data_bytes, cases[i].data_bytes, "row %zu: %" PRIu64, i, sizes.data_bytes);
        cr_expect_eq(sizes.sideband_bytes, cases[i].sideband_bytes, "row %zu: %" PRIu64, i, sizes.sideband_bytes);
    }
}

Test(kernel_limits, rings_within_the_mlock_knob_whatever_it_is)
{
    struct weir_kernel_limits limits = privileged;
    limits.cap_ipc_lock = false;
    for (limits.mlock_kb = 16; limits.mlock_kb < 20000; limits.mlock_kb += 4) {
        struct weir_ring_sizes sizes = weir_ring_bytes_choose(&limits, 1024 * GIB, 2);
        cr_assert(weir_is_power_of_two(sizes.data_bytes));
        cr_assert(weir_is_power_of_two(sizes.sideband_bytes));
        cr_assert_leq(weir_ring_sizes_mlock_kb(&limits, &sizes), limits.mlock_kb, "%" PRIu64, limits.mlock_kb);
    }
}

Test(kernel_limits, generous_mlock_knob_does_not_make_rings_larger_than_memory_allows)
{
    struct weir_kernel_limits limits = privileged;
    limits.cap_ipc_lock = false;
    limits.mlock_kb = GIB / KIB;
    struct weir_ring_sizes sizes = weir_ring_bytes_choose(&limits, 8 * GIB, 64);
    cr_expect_eq(sizes.data_bytes, MIB);
    cr_expect_eq(sizes.sideband_bytes, 512 * KIB);
}

Test(kernel_limits, paranoid_of_minus_one_lifts_the_mlock_limit)
{
    struct weir_kernel_limits limits = privileged;
    limits.cap_ipc_lock = false;
    cr_expect_not(weir_kernel_limits_rings_are_free(&limits));
    limits.perf_event_paranoid = -1;
    cr_expect(weir_kernel_limits_rings_are_free(&limits));
    cr_expect_eq(weir_ring_bytes_choose(&limits, 24 * GIB, 2).data_bytes, 8 * MIB);
}

Test(kernel_limits, mlock_need_counts_the_control_pages)
{
    const struct weir_ring_sizes sizes = {.data_bytes = 256 * KIB, .sideband_bytes = 128 * KIB};
    cr_expect_eq(weir_ring_sizes_mlock_kb(&privileged, &sizes), 256 + 128 + 4 + 4);
}
