/* Readers over what only newer kernels and newer perf write, on recordings made by hand (newest_recording.h). */
#include "format/perf_input.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/dump.h"
#include "format/info.h"
#include "format/recovery.h"
#include "format/scan.h"
#include "format/verify.h"
#include "tests/format/image_file.h"
#include "tests/format/newest_recording.h"

#define BYTE_STEP 5u /* meets each place of a word */

static struct weir_buf image, text;
static struct image_file file;
static struct weir_error err;

static void fini(void)
{
    weir_buf_fini(&image);
    weir_buf_fini(&text);
    image_file_fini(&file);
}

TestSuite(newest_records, .fini = fini, .timeout = 60);

static void build(const struct newest_recording_options *options)
{
    weir_buf_reset(&image);
    newest_recording_build(&image, options);
    image_file_init(&file, image.data, image.used);
}

static int append(void *ctx, const char *part, size_t bytes, struct weir_error *unused)
{
    (void)unused;
    weir_buf_append(ctx, part, bytes);
    return 0;
}

static uint64_t dump(bool json)
{
    const struct weir_dump_filter all = {.last_ns = UINT64_MAX};
    const struct weir_dump_options options = {
        .path = file.path, .filter = &all, .json = json, .write = append, .ctx = &text};
    uint64_t records = 0;
    weir_buf_reset(&text);
    cr_assert_eq(weir_dump_run(&options, &records, &err), 0, "%s", err.what);
    return records;
}

static void info(bool json)
{
    weir_buf_reset(&text);
    cr_assert_eq(weir_info_append(file.path, NULL, json, &text, &err), 0, "%s", err.what);
}

static unsigned verify(void)
{
    unsigned failures = 0;
    weir_buf_reset(&text);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    return failures;
}

static void expect(const char *part)
{
    cr_expect_not_null(strstr(weir_buf_str(&text), part), "'%s' is not in\n%s", part, weir_buf_str(&text));
}

Test(newest_records, dump_tells_of_each_type_as_text)
{
    build(&(const struct newest_recording_options){0});
    cr_expect_eq(dump(false), NEWEST_RECORDS);
    expect("PERF_RECORD_CALLCHAIN_DEFERRED cookie: 0x77\n... FP chain: nr:2\n.....  0: 0000000000401000\n"
           ".....  1: 0000000000402000\n");
    expect(".....  2: fffffffffffffd80\n.....  3: 0000000000000077\n");
    expect("PERF_RECORD_BPF_METADATA prog bpf_prog_0102030405060708_filter\n  entry 0: version = 1.2\n");
    expect("PERF_RECORD_SCHEDSTAT_CPU\ncpu3 1 2 3 4 5 6 7 8 9\n");
    expect("PERF_RECORD_SCHEDSTAT_DOMAIN\ncpu3 domain0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 "
           "25 26 27 28 29 30 31 32 33 34 35 36\n");
    expect("cpu3 domain1 1 2 ");
    expect(" 44 45\n");
    expect("PERF_RECORD_UNKNOWN type 200\n");
}

Test(newest_records, dump_tells_of_each_type_as_json)
{
    build(&(const struct newest_recording_options){0});
    cr_expect_eq(dump(true), NEWEST_RECORDS);
    expect("\"type\":\"CALLCHAIN_DEFERRED\",\"misc\":2,\"sample_id\":{\"id\":1001,\"pid\":4242,\"tid\":4243,"
           "\"time\":1000003000},\"cookie\":\"0x77\",\"nr\":2,\"ips\":[\"0x401000\",\"0x402000\"]}");
    expect("\"nr_entries\":1,\"prog_name\":\"bpf_prog_0102030405060708_filter\",\"variables\":[{\"key\":\"version\","
           "\"value\":\"1.2\"}]}");
    expect("\"timestamp\":4300000000,\"cpu\":3,\"version\":15,\"counters\":{\"yld_count\":1,\"array_exp\":2,\"sched_"
           "count\":3,"
           "\"sched_goidle\":4,\"ttwu_count\":5,\"ttwu_local\":6,\"rq_cpu_time\":7,\"run_delay\":8,\"pcount\":9}}");
    expect("\"version\":15,\"domain\":0,\"counters\":{\"idle_lb_count\":1,\"idle_lb_balanced\":2,");
    expect("\"ttwu_move_affine\":35,\"ttwu_move_balance\":36}}");
    expect("\"version\":17,\"domain\":1,\"counters\":{\"busy_lb_count\":1,");
    expect("\"busy_lb_imbalance_misfit\":7,");
    expect("\"ttwu_move_balance\":45}}");
    expect("\"compressed\":true");
}

