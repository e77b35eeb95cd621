#include "engine/tasks/file_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/regular_file.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/test_point.h"
#include "format/elf_symbols.h"

#define REQUESTS   64u /* workers that wait, and files that are being opened */
#define FIRST_ROOM 256u

struct noted_file {
    char *name; /* owned; NULL: the place is free */
    uint32_t number;
    struct weir_mapped_file file;
};

enum request_state {
    FREE,
    WAITING,   /* for a thread */
    OPENING,   /* by a thread */
    ABANDONED, /* likewise, and nobody waits for it */
    DONE,      /* the result is there */
};

struct request {
    enum request_state state;
    uint32_t number;
    uint64_t since_ns; /* OPENING, ABANDONED */
    int result;
};

struct opener_thread {
    pthread_t thread;
    bool started; /* start() and free() only */
    bool is_out;  /* it is opening a file */
    pid_t tid;    /* 0: it has not begun */
};

struct weir_file_opener {
    struct weir_file_opener_setup setup;
    int vdso_fd; /* owned; a file in memory. Negative: there is none */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t work, changed;
    struct opener_thread threads[WEIR_FILE_OPENER_THREADS];
    bool ending;
    unsigned holders;         /* free(), and the threads that were left behind */
    struct noted_file *files; /* owned; a number stands in the place of its lowest bits */
    uint32_t room;            /* of files; a power of two, or 0 */
    size_t name_bytes;
    struct request requests[REQUESTS];
};

/* ---- making ---- */

int weir_file_opener_new(struct weir_file_opener **made, const struct weir_file_opener_setup *setup)
{
    struct weir_file_opener *opener = calloc(1, sizeof(*opener));
    if (!opener)
        return -ENOMEM;
    opener->setup = *setup;
    opener->setup.roots.begin_s = time(NULL);
    opener->setup.open = setup->open ? setup->open : weir_mapped_file_open;
    opener->vdso_fd = weir_vdso_open();
    opener->holders = 1;
    pthread_mutex_init(&opener->lock, NULL);
    pthread_cond_init(&opener->work, NULL);
    weir_condition_init(&opener->changed);
    *made = opener;
    return 0;
}

/* Under the lock, which it releases: frees for the last holder. */
static void give_up(struct weir_file_opener *opener)
{
    bool is_last = --opener->holders == 0;
    pthread_mutex_unlock(&opener->lock);
    if (!is_last)
        return;
    for (uint32_t i = 0; i < opener->room; i++)
        free(opener->files[i].name);
    free(opener->files);
    if (opener->vdso_fd >= 0)
        close(opener->vdso_fd);
    pthread_mutex_destroy(&opener->lock);
    pthread_cond_destroy(&opener->work);
    pthread_cond_destroy(&opener->changed);
    free(opener);
}

/* ---- files ---- */

static struct noted_file *find_file(const struct weir_file_opener *opener, uint32_t number)
{
    struct noted_file *file = opener->room > 0 ? &opener->files[number & (opener->room - 1)] : NULL;
    return file && file->name && file->number == number ? file : NULL;
}

/* Makes room for a number. Until the table has its last size each place is that of one number. */
static bool make_room(struct weir_file_opener *opener, uint32_t number)
{
    uint32_t room = (uint32_t)weir_max_u64(opener->room, FIRST_ROOM);
    while (room <= number && room < WEIR_MAPPED_FILES_MAX)
        room *= 2;
    if (room == opener->room)
        return true;
    struct noted_file *files = reallocarray(opener->files, room, sizeof(*files));
    if (!files)
        return false;
    memset(files + opener->room, 0, (room - opener->room) * sizeof(*files));
    opener->files = files;
    opener->room = room;
    return true;
}

static void set_name(struct weir_file_opener *opener, struct noted_file *file, const char *name)
{
    size_t bytes = strlen(name) + 1;
    if (file->name)
        opener->name_bytes -= strlen(file->name) + 1;
    free(file->name);
    file->name = bytes <= WEIR_MAPPED_NAMES_BYTES_MAX - opener->name_bytes ? strdup(name) : NULL;
    opener->name_bytes += file->name ? bytes : 0;
}

