/* Snapshots in both senses: what is refused and why, and what a missing spare means. One thread, simulated rings. */
#include "engine/session/snapshot.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/sim/sim_kernel.h"
#include "tests/engine/sim_rig.h"

#define MIB (1ull << 20)

struct fixture {
    struct sim_rig rig;
    struct weir_output *output;
    struct weir_snapshots snapshots;
    struct weir_notice_sink sink;
    char notice[256];
};

static void note(void *ctx, enum weir_notice_level level, const char *text)
{
    struct fixture *f = ctx;
    if (level == WEIR_NOTICE_WARNING)
        snprintf(f->notice, sizeof(f->notice), "%s", text);
}

static void fixture_init(struct fixture *f, uint64_t retained_bytes)
{
    static const uint8_t head[4096];
    struct weir_error err = {0};
    memset(f, 0, sizeof(*f));
    sim_rig_init(&f->rig, &(struct sim_rig_options){
                              .cpus = 2, .ring_bytes = 4096, .buffer_bytes = MIB, .retained_bytes = retained_bytes});
    f->sink = (struct weir_notice_sink){.emit = note, .ctx = f};
    cr_assert_eq(weir_pipeline_open_output(&f->rig.pipeline, "/dev/null", NULL, NULL, &f->output, &err), 0, "%s",
                 err.what);
    weir_output_write_head(f->output, head, sizeof(head));
    cr_assert_eq(weir_pipeline_prepare(&f->rig.pipeline, f->output, &err), 0);
    f->snapshots = (struct weir_snapshots){
        .pipeline = &f->rig.pipeline,
        .events = &f->rig.set,
        .notices = &f->sink,
    };
    weir_event_set_enable(&f->rig.set, false);
}

static void fixture_fini(struct fixture *f)
{
    weir_pipeline_stop(&f->rig.pipeline);
    weir_output_close(f->output);
    sim_rig_fini(&f->rig);
}

/* Readers, rounds and writer do what there is to do, until the snapshot that was asked for is on file. */
static void settle(struct fixture *f)
{
    struct weir_pipeline *pipeline = &f->rig.pipeline;
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic) + WEIR_NS_PER_S;
    for (unsigned n = 0; n < 100 && weir_rounds_snapshot_progress(&pipeline->rounds) != WEIR_SNAPSHOT_NONE; n++) {
        now_ns += WEIR_ROUND_GRACE_NS;
        weir_rounds_advance(&pipeline->rounds, now_ns);
        for (unsigned i = 0; i < pipeline->reader_count; i++)
            weir_reader_step(pipeline->readers[i]);
        weir_writer_step(&pipeline->writer, 1);
    }
    cr_assert_eq(weir_rounds_snapshot_progress(&pipeline->rounds), WEIR_SNAPSHOT_NONE);
}

static bool sample(struct fixture *f)
{
    uint8_t payload[100] = {0};
    struct weir_sim_sample sample = {.time_ns = 1, .raw = payload, .raw_bytes = sizeof(payload)};
    return weir_sim_kernel_sample(f->rig.sim, sim_rig_fd(&f->rig, 0, 0), &sample);
}

Test(snapshot, there_is_none_of_what_goes_to_the_file_anyway)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f, 0);
    cr_expect(!weir_snapshots_are_possible(&f.snapshots));
    cr_expect_eq(weir_snapshot_dump(&f.snapshots, &err), -EOPNOTSUPP);
    cr_expect_eq(weir_snapshot_swap(&f.snapshots, &err), -EOPNOTSUPP);
    cr_expect_eq(weir_snapshot_alloc(&f.snapshots, &err), -EOPNOTSUPP);
    cr_expect_str_eq(err.what, "no snapshot: samples go to the file as they come");
    cr_expect_str_eq(err.hint, "record with -M SIZE or --overwrite to keep them in memory, or -S for AUX areas");
    cr_expect(sample(&f), "recording goes on");
    fixture_fini(&f);
}

Test(snapshot, another_is_refused_until_the_one_before_is_written)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f, MIB);
    cr_assert_eq(weir_snapshot_alloc(&f.snapshots, &err), 0);
    cr_expect_eq(weir_snapshot_dump(&f.snapshots, &err), -EBUSY);
    cr_expect_eq(weir_snapshot_swap(&f.snapshots, &err), -EBUSY);
    cr_expect_eq(weir_snapshot_alloc(&f.snapshots, &err), -EBUSY);
    cr_expect_str_eq(err.what, "no snapshot: the last snapshot is still being written");
    settle(&f);
    cr_expect_eq(weir_snapshot_swap(&f.snapshots, &err), 0);
    fixture_fini(&f);
}

static int end_file(void *ctx, struct weir_error *err)
{
    unsigned *asked = ctx;
    (*asked)++;
    return *asked == 2 ? weir_error_set(err, -EACCES, "no file") : 0;
}

