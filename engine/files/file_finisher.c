/* Finishes files in the background; see file_finisher.h for threads and rules. */
#include "engine/files/file_finisher.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "engine/files/kept_files.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/test_point.h"

#define BUILD_ID_TIMEOUT_MS 1000u
#define HASTE_LOOK_NS       (100 * WEIR_NS_PER_MS)
#define ROOM_LOOK_NS        (100 * WEIR_NS_PER_MS)
#define ROOM_TRIES_MOST     16u /* with "rotate" */

/* Files that are unfinished at the same time: in the queue, under way in the thread, just ended, and just begun. */
_Static_assert(WEIR_MAPPED_OUTPUTS_KEPT >= WEIR_FINISHER_FILES + 3, "each file finds its build ids");

struct weir_file_finisher {
    struct weir_file_finisher_setup setup;
    struct weir_kept_files *kept; /* owned; used by the thread while it runs, else by the coordinator */
    pthread_t thread;
    sem_t ended; /* posted by the thread as its last action */
    bool started;

    pthread_mutex_t lock; /* guards all following fields */
    pthread_cond_t changed;
    struct weir_record_file *queue[WEIR_FINISHER_FILES]; /* owned; a ring */
    unsigned first, count;
    pid_t tid; /* of the thread; 0: not running yet */
    bool stopping, hurried;
    bool finishing;                 /* the thread finishes a file, which has no final name yet */
    size_t removable, drops_wanted; /* files that can be removed; files that the thread has yet to remove */
    struct weir_finished_files sums;
};

int weir_file_finisher_new(struct weir_file_finisher **made, const struct weir_file_finisher_setup *setup)
{
    struct weir_file_finisher *finisher = calloc(1, sizeof(*finisher));
    if (!finisher)
        return -ENOMEM;
    const struct weir_record_options *options = setup->plan->options;
    bool replaces = weir_modes_pair_ends_files(&setup->plan->modes);
    finisher->setup = *setup;
    pthread_mutex_init(&finisher->lock, NULL);
    pthread_cond_init(&finisher->changed, NULL);
    sem_init(&finisher->ended, 0, 0);
    bool droppable = options->output.on_full == WEIR_RECORD_ON_FULL_ROTATE;
    int result = weir_kept_files_new(&finisher->kept, &(struct weir_kept_files_setup){
                                                          .stamped = options->rotation.timestamp || replaces,
                                                          .most = replaces ? 1 : options->rotation.max_files,
                                                          .whole_only = replaces || options->rotation.each_snapshot,
                                                          .droppable = droppable,
                                                          .command = options->rotation.command,
                                                          .child_mask = setup->child_mask,
                                                          .ignored = options->caller.ignored_before,
                                                          .notices = options->notices,
                                                      });
    if (result < 0)
        weir_file_finisher_free(finisher);
    else
        *made = finisher;
    return result;
}

static void add(struct weir_file_finisher *finisher, uint64_t bytes, const struct weir_error *err)
{
    pthread_mutex_lock(&finisher->lock);
    finisher->sums.files++;
    finisher->sums.bytes += bytes;
    if (finisher->sums.err.code == 0)
        finisher->sums.err = *err;
    pthread_mutex_unlock(&finisher->lock);
}

/* ctx: the finisher. */
static bool is_hurried(void *ctx)
{
    struct weir_file_finisher *finisher = ctx;
    pthread_mutex_lock(&finisher->lock);
    bool hurried = finisher->hurried;
    pthread_mutex_unlock(&finisher->lock);
    return hurried;
}

/*
 * Removes a file or waits, after the file system had no room for features or a name. Returns whether there may be room
 * now. tries: number of earlier calls for this file. With "rotate" one removed file may not suffice: its blocks become
 * free late (btrfs), or the current file takes them. So a wait follows each removal.
 */
static bool find_room(struct weir_file_finisher *finisher, unsigned tries)
{
    enum weir_record_on_full on_full = finisher->setup.plan->options->output.on_full;
    bool rotates = on_full == WEIR_RECORD_ON_FULL_ROTATE;
    if (on_full == WEIR_RECORD_ON_FULL_STOP || (rotates && tries >= ROOM_TRIES_MOST))
        return false;
    if (rotates && tries % 2 == 0 && weir_kept_files_drop_oldest(finisher->kept))
        return true;
    weir_clock_pause_ns(ROOM_LOOK_NS);
    pthread_mutex_lock(&finisher->lock);
    bool stopping = finisher->stopping;
    pthread_mutex_unlock(&finisher->lock);
    return rotates || !stopping;
}

