/* The threads of the stage. worker_main() and the functions above it run on them; the coordinator runs set-up and end,
 * the writer all others. Protocol: chunk_stage.h. Source: futex(2). */
#include "engine/drain/chunk_stage.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/test_point.h"
#include "format/zstd_pack.h"
#include "io/output.h"

#define SLOTS_PER_WORKER 8u
#define SLOTS_HELD       8u /* besides, of each worker: a chunk of each reader that it works for */
#define SLOTS_MIN        16u
#define WORKERS_MAX      16u
#define CPUS_PER_WORKER  8u
#define STACK_BYTES      (256u * 1024)

/* ---- workers ---- */

static void work_on(struct weir_chunk_stage_worker *worker, struct weir_chunk_stage_slot *slot)
{
    const struct weir_chunk_stage_setup *setup = &worker->stage->setup;
    struct weir_chunk *chunk = slot->chunk;
    for (unsigned i = 0; i < setup->rewriter_count; i++)
        setup->rewriters[i].rewrite(worker->states[i], chunk, slot->is_hurried);
    if (slot->packs && chunk->used > 0)
        slot->bytes = weir_zstd_pack(worker->packer, slot->data, chunk->data, chunk->used, slot->raw_ends);
    weir_test_point(WEIR_AT_STAGE_DONE);
    atomic_store_explicit(&slot->state, WEIR_CHUNK_STAGE_DONE, memory_order_release); /* (work-done) */
}

/* Takes the next waiting slot; NULL: none waits. */
static struct weir_chunk_stage_slot *take(struct weir_chunk_stage *stage)
{
    /* (work-taken) acquire, here and where the exchange fails: a thread that reads a number which another one has
     * left sees that much offered. An `offered` older than `taken` would differ from it, too, and the exchange would
     * succeed.
     */
    uint32_t number = atomic_load_explicit(&stage->taken, memory_order_acquire);
    while (number != atomic_load_explicit(&stage->offered, memory_order_acquire)) { /* (work-offered) */
        /* Relaxed: (work-offered) orders it. With a stale number the exchange fails. */
        struct weir_chunk_stage_slot *slot =
            atomic_load_explicit(&stage->work[number % stage->slot_count], memory_order_relaxed);
        weir_test_point(WEIR_AT_STAGE_TAKE);
        if (atomic_compare_exchange_weak_explicit(&stage->taken, &number, number + 1, memory_order_acq_rel,
                                                  memory_order_acquire)) /* (work-taken) */
            return slot;
    }
    return NULL;
}

