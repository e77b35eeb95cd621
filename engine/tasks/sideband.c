/* The life of the sideband thread, and its answers. The thread releases the lock only to read BPF programs and to
 * sleep.
 */
#include "engine/tasks/sideband.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/clock.h"
#include "base/condition.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/test_point.h"
#include "engine/tasks/sideband_internal.h"

#define TEE_BYTES_MAX    (1024u * 1024)
#define TEE_BYTES_MIN    (512u * 1024) /* a reader wakes when a quarter of a sideband ring of 1 MiB is filled */
#define TEES_BYTES       (128u << 20)  /* for all tees together, unless the minimum of each needs more */
#define IDLE_PAUSE_MS    100u
#define LOCK_PAUSE_NS    (10 * WEIR_NS_PER_MS)
#define CLOSE_TIMEOUT_MS 1000u /* of weir_sideband_free() without stop(): the recording failed to start */

/* ---- making ---- */

size_t weir_sideband_tee_bytes(unsigned tee_count)
{
    uint64_t share = weir_round_down_power_of_two(TEES_BYTES / weir_clamp_u64(tee_count, 1, TEES_BYTES));
    return weir_clamp_u64(share, TEE_BYTES_MIN, TEE_BYTES_MAX);
}

static int init_tees(struct weir_sideband *sideband)
{
    unsigned count = sideband->setup.tee_count;
    sideband->tees = aligned_alloc(WEIR_CACHE_LINE_BYTES, count * sizeof(*sideband->tees));
    if (!sideband->tees)
        return -ENOMEM;
    memset(sideband->tees, 0, count * sizeof(*sideband->tees));
    int result = 0;
    for (unsigned i = 0; result == 0 && i < count; i++)
        result = weir_side_tee_init(&sideband->tees[i], weir_sideband_tee_bytes(count));
    return result;
}

int weir_sideband_new(struct weir_sideband **made, const struct weir_sideband_setup *setup)
{
    struct weir_sideband *sideband = calloc(1, sizeof(*sideband));
    if (!sideband)
        return -ENOMEM;
    sideband->setup = *setup;
    sideband->setup.attr = NULL;
    sideband->setup.roots.begin_s = time(NULL);
    sideband->setup.read_id = setup->read_id ? setup->read_id : weir_mapped_file_read_id;
    sideband->holders = 1;
    weir_side_layout_init(&sideband->layout, setup->attr);
    weir_mapped_files_init(&sideband->files);
    weir_task_map_init(&sideband->tasks, &sideband->files);
    if (setup->is_doubtful)
        weir_task_map_doubt(&sideband->tasks);
    weir_side_queue_init(&sideband->queue);
    pthread_mutex_init(&sideband->feed_lock, NULL);
    pthread_mutex_init(&sideband->lock, NULL);
    weir_condition_init(&sideband->changed);
    pthread_cond_init(&sideband->unread, NULL);

    int result = init_tees(sideband);
    if (result < 0)
        weir_sideband_free(sideband);
    else
        *made = sideband;
    return result;
}

struct weir_side_tee *weir_sideband_tee(struct weir_sideband *sideband, unsigned reader)
{
    weir_assert(reader < sideband->setup.tee_count);
    return &sideband->tees[reader];
}

/* ---- questions ---- */

struct weir_sideband_view {
    struct weir_sideband *sideband;
    const struct weir_sideband_question *question;
};

struct kept_back {
    const uint64_t *side_bytes;
    const struct weir_task_map_sink *sink;
    size_t trailer_bytes;
    struct weir_buf copy; /* of the record in hand */
};

static int emit_kept_back(void *ctx, const struct weir_side_origin *origin, const uint8_t *record, size_t bytes)
{
    struct kept_back *kept = ctx;
    if (origin->at >= kept->side_bytes[origin->tee])
        return 0;
    weir_buf_reset(&kept->copy);
    uint8_t *copy = weir_buf_extend(&kept->copy, bytes);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, record, bytes);
    /* The record is repeated, like a synthesized one, and belongs to no event: an event's own records keep the order of
     * their ring. The id is the last word of the trailer (PERF_SAMPLE_IDENTIFIER, perf_event_open(2) on sample_id_all).
     */
    if (kept->trailer_bytes >= sizeof(uint64_t) && bytes >= sizeof(uint64_t))
        memset(copy + bytes - sizeof(uint64_t), 0, sizeof(uint64_t));
    return kept->sink->emit(kept->sink->ctx, copy, bytes);
}

int weir_sideband_view_emit(const struct weir_sideband_view *view, const struct weir_task_map_sink *sink)
{
    struct kept_back kept = {
        .side_bytes = view->question->side_bytes,
        .sink = sink,
        .trailer_bytes = view->sideband->layout.trailer_bytes,
        .copy = WEIR_BUF_INIT,
    };
    int result = weir_task_map_emit(&view->sideband->tasks, sink);
    if (result == 0)
        result = weir_side_queue_visit(&view->sideband->queue, emit_kept_back, &kept);
    weir_buf_fini(&kept.copy);
    return result;
}

