/*
 * Races of a report's threads: batches between the thread that reads and those that fold, and symbols that several
 * threads need at once. A plain program, for ThreadSanitizer.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "report/batch_queue.h"
#include "report/objects.h"
#include "report/task_history.h"

#define THREADS 4u
#define BATCHES 20000u
#define LOOKUPS 2000u

/* ---- batches ---- */

struct folder {
    struct weir_batch_queue *queue;
    uint64_t sum, batches;
};

static void *fold(void *argument)
{
    struct folder *folder = argument;
    struct weir_batch *batch;
    while ((batch = weir_batch_take_full(folder->queue))) {
        uint64_t value;
        memcpy(&value, batch->data, sizeof(value));
        folder->sum += value;
        folder->batches++;
        weir_batch_put_empty(folder->queue, batch);
    }
    return NULL;
}

static void race_batches(void)
{
    struct weir_batch_queue queue;
    struct folder folders[THREADS] = {{.queue = NULL}};
    pthread_t threads[THREADS];
    weir_assert(weir_batch_queue_init(&queue, 3) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        folders[i].queue = &queue;
        weir_assert(pthread_create(&threads[i], NULL, fold, &folders[i]) == 0);
    }
    for (uint64_t i = 0; i < BATCHES; i++) {
        struct weir_batch *batch = weir_batch_take_empty(&queue);
        memcpy(batch->data, &i, sizeof(i));
        weir_batch_put_full(&queue, batch);
    }
    weir_batch_queue_close(&queue);
    uint64_t sum = 0, batches = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += folders[i].sum;
        batches += folders[i].batches;
    }
    weir_assert(batches == BATCHES);
    weir_assert(sum == (uint64_t)BATCHES * (BATCHES - 1) / 2);
    weir_batch_queue_fini(&queue);
}

/* ---- symbols ---- */

struct seeker {
    struct weir_objects *objects;
    uint32_t object;
    uint64_t found;
};

static void *seek(void *argument)
{
    struct seeker *seeker = argument;
    for (uint64_t i = 0; i < LOOKUPS; i++) {
        uint32_t symbol = weir_objects_resolve(seeker->objects, seeker->object, i * 64);
        if (symbol != WEIR_SYMBOL_NONE)
            seeker->found += strlen(weir_objects_symbol(seeker->objects, seeker->object, symbol));
    }
    return NULL;
}

static void race_symbols(const char *program)
{
    struct weir_string_table strings;
    struct weir_objects objects;
    struct seeker seekers[THREADS];
    pthread_t threads[THREADS];
    weir_assert(weir_string_table_init(&strings) == 0);
    weir_assert(weir_objects_init(&objects, &strings, 1) == 0);
    uint32_t object = weir_objects_add(&objects, &(struct weir_object_name){.path = program, .pid = 1});
    for (unsigned i = 0; i < THREADS; i++) {
        seekers[i] = (struct seeker){.objects = &objects, .object = object};
        weir_assert(pthread_create(&threads[i], NULL, seek, &seekers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    weir_assert(seekers[0].found > 0);
    for (unsigned i = 1; i < THREADS; i++)
        weir_assert(seekers[i].found == seekers[0].found);
    weir_objects_fini(&objects);
    weir_string_table_fini(&strings);
}

int main(void)
{
    char program[4096];
    weir_assert(realpath("/proc/self/exe", program) != NULL);
    race_batches();
    race_symbols(program);
    puts("race_report: all batches arrived, all threads found the same symbols");
    return 0;
}
