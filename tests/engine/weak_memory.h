/*
 * All interleavings of a few threads on a machine whose memory is as weak as C11 lets it be: what no run on x86-64
 * shows, ThreadSanitizer's neither. A program includes this header and then the .c file of a protocol, whose atomics,
 * futexes and test points become calls of weak_memory.c; its threads are coroutines, which change at these calls.
 *
 * The machine: each object has a list of the stores to it. A load takes one of them, not always the last: any that is
 * not older than one which the thread knows of. A store with release passes on what its thread knows, a load with
 * acquire takes it over, and a read-modify-write takes the last store and passes on what came with that. A sequentially
 * consistent load does not miss such a store that came before the last operation of its thread which keeps later loads
 * behind it (acquire, or sequentially consistent): an ordinary load before it may be done after it, as by ldr and ldar
 * of ARM64. Stores are seen in the order in which they are made. (So it shows less than C11 allows: no store is made
 * early.)
 *
 * futex(2) looks at the last store, as the kernel does, and whoever calls it knows that one from then on. A thread that
 * waits goes on when it is woken, never by itself. When all threads wait, the run has failed: a wake was lost.
 *
 * All choices, which thread goes on and which store a load takes, are gone through one by one, as long as there are no
 * more than so many preemptions in a run: the idea is that of M. Musuvathi and S. Qadeer, "Iterative context bounding
 * for systematic testing of multithreaded programs" (PLDI 2007).
 */
#ifndef WEIR_TESTS_ENGINE_WEAK_MEMORY_H
#define WEIR_TESTS_ENGINE_WEAK_MEMORY_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WEAK_THREADS_MAX 3

struct weak_program {
    const char *name;
    void (*begin)(void); /* everything as it is at first; not on a thread */
    void (*threads[WEAK_THREADS_MAX])(void);
    bool (*is_right)(void); /* when all threads have ended; not on one. NULL: that they end is all */
    unsigned preemptions;
};

/* Goes through all runs. Prints how many they were, or what failed in which, and returns whether none failed. One
 * program at a time. */
bool weak_explore(const struct weak_program *program);

/* From a thread that finds nothing to do, instead of looking again at once: lets the others go on, which is no
 * preemption, and knows all stores afterwards, as time brings about. */
void weak_yield(void);

/* From a thread: the run has failed. */
void weak_fail(const char *what);

/* What the macros call; size: of the object, 8 at most. */
uint64_t weak_load(const volatile void *object, size_t size, memory_order order);
void weak_store(volatile void *object, size_t size, uint64_t value, memory_order order);
uint64_t weak_exchange(volatile void *object, size_t size, uint64_t value, memory_order order);
uint64_t weak_add(volatile void *object, size_t size, uint64_t more, memory_order order);
bool weak_compare_exchange(volatile void *object, size_t size, void *expected, uint64_t desired, memory_order success,
                           memory_order failure);
long weak_syscall(long number, ...); /* SYS_futex, its word, operation and value */

/* As plain types are, of an object that is atomic. */
#define WEAK_TYPE(object) __typeof__((void)0, *(object))

/* One that may be left unused. */
#define WEAK_RESULT(object, value) __extension__({ (WEAK_TYPE(object))(uintptr_t)(value); })

#undef atomic_init
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit
#define atomic_init(object, value) \
    weak_store(object, sizeof(*(object)), (uint64_t)(uintptr_t)(value), memory_order_relaxed)
#define atomic_load_explicit(object, order) ((WEAK_TYPE(object))(uintptr_t)weak_load(object, sizeof(*(object)), order))
#define atomic_store_explicit(object, value, order) \
    weak_store(object, sizeof(*(object)), (uint64_t)(uintptr_t)(value), order)
#define atomic_exchange_explicit(object, value, order) \
    WEAK_RESULT(object, weak_exchange(object, sizeof(*(object)), (uint64_t)(uintptr_t)(value), order))
#define atomic_fetch_add_explicit(object, more, order) \
    WEAK_RESULT(object, weak_add(object, sizeof(*(object)), (uint64_t)(more), order))
#define atomic_fetch_sub_explicit(object, less, order) \
    WEAK_RESULT(object, weak_add(object, sizeof(*(object)), -(uint64_t)(less), order))
#define atomic_compare_exchange_strong_explicit(object, expected, desired, success, failure) \
    weak_compare_exchange(object, sizeof(*(object)), expected, (uint64_t)(uintptr_t)(desired), success, failure)
#define atomic_compare_exchange_weak_explicit atomic_compare_exchange_strong_explicit

#define syscall weak_syscall

#endif
