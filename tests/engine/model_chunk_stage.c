/*
 * The hand-over of work to the threads of the stage, and their sleep (engine/drain/chunk_stage.h), on the machine of
 * weak_memory.h: a writer that offers two chunks to two threads, and one that offers one to a thread and ends it. Each
 * chunk is compressed once, nothing else is, and the thread comes to its end.
 */
#include "tests/engine/weak_memory.h"

#include "engine/kernel/privileges.h"
#include "format/zstd_pack.h"

static size_t pack(const uint8_t *data);

#define weir_privileges_limit(class)                           ((void)0)
#define weir_zstd_pack(packer, to, from, from_bytes, raw_ends) ((void)(packer), pack(from))
#include "engine/drain/chunk_stage.c"

#define CHUNKS  2u
#define WORKERS 1u
#define SLOTS   4u

static struct weir_chunk_stage stage;
static struct weir_chunk_stage_slot slots[SLOTS];
static _Atomic(struct weir_chunk_stage_slot *) work[SLOTS];
static struct weir_chunk_stage_worker workers[WORKERS];
static struct weir_chunk chunks[CHUNKS], nothing;
static uint8_t data[CHUNKS], none;
static unsigned packed[CHUNKS];
static struct weir_chunk_stage_slot unoffered; /* what stands in the list where nothing was offered */

static size_t pack(const uint8_t *from)
{
    if (from == &none)
        weak_fail("something was taken that nobody has offered");
    else if (packed[from - data]++ > 0)
        weak_fail("a chunk was taken twice");
    return 1;
}

static void begin(void)
{
    memset(&stage, 0, sizeof(stage));
    memset(slots, 0, sizeof(slots));
    memset(workers, 0, sizeof(workers));
    memset(packed, 0, sizeof(packed));
    stage.setup.workers = WORKERS;
    stage.setup.level = 1;
    stage.slots = slots;
    stage.work = work;
    stage.slot_count = SLOTS;
    stage.workers = workers;
    stage.worker_count = WORKERS;
    nothing.data = &none;
    unoffered.chunk = &nothing;
    for (unsigned i = 0; i < SLOTS; i++)
        atomic_init(&work[i], &unoffered);
    for (unsigned i = 0; i < WORKERS; i++)
        workers[i].stage = &stage;
    for (unsigned i = 0; i < CHUNKS; i++)
        chunks[i] = (struct weir_chunk){.kind = WEIR_CHUNK_DATA, .data = &data[i], .used = 1};
}

static void offer(unsigned chunk)
{
    weir_chunk_stage_submit(&stage, &chunks[chunk], false);
    weir_chunk_stage_kick(&stage);
}

static void offer_all(void)
{
    for (unsigned i = 0; i < CHUNKS; i++)
        offer(i);
}

static void offer_and_end(void)
{
    offer(0);
    weir_chunk_stage_stop(&stage);
}

static void work_to_the_end(void)
{
    worker_main(&workers[0]);
}

/* What there is at two looks. */
static void look(void)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        struct weir_chunk_stage_slot *slot = take(&stage);
        if (slot)
            work_on(&workers[0], slot);
    }
}

static bool is_packed(void)
{
    return packed[0] == 1;
}

int main(void)
{
    static const struct weak_program taking = {
        .name = "two threads take work",
        .begin = begin,
        .threads = {offer_all, look, look},
        .preemptions = 1,
    };
    static const struct weak_program sleeping = {
        .name = "a thread sleeps, and ends",
        .begin = begin,
        .threads = {offer_and_end, work_to_the_end},
        .is_right = is_packed,
        .preemptions = 2,
    };
    bool right = weak_explore(&taking);
    return weak_explore(&sleeping) && right ? 0 : 1;
}