int weir_sideband_view_emit_maps(const struct weir_sideband_view *view, pid_t pid,
                                 const struct weir_task_map_sink *sink)
{
    return weir_task_map_emit_maps(&view->sideband->tasks, pid, sink);
}

bool weir_sideband_view_misses_tasks(const struct weir_sideband_view *view)
{
    return weir_sideband_has_missed(view->sideband) || view->sideband->tasks.refused_tasks > 0;
}

bool weir_sideband_view_knows(const struct weir_sideband_view *view, pid_t pid)
{
    const struct weir_task *task = weir_task_map_find(&view->sideband->tasks, pid);
    return task && task->pid == pid;
}

void weir_sideband_view_note_maps(const struct weir_sideband_view *view, const void *records, size_t bytes)
{
    weir_sideband_note_maps(view->sideband, records, bytes);
}

void weir_sideband_ask(struct weir_sideband *sideband, struct weir_sideband_question *question)
{
    pthread_mutex_lock(&sideband->lock);
    weir_assert(!sideband->question);
    sideband->question = question;
    pthread_cond_broadcast(&sideband->changed);
    pthread_mutex_unlock(&sideband->lock);
}

/* Touches the programs that are loaded, by bpf(2); without its answer all of them. */
static void touch_programs(struct weir_sideband *sideband)
{
    struct weir_bpf_images *programs = &sideband->programs;
    uint32_t id = 0;
    int result = 0;
    if (programs->programs.count == 0)
        return;
    for (unsigned i = 0; i < WEIR_BPF_IMAGES_MAX && (result = weir_bpf_next_program(&id)) == 0; i++)
        weir_bpf_images_touch(programs, id);
    if (result != -ENOENT)
        weir_bpf_images_touch_all(programs);
    weir_bpf_images_free_unloaded(programs);
}

/* Answers the question. Under the lock, after a look at the tees that began after the question. So the side records
 * that the writer has seen were in a tee before the look. */
static void answer(struct weir_sideband *sideband, struct weir_sideband_question *question)
{
    if (!question)
        return;
    const struct weir_sideband_view view = {.sideband = sideband, .question = question};
    sideband->question = NULL;
    weir_mapped_files_begin_output(&sideband->files);
    weir_bpf_images_begin_output(&sideband->programs);
    question->answer(question->ctx, &view);
    weir_task_map_touch_files(&sideband->tasks);
    touch_programs(sideband);
    if (!sideband->setup.keeps_files)
        weir_mapped_files_free_unmapped(&sideband->files);
}

/* ---- BPF programs ---- */

/* Reads one program. False: none is left to read. Releases the lock meanwhile. */
static bool read_next_program(struct weir_sideband *sideband)
{
    uint32_t id = weir_bpf_images_next(&sideband->programs);
    if (id == 0)
        return false;
    struct weir_bpf_image *program = NULL, *btf = NULL;
    pthread_mutex_unlock(&sideband->lock);
    int result = weir_bpf_read_program(id, &program);
    pthread_mutex_lock(&sideband->lock);
    uint32_t btf_id = result == 0 ? program->btf_id : 0;
    if (btf_id != 0 && !sideband->left_behind && !weir_bpf_images_has_btf(&sideband->programs, btf_id)) {
        pthread_mutex_unlock(&sideband->lock);
        weir_bpf_read_btf(btf_id, &btf);
        pthread_mutex_lock(&sideband->lock);
    }
    if (sideband->left_behind) {
        free(program);
        free(btf);
        return false;
    }
    weir_bpf_images_add(&sideband->programs, program, btf);
    return true;
}

int weir_sideband_list_bpf_programs(struct weir_sideband *sideband, uint32_t output,
                                    const struct weir_sideband_patience *patience, struct weir_bpf_list *list)
{
    weir_sideband_lock(sideband, patience);
    int result = weir_bpf_images_list(&sideband->programs, output, list);
    pthread_mutex_unlock(&sideband->lock);
    return result;
}

/* ---- the thread ---- */

void weir_sideband_lock(struct weir_sideband *sideband, const struct weir_sideband_patience *patience)
{
    if (!patience) {
        pthread_mutex_lock(&sideband->lock);
        return;
    }
    while (pthread_mutex_trylock(&sideband->lock) != 0) {
        patience->meanwhile(patience->ctx);
        weir_clock_pause_ns(LOCK_PAUSE_NS);
    }
}