/* Sleeps until the bell is rung. heard: the bell before the look for work. */
static void wait_for_bell(struct weir_chunk_stage *stage, uint32_t heard)
{
    atomic_fetch_add_explicit(&stage->sleepers, 1, memory_order_seq_cst); /* (worker-bell) */
    weir_test_point(WEIR_AT_STAGE_SLEEP);
    syscall(SYS_futex, &stage->bell, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
    atomic_fetch_sub_explicit(&stage->sleepers, 1, memory_order_relaxed); /* a wake too many at most */
}

/* Rings the bell, for work or an end that was stored before. */
static void ring_bell(struct weir_chunk_stage *stage, int workers)
{
    atomic_fetch_add_explicit(&stage->bell, 1, memory_order_seq_cst); /* (worker-bell) */
    if (atomic_load_explicit(&stage->sleepers, memory_order_seq_cst) > 0)
        syscall(SYS_futex, &stage->bell, FUTEX_WAKE_PRIVATE, workers, NULL, NULL, 0);
}

static void *worker_main(void *argument)
{
    struct weir_chunk_stage_worker *worker = argument;
    struct weir_chunk_stage *stage = worker->stage;
    worker->tid = gettid();
    weir_privileges_limit(WEIR_PRIVILEGES_DATA);
    /* Release pairs with start(). */
    atomic_fetch_add_explicit(&stage->started, 1, memory_order_release);
    for (;;) {
        uint32_t heard = atomic_load_explicit(&stage->bell, memory_order_acquire); /* (worker-bell) */
        bool stops = atomic_load_explicit(&stage->stopping, memory_order_acquire); /* (work-end) */
        struct weir_chunk_stage_slot *slot = take(stage);
        if (slot)
            work_on(worker, slot);
        else if (stops)
            break;
        else
            wait_for_bell(stage, heard);
    }
    worker->cpu_time_ns = weir_clock_thread_cpu_ns();
    return NULL;
}

/* ---- set-up and end ---- */

unsigned weir_chunk_stage_default_workers(unsigned cpus)
{
    return (unsigned)weir_clamp_u64(cpus / CPUS_PER_WORKER, 1, WORKERS_MAX);
}

static unsigned slots_for(const struct weir_chunk_stage_setup *setup)
{
    uint64_t workers = weir_max_u64(setup->workers, 1), each = SLOTS_PER_WORKER + (setup->holds ? SLOTS_HELD : 0);
    return (unsigned)weir_round_up_power_of_two(weir_max_u64(workers * each, SLOTS_MIN));
}

static size_t slot_data_bytes(const struct weir_chunk_stage_setup *setup)
{
    return weir_align_up(weir_zstd_pack_bound(setup->chunk_bytes), WEIR_OUTPUT_ALIGN_BYTES);
}

struct weir_chunk_stage_memory weir_chunk_stage_memory_of(const struct weir_chunk_stage_setup *setup)
{
    unsigned workers = (unsigned)weir_max_u64(setup->workers, 1);
    uint64_t states = 0;
    for (unsigned i = 0; i < setup->rewriter_count; i++)
        states += setup->rewriters[i].state_bytes(setup->rewriters[i].plan, setup->chunk_bytes);
    if (setup->level == 0)
        return (struct weir_chunk_stage_memory){.least = workers * states, .most = workers * states};
    uint64_t packer = weir_zstd_packer_bytes(setup->level, setup->chunk_bytes);
    if (packer == 0)
        return (struct weir_chunk_stage_memory){0};
    uint64_t least = workers * (packer + states);
    return (struct weir_chunk_stage_memory){
        .least = least,
        .most = least + (uint64_t)slots_for(setup) * slot_data_bytes(setup),
    };
}

bool weir_chunk_stage_is_needed(const struct weir_chunk_stage_setup *setup)
{
    return setup->level > 0 || setup->rewriter_count > 0;
}

static int map_buffers(struct weir_chunk_stage *stage)
{
    size_t each = slot_data_bytes(&stage->setup);
    size_t bytes = each * stage->slot_count;
    /* Reserved whole; compressed bytes use a fraction of it. */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    stage->memory = (struct iovec){.iov_base = memory, .iov_len = bytes};
    size_t records = weir_zstd_pack_records(stage->setup.chunk_bytes);
    stage->raw_ends = calloc(stage->slot_count * records, sizeof(*stage->raw_ends));
    if (!stage->raw_ends)
        return -ENOMEM;
    for (unsigned i = 0; i < stage->slot_count; i++) {
        stage->slots[i].data = (uint8_t *)memory + i * each;
        stage->slots[i].raw_ends = stage->raw_ends + i * records;
    }
    return 0;
}

static bool build_worker(struct weir_chunk_stage_worker *worker, const struct weir_chunk_stage_setup *setup)
{
    for (unsigned i = 0; i < setup->rewriter_count; i++) {
        worker->states[i] = setup->rewriters[i].begin(setup->rewriters[i].plan, setup->chunk_bytes);
        if (!worker->states[i])
            return false;
    }
    if (setup->level > 0)
        worker->packer = weir_zstd_packer_new(setup->level, setup->chunk_bytes);
    return setup->level == 0 || worker->packer;
}

static int build(struct weir_chunk_stage *stage)
{
    const struct weir_chunk_stage_setup *setup = &stage->setup;
    stage->worker_count = (unsigned)weir_max_u64(setup->workers, 1);
    stage->slot_count = slots_for(setup);
    size_t slot_bytes = stage->slot_count * sizeof(*stage->slots);
    stage->slots = aligned_alloc(WEIR_CACHE_LINE_BYTES, slot_bytes);
    stage->work = calloc(stage->slot_count, sizeof(*stage->work));
    stage->workers = calloc(stage->worker_count, sizeof(*stage->workers));
    if (!stage->slots || !stage->work || !stage->workers)
        return -ENOMEM;
    memset(stage->slots, 0, slot_bytes);
    for (unsigned i = 0; i < stage->worker_count; i++) {
        struct weir_chunk_stage_worker *worker = &stage->workers[i];
        worker->stage = stage;
        if (!build_worker(worker, setup))
            return -ENOMEM;
    }
    return setup->level > 0 ? map_buffers(stage) : 0;
}

int weir_chunk_stage_init(struct weir_chunk_stage *stage, const struct weir_chunk_stage_setup *setup,
                          struct weir_error *err)
{
    memset(stage, 0, sizeof(*stage));
    stage->setup = *setup;
    int result = build(stage);
    if (result == 0)
        return 0;
    weir_chunk_stage_fini(stage);
    if (setup->level == 0)
        return weir_error_set_errno(err, result, "cannot set up the stage in front of the writer");
    weir_error_set_errno(err, result, "cannot set up compression of level %d", setup->level);
    weir_error_hint(err, "a lower level needs less memory: --compression-level=1");
    return result;
}

static void free_worker(struct weir_chunk_stage_worker *worker, const struct weir_chunk_stage_setup *setup)
{
    weir_zstd_packer_free(worker->packer);
    for (unsigned i = 0; i < setup->rewriter_count; i++)
        setup->rewriters[i].end(worker->states[i]);
}

void weir_chunk_stage_fini(struct weir_chunk_stage *stage)
{
    if (!stage)
        return;
    weir_chunk_stage_stop(stage);
    for (unsigned i = 0; stage->workers && i < stage->worker_count; i++)
        free_worker(&stage->workers[i], &stage->setup);
    if (stage->memory.iov_base)
        munmap(stage->memory.iov_base, stage->memory.iov_len);
    free(stage->workers);
    free(stage->work);
    free(stage->raw_ends);
    free(stage->slots);
    memset(stage, 0, sizeof(*stage));
}

static int start_worker(struct weir_chunk_stage_worker *worker, unsigned index, const pthread_attr_t *attr)
{
    int result = -pthread_create(&worker->thread, attr, worker_main, worker);
    if (result < 0)
        return result;
    worker->started = true;
    char name[16]; /* TASK_COMM_LEN */
    snprintf(name, sizeof(name), "weir-stage-%u", index % 1000);
    pthread_setname_np(worker->thread, name);
    return 0;
}

int weir_chunk_stage_start(struct weir_chunk_stage *stage, struct weir_error *err)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int result = 0;
    unsigned count = 0;
    for (; result == 0 && count < stage->setup.workers; count += result == 0)
        result = start_worker(&stage->workers[count], count, &attr);
    pthread_attr_destroy(&attr);
    /* Their ids are known once they run. Acquire pairs with worker_main(). */
    while (atomic_load_explicit(&stage->started, memory_order_acquire) < count)
        weir_clock_pause_ns(WEIR_NS_PER_MS / 20);
    return result < 0 ? weir_error_set_errno(err, result, "cannot start thread %u of %u of the stage", count + 1,
                                             stage->setup.workers)
                      : 0;
}

