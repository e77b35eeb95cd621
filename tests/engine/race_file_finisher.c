/*
 * The finisher's thread against the coordinator that pushes files as fast as its queue takes them, has the oldest ones
 * removed to make room, and stops it while files are left. Real files, without data, in a folder of their own. What
 * must hold:
 *
 *     every file that was pushed is finished, in the order of the pushes, under a name that no other has
 *     who finds the queue full is told when there is room
 *     those that were dropped are the oldest, and are gone when await_drops() returns; all others are there
 *     every switch that has begun ends
 *
 * A plain program, so that it also runs under ThreadSanitizer.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/session/file_finisher.h"
#include "engine/session/session.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/parking.h"
#include "tests/format/sample_machine.h"

#define BATCHES     2u
#define BATCH       (WEIR_FINISHER_FILES + 4) /* so that the queue is found full */
#define FILES       (BATCHES * BATCH)
#define DROP_EACH   3u /* pushes */
#define PATIENCE_MS 60000

struct race {
    char folder[PATH_MAX - 64], path[PATH_MAX - 32];
    struct weir_record_options options;
    struct weir_notice_sink sink;
    struct weir_session session;
    struct weir_event_desc description;
    uint64_t id;
    struct weir_file_finisher *finisher;
    struct weir_switch_count switches;
    sigset_t signals;
    struct fake_clock ended; /* a stamp of its own for each file: the name of one that was removed is free again */
    int room_fd;
    char names[FILES][PATH_MAX]; /* as told, in that order; the finisher's thread, until it has ended */
    unsigned told, warned;
    unsigned pushed, dropped, waits;
    uint64_t still_there; /* dropped files, after await_drops() */
};

/* "[ weir record: Dump PATH ]" */
static void take_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    static const char before[] = "[ weir record: Dump ";
    struct race *race = ctx;
    const char *name = line + strlen(before);
    if (level == WEIR_NOTICE_INFO && strncmp(line, before, strlen(before)) == 0 && race->told < FILES)
        snprintf(race->names[race->told++], PATH_MAX, "%.*s", (int)strcspn(name, " "), name);
    else
        race->warned += level == WEIR_NOTICE_WARNING;
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void init(struct race *race)
{
    memset(race, 0, sizeof(*race));
    const char *tmp = getenv("TMPDIR");
    snprintf(race->folder, sizeof(race->folder), "%s/weir-race-XXXXXX", tmp ? tmp : "/tmp");
    weir_assert(mkdtemp(race->folder));
    snprintf(race->path, sizeof(race->path), "%s/data", race->folder);
    race->sink = (struct weir_notice_sink){.emit = take_notice, .ctx = race};
    race->options = (struct weir_record_options){
        .switching = {.enabled = true, .timestamp = true},
        .on_full = WEIR_RECORD_ON_FULL_ROTATE,
        .notices = &race->sink,
    };
    race->id = 1;
    race->description = (struct weir_event_desc){.name = "cycles", .ids = &race->id, .id_count = 1};
    race->description.attr.size = sizeof(race->description.attr);
    race->session = (struct weir_session){
        .options = &race->options,
        .machine = sample_machine(),
        .descriptions = &race->description,
        .events.event_count = 1,
        .id_room = 1,
    };
    sigemptyset(&race->signals);
    race->room_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const struct weir_file_finisher_setup setup = {
        .session = &race->session,
        .child_mask = &race->signals,
        .room_fd = race->room_fd,
        .switches = &race->switches,
    };
    weir_assert(race->room_fd >= 0 && weir_file_finisher_new(&race->finisher, &setup) == 0);
}

