/* The machine of weak_memory.h. A run is repeated from its beginning with the choices of the last one, but for the last
 * of these that can be made otherwise. One thread; its coroutines are those of swapcontext(3). */
#include "tests/engine/weak_memory.h"

#undef syscall

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "base/assert.h"

#define OBJECTS_MAX 32u
#define STORES_MAX  48u /* of one object */
#define CHOICES_MAX 512u
#define STACK_BYTES (64u * 1024)

/* By object: how many of its stores are known to have been made. */
struct view {
    uint8_t stores[OBJECTS_MAX];
};

struct store {
    uint64_t value;
    struct view passed_on; /* to who takes it with acquire */
};

struct object {
    const volatile void *at;
    struct store stores[STORES_MAX];
    unsigned count;
    uint8_t strict; /* stores up to the last that is sequentially consistent */
};

struct thread {
    ucontext_t context;
    struct view known;
    struct view strict;            /* what a sequentially consistent load has to see */
    const volatile void *waits_at; /* of futex(2); NULL: it can go on */
    bool ended;
    _Alignas(64) char stack[STACK_BYTES];
};

struct choice {
    uint8_t taken, count;
};

/* Of this program, which is a test: macros of the code under test lead here, and it knows no state of ours. */
static struct machine {
    const struct weak_program *program;
    struct object objects[OBJECTS_MAX];
    unsigned object_count;
    struct thread threads[WEAK_THREADS_MAX];
    unsigned thread_count;
    struct thread *running; /* NULL: none, the program begins or is looked at */
    ucontext_t explorer;
    unsigned preemptions;
    struct choice choices[CHOICES_MAX];
    unsigned choice_count, choice_at;
    const char *failure;
} machine;

/* ---- choices ---- */

static unsigned choose(unsigned count)
{
    if (count <= 1)
        return 0;
    weir_assert(machine.choice_at < CHOICES_MAX && count <= UINT8_MAX);
    struct choice *choice = &machine.choices[machine.choice_at++];
    if (machine.choice_at > machine.choice_count) {
        machine.choice_count = machine.choice_at;
        *choice = (struct choice){.count = (uint8_t)count};
    }
    weir_assert(choice->count == count);
    return choice->taken;
}

/* False: all have been made. */
static bool choose_otherwise(void)
{
    while (machine.choice_count > 0) {
        struct choice *last = &machine.choices[machine.choice_count - 1];
        if (++last->taken < last->count)
            return true;
        machine.choice_count--;
    }
    return false;
}

/* ---- threads ---- */

static bool can_run(const struct thread *thread)
{
    return !thread->ended && !thread->waits_at;
}

/* Leaves it to a choice who goes on. The thread that runs is the first to choose from, and to leave it costs a
 * preemption, unless it waits, yields or has ended. */
static void reschedule_from(bool yields)
{
    struct thread *before = machine.running, *candidates[WEAK_THREADS_MAX];
    unsigned count = 0;
    bool goes_on = before && can_run(before) && !yields;
    if (goes_on)
        candidates[count++] = before;
    for (unsigned i = 0; i < machine.thread_count; i++) {
        bool other = &machine.threads[i] != before && can_run(&machine.threads[i]);
        if (other && (!goes_on || machine.preemptions < machine.program->preemptions))
            candidates[count++] = &machine.threads[i];
    }
    if (count == 0 && yields)
        return;
    if (count == 0 || machine.failure) {
        machine.running = NULL;
        if (before)
            swapcontext(&before->context, &machine.explorer);
        return;
    }
    struct thread *next = candidates[choose(count)];
    machine.preemptions += goes_on && next != before;
    machine.running = next;
    if (next != before)
        swapcontext(before ? &before->context : &machine.explorer, &next->context);
}

static void reschedule(void)
{
    reschedule_from(false);
}

static void thread_main(void)
{
    struct thread *self = machine.running;
    machine.program->threads[self - machine.threads]();
    self->ended = true;
    reschedule();
    weir_assert(!"a thread that has ended runs");
}

