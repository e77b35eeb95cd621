/* What the sideband thread supplies to workers that unwind: mappings and files from the records in its tees, and a look
 * when it is asked for one. */
#include "engine/tasks/unwind_supply.h"

#include "engine/tasks/sideband.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/side_records.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_MS 60000u

static _Atomic uint64_t epoch;

static struct weir_unwind_supply *make(void)
{
    const struct weir_file_opener_setup opener = {.open = NULL};
    struct weir_unwind_supply *supply = NULL;
    cr_assert_eq(weir_unwind_supply_new(&supply, &opener), 0);
    cr_assert_eq(weir_unwind_supply_start(supply), 0);
    return supply;
}

static struct weir_sideband *make_sideband(struct weir_unwind_supply *supply)
{
    const struct weir_sideband_setup setup = {
        .attr = &side_attr, .tee_count = 1, .epoch = &epoch, .read_build_ids = true, .supply = supply};
    struct weir_sideband *sideband = NULL;
    cr_assert_eq(weir_sideband_new(&sideband, &setup), 0);
    return sideband;
}

/* Asks again while it takes too long: this machine is busy. */
static int open_patiently(const struct weir_unwind_source *source, uint64_t key)
{
    int fd = source->open(source->ctx, key);
    while (fd == -ETIMEDOUT)
        fd = source->open(source->ctx, key);
    return fd;
}

static void stop(struct weir_sideband *sideband, struct weir_unwind_supply *supply)
{
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    weir_sideband_free(sideband);
    weir_unwind_supply_free(supply);
}

Test(unwind_supply, without_memory_it_is_not_made)
{
    const struct weir_file_opener_setup opener = {.open = NULL};
    for (unsigned successes = 0; successes < 3; successes++) {
        struct weir_unwind_supply *supply = NULL;
        failing_alloc_after(successes);
        cr_expect_eq(weir_unwind_supply_new(&supply, &opener), -ENOMEM);
        failing_alloc_never();
    }
    weir_unwind_supply_free(NULL);
}

/* Nothing of it is known before; the records come by the tee of a reader, and from synthesis. */
Test(unwind_supply, what_was_drained_before_the_call_is_found_after_it)
{
    struct weir_unwind_supply *supply = make();
    const struct weir_unwind_source source = weir_unwind_supply_source(supply);
    struct weir_sideband *sideband = make_sideband(supply);
    struct weir_unwind_mapping mapping;
    struct weir_buf records = WEIR_BUF_INIT;
    cr_assert_eq(weir_sideband_start(sideband), 0);
    for (uint64_t i = 1; i <= 200; i++) {
        bool synthesized = i % 2;
        weir_buf_reset(&records);
        side_map(&records, synthesized ? 0 : 1000 * i, 5, i << 12, (i + 1) << 12, 1, "/bin/x");
        if (synthesized)
            weir_sideband_feed(sideband, records.data, records.used);
        else
            weir_side_tee_push(weir_sideband_tee(sideband, 0), records.data, records.used);
        while (!source.catch_up(source.ctx)) {
        }
        cr_assert(source.find(source.ctx, 5, 1000 * i, i << 12, &mapping), "record %u", (unsigned)i);
        cr_assert(mapping.has_file);
        cr_assert_eq(mapping.offset, i << 12);
    }
    const struct weir_unwind_supply_counts counts = weir_unwind_supply_count(supply);
    cr_expect_eq(counts.history.changes, 200);
    cr_expect_eq(counts.looks, 200 + counts.late);
    stop(sideband, supply);
    weir_buf_fini(&records);
}