/* Waits for `changed`, at most ms. Under the lock, which it releases meanwhile. */
static void pause_for(struct weir_sideband *sideband, unsigned ms)
{
    uint64_t until_ns = weir_clock_now_ns(&weir_clock_monotonic) + ms * WEIR_NS_PER_MS;
    weir_condition_await(&sideband->changed, &sideband->lock, until_ns);
}

/* Wakes the thread out of its sleep, if no thread has its lock. Any thread. */
static void ring(void *ctx)
{
    struct weir_sideband *sideband = ctx;
    if (pthread_mutex_trylock(&sideband->lock) != 0)
        return;
    pthread_cond_broadcast(&sideband->changed);
    pthread_mutex_unlock(&sideband->lock);
}

static bool is_asked_to_look(const struct weir_sideband *sideband)
{
    return sideband->setup.supply && weir_unwind_supply_is_asked(sideband->setup.supply);
}

static void finish(struct weir_sideband *sideband)
{
    /* The coordinator waits now. Where raising the priority again is refused, it waits a little longer. */
    setpriority(PRIO_PROCESS, (id_t)sideband->intake.tid, 0);
    weir_sideband_end_feed(sideband);
    struct weir_sideband_question *question = sideband->question;
    weir_sideband_take_in(sideband);
    if (sideband->setup.supply) /* the readers have ended: no more records come */
        weir_unwind_supply_end(sideband->setup.supply, WEIR_UNWIND_SUPPLY_LAST_LOOK);
    answer(sideband, question);
    weir_sideband_take_rest(sideband);
    sideband->took_all = true;
    pthread_cond_signal(&sideband->unread);
    while (read_next_program(sideband)) {
    }
}

static void release(struct weir_sideband *sideband)
{
    for (unsigned i = 0; sideband->tees && i < sideband->setup.tee_count; i++)
        weir_side_tee_fini(&sideband->tees[i]);
    free(sideband->tees);
    weir_sideband_free_feed(sideband->feed_first);
    weir_task_map_fini(&sideband->tasks);
    weir_mapped_files_fini(&sideband->files);
    weir_bpf_images_fini(&sideband->programs);
    weir_side_queue_fini(&sideband->queue);
    weir_buf_fini(&sideband->drained);
    pthread_mutex_destroy(&sideband->feed_lock);
    pthread_mutex_destroy(&sideband->lock);
    pthread_cond_destroy(&sideband->changed);
    pthread_cond_destroy(&sideband->unread);
    free(sideband);
}

/* Frees the struct for its last holder. */
static void give_up(struct weir_sideband *sideband)
{
    pthread_mutex_lock(&sideband->lock);
    bool is_last = --sideband->holders == 0;
    pthread_mutex_unlock(&sideband->lock);
    if (is_last)
        release(sideband);
}

void weir_sideband_thread_begin(struct weir_sideband *sideband, struct weir_sideband_thread *thread)
{
    thread->tid = gettid();
    thread->is_ready = true;
    pthread_cond_broadcast(&sideband->changed);
    if (thread != &sideband->intake || !sideband->setup.supply) /* workers of the stage wait for that one */
        setpriority(PRIO_PROCESS, (id_t)thread->tid, WEIR_SIDEBAND_NICE);
}

void weir_sideband_thread_end(struct weir_sideband *sideband, struct weir_sideband_thread *thread)
{
    bool left_behind = sideband->left_behind;
    if (!left_behind) {
        thread->is_done = true;
        pthread_cond_broadcast(&sideband->changed);
    }
    pthread_mutex_unlock(&sideband->lock);
    if (left_behind)
        give_up(sideband);
}

static void *thread_main(void *argument)
{
    struct weir_sideband *sideband = argument;
    weir_privileges_limit(WEIR_PRIVILEGES_SIDEBAND);
    pthread_mutex_lock(&sideband->lock);
    weir_sideband_thread_begin(sideband, &sideband->intake);
    while (!sideband->stopping) {
        struct weir_sideband_question *question = sideband->question;
        if (question)
            weir_test_point(WEIR_AT_SIDE_QUESTION);
        bool came = weir_sideband_take_in(sideband);
        answer(sideband, question);
        if (!read_next_program(sideband) && !sideband->stopping && !sideband->question && !is_asked_to_look(sideband))
            pause_for(sideband, came ? WEIR_SIDEBAND_BUSY_PAUSE_MS : IDLE_PAUSE_MS);
    }
    if (!sideband->left_behind)
        finish(sideband);
    if (!sideband->left_behind)
        sideband->counts.cpu_time_ns = weir_clock_thread_cpu_ns();
    weir_sideband_thread_end(sideband, &sideband->intake);
    return NULL;
}

