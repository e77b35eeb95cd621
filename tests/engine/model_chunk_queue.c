/*
 * The queue of chunks (engine/drain/chunk_queue.h) on the machine of weak_memory.h: a reader that pushes, a coordinator
 * that pushes a marker and stops the writer, as the end of a recording does, and the writer, which parks when there is
 * nothing to pop. Whatever it pops is what was put in, what was pushed before the end is popped, and it comes to its
 * end.
 */
#include "tests/engine/weak_memory.h"

#include <string.h>

#include "engine/drain/chunk_queue.c"

#define PUSHES 2u /* of the reader */

static struct weir_chunk_queue queue;
static struct weir_chunk chunks[PUSHES], marker;
static _Atomic uint32_t contents[PUSHES], marker_contents;
static _Atomic bool stopping;
static unsigned popped, markers;

/* The state is the pool's business (chunk.c). */
void weir_chunk_advance(struct weir_chunk *chunk, enum weir_chunk_state from, enum weir_chunk_state to)
{
    (void)chunk, (void)from, (void)to;
}

static void begin(void)
{
    memset(&queue, 0, sizeof(queue));
    memset(chunks, 0, sizeof(chunks));
    memset(&marker, 0, sizeof(marker));
    for (unsigned i = 0; i < PUSHES; i++)
        atomic_init(&contents[i], 0);
    atomic_init(&marker_contents, 0);
    atomic_init(&stopping, false);
    weir_chunk_queue_init(&queue);
    popped = markers = 0;
}

static void push(unsigned chunk)
{
    atomic_store_explicit(&contents[chunk], chunk + 1, memory_order_relaxed);
    weir_chunk_queue_push(&queue, &chunks[chunk]);
}

static void push_one(void)
{
    push(0);
}

static void push_all(void)
{
    for (unsigned i = 0; i < PUSHES; i++)
        push(i);
}

static void end_recording(void)
{
    atomic_store_explicit(&marker_contents, 1, memory_order_relaxed);
    weir_chunk_queue_push(&queue, &marker);
    atomic_store_explicit(&stopping, true, memory_order_release); /* as weir_writer_stop() */
    weir_chunk_queue_wake(&queue);
}

static void take(const struct weir_chunk *chunk)
{
    if (chunk == &marker) {
        markers++;
        if (atomic_load_explicit(&marker_contents, memory_order_relaxed) != 1)
            weak_fail("the marker is popped before it is whole");
    } else if (chunk != &chunks[popped] ||
               atomic_load_explicit(&contents[popped], memory_order_relaxed) != popped + 1) {
        weak_fail("a chunk is popped out of place, or before it is whole");
    } else {
        popped++;
    }
}

static void write_chunks(void)
{
    for (;;) {
        bool stops = atomic_load_explicit(&stopping, memory_order_acquire);
        const struct weir_chunk *chunk = weir_chunk_queue_pop(&queue);
        if (chunk)
            take(chunk);
        else if (stops && weir_chunk_queue_is_empty(&queue))
            return;
        else if (stops || weir_chunk_queue_park(&queue, 1, -1) == WEIR_PARK_NEEDLESS)
            weak_yield();
    }
}

/* The writer may end before the reader has pushed all: in a recording the reader ends first. */
static bool is_right(void)
{
    return markers == 1;
}

/* The reader alone: all that it pushes is popped, two at a time. */
static void write_all(void)
{
    while (popped < PUSHES) {
        const struct weir_chunk *chunk = weir_chunk_queue_pop(&queue);
        if (chunk)
            take(chunk);
        else if (weir_chunk_queue_park(&queue, PUSHES - popped, -1) == WEIR_PARK_NEEDLESS)
            weak_yield();
    }
}

static bool has_all(void)
{
    return popped == PUSHES;
}

int main(void)
{
    static const struct weak_program end = {
        .name = "end of a queue",
        .begin = begin,
        .threads = {push_one, end_recording, write_chunks},
        .is_right = is_right,
        .preemptions = 1,
    };
    static const struct weak_program park = {
        .name = "park",
        .begin = begin,
        .threads = {push_all, write_all},
        .is_right = has_all,
        .preemptions = 3,
    };
    bool right = weak_explore(&park);
    return weak_explore(&end) && right ? 0 : 1;
}
