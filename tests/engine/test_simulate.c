/*
 * Simulated runs: what each run must account for whatever the machine does meanwhile. How fast anything is, is no
 * matter of tests; the figures made of it are in test_bench_report.c.
 */
#include "engine/sim/simulate.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "engine/sim/simulate_search.h"

static const struct weir_simulate_options small = {
    .load =
        {
            .cpus = 4,
            .records_per_cpu = 2000,
            .payload_bytes = 64,
            .mix.parts = {1, 0, 0},
            .seed = 1,
        },
    .nodes = 1,
    .record.memory.ring_bytes = 1 << 20, /* all of it fits, so that nothing can be lost */
    .record.memory.buffer_bytes = 8 << 20,
    .record.output.path = "/dev/null",
};

static void refuse(struct weir_simulate_options options, const char *what, const char *hint)
{
    struct weir_simulate_result result;
    struct weir_error err = {0};
    cr_expect_eq(weir_simulate_run(&options, &result, &err), -EINVAL);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
    weir_simulate_result_fini(&result);
}

Test(simulate, impossible_machines_are_refused)
{
    struct weir_simulate_options options = small;
    options.load.cpus = 1025;
    refuse(options, "cannot simulate 1025 CPUs: 1 to 1024", "");
    options.load.cpus = 0;
    refuse(options, "cannot simulate 0 CPUs: 1 to 1024", "");
    options = small;
    options.nodes = 3;
    refuse(options, "4 CPUs cannot be spread evenly over 3 nodes",
           "the number of CPUs must be a multiple of the number of nodes");
    options = small;
    options.load.payload_bytes = 60001;
    refuse(options, "cannot simulate payloads of 60001 bytes: 8 to 60000", "");
    options = small;
    options.record.memory.ring_bytes = 5000;
    refuse(options, "cannot simulate rings of 5000 bytes: a power of two of pages", "");
}

static void run(const struct weir_simulate_options *options, struct weir_simulate_result *result)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_simulate_run(options, result, &err), 0, "%s", err.what);
    cr_assert_eq(result->record.samples + result->record.lost_samples, result->produced);
}

Test(simulate, every_record_is_drained_and_every_chunk_timed, .timeout = 60)
{
    struct weir_simulate_result result;
    run(&small, &result);
    cr_expect_eq(result.produced, 8000);
    cr_expect_eq(result.record.lost_samples, 0);
    cr_expect_eq(result.record.rings, 8);
    cr_expect_geq(result.latency_us.count, 1);
    cr_expect_eq(result.node_count, 1);
    cr_expect_eq(result.nodes[0].cpus, 4);
    cr_expect_eq(result.nodes[0].readers, 4);
    cr_expect_eq(result.nodes[0].samples, 8000);
    cr_expect_eq(result.nodes[0].bytes, result.drained_bytes);
    cr_expect_eq(result.nodes[0].crossed_bytes, 0);
    weir_simulate_result_fini(&result);
}

/* Nothing comes, so nobody has anything to do; one thread at least went to sleep, the coordinator. */
Test(simulate, idle_readers_are_not_woken, .timeout = 60)
{
    struct weir_simulate_options options = small;
    options.load.cpus = 64;
    options.load.records_per_cpu = 1;
    options.idle_ns = 1500 * WEIR_NS_PER_MS; /* with one epoch in it */
    struct weir_simulate_result result;
    run(&options, &result);
    cr_expect(result.idle_switches > 0 && result.idle_switches < 64, "%lu", result.idle_switches);
    cr_expect_gt(result.idle_cpu_seconds, 0);
    weir_simulate_result_fini(&result);
}

Test(simulate, kinds_of_a_mix_are_events_of_their_own, .timeout = 60)
{
    struct weir_simulate_options options = small;
    options.load.mix = (struct weir_sim_mix){.parts = {0, 3, 1}};
    options.record.memory.ring_bytes = 16 << 20;
    options.record.memory.buffer_bytes = 64 << 20;
    struct weir_simulate_result result;
    run(&options, &result);
    cr_expect_eq(result.record.lost_samples, 0);
    cr_assert_eq(result.record.event_count, 3); /* and the sideband */
    cr_expect_str_eq(result.record.event_names[0], "cpu-clock/call-graph=fp/");
    uint64_t written[3] = {0};
    for (size_t i = 0; i < result.record.ledger_count; i++)
        written[result.record.ledger[i].event] += result.record.ledger[i].written;
    cr_expect_eq(written[0] + written[1], 8000);
    cr_expect(written[1] > 8000 / 4 - 400 && written[1] < 8000 / 4 + 400, "%lu", written[1]); /* drawn by lot */
    cr_expect_gt(result.drained_bytes, written[1] * 8192);
    weir_simulate_result_fini(&result);
}

