/*
 * Synthesis by several threads at once: the same records as by one, and one error ends all. A plain program, because
 * Criterion cannot run under ThreadSanitizer.
 */
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "format/perf_file.h"
#include "format/synth.h"

#define FIRST_PID     1000
#define PROCESS_COUNT 1500
#define RECORD_COUNT  (3 * PROCESS_COUNT) /* FORK, COMM, MMAP2 */
#define MAX_THREADS   8

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            return 1;                                                                     \
        }                                                                                 \
    } while (0)

struct sink {
    pthread_mutex_t lock;
    struct weir_buf records;
    atomic_uint calls;
    int error; /* what every call returns */
};

static int emit(void *ctx, const void *records, size_t bytes)
{
    struct sink *sink = ctx;
    atomic_fetch_add_explicit(&sink->calls, 1, memory_order_relaxed);
    if (sink->error)
        return sink->error;
    pthread_mutex_lock(&sink->lock);
    weir_buf_append(&sink->records, records, bytes);
    pthread_mutex_unlock(&sink->lock);
    return 0;
}

/* ---- a /proc of our own ---- */

static int write_file(const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return -errno;
    fputs(text, file);
    return fclose(file) == 0 ? 0 : -errno;
}

static int make_process(const char *root, int pid)
{
    char folder[2048], stat[256];
    snprintf(folder, sizeof(folder), "%s/%d", root, pid);
    snprintf(stat, sizeof(stat), "%d (p%d) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 4096 0\n", pid, pid);
    if (mkdir(folder, 0700) < 0)
        return -errno;
    int result = write_file(folder, "stat", stat);
    return result < 0 ? result : write_file(folder, "maps", "1000-2000 r-xp 00000000 fd:01 5 /bin/x\n");
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
    (void)about, (void)type, (void)ftw;
    return remove(path);
}

/* ---- comparison ---- */

static int compare_records(const void *a, const void *b)
{
    const struct perf_event_header *x = *(const void *const *)a, *y = *(const void *const *)b;
    int order = memcmp(x, y, x->size < y->size ? x->size : y->size);
    return order ? order : (int)x->size - (int)y->size;
}

/* Fills records with the sink's, in an order of their contents. How many there are, at most RECORD_COUNT + 1. */
static size_t sorted_records(const struct sink *sink, const struct perf_event_header *records[RECORD_COUNT + 1])
{
    size_t count = 0, at = 0;
    while (at < sink->records.used && count <= RECORD_COUNT) {
        records[count] = (const void *)(sink->records.data + at);
        at += records[count++]->size;
    }
    qsort(records, count, sizeof(*records), compare_records);
    return count;
}

static int compare_sinks(const struct sink *one, const struct sink *many)
{
    static const struct perf_event_header *x[RECORD_COUNT + 1], *y[RECORD_COUNT + 1];
    CHECK(sorted_records(one, x) == RECORD_COUNT);
    CHECK(sorted_records(many, y) == RECORD_COUNT);
    for (size_t i = 0; i < RECORD_COUNT; i++)
        CHECK(compare_records(&x[i], &y[i]) == 0);
    return 0;
}

/* ---- tests ---- */

static int error_of_emit_ends_all_threads(struct weir_synth_options options)
{
    struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .error = -ENOSPC};
    options.emit_ctx = &sink;
    options.threads = MAX_THREADS;
    struct weir_error err;
    CHECK(weir_synth_all_tasks(&options, NULL, &err) == -ENOSPC);
    CHECK(err.code == -ENOSPC);
    CHECK(atomic_load(&sink.calls) <= MAX_THREADS); /* no thread calls again after its first error */
    return 0;
}

static int several_threads_give_the_records_of_one(struct weir_synth_options options)
{
    struct sink one = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct weir_synth_counts counts;
    options.emit_ctx = &one;
    CHECK(weir_synth_all_tasks(&options, &counts, NULL) == 0);
    CHECK(counts.tasks == PROCESS_COUNT && counts.maps == PROCESS_COUNT && counts.vanished == 0);

    for (options.threads = 2; options.threads <= MAX_THREADS; options.threads *= 2) {
        struct sink many = {.lock = PTHREAD_MUTEX_INITIALIZER};
        options.emit_ctx = &many;
        CHECK(weir_synth_all_tasks(&options, &counts, NULL) == 0);
        CHECK(counts.tasks == PROCESS_COUNT && counts.maps == PROCESS_COUNT && counts.vanished == 0);
        CHECK(many.records.used == one.records.used);
        CHECK(compare_sinks(&one, &many) == 0);
        weir_buf_fini(&many.records);
    }
    weir_buf_fini(&one.records);
    return 0;
}

static int real_tasks_come_and_go_under_several_threads(struct weir_synth_options options)
{
    struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct weir_synth_counts counts;
    options.proc_root = NULL;
    options.emit_ctx = &sink;
    options.threads = MAX_THREADS;
    CHECK(weir_synth_all_tasks(&options, &counts, NULL) == 0);
    CHECK(weir_buf_error(&sink.records) == 0);
    uint64_t comms = 0, maps = 0;
    for (size_t at = 0; at < sink.records.used;) {
        const struct perf_event_header *header = (const void *)(sink.records.data + at);
        comms += header->type == PERF_RECORD_COMM;
        maps += header->type == PERF_RECORD_MMAP2;
        at += header->size;
    }
    CHECK(comms == counts.tasks && maps == counts.maps);
    weir_buf_fini(&sink.records);
    return 0;
}

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    char root[1024];
    snprintf(root, sizeof(root), "%s/weir-synth-XXXXXX", temporary ? temporary : "/tmp");
    CHECK(mkdtemp(root) != NULL);
    for (int i = 0; i < PROCESS_COUNT; i++)
        CHECK(make_process(root, FIRST_PID + i) == 0);

    struct weir_synth_options options = {.proc_root = root, .sample_id_bytes = 32, .emit = emit};
    int failures = error_of_emit_ends_all_threads(options) + several_threads_give_the_records_of_one(options) +
                   real_tasks_come_and_go_under_several_threads(options);
    CHECK(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
    return failures ? 1 : 0;
}