static int finish_file(struct weir_file_finisher *finisher, struct weir_record_file *file, struct weir_error *err)
{
    unsigned tries = 0;
    int result;
    do {
        *err = (struct weir_error){0};
        result = weir_record_file_finish(file, finisher->setup.facts, err);
    } while (weir_output_lacks_space(result) && find_room(finisher, tries++));
    return result;
}

/* Gives a file its final name. Runs on the thread, or on the coordinator after the thread has ended. */
static int name(struct weir_file_finisher *finisher, struct weir_record_file *file, struct weir_error *err)
{
    unsigned tries = 0;
    int result;
    do {
        *err = (struct weir_error){0};
        result = weir_kept_files_name(finisher->kept, file, err);
    } while (weir_output_lacks_space(result) && find_room(finisher, tries++));
    return result;
}

/* Removes the files that drop_oldest() asked for. The caller holds the lock, which drop() releases for each removal. */
static void drop(struct weir_file_finisher *finisher)
{
    while (finisher->drops_wanted > 0) {
        pthread_mutex_unlock(&finisher->lock);
        weir_test_point(WEIR_AT_FINISHER_DROP);
        weir_kept_files_drop_oldest(finisher->kept);
        pthread_mutex_lock(&finisher->lock);
        finisher->removable = weir_kept_files_count(finisher->kept);
        finisher->drops_wanted--;
        pthread_cond_broadcast(&finisher->changed);
    }
}

/* ctx: the finisher. */
static void drop_meanwhile(void *ctx)
{
    struct weir_file_finisher *finisher = ctx;
    pthread_mutex_lock(&finisher->lock);
    drop(finisher);
    pthread_mutex_unlock(&finisher->lock);
}

/* Called by the thread while the finished file waits for running commands. The file has its name by now, so it can be
 * removed as well, and the files to remove do not have to wait. ctx: the finisher. */
static bool is_command_hurried(void *ctx)
{
    struct weir_file_finisher *finisher = ctx;
    pthread_mutex_lock(&finisher->lock);
    finisher->finishing = false;
    finisher->removable = weir_kept_files_count(finisher->kept);
    drop(finisher);
    bool hurried = finisher->hurried;
    pthread_mutex_unlock(&finisher->lock);
    return hurried;
}

/* Gives the file the build ids and BPF programs that the sideband thread knows. On a full disk the sideband thread may
 * wait until the finisher removes a file, hence drop_meanwhile(). If memory runs out, the file gets no list. */
static void take_lists(struct weir_file_finisher *finisher, struct weir_record_file *file, bool hurried,
                       struct weir_build_id_entry **build_ids)
{
    const struct weir_record_options *options = finisher->setup.plan->options;
    struct weir_sideband *sideband = finisher->setup.sideband;
    const struct weir_sideband_patience patience = {.meanwhile = drop_meanwhile, .ctx = finisher};
    if (!sideband)
        return;
    if (!options->build_ids.left_out &&
        weir_sideband_copy_build_ids(sideband, file->number, hurried ? 0 : BUILD_ID_TIMEOUT_MS, &patience, build_ids,
                                     &file->build_id_count) == 0)
        file->build_ids = *build_ids;
    weir_sideband_list_bpf_programs(sideband, file->number, &patience, &file->bpf);
}

/* Finishes a file. A failure goes to the notices and to the sums; the recording goes on. */
static void finish(struct weir_file_finisher *finisher, struct weir_record_file *file)
{
    const struct weir_record_options *options = finisher->setup.plan->options;
    struct weir_error written = {0}, finished = {0}, named = {0};
    struct weir_build_id_entry *build_ids = NULL;
    bool hurried = is_hurried(finisher);
    int result = weir_output_error(file->output);
    if (result < 0)
        weir_error_set_errno(&written, result, "cannot write to %s", file->path);
    take_lists(finisher, file, hurried, &build_ids);
    result = finish_file(finisher, file, &finished);
    if (result == 0 && written.code == 0 && !hurried)
        weir_record_file_sync(file, &finished);
    /* A broken file is kept like the others, and the first error of the file is reported. */
    file->broken = written.code != 0 || finished.code != 0;
    name(finisher, file, &named);
    weir_kept_files_add(finisher->kept, file, is_command_hurried, finisher);
    free(build_ids);
    if (file->unwritten_samples > 0)
        weir_notice(options->notices, WEIR_NOTICE_WARNING, "'%s' lacks %llu samples that could not be written",
                    weir_output_file_path(weir_output_file_of(file->output)),
                    (unsigned long long)file->unwritten_samples);
    const struct weir_error *err = written.code != 0 ? &written : finished.code != 0 ? &finished : &named;
    if (err->code != 0)
        weir_notice(options->notices, WEIR_NOTICE_WARNING, "%s", err->what);
    add(finisher, file->file_bytes, err);
    weir_record_file_close(file);
}

