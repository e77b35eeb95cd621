/*
 * A chunk of samples with deferred call chains and of records of user parts, made to harm (engine/drain/join_step.h).
 * Input: records up to the first one that is not whole.
 *
 * Whatever is in it: as many records of each type come out as go in, but none of user parts; all of them are whole and
 * in a chunk's bytes; and each sample is counted once.
 */
#include <linux/perf_event.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/perf_file.h"
#include "tests/engine/join_rig.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/record_counts.h"

#define CHUNK_BYTES (64u * 1024)

struct fixture {
    struct join_rig rig;
    struct weir_chunk_rewriter step;
    void *worker;
    uint8_t data[CHUNK_BYTES];
};

static void *init(void)
{
    static struct fixture fixture;
    weir_assert(join_rig_init(&fixture.rig));
    fixture.step = weir_join_step_rewriter(&fixture.rig.step);
    fixture.worker = fixture.step.begin(fixture.step.plan, CHUNK_BYTES);
    weir_assert(fixture.worker);
    return &fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    fixture->step.end(fixture->worker);
    join_rig_fini(&fixture->rig);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    struct fixture *fixture = object;
    struct record_counts before = {{0}}, after = {{0}};
    uint64_t *user_parts = &before.of[WEIR_RECORD_CALLCHAIN_DEFERRED];
    struct weir_chunk chunk = {.data = fixture->data, .capacity = CHUNK_BYTES};
    memcpy(chunk.data, data, weir_min_u64(bytes, CHUNK_BYTES));
    chunk.used = record_counts_add(&before, chunk.data, weir_min_u64(bytes, CHUNK_BYTES));

    const struct weir_joined_sum from = weir_join_step_sum(&fixture->rig.step);
    fixture->step.rewrite(fixture->worker, &chunk, false);
    const struct weir_joined_sum to = weir_join_step_sum(&fixture->rig.step);

    weir_assert(chunk.used <= CHUNK_BYTES && record_counts_add(&after, chunk.data, chunk.used) == chunk.used);
    weir_assert(to.records - from.records == *user_parts);
    *user_parts = 0;
    weir_assert(memcmp(&before, &after, sizeof(before)) == 0);
    weir_assert(to.samples - from.samples <= before.of[PERF_RECORD_SAMPLE]);
    weir_assert(to.samples == to.joined + weir_joined_without(&to) && to.unused <= to.records);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
