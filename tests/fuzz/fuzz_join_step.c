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

#define CHUNK_BYTES (64u * 1024)
#define TYPES       32u

struct fixture {
    struct join_rig rig;
    struct weir_chunk_rewriter step;
    void *worker;
    uint8_t data[CHUNK_BYTES];
};

struct seen {
    uint64_t records[TYPES];
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

/* Returns the bytes of the whole records at the beginning. */
static uint32_t count(const uint8_t *data, size_t bytes, struct seen *seen)
{
    struct perf_event_header header;
    uint32_t at = 0;
    for (; bytes - at >= sizeof(header); at += header.size) {
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > bytes - at)
            break;
        seen->records[header.type == WEIR_RECORD_CALLCHAIN_DEFERRED ? 0 : header.type % (TYPES - 1) + 1]++;
    }
    return at;
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    struct fixture *fixture = object;
    struct seen before = {{0}}, after = {{0}};
    struct weir_chunk chunk = {.data = fixture->data, .capacity = CHUNK_BYTES};
    memcpy(chunk.data, data, weir_min_u64(bytes, CHUNK_BYTES));
    chunk.used = count(chunk.data, weir_min_u64(bytes, CHUNK_BYTES), &before);

    const struct weir_joined_sum from = weir_join_step_sum(&fixture->rig.step);
    fixture->step.rewrite(fixture->worker, &chunk, false);
    const struct weir_joined_sum to = weir_join_step_sum(&fixture->rig.step);

    weir_assert(chunk.used <= CHUNK_BYTES && count(chunk.data, chunk.used, &after) == chunk.used);
    weir_assert(to.records - from.records == before.records[0] && after.records[0] == 0);
    weir_assert(memcmp(&before.records[1], &after.records[1], sizeof(before) - sizeof(before.records[0])) == 0);
    weir_assert(to.samples - from.samples <= before.records[PERF_RECORD_SAMPLE % (TYPES - 1) + 1]);
    weir_assert(to.samples == to.joined + weir_joined_without(&to) && to.unused <= to.records);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