static struct weir_record_file *take(struct weir_file_finisher *finisher)
{
    pthread_mutex_lock(&finisher->lock);
    drop(finisher);
    while (finisher->count == 0 && !finisher->stopping) {
        pthread_cond_wait(&finisher->changed, &finisher->lock);
        drop(finisher);
    }
    struct weir_record_file *file = NULL;
    if (finisher->count > 0) {
        file = finisher->queue[finisher->first];
        finisher->first = (finisher->first + 1) % WEIR_FINISHER_FILES;
        finisher->count--;
        finisher->finishing = true;
    }
    pthread_mutex_unlock(&finisher->lock);
    if (file)
        weir_test_point(WEIR_AT_FINISHER_TAKEN);
    if (file && finisher->setup.room_fd >= 0)
        eventfd_write(finisher->setup.room_fd, 1);
    return file;
}

static void *thread_main(void *argument)
{
    struct weir_file_finisher *finisher = argument;
    weir_privileges_limit(WEIR_PRIVILEGES_FINISHER);
    pthread_mutex_lock(&finisher->lock);
    finisher->tid = gettid();
    pthread_cond_broadcast(&finisher->changed);
    pthread_mutex_unlock(&finisher->lock);
    for (struct weir_record_file *file = take(finisher); file; file = take(finisher)) {
        finish(finisher, file);
        weir_test_point(WEIR_AT_FINISHER_DONE);
        weir_rotation_count_end(finisher->setup.rotations);
        pthread_mutex_lock(&finisher->lock);
        finisher->finishing = false;
        finisher->removable = weir_kept_files_count(finisher->kept);
        pthread_mutex_unlock(&finisher->lock);
    }
    sem_post(&finisher->ended);
    return NULL;
}

bool weir_file_finisher_drop_oldest(struct weir_file_finisher *finisher)
{
    pthread_mutex_lock(&finisher->lock);
    bool any = finisher->drops_wanted < finisher->removable;
    finisher->drops_wanted += any;
    pthread_cond_broadcast(&finisher->changed);
    pthread_mutex_unlock(&finisher->lock);
    return any;
}

enum weir_finisher_work weir_file_finisher_work(struct weir_file_finisher *finisher)
{
    pthread_mutex_lock(&finisher->lock);
    enum weir_finisher_work work = finisher->drops_wanted > 0 ? WEIR_FINISHER_DROPS
                                   : finisher->finishing      ? WEIR_FINISHER_FINISHES
                                                              : WEIR_FINISHER_RESTS;
    pthread_mutex_unlock(&finisher->lock);
    return work;
}

void weir_file_finisher_await_drops(struct weir_file_finisher *finisher)
{
    pthread_mutex_lock(&finisher->lock);
    while (finisher->drops_wanted > 0)
        pthread_cond_wait(&finisher->changed, &finisher->lock);
    pthread_mutex_unlock(&finisher->lock);
}

bool weir_file_finisher_make_room(struct weir_file_finisher *finisher)
{
    if (!finisher || finisher->setup.plan->options->output.on_full != WEIR_RECORD_ON_FULL_ROTATE)
        return false;
    if (weir_file_finisher_work(finisher) != WEIR_FINISHER_DROPS && !weir_file_finisher_drop_oldest(finisher))
        return false;
    weir_file_finisher_await_drops(finisher);
    return true;
}

int weir_file_finisher_start(struct weir_file_finisher *finisher)
{
    int result = -pthread_create(&finisher->thread, NULL, thread_main, finisher);
    if (result < 0)
        return result;
    finisher->started = true;
    pthread_setname_np(finisher->thread, "weir-finisher");
    pthread_mutex_lock(&finisher->lock);
    while (finisher->tid == 0)
        pthread_cond_wait(&finisher->changed, &finisher->lock);
    pthread_mutex_unlock(&finisher->lock);
    return 0;
}