Test(snapshot, with_files_of_their_own_the_file_is_ended_instead)
{
    struct fixture f;
    struct weir_error err;
    unsigned asked = 0;
    fixture_init(&f, MIB);
    f.snapshots.end_file = end_file;
    f.snapshots.end_file_ctx = &asked;
    f.snapshots.dumps_end_files = true;
    cr_expect_eq(weir_snapshot_dump(&f.snapshots, &err), 0);
    cr_expect_eq(weir_rounds_snapshot_progress(&f.rig.pipeline.rounds), WEIR_SNAPSHOT_NONE, "the cut takes it");
    cr_expect_eq(weir_snapshot_dump(&f.snapshots, &err), -EACCES);
    cr_expect_str_eq(err.what, "no file");
    cr_expect_eq(weir_snapshot_alloc(&f.snapshots, &err), 0);
    cr_expect_eq(weir_snapshot_swap(&f.snapshots, &err), 0);
    cr_expect_eq(asked, 4);
    fixture_fini(&f);
}

Test(snapshot, those_of_the_pair_alone_may_end_the_file)
{
    struct fixture f;
    struct weir_error err;
    unsigned asked = 0;
    fixture_init(&f, MIB);
    f.snapshots.end_file = end_file;
    f.snapshots.end_file_ctx = &asked;
    cr_assert_eq(weir_snapshot_dump(&f.snapshots, &err), 0);
    cr_expect(!f.snapshots.ends_file);
    settle(&f);
    cr_expect_eq(asked, 0);
    cr_expect_eq(weir_snapshot_alloc(&f.snapshots, &err), 0);
    cr_expect(f.snapshots.ends_file);
    cr_expect_eq(weir_snapshot_swap(&f.snapshots, &err), -EACCES);
    cr_expect_eq(weir_snapshot_swap(&f.snapshots, &err), 0);
    cr_expect_eq(asked, 3);
    cr_assert_eq(weir_snapshot_dump(&f.snapshots, &err), 0);
    cr_expect(!f.snapshots.ends_file);
    settle(&f);
    fixture_fini(&f);
}

Test(snapshot, samples_are_counted_that_snapshots_have_handed_over)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f, MIB);
    cr_assert(sample(&f) && sample(&f));
    cr_assert_eq(weir_snapshot_alloc(&f.snapshots, &err), 0);
    settle(&f);
    cr_expect_eq(weir_pipeline_snapshot_samples(&f.rig.pipeline), 2);
    unsigned made = 0;
    for (unsigned n = 0; n < 40000; n++) { /* more than is retained */
        made += sample(&f);
        if (n % 8 == 0)
            weir_reader_step(f.rig.pipeline.readers[0]);
    }
    cr_expect_eq(weir_pipeline_snapshot_samples(&f.rig.pipeline), 2);
    cr_assert_eq(weir_snapshot_dump(&f.snapshots, &err), 0);
    settle(&f);
    uint64_t evicted = weir_retention_evicted(f.rig.pipeline.readers[0]->retention);
    cr_expect_gt(evicted, 0);
    cr_expect_eq(weir_pipeline_snapshot_samples(&f.rig.pipeline), 2 + made - evicted);
    fixture_fini(&f);
}

Test(snapshot, without_a_spare_recording_stops_and_memory_is_kept)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f, MIB);
    cr_assert(sample(&f));
    cr_assert_eq(weir_snapshot_swap(&f.snapshots, &err), -ENOSPC);
    cr_expect_str_eq(err.what, "snapshot not allocated: recording has stopped");
    cr_expect_str_eq(err.hint, "snapshot-alloc makes the memory for it first");
    cr_expect_str_eq(f.notice,
                     "snapshot not allocated: recording stops here; the samples in memory go to the file at the end");
    cr_expect(f.snapshots.permanent);
    cr_expect(!sample(&f), "events are off");
    cr_expect_eq(weir_snapshot_swap(&f.snapshots, &err), -EALREADY);
    cr_expect_eq(weir_snapshot_alloc(&f.snapshots, &err), -EALREADY);
    cr_expect_eq(weir_snapshot_dump(&f.snapshots, &err), -EALREADY);
    cr_expect_eq(weir_rounds_snapshot_progress(&f.rig.pipeline.rounds), WEIR_SNAPSHOT_NONE);
    fixture_fini(&f);
}

Test(snapshot, alloc_makes_the_spare_once_and_swaps)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f, MIB);
    const struct weir_pool *pool = &f.rig.pipeline.pool;
    uint32_t before = pool->ready_count, spare = (uint32_t)(f.rig.pipeline.retention.bytes / pool->chunk_bytes);
    cr_expect(!weir_pipeline_has_spare(&f.rig.pipeline));
    cr_assert_eq(weir_snapshot_alloc(&f.snapshots, &err), 0);
    cr_expect(weir_pipeline_has_spare(&f.rig.pipeline));
    cr_expect_eq(pool->ready_count, before + spare);
    settle(&f);
    cr_assert_eq(weir_snapshot_alloc(&f.snapshots, &err), 0);
    cr_expect_eq(pool->ready_count, before + spare);
    settle(&f);
    cr_assert_eq(weir_snapshot_swap(&f.snapshots, &err), 0);
    settle(&f);
    cr_expect_eq(f.rig.pipeline.rounds.snapshots, 3);
    cr_expect(sample(&f), "recording goes on");
    fixture_fini(&f);
}

Test(snapshot, a_dump_needs_no_spare)
{
    struct fixture f;
    struct weir_error err;
    fixture_init(&f, MIB);
    cr_assert_eq(weir_snapshot_dump(&f.snapshots, &err), 0);
    settle(&f);
    cr_expect(!weir_pipeline_has_spare(&f.rig.pipeline));
    cr_expect(sample(&f));
    fixture_fini(&f);
}
