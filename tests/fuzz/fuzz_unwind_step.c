/*
 * A chunk of samples with copied stacks, and the table of the file in which they were taken, both made to harm
 * (engine/drain/unwind_step.h). Input: u16 bytes of .eh_frame, u16 of flags (1: in a hurry, 2: the file is late), the
 * section, records up to the first one that is not whole.
 *
 * Whatever is in it: as many records of each type come out as go in, whole and in no more bytes; each sample is counted
 * once; and no chunk waits or opens files more often than it may.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/engine/unwind_rig.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/record_counts.h"

#define CHUNK_BYTES (64u * 1024)

/* The worker stays for all runs, as it is large; each run has another file. */
struct fixture {
    struct unwind_rig rig;
    struct weir_chunk_rewriter step;
    void *worker;
    uint8_t data[CHUNK_BYTES];
};

static void *init(void)
{
    static struct fixture fixture;
    weir_assert(unwind_rig_init(&fixture.rig, 1));
    fixture.step = weir_unwind_step_rewriter(&fixture.rig.step);
    fixture.worker = fixture.step.begin(fixture.step.plan, CHUNK_BYTES);
    weir_assert(fixture.worker);
    return &fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    fixture->step.end(fixture->worker);
    unwind_rig_fini(&fixture->rig);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    struct fixture *fixture = object;
    struct unwind_rig *rig = &fixture->rig;
    struct record_counts before = {{0}}, after = {{0}};
    uint16_t head[2];
    if (bytes < sizeof(head))
        return;
    memcpy(head, data, sizeof(head));
    size_t table_bytes = weir_min_u64(head[0], bytes - sizeof(head)), rest = bytes - sizeof(head) - table_bytes;
    rig->table.used = 0;
    weir_buf_append(&rig->table, data + sizeof(head), table_bytes);
    rig->keys_from += 2;
    rig->open_error = head[1] & 2 ? -ETIMEDOUT : 0;
    unsigned opens = atomic_load(&rig->opens), waits = atomic_load(&rig->waits);
    const struct weir_unwound_sum from = weir_unwind_step_sum(&rig->step);

    struct weir_chunk chunk = {.data = fixture->data, .capacity = CHUNK_BYTES};
    memcpy(chunk.data, data + sizeof(head) + table_bytes, weir_min_u64(rest, CHUNK_BYTES));
    chunk.used = record_counts_add(&before, chunk.data, weir_min_u64(rest, CHUNK_BYTES));
    uint32_t used = chunk.used;
    fixture->step.rewrite(fixture->worker, &chunk, head[1] & 1);

    weir_assert(chunk.used <= used && record_counts_add(&after, chunk.data, chunk.used) == chunk.used);
    weir_assert(memcmp(&before, &after, sizeof(before)) == 0);
    weir_assert(atomic_load(&rig->opens) - opens <= 2 && atomic_load(&rig->waits) - waits <= 1);
    const struct weir_unwound_sum to = weir_unwind_step_sum(&rig->step);
    uint64_t samples = to.samples - from.samples, sorted = to.unwound - from.unwound + to.malformed - from.malformed;
    weir_assert(sorted <= samples && samples <= before.of[PERF_RECORD_SAMPLE]);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
