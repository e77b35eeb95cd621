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
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/files/file_finisher.h"
#include "tests/engine/finisher_rig.h"
#include "tests/engine/parking.h"

#define BATCHES     2u
#define BATCH       (WEIR_FINISHER_FILES + 4) /* so that the queue is found full */
#define FILES       (BATCHES * BATCH)
#define DROP_EACH   3u /* pushes */
#define PATIENCE_MS 60000

struct race {
    struct finisher_rig rig;
    struct weir_notice_sink sink;
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

/* False: nobody said that there was room. */
static bool push(struct race *race, struct weir_record_file *file)
{
    while (!weir_file_finisher_push(race->rig.finisher, file)) {
        struct pollfd room = {.fd = race->rig.room_fd, .events = POLLIN};
        eventfd_t ignored;
        race->waits++;
        if (poll(&room, 1, PATIENCE_MS) != 1)
            return false;
        eventfd_read(race->rig.room_fd, &ignored);
    }
    race->pushed++;
    return true;
}

/* What was to be dropped is gone. (The names of those are known: they were told before they were counted as finished,
 * and drops_wanted is set under the same lock.) */
static void await_drops(struct race *race)
{
    weir_file_finisher_await_drops(race->rig.finisher);
    for (unsigned i = 0; i < race->dropped; i++)
        race->still_there += access(race->names[i], F_OK) == 0;
}

static bool run_batch(struct race *race)
{
    struct weir_record_file *files[BATCH];
    for (unsigned i = 0; i < BATCH; i++)
        files[i] = finisher_rig_make_file(&race->rig, NULL);
    for (unsigned i = 0; i < BATCH; i++) {
        if (!push(race, files[i]))
            return false;
        if (i % DROP_EACH == DROP_EACH - 1)
            race->dropped += weir_file_finisher_drop_oldest(race->rig.finisher);
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
    memset(race, 0, sizeof(*race));
    race->sink = (struct weir_notice_sink){.emit = take_notice, .ctx = race};
    finisher_rig_init(&race->rig, &race->sink);
    finisher_rig_start(&race->rig);
    for (unsigned i = 0; told_of_room && i < BATCHES; i++)
        told_of_room = run_batch(race);
    weir_file_finisher_stop(race->rig.finisher, always, NULL);
    const struct weir_finished_files *sums = weir_file_finisher_sums(race->rig.finisher);
    uint64_t under_way = atomic_load(&race->rig.rotations.word) & UINT32_MAX;
    unsigned wrong = look_at_files(race);
    printf("%u files pushed, %u waits for room, %llu finished, %u told, %u dropped (%llu still there), %u warnings, "
           "%u names wrong, %llu switches not ended\n",
           race->pushed, race->waits, (unsigned long long)sums->files, race->told, race->dropped,
           (unsigned long long)race->still_there, race->warned, wrong, (unsigned long long)under_way);
    bool good = told_of_room && sums->files == FILES && sums->err.code == 0 && race->told == FILES &&
                !race->still_there && !race->warned && !wrong && !under_way && race->dropped > 0;
    for (unsigned i = 0; i < race->told; i++)
        unlink(race->names[i]);
    int left = finisher_rig_fini(&race->rig);
    if (left < 0) {
        printf("%s: %s\n", race->rig.folder, strerror(-left));
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