void weak_fail(const char *what)
{
    if (!machine.failure)
        machine.failure = what;
    if (machine.running)
        reschedule();
}

/* ---- objects ---- */

static uint64_t read_plain(const volatile void *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)(uintptr_t)at, size);
    return value;
}

static struct object *object_at(const volatile void *at, size_t size)
{
    for (unsigned i = 0; i < machine.object_count; i++) {
        if (machine.objects[i].at == at)
            return &machine.objects[i];
    }
    weir_assert(machine.object_count < OBJECTS_MAX);
    struct object *object = &machine.objects[machine.object_count++];
    object->at = at;
    object->count = 1;
    object->strict = 0;
    object->stores[0] = (struct store){.value = read_plain(at, size)};
    return object;
}

static void join(struct view *view, const struct view *other)
{
    for (unsigned i = 0; i < OBJECTS_MAX; i++) {
        if (view->stores[i] < other->stores[i])
            view->stores[i] = other->stores[i];
    }
}

static bool acquires(memory_order order)
{
    return order == memory_order_acquire || order == memory_order_acq_rel || order == memory_order_seq_cst ||
           order == memory_order_consume;
}

static bool releases(memory_order order)
{
    return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

void weak_yield(void)
{
    reschedule_from(true);
    for (unsigned i = 0; i < machine.object_count; i++)
        machine.running->known.stores[i] = (uint8_t)(machine.objects[i].count - 1);
}

/* No later load is done before this. */
static void keep_loads_behind(struct thread *thread)
{
    for (unsigned i = 0; i < machine.object_count; i++)
        thread->strict.stores[i] = machine.objects[i].strict;
}

static uint64_t take(struct object *object, unsigned number, memory_order order)
{
    struct thread *self = machine.running;
    uint8_t *known = &self->known.stores[object - machine.objects];
    *known = (uint8_t)number;
    if (acquires(order)) {
        join(&self->known, &object->stores[number].passed_on);
        keep_loads_behind(self);
    }
    return object->stores[number].value;
}

/* before: whose it passes on as well; NULL: it is no read-modify-write. */
static void put(struct object *object, uint64_t value, memory_order order, const struct store *before)
{
    struct thread *self = machine.running;
    weir_assert(object->count < STORES_MAX);
    unsigned at = (unsigned)(object - machine.objects), number = object->count++;
    struct store *store = &object->stores[number];
    *store = (struct store){.value = value};
    self->known.stores[at] = (uint8_t)number;
    if (before)
        store->passed_on = before->passed_on;
    if (releases(order))
        join(&store->passed_on, &self->known);
    if (order == memory_order_seq_cst) {
        object->strict = (uint8_t)number;
        keep_loads_behind(self);
    }
}

static uint64_t cut(uint64_t value, size_t size)
{
    return size < sizeof(value) ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

uint64_t weak_load(const volatile void *at, size_t size, memory_order order)
{
    if (!machine.running)
        return machine.object_count > 0 ? object_at(at, size)->stores[object_at(at, size)->count - 1].value
                                        : read_plain(at, size);
    reschedule();
    struct object *object = object_at(at, size);
    unsigned number = (unsigned)(object - machine.objects), oldest = machine.running->known.stores[number];
    if (order == memory_order_seq_cst && oldest < machine.running->strict.stores[number])
        oldest = machine.running->strict.stores[number];
    /* The last one first: what comes of an ordinary machine is tried before what does not. */
    return take(object, object->count - 1 - choose(object->count - oldest), order);
}

void weak_store(volatile void *at, size_t size, uint64_t value, memory_order order)
{
    if (!machine.running) {
        memcpy((void *)(uintptr_t)at, &value, size); /* little endian */
        return;
    }
    reschedule();
    put(object_at(at, size), cut(value, size), order, NULL);
}

static uint64_t modify(volatile void *at, size_t size, uint64_t value, bool adds, memory_order order)
{
    reschedule();
    struct object *object = object_at(at, size);
    const struct store *before = &object->stores[object->count - 1];
    uint64_t was = take(object, object->count - 1, order);
    put(object, cut(adds ? was + value : value, size), order, before);
    return was;
}

uint64_t weak_exchange(volatile void *at, size_t size, uint64_t value, memory_order order)
{
    return modify(at, size, value, false, order);
}

uint64_t weak_add(volatile void *at, size_t size, uint64_t more, memory_order order)
{
    return modify(at, size, more, true, order);
}

bool weak_compare_exchange(volatile void *at, size_t size, void *expected, uint64_t desired, memory_order success,
                           memory_order failure)
{
    reschedule();
    struct object *object = object_at(at, size);
    const struct store *before = &object->stores[object->count - 1];
    if (before->value == cut(read_plain(expected, size), size)) {
        take(object, object->count - 1, success);
        put(object, cut(desired, size), success, before);
        return true;
    }
    uint64_t found = take(object, object->count - 1, failure);
    memcpy(expected, &found, size);
    return false;
}

long weak_syscall(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    const volatile void *at = va_arg(arguments, const volatile void *);
    int operation = va_arg(arguments, int);
    uint32_t value = va_arg(arguments, uint32_t);
    va_end(arguments);
    weir_assert(number == SYS_futex);
    if (!machine.running)
        return 0;
    reschedule();
    const struct object *object = object_at(at, sizeof(uint32_t));
    uint8_t *known = &machine.running->known.stores[object - machine.objects];
    if (operation == FUTEX_WAIT_PRIVATE) {
        *known = (uint8_t)(object->count - 1);
        if (object->stores[*known].value != value)
            return -1;
        machine.running->waits_at = at;
        reschedule();
        return 0;
    }
    weir_assert(operation == FUTEX_WAKE_PRIVATE);
    for (unsigned i = 0; i < machine.thread_count && value > 0; i++) {
        if (machine.threads[i].waits_at == at) {
            machine.threads[i].waits_at = NULL;
            value--;
        }
    }
    return 0;
}

/* ---- runs ---- */

static void begin_run(void)
{
    const struct weak_program *program = machine.program;
    machine.object_count = machine.thread_count = machine.preemptions = machine.choice_at = 0;
    machine.failure = NULL;
    machine.running = NULL;
    program->begin();
    for (; machine.thread_count < WEAK_THREADS_MAX && program->threads[machine.thread_count]; machine.thread_count++) {
        struct thread *thread = &machine.threads[machine.thread_count];
        thread->known = thread->strict = (struct view){0};
        thread->waits_at = NULL;
        thread->ended = false;
        getcontext(&thread->context);
        thread->context.uc_stack.ss_sp = thread->stack;
        thread->context.uc_stack.ss_size = sizeof(thread->stack);
        thread->context.uc_link = NULL;
        makecontext(&thread->context, thread_main, 0);
    }
}

static const char *run(void)
{
    begin_run();
    reschedule();
    for (unsigned i = 0; i < machine.thread_count && !machine.failure; i++) {
        if (!machine.threads[i].ended)
            machine.failure = "all that have not ended wait: a wake was lost";
    }
    if (!machine.failure && machine.program->is_right && !machine.program->is_right())
        machine.failure = "the outcome is wrong";
    return machine.failure;
}

bool weak_explore(const struct weak_program *program)
{
    unsigned long runs = 0;
    machine.program = program;
    machine.choice_count = 0;
    do {
        const char *failure = run();
        runs++;
        if (failure) {
            printf("%s: run %lu: %s; choices", program->name, runs, failure);
            for (unsigned i = 0; i < machine.choice_count; i++)
                printf(" %u/%u", machine.choices[i].taken, machine.choices[i].count);
            printf("\n");
            return false;
        }
    } while (choose_otherwise());
    printf("%s: %lu runs, all of them right\n", program->name, runs);
    return true;
}