Test(unwind_supply, mapped_files_can_be_opened)
{
    struct weir_unwind_supply *supply = make();
    const struct weir_unwind_source source = weir_unwind_supply_source(supply);
    struct weir_sideband *sideband = make_sideband(supply);
    char path[4096] = "";
    struct stat status, opened;
    cr_assert_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
    cr_assert_eq(stat(path, &status), 0);
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_record_map map = {
        .pid = getpid(),
        .tid = getpid(),
        .start = 0x1000,
        .bytes = 0x1000,
        .major = major(status.st_dev),
        .minor = minor(status.st_dev),
        .inode = status.st_ino,
        .protection = 5,
        .cpumode = PERF_RECORD_MISC_USER,
        .filename = path,
    };
    weir_record_mmap2(&records, &map, 32);
    map.start = 0x10000;
    map.filename = "[vdso]";
    map.inode = map.major = map.minor = 0;
    weir_record_mmap2(&records, &map, 32);
    map.start = 0x20000;
    map.filename = "//anon";
    weir_record_mmap2(&records, &map, 32);
    map.start = 0x30000;
    map.filename = "/there/is/no/such/file";
    map.inode = 1;
    weir_record_mmap2(&records, &map, 32);
    weir_sideband_feed(sideband, records.data, records.used);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    while (!source.catch_up(source.ctx)) {
    }

    struct weir_unwind_mapping mapping;
    cr_assert(source.find(source.ctx, getpid(), 1, 0x1800, &mapping));
    int fd = open_patiently(&source, mapping.key);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fstat(fd, &opened), 0);
    cr_expect_eq(opened.st_ino, status.st_ino);
    close(fd);
    cr_assert(source.find(source.ctx, getpid(), 1, 0x10800, &mapping));
    cr_expect(mapping.has_file, "the vDSO");
    fd = open_patiently(&source, mapping.key);
    cr_expect_geq(fd, 0);
    close(fd);
    cr_assert(source.find(source.ctx, getpid(), 1, 0x20800, &mapping));
    cr_expect_not(mapping.has_file);
    cr_expect_eq(open_patiently(&source, mapping.key), -ENOENT);
    cr_assert(source.find(source.ctx, getpid(), 1, 0x30800, &mapping));
    cr_expect_eq(open_patiently(&source, mapping.key), -ENOENT);
    stop(sideband, supply);
    weir_buf_fini(&records);
}

/* The stage works on the last chunks while the sideband thread has ended. */
Test(unwind_supply, after_the_end_all_is_known_and_nobody_waits)
{
    struct weir_unwind_supply *supply = make();
    const struct weir_unwind_source source = weir_unwind_supply_source(supply);
    struct weir_sideband *sideband = make_sideband(supply);
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_sideband_counts counts;
    struct weir_unwind_mapping mapping;
    cr_assert_eq(weir_sideband_start(sideband), 0);
    side_map(&records, 100, 5, 0x1000, 0x2000, 1, "/bin/x");
    weir_side_tee_push(weir_sideband_tee(sideband, 0), records.data, records.used);
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    for (unsigned i = 0; i < 3; i++)
        cr_expect(source.catch_up(source.ctx));
    cr_expect_eq(weir_unwind_supply_count(supply).late, 0);
    cr_expect(source.find(source.ctx, 5, 100, 0x1000, &mapping));
    weir_sideband_free(sideband);
    weir_unwind_supply_free(supply);
    weir_buf_fini(&records);
}

/* ---- a sideband thread that does not look ---- */

Test(unwind_supply, without_a_look_a_caller_waits_once)
{
    struct weir_unwind_supply *supply = make();
    const struct weir_unwind_source source = weir_unwind_supply_source(supply);
    for (unsigned i = 0; i < 1000; i++) /* the bound for all of them is that of one */
        cr_assert_not(source.catch_up(source.ctx));
    cr_expect_eq(weir_unwind_supply_count(supply).late, 1000);
    cr_expect(weir_unwind_supply_is_asked(supply));
    weir_unwind_supply_end(supply, weir_unwind_supply_begin(supply));
    cr_expect_not(weir_unwind_supply_is_asked(supply));
    weir_unwind_supply_free(supply);
}

static void look_when_rung(void *ctx)
{
    sem_post(ctx);
}

struct looker {
    struct weir_unwind_supply *supply;
    sem_t rung;
    uint64_t early; /* a look that began before the call */
};

static void *look(void *argument)
{
    struct looker *looker = argument;
    while (sem_wait(&looker->rung) < 0) {
    }
    weir_unwind_supply_end(looker->supply, looker->early); /* is no answer */
    uint64_t number = weir_unwind_supply_begin(looker->supply);
    weir_unwind_supply_end(looker->supply, number);
    return NULL;
}

Test(unwind_supply, look_that_began_before_the_call_is_no_answer)
{
    struct looker looker = {.supply = make()};
    const struct weir_unwind_source source = weir_unwind_supply_source(looker.supply);
    const struct weir_unwind_supply_bell bell = {.ring = look_when_rung, .ctx = &looker.rung};
    pthread_t thread;
    sem_init(&looker.rung, 0, 0);
    looker.early = weir_unwind_supply_begin(looker.supply);
    weir_unwind_supply_set_bell(looker.supply, &bell);
    cr_assert_eq(pthread_create(&thread, NULL, look, &looker), 0);
    bool is_caught_up = source.catch_up(source.ctx);
    pthread_join(thread, NULL);
    cr_expect(is_caught_up || !weir_unwind_supply_is_asked(looker.supply)); /* on a busy machine: too late */
    weir_unwind_supply_free(looker.supply);
}
