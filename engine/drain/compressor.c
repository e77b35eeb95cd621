/* Compression threads. worker_main() and the functions above it run on them; the coordinator runs set-up and end, the
 * writer all others. Protocol: compressor.h. Source: futex(2). */
#include "engine/drain/compressor.h"

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
#define SLOTS_MIN        16u
#define WORKERS_MAX      16u
#define CPUS_PER_WORKER  8u
#define STACK_BYTES      (256u * 1024)

/* ---- workers ---- */

static void compress(struct weir_zstd_packer *packer, struct weir_compressor_slot *slot)
{
    slot->bytes = weir_zstd_pack(packer, slot->data, slot->chunk->data, slot->chunk->used, slot->raw_ends);
    weir_test_point(WEIR_AT_COMPRESS_DONE);
    atomic_store_explicit(&slot->state, WEIR_COMPRESSOR_DONE, memory_order_release); /* (work-done) */
}

/* Takes the next waiting slot; NULL: none waits. */
static struct weir_compressor_slot *take(struct weir_compressor *compressor)
{
    /* (work-taken) acquire, here and where the exchange fails: a thread that reads a number which another one has
     * left sees that much offered. An `offered` older than `taken` would differ from it, too, and the exchange would
     * succeed.
     */
    uint32_t number = atomic_load_explicit(&compressor->taken, memory_order_acquire);
    while (number != atomic_load_explicit(&compressor->offered, memory_order_acquire)) { /* (work-offered) */
        /* Relaxed: (work-offered) orders it. With a stale number the exchange fails. */
        struct weir_compressor_slot *slot =
            atomic_load_explicit(&compressor->work[number % compressor->slot_count], memory_order_relaxed);
        weir_test_point(WEIR_AT_COMPRESS_TAKE);
        if (atomic_compare_exchange_weak_explicit(&compressor->taken, &number, number + 1, memory_order_acq_rel,
                                                  memory_order_acquire)) /* (work-taken) */
            return slot;
    }
    return NULL;
}

