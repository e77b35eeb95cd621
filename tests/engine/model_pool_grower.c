/*
 * The thread that grows the pool (engine/drain/pool_grower.h) on the machine of weak_memory.h: two readers that take a
 * chunk each and tell of it, of which one then waits until the pool has grown, and ends the thread. Nobody wakes more
 * often than the thread waits.
 */
#include "tests/engine/weak_memory.h"

#include "engine/drain/chunk.h"

static bool wants_growth(void);
static int grow(void);

static void note_futex(const volatile void *word, int operation);

#undef syscall
#define syscall(number, word, operation, ...) \
    (note_futex(word, operation), weak_syscall(number, word, operation, __VA_ARGS__))
#define weir_pool_wants_growth(pool) ((void)(pool), wants_growth())
#define weir_pool_grow(pool)         ((void)(pool), grow())
#include "engine/drain/pool_grower.c"

#define READY 2u

static struct weir_pool_grower grower;
static _Atomic uint32_t free_count, grown;
static unsigned waits, wakes; /* system calls on the grower's word */

static void note_futex(const volatile void *word, int operation)
{
    if (word == &grower.word)
        *(operation == FUTEX_WAIT_PRIVATE ? &waits : &wakes) += 1;
}

/* As the pool: relaxed. With both chunks taken. */
static bool wants_growth(void)
{
    return atomic_load_explicit(&free_count, memory_order_relaxed) == 0;
}

static int grow(void)
{
    atomic_fetch_add_explicit(&free_count, READY, memory_order_relaxed);
    atomic_store_explicit(&grown, 1, memory_order_relaxed);
    syscall(SYS_futex, &grown, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return 0;
}

static void begin(void)
{
    weir_pool_grower_init(&grower, NULL);
    atomic_init(&free_count, READY);
    atomic_init(&grown, 0);
    waits = wakes = 0;
}

static void take_and_tell(void)
{
    atomic_fetch_sub_explicit(&free_count, 1, memory_order_relaxed);
    weir_pool_grower_tell(&grower);
}

static void take_and_wait(void)
{
    take_and_tell();
    syscall(SYS_futex, &grown, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    weir_pool_grower_stop(&grower);
}

static void run(void)
{
    weir_pool_grower_run(&grower);
}

static bool wakes_answer_waits(void)
{
    return wakes <= waits;
}

int main(void)
{
    static const struct weak_program program = {
        .name = "pool grower",
        .begin = begin,
        .threads = {run, take_and_tell, take_and_wait},
        .is_right = wakes_answer_waits,
        .preemptions = 2,
    };
    return weak_explore(&program) ? 0 : 1;
}