Test(simulate, nodes_have_their_own_readers_and_bytes, .timeout = 60)
{
    struct weir_simulate_options options = small;
    options.nodes = 2;
    options.record.readers.threads_spec = "numa";
    struct weir_simulate_result result;
    run(&options, &result);
    cr_assert_eq(result.node_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        cr_expect_eq(result.nodes[i].cpus, 2);
        cr_expect_eq(result.nodes[i].readers, 1);
        cr_expect_eq(result.nodes[i].samples, 4000);
        cr_expect_eq(result.nodes[i].crossed_bytes, 0);
    }
    weir_simulate_result_fini(&result);
}

Test(simulate, rings_read_from_another_node_cross, .timeout = 60)
{
    struct weir_simulate_options options = small;
    options.nodes = 2;
    options.record.readers.threads_spec = "0-3/0"; /* all by one reader on the first node */
    struct weir_simulate_result result;
    run(&options, &result);
    cr_expect_eq(result.nodes[0].crossed_bytes, 0);
    cr_expect_eq(result.nodes[1].crossed_bytes, result.nodes[1].bytes);
    cr_expect_eq(result.nodes[1].readers, 0);
    weir_simulate_result_fini(&result);
}

/* The rings hold what the pool does not take, so that the stall is seen by its length, not by losses. */
Test(simulate, disk_that_stands_still_holds_up_chunks, .timeout = 60)
{
    struct weir_simulate_options options = small;
    options.load.rate_per_cpu_hz = 4000;
    options.stall_ns = 200 * WEIR_NS_PER_MS;
    struct weir_simulate_result result;
    run(&options, &result);
    cr_expect_eq(result.record.lost_samples, 0);
    cr_expect_geq(result.produce_seconds, 0.49);
    /* What is handed over by the epochs and at the end goes on when the stall is over. */
    cr_expect_geq(result.latency_us.count, 4);
    cr_expect_geq(result.seconds, 0.49);
    weir_simulate_result_fini(&result);
}

Test(simulate, sizing_rule_is_pool_over_rate)
{
    struct weir_simulate_result result = {
        .record = {.pool_bytes = 64 << 20, .ring_bytes = 1 << 20, .rings = 8},
        .produce_seconds = 2,
        .drained_bytes = 32 << 20,
    };
    cr_expect_eq(weir_simulate_pool_seconds(&result, false), 4);
    cr_expect_eq(weir_simulate_pool_seconds(&result, true), 4.25);
    result.drained_bytes = 0;
    cr_expect_eq(weir_simulate_pool_seconds(&result, true), 0);
}

Test(simulate, search_ends_with_a_run_that_loses_nothing, .timeout = 120)
{
    struct weir_simulate_options options = small;
    options.load.cpus = 2;
    options.record.memory.ring_bytes = 64 << 10;
    struct weir_simulate_result result;
    struct weir_simulate_found found;
    struct weir_error err = {0};
    cr_assert_eq(weir_simulate_search(&options, WEIR_SIMULATE_RATE, 20 * WEIR_NS_PER_MS, &found, &result, &err), 0,
                 "%s", err.what);
    cr_expect_gt(found.runs, 2);
    cr_expect(found.value == 0 || result.record.lost_samples == 0);
    cr_expect_eq(result.record.samples + result.record.lost_samples, result.produced);
    weir_simulate_result_fini(&result);
}

/* The step's own counts say what became of each stack: its frames, and its end behind the frames that fit into the
 * copy. */
Test(simulate, copied_stacks_are_unwound_on_their_way)
{
    struct weir_simulate_options options = small;
    struct weir_simulate_result result;
    options.load.mix = (struct weir_sim_mix){.parts = {[WEIR_SIM_UNWIND] = 1}};
    options.load.closed_loop = true;
    struct weir_error err = {0};
    int code = weir_simulate_run(&options, &result, &err);
    if (code == -ENOTSUP)
        cr_skip("%s", err.what);
    cr_assert_eq(code, 0, "%s", err.what);
    const struct weir_unwound_sum *unwound = &result.record.unwound;
    cr_expect(result.record.unwinds);
    cr_expect_eq(result.record.samples, result.produced);
    cr_expect_eq(unwound->samples, result.produced);
    cr_expect_eq(unwound->unwound, result.produced);
    cr_expect_geq(unwound->frames, 15 * result.produced);
    cr_expect_eq(unwound->clipped + unwound->malformed, 0);
    cr_expect_lt(result.record.file_bytes, result.drained_bytes / 15);
    weir_simulate_result_fini(&result);
}