/* Sleeps until the bell is rung. heard: the bell before the look for work. */
static void wait_for_bell(struct weir_compressor *compressor, uint32_t heard)
{
    atomic_fetch_add_explicit(&compressor->sleepers, 1, memory_order_seq_cst); /* (worker-bell) */
    weir_test_point(WEIR_AT_COMPRESS_SLEEP);
    syscall(SYS_futex, &compressor->bell, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
    atomic_fetch_sub_explicit(&compressor->sleepers, 1, memory_order_relaxed); /* a wake too many at most */
}

/* Rings the bell, for work or an end that was stored before. */
static void ring_bell(struct weir_compressor *compressor, int workers)
{
    atomic_fetch_add_explicit(&compressor->bell, 1, memory_order_seq_cst); /* (worker-bell) */
    if (atomic_load_explicit(&compressor->sleepers, memory_order_seq_cst) > 0)
        syscall(SYS_futex, &compressor->bell, FUTEX_WAKE_PRIVATE, workers, NULL, NULL, 0);
}

static void *worker_main(void *argument)
{
    struct weir_compressor_worker *worker = argument;
    struct weir_compressor *compressor = worker->compressor;
    worker->tid = gettid();
    weir_privileges_limit(WEIR_PRIVILEGES_DATA);
    /* Release pairs with start(). */
    atomic_fetch_add_explicit(&compressor->started, 1, memory_order_release);
    for (;;) {
        uint32_t heard = atomic_load_explicit(&compressor->bell, memory_order_acquire); /* (worker-bell) */
        bool stops = atomic_load_explicit(&compressor->stopping, memory_order_acquire); /* (work-end) */
        struct weir_compressor_slot *slot = take(compressor);
        if (slot)
            compress(worker->packer, slot);
        else if (stops)
            break;
        else
            wait_for_bell(compressor, heard);
    }
    worker->cpu_time_ns = weir_clock_thread_cpu_ns();
    return NULL;
}

/* ---- set-up and end ---- */

unsigned weir_compressor_default_workers(unsigned cpus)
{
    return (unsigned)weir_clamp_u64(cpus / CPUS_PER_WORKER, 1, WORKERS_MAX);
}

static unsigned slots_for(unsigned workers)
{
    return (unsigned)weir_round_up_power_of_two(weir_max_u64((uint64_t)workers * SLOTS_PER_WORKER, SLOTS_MIN));
}

static size_t slot_data_bytes(const struct weir_compressor_setup *setup)
{
    return weir_align_up(weir_zstd_pack_bound(setup->chunk_bytes), WEIR_OUTPUT_ALIGN_BYTES);
}

struct weir_compressor_memory weir_compressor_memory_of(const struct weir_compressor_setup *setup)
{
    unsigned workers = (unsigned)weir_max_u64(setup->workers, 1);
    uint64_t packers = (uint64_t)workers * weir_zstd_packer_bytes(setup->level, setup->chunk_bytes);
    return (struct weir_compressor_memory){
        .least = packers,
        .most = packers > 0 ? packers + (uint64_t)slots_for(workers) * slot_data_bytes(setup) : 0,
    };
}

static int map_buffers(struct weir_compressor *compressor)
{
    size_t each = slot_data_bytes(&compressor->setup);
    size_t bytes = each * compressor->slot_count;
    /* Reserved whole; compressed bytes use a fraction of it. */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    compressor->memory = (struct iovec){.iov_base = memory, .iov_len = bytes};
    size_t records = weir_zstd_pack_records(compressor->setup.chunk_bytes);
    compressor->raw_ends = calloc(compressor->slot_count * records, sizeof(*compressor->raw_ends));
    if (!compressor->raw_ends)
        return -ENOMEM;
    for (unsigned i = 0; i < compressor->slot_count; i++) {
        compressor->slots[i].data = (uint8_t *)memory + i * each;
        compressor->slots[i].raw_ends = compressor->raw_ends + i * records;
    }
    return 0;
}

static int build(struct weir_compressor *compressor)
{
    const struct weir_compressor_setup *setup = &compressor->setup;
    compressor->worker_count = (unsigned)weir_max_u64(setup->workers, 1);
    compressor->slot_count = slots_for(compressor->worker_count);
    size_t slot_bytes = compressor->slot_count * sizeof(*compressor->slots);
    compressor->slots = aligned_alloc(WEIR_CACHE_LINE_BYTES, slot_bytes);
    compressor->work = calloc(compressor->slot_count, sizeof(*compressor->work));
    compressor->workers = calloc(compressor->worker_count, sizeof(*compressor->workers));
    if (!compressor->slots || !compressor->work || !compressor->workers)
        return -ENOMEM;
    memset(compressor->slots, 0, slot_bytes);
    for (unsigned i = 0; i < compressor->worker_count; i++) {
        struct weir_compressor_worker *worker = &compressor->workers[i];
        worker->compressor = compressor;
        worker->packer = weir_zstd_packer_new(setup->level, setup->chunk_bytes);
        if (!worker->packer)
            return -ENOMEM;
    }
    return map_buffers(compressor);
}

int weir_compressor_init(struct weir_compressor *compressor, const struct weir_compressor_setup *setup,
                         struct weir_error *err)
{
    memset(compressor, 0, sizeof(*compressor));
    compressor->setup = *setup;
    int result = build(compressor);
    if (result == 0)
        return 0;
    weir_compressor_fini(compressor);
    weir_error_set_errno(err, result, "cannot set up compression of level %d", setup->level);
    weir_error_hint(err, "a lower level needs less memory: --compression-level=1");
    return result;
}

void weir_compressor_fini(struct weir_compressor *compressor)
{
    if (!compressor)
        return;
    weir_compressor_stop(compressor);
    for (unsigned i = 0; compressor->workers && i < compressor->worker_count; i++)
        weir_zstd_packer_free(compressor->workers[i].packer);
    if (compressor->memory.iov_base)
        munmap(compressor->memory.iov_base, compressor->memory.iov_len);
    free(compressor->workers);
    free(compressor->work);
    free(compressor->raw_ends);
    free(compressor->slots);
    memset(compressor, 0, sizeof(*compressor));
}

static int start_worker(struct weir_compressor_worker *worker, unsigned index, const pthread_attr_t *attr)
{
    int result = -pthread_create(&worker->thread, attr, worker_main, worker);
    if (result < 0)
        return result;
    worker->started = true;
    char name[16]; /* TASK_COMM_LEN */
    snprintf(name, sizeof(name), "weir-zstd-%u", index % 1000);
    pthread_setname_np(worker->thread, name);
    return 0;
}

int weir_compressor_start(struct weir_compressor *compressor, struct weir_error *err)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int result = 0;
    unsigned count = 0;
    for (; result == 0 && count < compressor->setup.workers; count += result == 0)
        result = start_worker(&compressor->workers[count], count, &attr);
    pthread_attr_destroy(&attr);
    /* Their ids are known once they run. Acquire pairs with worker_main(). */
    while (atomic_load_explicit(&compressor->started, memory_order_acquire) < count)
        weir_clock_pause_ns(WEIR_NS_PER_MS / 20);
    return result < 0 ? weir_error_set_errno(err, result, "cannot start compression thread %u of %u", count + 1,
                                             compressor->setup.workers)
                      : 0;
}