void weir_chunk_stage_stop(struct weir_chunk_stage *stage)
{
    atomic_store_explicit(&stage->stopping, true, memory_order_release); /* (work-end) */
    ring_bell(stage, INT_MAX);
    for (unsigned i = 0; stage->workers && i < stage->worker_count; i++) {
        struct weir_chunk_stage_worker *worker = &stage->workers[i];
        if (worker->started)
            pthread_join(worker->thread, NULL);
        worker->started = false;
        stage->totals.cpu_time_ns += worker->cpu_time_ns;
        worker->cpu_time_ns = 0;
    }
}

/* ---- writer ---- */

static struct weir_chunk_stage_slot *slot_at(const struct weir_chunk_stage *stage, uint64_t number)
{
    return &stage->slots[number % stage->slot_count];
}

bool weir_chunk_stage_can_submit(const struct weir_chunk_stage *stage)
{
    return stage->submitted - stage->completed < stage->slot_count;
}

/* Offered and not yet taken. Relaxed loads: our own number, and one that only says how busy the workers are. */
static uint32_t waiting(const struct weir_chunk_stage *stage)
{
    return atomic_load_explicit(&stage->offered, memory_order_relaxed) -
           atomic_load_explicit(&stage->taken, memory_order_relaxed);
}

void weir_chunk_stage_let_go(struct weir_chunk_stage *stage)
{
    stage->let_go = stage->submitted;
    if (atomic_load_explicit(&stage->offered, memory_order_relaxed) == stage->listed) /* our own word */
        return;
    weir_test_point(WEIR_AT_STAGE_OFFER);
    atomic_store_explicit(&stage->offered, stage->listed, memory_order_release); /* (work-offered) */
}