static void expect_info_as_text(void)
{
    expect("CPU_DOMAIN_INFO version 17, 1 levels; CPU 0: 0 PKG CPUs 0-1; CPU 1: 0 PKG CPUs 0-1\n");
    expect("E_MACHINE       machine 62, flags 0\n");
    expect("CLN_SIZE        64 bytes\n");
    expect("feature 40 ");
    expect("attr type: 1, size: 152,");
    expect(", build_id: 1, defer_callchain: 1, defer_output: 1, bit 63: 1,");
    expect(", aux_pause: 1, config3: 0x33, config4: 0x44, 2 unknown bytes\n");
    expect(" 1 of unknown type\n");
    expect("samples         2, 1.000001 s to 1.000002 s\n");
}

Test(newest_records, info_names_features_bits_and_words_and_counts_the_unknown)
{
    build(&(const struct newest_recording_options){0});
    info(false);
    expect_info_as_text();
    info(true);
    expect(
        "\"attr_size\":152,\"flags\":\"0x800000c400040002\",\"config1\":0,\"config2\":0,\"config3\":51,\"config4\":68,"
        "\"aux_action\":2,\"unknown_attr_bytes\":2,");
    expect("\"CALLCHAIN_DEFERRED\":1,");
    expect("\"BPF_METADATA\":1,\"SCHEDSTAT_CPU\":1,\"SCHEDSTAT_DOMAIN\":2},\"unknown_types\":1,");
}

Test(newest_records, stream_has_them_all_and_its_last_feature_is_none)
{
    build(&(const struct newest_recording_options){.stream = true});
    info(false);
    expect_info_as_text();
    expect("feature 40      unknown\n");
    cr_expect_null(strstr(weir_buf_str(&text), "feature 35"));
}

Test(newest_records, verify_finds_fault_with_the_unknown_type_only)
{
    build(&(const struct newest_recording_options){.has_new_events = true});
    cr_expect_eq(verify(), 1, "%s", weir_buf_str(&text));
    expect("1 records of unknown types");
    build(&(const struct newest_recording_options){.has_new_events = true, .is_known_only = true});
    cr_expect_eq(verify(), 0, "%s", weir_buf_str(&text));
}

/* In its attr the description differs from the head by config4 alone. */
Test(newest_records, verify_compares_all_words_of_the_attrs)
{
    build(&(const struct newest_recording_options){.has_new_events = true, .is_known_only = true});
    image_file_write(&file, 112 + 136, &(uint64_t){0x45}, sizeof(uint64_t));
    cr_expect_eq(verify(), 1, "%s", weir_buf_str(&text));
    expect("EVENT_DESC has another attr");
}

static void plan(struct weir_recovery *recovery, bool makes_file)
{
    const struct weir_recovery_options options = {
        .path = file.path, .tracefs_root = "/nowhere", .proc_root = "/nowhere", .makes_file = makes_file};
    cr_assert_eq(weir_recovery_plan(recovery, &options, &err), 0, "%s", err.what);
}

/* What is unknown may be no record at all: the data end before it. */
Test(newest_records, recover_keeps_the_known_records_of_a_killed_file)
{
    build(&(const struct newest_recording_options){.has_no_size = true});
    struct weir_recovery recovery = {0};
    plan(&recovery, false);
    image_file_resize(&file, recovery.data_end);
    image_file_write(&file, recovery.data_end, recovery.tail.data, recovery.tail.used);
    image_file_write(&file, 0, &recovery.header, sizeof(recovery.header));
    weir_recovery_fini(&recovery);
    cr_expect_eq(dump(true), NEWEST_RECORDS - 1);
    info(false);
    expect("config3: 0x33, config4: 0x44");
    cr_expect_eq(verify(), 0, "%s", weir_buf_str(&text));
}

/* Damaged bytes of all new kinds: read without a crash, whatever they say. */
Test(newest_records, bytes_of_a_new_record_may_be_anything)
{
    build(&(const struct newest_recording_options){0});
    size_t end = image.used;
    for (size_t at = NEWEST_DATA_OFFSET; at < end; at += BYTE_STEP) {
        const uint8_t changed = (uint8_t)~image.data[at];
        image_file_write(&file, at, &changed, 1);
        struct image_reading reading = image_read(file.path);
        cr_expect(reading.result == 0 || reading.result == -EBADMSG, "byte %zu: %d", at, reading.result);
        image_file_write(&file, at, &image.data[at], 1);
    }
}
