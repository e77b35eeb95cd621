/* The thread that grows the pool: when it does, and how it ends. Races: race_chunk_pool.c. */
#include "engine/drain/pool_grower.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

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
    cr_assert_eq(weir_pool_init(&f->pool, 16 * MIB, 4 * MIB, &one_reader, 1, NULL), 0);
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