/* All copies are of one stack: unwound, each CPU has one sample in an interval and chunk. */
Test(simulate, unwound_stacks_are_merged)
{
    struct weir_simulate_options options = small;
    struct weir_simulate_result result;
    options.load.mix = (struct weir_sim_mix){.parts = {[WEIR_SIM_UNWIND] = 1, [WEIR_SIM_AGGREGATE] = 1}};
    options.load.closed_loop = true;
    options.record.memory.buffer_bytes = 64 << 20; /* only samples of one chunk can become one */
    struct weir_error err = {0};
    int code = weir_simulate_run(&options, &result, &err);
    if (code == -ENOTSUP)
        cr_skip("%s", err.what);
    cr_assert_eq(code, 0, "%s", err.what);
    cr_expect_eq(result.record.samples + result.record.merged_samples, result.produced);
    cr_expect_gt(result.record.merged_samples, result.record.unwound.unwound / 2);
    weir_simulate_result_fini(&result);
}

static const struct weir_simulate_options deferring = {
    .load =
        {
            .cpus = 4,
            .records_per_cpu = 20000,
            .payload_bytes = 64,
            .mix.parts = {[WEIR_SIM_DEFERRED] = 1},
            .seed = 1,
            .closed_loop = true,
        },
    .nodes = 1,
    .record.memory.ring_bytes = 1 << 20,
    .record.memory.buffer_bytes = 64 << 20,
    .record.output.path = "/dev/null",
};

/* A chain stays without its user part where a chunk ends between the two. */
Test(simulate, deferred_call_chains_are_joined_on_their_way, .timeout = 60)
{
    struct weir_simulate_result result;
    run(&deferring, &result);
    const struct weir_joined_sum *joined = &result.record.joined;
    cr_expect(result.record.joins);
    cr_expect_eq(result.record.samples, 80000);
    cr_expect_eq(joined->samples, 80000);
    cr_expect_eq(joined->records, 80000);
    cr_expect_eq(joined->joined + joined->apart, 80000);
    cr_expect_eq(joined->unused, joined->apart);
    cr_expect_leq(joined->apart, result.latency_us.count); /* chunks */
    cr_expect_lt(result.record.file_bytes, result.drained_bytes);
    weir_simulate_result_fini(&result);
}

/* What the rings have no room for: samples are lost samples, user parts are lost side records. */
Test(simulate, lost_user_parts_are_no_lost_samples, .timeout = 60)
{
    struct weir_simulate_options options = deferring;
    struct weir_simulate_result result;
    options.load.closed_loop = false;
    options.record.memory.ring_bytes = 4096;
    run(&options, &result);
    const struct weir_joined_sum *joined = &result.record.joined;
    cr_expect_eq(result.produced, 80000);
    cr_expect_gt(result.record.lost_sideband, 0);
    cr_expect_eq(joined->samples, result.record.samples);
    cr_expect_eq(joined->records + result.record.lost_sideband, 80000);
    cr_expect_eq(joined->joined + joined->apart, joined->samples);
    weir_simulate_result_fini(&result);
}

Test(simulate, user_parts_are_kept_with_their_samples, .timeout = 60)
{
    struct weir_simulate_options options = deferring;
    struct weir_simulate_result result;
    struct weir_error err = {0};
    options.record.memory.retained_bytes = 4 << 20;
    cr_assert_eq(weir_simulate_run(&options, &result, &err), 0, "%s", err.what);
    const struct weir_joined_sum *joined = &result.record.joined;
    cr_expect_gt(result.record.evicted_samples, 0);
    cr_expect_eq(joined->samples, result.record.samples);
    cr_expect_geq(joined->joined + result.latency_us.count, joined->samples);
    weir_simulate_result_fini(&result);
}

/* The tasks of the simulation repeat 33 chains, with 80000 cookies. */
Test(simulate, joined_call_chains_are_merged, .timeout = 60)
{
    struct weir_simulate_options options = deferring;
    struct weir_simulate_result result;
    struct weir_error err = {0};
    options.load.mix.parts[WEIR_SIM_AGGREGATE] = 1;
    cr_assert_eq(weir_simulate_run(&options, &result, &err), 0, "%s", err.what);
    cr_expect_eq(result.record.samples + result.record.merged_samples, result.produced);
    cr_expect_gt(result.record.joined.joined, 30000);
    weir_simulate_result_fini(&result);
}