void weir_compressor_stop(struct weir_compressor *compressor)
{
    atomic_store_explicit(&compressor->stopping, true, memory_order_release); /* (work-end) */
    ring_bell(compressor, INT_MAX);
    for (unsigned i = 0; compressor->workers && i < compressor->worker_count; i++) {
        struct weir_compressor_worker *worker = &compressor->workers[i];
        if (worker->started)
            pthread_join(worker->thread, NULL);
        worker->started = false;
        compressor->totals.cpu_time_ns += worker->cpu_time_ns;
        worker->cpu_time_ns = 0;
    }
}

/* ---- writer ---- */

static struct weir_compressor_slot *slot_at(const struct weir_compressor *compressor, uint64_t number)
{
    return &compressor->slots[number % compressor->slot_count];
}

bool weir_compressor_can_submit(const struct weir_compressor *compressor)
{
    return compressor->submitted - compressor->completed < compressor->slot_count;
}

/* Offered and not yet taken. Relaxed loads: our own number, and one that only says how busy the workers are. */
static uint32_t waiting(const struct weir_compressor *compressor)
{
    return atomic_load_explicit(&compressor->offered, memory_order_relaxed) -
           atomic_load_explicit(&compressor->taken, memory_order_relaxed);
}

void weir_compressor_submit(struct weir_compressor *compressor, struct weir_chunk *chunk, bool pressed)
{
    weir_assert(weir_compressor_can_submit(compressor));
    struct weir_compressor_slot *slot = slot_at(compressor, compressor->submitted++);
    bool raw =
        chunk->kind != WEIR_CHUNK_DATA || chunk->opaque || (pressed && waiting(compressor) >= compressor->worker_count);
    slot->chunk = chunk;
    slot->bytes = 0;
    /* Relaxed: no worker knows the slot before it is offered. */
    atomic_store_explicit(&slot->state, raw ? WEIR_COMPRESSOR_DONE : WEIR_COMPRESSOR_WAITING, memory_order_relaxed);
    if (raw)
        return;
    uint32_t number = atomic_load_explicit(&compressor->offered, memory_order_relaxed); /* our own word */
    atomic_store_explicit(&compressor->work[number % compressor->slot_count], slot,
                          memory_order_relaxed); /* by (work-offered) */
    weir_test_point(WEIR_AT_COMPRESS_OFFER);
    atomic_store_explicit(&compressor->offered, number + 1, memory_order_release); /* (work-offered) */
}

void weir_compressor_kick(struct weir_compressor *compressor)
{
    struct weir_compressor_slot *slot;
    while (compressor->setup.workers == 0 && (slot = take(compressor)))
        compress(compressor->workers[0].packer, slot);
    uint32_t count = waiting(compressor);
    if (count > 0)
        ring_bell(compressor, (int)count);
}

bool weir_compressor_next(struct weir_compressor *compressor, struct weir_compressor_result *result)
{
    if (compressor->appended == compressor->submitted)
        return false;
    struct weir_compressor_slot *slot = slot_at(compressor, compressor->appended);
    if (atomic_load_explicit(&slot->state, memory_order_acquire) != WEIR_COMPRESSOR_DONE) /* (work-done) */
        return false;
    struct weir_chunk *chunk = slot->chunk;
    compressor->appended++;
    *result = (struct weir_compressor_result){chunk, chunk->data, chunk->used, chunk->buffer_index};
    if (slot->bytes > 0) {
        result->data = slot->data;
        result->bytes = slot->bytes;
        result->buffer_index = compressor->setup.buffer_index;
        compressor->totals.in_bytes += chunk->used;
        compressor->totals.out_bytes += slot->bytes;
    } else if (chunk->kind == WEIR_CHUNK_DATA && !chunk->opaque) {
        compressor->totals.raw_bytes += chunk->used;
    }
    return true;
}

/* Nearly always the oldest. */
struct weir_compressor_bytes weir_compressor_complete(struct weir_compressor *compressor,
                                                      const struct weir_chunk *chunk)
{
    uint64_t number = compressor->completed;
    while (number < compressor->appended && slot_at(compressor, number)->chunk != chunk)
        number++;
    weir_assert(number < compressor->appended);
    slot_at(compressor, number)->chunk = NULL;
    while (compressor->completed < compressor->appended && !slot_at(compressor, compressor->completed)->chunk)
        compressor->completed++;
    const struct weir_compressor_slot *slot = slot_at(compressor, number); /* filled again by this thread only */
    return (struct weir_compressor_bytes){.data = slot->data, .count = slot->bytes, .raw_ends = slot->raw_ends};
}

unsigned weir_compressor_backlog(const struct weir_compressor *compressor)
{
    return (unsigned)(compressor->submitted - compressor->appended);
}