void weir_file_opener_note(struct weir_file_opener *opener, uint32_t number, const struct weir_mapped_file *file,
                           const char *name)
{
    pthread_mutex_lock(&opener->lock);
    struct noted_file *noted = find_file(opener, number);
    struct weir_build_id id = noted ? noted->file.build_id : file->build_id;
    if (!noted && make_room(opener, number)) {
        noted = &opener->files[number & (opener->room - 1)];
        set_name(opener, noted, name);
    }
    if (noted) {
        noted->number = number;
        noted->file = *file;
        noted->file.build_id = id;
    }
    pthread_mutex_unlock(&opener->lock);
}

void weir_file_opener_note_id(struct weir_file_opener *opener, uint32_t number, const struct weir_build_id *id)
{
    pthread_mutex_lock(&opener->lock);
    struct noted_file *noted = find_file(opener, number);
    if (noted)
        noted->file.build_id = *id;
    pthread_mutex_unlock(&opener->lock);
}

/* ---- requests ---- */

/* Returns the request of a number that a thread is at; NULL: none. */
static const struct request *find_opening(const struct weir_file_opener *opener, uint32_t number)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        const struct request *request = &opener->requests[i];
        if (request->number == number && (request->state == OPENING || request->state == ABANDONED))
            return request;
    }
    return NULL;
}

static struct request *place_request(struct weir_file_opener *opener, uint32_t number)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct request *request = &opener->requests[i];
        if (request->state != FREE)
            continue;
        *request = (struct request){.state = WAITING, .number = number};
        return request;
    }
    return NULL;
}

/* Waits for the result, or the bound. Under the lock. */
static int await(struct weir_file_opener *opener, struct request *request, uint64_t until_ns)
{
    while (request->state != DONE) {
        if (weir_condition_await(&opener->changed, &opener->lock, until_ns) == ETIMEDOUT)
            break;
    }
    int result = request->state == DONE ? request->result : -ETIMEDOUT;
    request->state = request->state == OPENING ? ABANDONED : FREE;
    return result;
}

int weir_file_opener_open(struct weir_file_opener *opener, uint32_t number)
{
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    const uint64_t timeout_ns = WEIR_FILE_OPENER_TIMEOUT_MS * WEIR_NS_PER_MS;
    int result = -ETIMEDOUT;
    pthread_mutex_lock(&opener->lock);
    const struct request *before = find_opening(opener, number);
    bool hangs = before && before->since_ns + timeout_ns <= now_ns;
    struct request *request = hangs ? NULL : place_request(opener, number);
    if (!find_file(opener, number)) {
        result = -ENOENT;
        if (request)
            request->state = FREE;
    } else if (request) {
        pthread_cond_signal(&opener->work);
        result = await(opener, request, now_ns + timeout_ns);
    }
    pthread_mutex_unlock(&opener->lock);
    return result;
}

/* ---- the threads ---- */

/* Without the lock. Returns a descriptor or -errno. */
static int open_file(const struct weir_file_opener *opener, const struct weir_mapped_file *file, const char *name)
{
    char vdso[32];
    struct stat status;
    struct weir_build_id id;
    if (file->kind == WEIR_MAPPED_VDSO) {
        snprintf(vdso, sizeof(vdso), "/proc/self/fd/%d", opener->vdso_fd);
        return weir_regular_file_open(AT_FDCWD, vdso, &status);
    }
    int fd = opener->setup.open(file, name, &opener->setup.roots);
    if (fd < 0 || file->build_id.bytes == 0)
        return fd;
    int result = weir_build_id_of_file(fd, &id);
    if (result == 0 && weir_build_id_is_same(&id, &file->build_id))
        return fd;
    close(fd);
    return -ESTALE;
}