/* A file that has ended, hidden, as session_switch.c leaves one. */
static struct weir_record_file *make_file(struct race *race)
{
    struct weir_record_file *file = NULL;
    struct weir_error err = {0};
    const struct weir_writer_account nothing = {0};
    int result = weir_record_file_open(&file, &race->session, race->path, NULL, &err);
    if (result == 0)
        result = weir_record_file_publish(file, &err);
    if (result == 0) {
        const struct weir_clock day = fake_clock_interface(&race->ended);
        race->ended.now_ns += 10 * WEIR_NS_PER_MS;
        weir_record_file_stamp(file, &day);
        result = weir_record_file_rename(file, ".", &err);
    }
    if (result < 0)
        printf("cannot make a file: %s\n", err.what);
    weir_assert(result == 0);
    weir_record_file_note(file, &nothing);
    return file;
}

/* False: nobody said that there was room. */
static bool push(struct race *race, struct weir_record_file *file)
{
    int result;
    weir_switch_count_begin(&race->switches);
    while ((result = weir_file_finisher_push(race->finisher, file)) == -EAGAIN) {
        struct pollfd room = {.fd = race->room_fd, .events = POLLIN};
        eventfd_t ignored;
        race->waits++;
        if (poll(&room, 1, PATIENCE_MS) != 1)
            return false;
        eventfd_read(race->room_fd, &ignored);
    }
    weir_assert(result == 0);
    race->pushed++;
    return true;
}

/* What was to be dropped is gone. (The names of those are known: they were told before they were counted as finished,
 * and drops_wanted is set under the same lock.) */
static void await_drops(struct race *race)
{
    weir_file_finisher_await_drops(race->finisher);
    for (unsigned i = 0; i < race->dropped; i++)
        race->still_there += access(race->names[i], F_OK) == 0;
}

static bool run_batch(struct race *race)
{
    struct weir_record_file *files[BATCH];
    for (unsigned i = 0; i < BATCH; i++)
        files[i] = make_file(race);
    for (unsigned i = 0; i < BATCH; i++) {
        if (!push(race, files[i]))
            return false;
        if (i % DROP_EACH == DROP_EACH - 1)
            race->dropped += weir_file_finisher_drop_oldest(race->finisher);
    }
    await_drops(race);
    return true;
}

/* Files whose name is not as it should be: taken twice, or not there. */
static unsigned look_at_files(const struct race *race)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < race->told; i++) {
        for (unsigned k = 0; k < i; k++)
            wrong += strcmp(race->names[i], race->names[k]) == 0;
        wrong += (access(race->names[i], F_OK) == 0) != (i >= race->dropped);
        wrong += i > 0 && strcmp(race->names[i - 1], race->names[i]) > 0;
    }
    return wrong;
}

static int run(void *ctx)
{
    struct race *race = ctx;
    bool told_of_room = true;
    init(race);
    for (unsigned i = 0; told_of_room && i < BATCHES; i++)
        told_of_room = run_batch(race);
    weir_file_finisher_stop(race->finisher, always, NULL);
    const struct weir_finished_files *sums = weir_file_finisher_sums(race->finisher);
    uint64_t under_way = atomic_load(&race->switches.word) & UINT32_MAX;
    unsigned wrong = look_at_files(race);
    printf("%u files pushed, %u waits for room, %llu finished, %u told, %u dropped (%llu still there), %u warnings, "
           "%u names wrong, %llu switches not ended\n",
           race->pushed, race->waits, (unsigned long long)sums->files, race->told, race->dropped,
           (unsigned long long)race->still_there, race->warned, wrong, (unsigned long long)under_way);
    bool good = told_of_room && sums->files == FILES && sums->err.code == 0 && race->told == FILES &&
                !race->still_there && !race->warned && !wrong && !under_way && race->dropped > 0;
    weir_file_finisher_free(race->finisher);
    for (unsigned i = 0; i < race->told; i++)
        unlink(race->names[i]);
    close(race->room_fd);
    if (rmdir(race->folder) < 0) {
        printf("%s: %s\n", race->folder, strerror(errno));
        return 1;
    }
    return good ? 0 : 1;
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_FINISHER_TAKEN, WEIR_AT_FINISHER_DONE, WEIR_AT_FINISHER_DROP};
    static struct race race;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &race) ? 1 : 0;
}