void weir_chunk_stage_submit(struct weir_chunk_stage *stage, struct weir_chunk *chunk, bool pressed)
{
    weir_assert(weir_chunk_stage_can_submit(stage));
    struct weir_chunk_stage_slot *slot = slot_at(stage, stage->submitted++);
    bool is_data = chunk->kind == WEIR_CHUNK_DATA && !chunk->opaque;
    bool is_behind = pressed && waiting(stage) >= stage->worker_count;
    slot->chunk = chunk;
    slot->is_hurried = is_behind;
    slot->packs = is_data && stage->setup.level > 0 && !is_behind;
    slot->bytes = 0;
    bool waits = slot->packs || (is_data && stage->setup.rewriter_count > 0);
    /* Relaxed: no worker knows the slot before it is offered. */
    atomic_store_explicit(&slot->state, waits ? WEIR_CHUNK_STAGE_WAITING : WEIR_CHUNK_STAGE_DONE, memory_order_relaxed);
    if (waits) /* relaxed: by (work-offered) */
        atomic_store_explicit(&stage->work[stage->listed++ % stage->slot_count], slot, memory_order_relaxed);
    bool ends_round = chunk->kind != WEIR_CHUNK_DATA;
    if (!stage->setup.holds || ends_round || pressed || !weir_chunk_stage_can_submit(stage))
        weir_chunk_stage_let_go(stage);
}

void weir_chunk_stage_kick(struct weir_chunk_stage *stage)
{
    struct weir_chunk_stage_slot *slot;
    while (stage->setup.workers == 0 && (slot = take(stage)))
        work_on(&stage->workers[0], slot);
    uint32_t count = waiting(stage);
    if (count > 0)
        ring_bell(stage, (int)count);
}

bool weir_chunk_stage_next(struct weir_chunk_stage *stage, struct weir_chunk_stage_result *result)
{
    if (stage->appended == stage->submitted)
        return false;
    struct weir_chunk_stage_slot *slot = slot_at(stage, stage->appended);
    if (atomic_load_explicit(&slot->state, memory_order_acquire) != WEIR_CHUNK_STAGE_DONE) /* (work-done) */
        return false;
    struct weir_chunk *chunk = slot->chunk;
    stage->appended++;
    *result = (struct weir_chunk_stage_result){chunk, chunk->data, chunk->used, chunk->buffer_index};
    if (slot->bytes > 0) {
        result->data = slot->data;
        result->bytes = slot->bytes;
        result->buffer_index = stage->setup.buffer_index;
        stage->totals.in_bytes += chunk->used;
        stage->totals.out_bytes += slot->bytes;
    } else if (stage->setup.level > 0 && chunk->kind == WEIR_CHUNK_DATA && !chunk->opaque) {
        stage->totals.raw_bytes += chunk->used;
    }
    return true;
}

/* Nearly always the oldest. */
struct weir_chunk_stage_bytes weir_chunk_stage_complete(struct weir_chunk_stage *stage, const struct weir_chunk *chunk)
{
    uint64_t number = stage->completed;
    while (number < stage->appended && slot_at(stage, number)->chunk != chunk)
        number++;
    weir_assert(number < stage->appended);
    slot_at(stage, number)->chunk = NULL;
    while (stage->completed < stage->appended && !slot_at(stage, stage->completed)->chunk)
        stage->completed++;
    const struct weir_chunk_stage_slot *slot = slot_at(stage, number); /* filled again by this thread only */
    return (struct weir_chunk_stage_bytes){.data = slot->data, .count = slot->bytes, .raw_ends = slot->raw_ends};
}

bool weir_chunk_stage_is_busy(const struct weir_chunk_stage *stage)
{
    if (stage->appended == stage->submitted)
        return false;
    /* Relaxed: (work-done) orders the bytes, for next(). */
    return stage->appended < stage->let_go ||
           atomic_load_explicit(&slot_at(stage, stage->appended)->state, memory_order_relaxed) == WEIR_CHUNK_STAGE_DONE;
}

unsigned weir_chunk_stage_backlog(const struct weir_chunk_stage *stage)
{
    return (unsigned)(stage->submitted - stage->appended);
}

void weir_chunk_stage_take_back(const struct weir_chunk_stage *stage, const uint8_t *records, uint64_t bytes,
                                uint64_t *const samples[], unsigned count)
{
    for (unsigned i = 0; i < stage->setup.rewriter_count; i++) {
        const struct weir_chunk_rewriter *step = &stage->setup.rewriters[i];
        if (step->take_back)
            step->take_back(step->plan, records, bytes, samples, count);
    }
}