pid_t weir_file_finisher_tid(const struct weir_file_finisher *finisher)
{
    return finisher->tid; /* constant after start() */
}

bool weir_file_finisher_push(struct weir_file_finisher *finisher, struct weir_record_file *file)
{
    weir_assert(finisher->started);
    pthread_mutex_lock(&finisher->lock);
    bool full = finisher->count == WEIR_FINISHER_FILES;
    if (!full) {
        finisher->queue[(finisher->first + finisher->count) % WEIR_FINISHER_FILES] = file;
        finisher->count++;
        pthread_cond_signal(&finisher->changed);
    }
    pthread_mutex_unlock(&finisher->lock);
    return !full;
}

static bool has_ended_in_time(struct weir_file_finisher *finisher)
{
    const struct timespec until = weir_clock_timespec(weir_clock_now_ns(&weir_clock_monotonic) + HASTE_LOOK_NS);
    return sem_clockwait(&finisher->ended, CLOCK_MONOTONIC, &until) == 0;
}

static void ask_to_stop(struct weir_file_finisher *finisher, bool hurried)
{
    pthread_mutex_lock(&finisher->lock);
    finisher->stopping = true;
    finisher->hurried |= hurried;
    pthread_cond_signal(&finisher->changed);
    pthread_mutex_unlock(&finisher->lock);
}

void weir_file_finisher_stop(struct weir_file_finisher *finisher, bool (*hurried)(void *ctx), void *ctx)
{
    if (!finisher)
        return;
    ask_to_stop(finisher, hurried(ctx));
    if (!finisher->started)
        return;
    while (!has_ended_in_time(finisher))
        ask_to_stop(finisher, hurried(ctx));
    pthread_join(finisher->thread, NULL);
    finisher->started = false;
}

void weir_file_finisher_keep(struct weir_file_finisher *finisher, struct weir_record_file *file,
                             bool (*hurried)(void *ctx), void *ctx)
{
    struct weir_error err = {0};
    if (name(finisher, file, &err) < 0)
        weir_notice(finisher->setup.plan->options->notices, WEIR_NOTICE_WARNING, "%s", err.what);
    weir_kept_files_add(finisher->kept, file, hurried, ctx);
    add(finisher, file->file_bytes, &err);
}

bool weir_file_finisher_pass_name(struct weir_file_finisher *finisher, struct weir_record_file *file)
{
    const struct weir_notice_sink *notices = finisher->setup.plan->options->notices;
    struct weir_error err = {0};
    int result = weir_kept_files_pass_name(finisher->kept, file, &err);
    if (result == 0)
        weir_record_file_sync_name(file, &err);
    if (err.code != 0) /* -ENOENT: the user has moved the snapshot, so this is no surprise */
        weir_notice(notices, result == -ENOENT ? WEIR_NOTICE_INFO : WEIR_NOTICE_WARNING, "%s", err.what);
    return result == 0;
}

void weir_file_finisher_keep_named(struct weir_file_finisher *finisher, const struct weir_record_file *file,
                                   bool replaces)
{
    const char *before = weir_kept_files_newest(finisher->kept);
    if (replaces && !file->broken)
        weir_kept_files_add_last(finisher->kept, file);
    else if (before)
        weir_notice_product(finisher->setup.plan->options->notices, WEIR_NOTICE_INFO,
                            "the newest snapshot of the pair is in '%s'", before);
    add(finisher, file->file_bytes, &(struct weir_error){0});
}

void weir_file_finisher_await_commands(struct weir_file_finisher *finisher, bool (*hurried)(void *ctx), void *ctx)
{
    weir_kept_files_await_commands(finisher->kept, hurried, ctx);
}

const struct weir_finished_files *weir_file_finisher_sums(const struct weir_file_finisher *finisher)
{
    return &finisher->sums;
}

struct weir_removed_files weir_file_finisher_removed(const struct weir_file_finisher *finisher)
{
    return weir_kept_files_removed(finisher->kept);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

void weir_file_finisher_free(struct weir_file_finisher *finisher)
{
    if (!finisher)
        return;
    weir_file_finisher_stop(finisher, always, NULL);
    weir_kept_files_free(finisher->kept);
    pthread_mutex_destroy(&finisher->lock);
    pthread_cond_destroy(&finisher->changed);
    sem_destroy(&finisher->ended);
    free(finisher);
}
