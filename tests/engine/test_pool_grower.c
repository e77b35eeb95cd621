/* The thread that grows the pool: when it does, who tells it, and how it ends. Races: race_chunk_pool.c,
 * model_pool_grower.c. */
#include "engine/drain/pool_grower.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/engine/reader_rig.h"

#define MIB (1024ull * 1024)

static const struct weir_pool_share one_reader = {.node = -1, .readers = 1};

struct fixture {
    struct weir_pool pool;
    struct weir_pool_grower grower;
    pthread_t thread;
};

static void *run(void *argument)
{
    weir_pool_grower_run(argument);
    return NULL;
}

static void start(struct fixture *f)
{
    cr_assert_eq(weir_pool_init(&f->pool, 16 * MIB, 4 * MIB, MIB, 0, &one_reader, 1, NULL), 0);
    weir_pool_grower_init(&f->grower, &f->pool);
    cr_assert_eq(pthread_create(&f->thread, NULL, run, &f->grower), 0);
}

static void stop(struct fixture *f)
{
    weir_pool_grower_stop(&f->grower);
    pthread_join(f->thread, NULL);
    weir_pool_fini(&f->pool);
}

static void wait_for_ready(const struct weir_pool *pool, uint32_t count)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (atomic_load(&pool->ready_count) != count) /* the test's time limit ends it */
        nanosleep(&pause, NULL);
}

Test(pool_grower, stop_ends_it_when_nothing_was_ever_wanted, .timeout = 30)
{
    struct fixture f;
    start(&f);
    weir_pool_grower_tell(&f.grower);
    stop(&f);
    cr_assert_eq(f.grower.error, 0);
}

Test(pool_grower, memory_that_cannot_be_had_ends_it_with_the_pool_as_it_is, .timeout = 30)
{
    struct fixture f;
    start(&f);
    uint8_t *memory = f.pool.nodes[0].memory;
    cr_assert_eq(munmap(memory + 4 * MIB, 12 * MIB), 0); /* ENOMEM */
    struct weir_chunk *taken[3];
    for (int i = 0; i < 3; i++)
        taken[i] = weir_pool_take(&f.pool, 0, true);
    weir_pool_grower_tell(&f.grower);
    pthread_join(f.thread, NULL);
    cr_assert_eq(f.grower.error, -ENOMEM);
    cr_assert_eq(weir_pool_free_count(&f.pool), 1);
    weir_pool_grower_tell(&f.grower); /* nobody listens any more */
    for (int i = 0; i < 3; i++)
        weir_pool_put(&f.pool, taken[i]);
    weir_pool_fini(&f.pool);
}

Test(pool_grower, grows_until_half_of_what_is_ready_is_free, .timeout = 30)
{
    struct fixture f;
    start(&f);
    struct weir_chunk *taken[8];
    for (int i = 0; i < 3; i++)
        taken[i] = weir_pool_take(&f.pool, 0, true);
    weir_pool_grower_tell(&f.grower);
    wait_for_ready(&f.pool, 8);
    for (int i = 3; i < 8; i++)
        taken[i] = weir_pool_take(&f.pool, 0, true);
    weir_pool_grower_tell(&f.grower);
    wait_for_ready(&f.pool, 16);
    cr_assert_eq(weir_pool_free_count(&f.pool), 8);
    for (int i = 0; i < 8; i++)
        weir_pool_put(&f.pool, taken[i]);
    stop(&f);
    cr_assert_eq(f.grower.error, 0);
}

/* The writer is in a system call that the disk keeps: it gives nothing back, and tells the grower nothing. */
Test(pool_grower, is_told_by_a_reader_while_the_writer_does_not_come_back)
{
    struct reader_rig rig;
    struct weir_pool_grower grower;
    rig_init(&rig, &(struct rig_options){.ring_bytes = 1024 * 1024, .chunks = 8, .ready_chunks = 4});
    weir_pool_grower_init(&grower, &rig.pool);
    rig.readers[0].setup.sink.grower = &grower;
    for (unsigned n = 0; n < 12; n++) /* two to a chunk */
        rig_put_sample(&rig, 0, n, 48 * 1024);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_STARVED);
    cr_assert_neq(atomic_load(&grower.word), 0, "it is not told");
    cr_assert_eq(weir_pool_grow(&rig.pool), 0); /* as its thread does then */
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    cr_assert_eq(raw_ring_tail(&rig.raw, 0), 12 * 48 * 1024);
    for (uint64_t n = 0; n < 10; n += 2)
        rig_expect_samples(&rig, rig_pop(&rig), n, 2);
    rig_open_epoch(&rig);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    rig_expect_samples(&rig, rig_pop(&rig), 10, 2);
    rig_fini(&rig);
}