static int start_thread(struct weir_sideband *sideband, struct weir_sideband_thread *thread,
                        void *(*main)(void *argument), const char *name)
{
    int result = -pthread_create(&thread->thread, NULL, main, sideband);
    if (result < 0)
        return result;
    thread->started = true;
    pthread_setname_np(thread->thread, name);
    pthread_mutex_lock(&sideband->lock);
    while (!thread->is_ready)
        pthread_cond_wait(&sideband->changed, &sideband->lock);
    pthread_mutex_unlock(&sideband->lock);
    return 0;
}

int weir_sideband_start(struct weir_sideband *sideband)
{
    const struct weir_unwind_supply_bell bell = {.ring = ring, .ctx = sideband};
    int result = start_thread(sideband, &sideband->intake, thread_main, "weir-sideband");
    if (result == 0 && sideband->setup.supply)
        weir_unwind_supply_set_bell(sideband->setup.supply, &bell);
    if (result == 0 && sideband->setup.read_build_ids)
        result = start_thread(sideband, &sideband->ids, weir_sideband_ids_main, "weir-build-ids");
    return result;
}

unsigned weir_sideband_tids(const struct weir_sideband *sideband, pid_t tids[WEIR_SIDEBAND_THREADS])
{
    unsigned count = 0; /* the ids are constant after start() */
    tids[count++] = sideband->intake.tid;
    if (sideband->ids.started)
        tids[count++] = sideband->ids.tid;
    return count;
}

/* ---- end ---- */

static void count(struct weir_sideband *sideband)
{
    struct weir_sideband_counts *counts = &sideband->counts;
    const struct weir_mapped_files *files = &sideband->files;
    counts->tasks = sideband->tasks.count;
    counts->files = files->seen;
    counts->lacks_files = files->left_out > files->without_memory;
    counts->lacks_memory = files->without_memory > 0;
    counts->programs = sideband->programs.read;
    counts->programs_left_out = sideband->programs.left_out;
    for (uint32_t i = 0; i < files->count; i++)
        counts->build_ids += weir_mapped_files_build_id(files, i).bytes > 0;
    for (uint32_t i = files->first_new; sideband->setup.read_build_ids && i != WEIR_MAPPED_NONE;
         i = files->all[i].next_new)
        counts->unread++;
}

static bool has_ended(const struct weir_sideband_thread *thread)
{
    return !thread->started || thread->is_done;
}

static void part_with(struct weir_sideband_thread *thread, bool has_ended)
{
    if (thread->started && has_ended)
        pthread_join(thread->thread, NULL);
    else if (thread->started)
        pthread_detach(thread->thread);
    thread->started = false;
}

void weir_sideband_stop(struct weir_sideband *sideband, unsigned timeout_ms, struct weir_sideband_counts *counts)
{
    struct weir_sideband_thread *intake = &sideband->intake, *ids = &sideband->ids;
    uint64_t until_ns = weir_clock_now_ns(&weir_clock_monotonic) + timeout_ms * WEIR_NS_PER_MS;
    if (sideband->setup.supply)
        weir_unwind_supply_set_bell(sideband->setup.supply, NULL);
    pthread_mutex_lock(&sideband->lock);
    sideband->stopping = true;
    pthread_cond_broadcast(&sideband->changed);
    pthread_cond_signal(&sideband->unread);
    while (!has_ended(intake) || !has_ended(ids)) {
        uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
        if (now_ns >= until_ns)
            break;
        pause_for(sideband, (unsigned)((until_ns - now_ns) / WEIR_NS_PER_MS) + 1);
    }
    /* From here on a thread that hangs touches only its own stack and the lock. */
    sideband->holders += !has_ended(intake) + !has_ended(ids);
    sideband->left_behind = sideband->holders > 1;
    pthread_cond_signal(&sideband->unread);
    count(sideband);
    if (sideband->reading_since_ns != 0)
        sideband->counts.unread++; /* the file that the thread hangs on */
    *counts = sideband->counts;
    struct weir_sideband_question *unanswered = sideband->question;
    sideband->question = NULL;
    bool intake_ended = has_ended(intake), ids_ended = has_ended(ids);
    pthread_mutex_unlock(&sideband->lock);
    if (unanswered)
        unanswered->answer(unanswered->ctx, NULL);
    part_with(intake, intake_ended);
    part_with(ids, ids_ended);
}

const struct weir_mapped_files *weir_sideband_files(const struct weir_sideband *sideband)
{
    return &sideband->files;
}

const struct weir_mapped_file_roots *weir_sideband_roots(const struct weir_sideband *sideband)
{
    return &sideband->setup.roots;
}

void weir_sideband_halt(struct weir_sideband *sideband)
{
    struct weir_sideband_counts unused;
    if (sideband && sideband->intake.started)
        weir_sideband_stop(sideband, CLOSE_TIMEOUT_MS, &unused);
}

void weir_sideband_free(struct weir_sideband *sideband)
{
    if (!sideband)
        return;
    weir_sideband_halt(sideband);
    give_up(sideband);
}