/* Returns a request for a file that no other thread is at; NULL: none. */
static struct request *find_work(struct weir_file_opener *opener)
{
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct request *request = &opener->requests[i];
        if (request->state == WAITING && !find_opening(opener, request->number))
            return request;
    }
    return NULL;
}

/* Opens the file of a request. Under the lock, which it releases meanwhile. */
static void serve(struct weir_file_opener *opener, struct opener_thread *thread, struct request *request)
{
    const struct noted_file *noted = find_file(opener, request->number);
    char *name = noted ? strdup(noted->name) : NULL;
    struct weir_mapped_file file = {0};
    if (noted)
        file = noted->file;
    request->state = OPENING;
    request->since_ns = weir_clock_now_ns(&weir_clock_monotonic);
    thread->is_out = true;
    pthread_mutex_unlock(&opener->lock);
    int result = name ? open_file(opener, &file, name) : -ENOENT;
    free(name);
    weir_test_point(WEIR_AT_OPENER_OPENED);
    pthread_mutex_lock(&opener->lock);
    thread->is_out = false;
    if (request->state == ABANDONED) {
        request->state = FREE;
        if (result >= 0)
            close(result);
        return;
    }
    request->result = result;
    request->state = DONE;
    pthread_cond_broadcast(&opener->changed);
    pthread_cond_signal(&opener->work); /* another request of that file may wait for this one */
}

struct beginning {
    struct weir_file_opener *opener;
    struct opener_thread *thread;
};

static void *thread_main(void *argument)
{
    const struct beginning beginning = *(const struct beginning *)argument;
    struct weir_file_opener *opener = beginning.opener;
    struct opener_thread *thread = beginning.thread;
    weir_privileges_limit(WEIR_PRIVILEGES_BUILD_IDS);
    pthread_mutex_lock(&opener->lock);
    thread->tid = gettid();
    pthread_cond_broadcast(&opener->changed);
    while (!opener->ending) {
        struct request *request = find_work(opener);
        if (request)
            serve(opener, thread, request);
        else
            pthread_cond_wait(&opener->work, &opener->lock);
    }
    give_up(opener);
    return NULL;
}

int weir_file_opener_start(struct weir_file_opener *opener)
{
    for (unsigned i = 0; i < WEIR_FILE_OPENER_THREADS; i++) {
        struct opener_thread *thread = &opener->threads[i];
        struct beginning beginning = {opener, thread};
        pthread_mutex_lock(&opener->lock);
        int result = -pthread_create(&thread->thread, NULL, thread_main, &beginning);
        thread->started = result == 0;
        opener->holders += thread->started;
        while (thread->started && thread->tid == 0)
            pthread_cond_wait(&opener->changed, &opener->lock);
        pthread_mutex_unlock(&opener->lock);
        if (result < 0)
            return result;
        pthread_setname_np(thread->thread, "weir-open");
    }
    return 0;
}

unsigned weir_file_opener_tids(const struct weir_file_opener *opener, pid_t tids[WEIR_FILE_OPENER_THREADS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < WEIR_FILE_OPENER_THREADS; i++) {
        if (opener->threads[i].started)
            tids[count++] = opener->threads[i].tid; /* constant after start() */
    }
    return count;
}

void weir_file_opener_free(struct weir_file_opener *opener)
{
    struct opener_thread threads[WEIR_FILE_OPENER_THREADS];
    if (!opener)
        return;
    pthread_mutex_lock(&opener->lock);
    opener->ending = true;
    pthread_cond_broadcast(&opener->work);
    memcpy(threads, opener->threads, sizeof(threads));
    pthread_mutex_unlock(&opener->lock);
    for (unsigned i = 0; i < WEIR_FILE_OPENER_THREADS; i++) {
        if (threads[i].started && threads[i].is_out)
            pthread_detach(threads[i].thread);
        else if (threads[i].started)
            pthread_join(threads[i].thread, NULL);
    }
    pthread_mutex_lock(&opener->lock);
    give_up(opener);
}
