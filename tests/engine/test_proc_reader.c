/* Processes read from a /proc that hangs: its maps are a FIFO that nobody writes to. */
#include "engine/tasks/proc_reader.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/format/synth_fixture.h"

#define HANG_MS     200u
#define PATIENCE_MS 60000u

static struct synth_fixture fixture;
static struct weir_proc_reader *reader;
static char fifo[PATH_MAX];

/* Processes 10, 11 and 12; that in the middle hangs. */
static void init(void)
{
    synth_fixture_init(&fixture);
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 10, .ppid = 1, .comm = "ten"});
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 11, .ppid = 1, .comm = "eleven", .vm_bytes = 4096});
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 12, .ppid = 1, .comm = "twelve"});
    for (pid_t pid = 10; pid <= 12; pid++) {
        char path[32], text[64];
        format_text(path, sizeof(path), "%d/status", (int)pid);
        format_text(text, sizeof(text), "Name:\tx\nTgid:\t%d\n", (int)pid);
        synth_fixture_write(&fixture, path, text);
    }
    format_text(fifo, sizeof(fifo), "%s/11/maps", fixture.proc_root);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    cr_assert_eq(weir_proc_reader_start(&reader, &fixture.options), 0);
}

static void fini(void)
{
    weir_proc_reader_free(reader);
    synth_fixture_fini(&fixture);
}

TestSuite(proc_reader, .init = init, .fini = fini, .timeout = 60);

/* Lets go of who hangs. */
static void let_go(void)
{
    int fd;
    while ((fd = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO)
        usleep(1000); /* nobody reads yet */
    cr_assert_geq(fd, 0);
    close(fd);
}

static int read_all(const pid_t *pids, size_t count, unsigned hang_ms, struct weir_proc_reading *taken,
                    struct weir_buf *records)
{
    return weir_proc_reader_read(reader, pids, count, hang_ms, records, taken);
}

Test(proc_reader, nothing_is_asked_and_nothing_read)
{
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_proc_reading taken = {.processes = 99, .cut = 99};
    cr_expect_eq(read_all(NULL, 0, PATIENCE_MS, &taken, &records), 0);
    cr_expect_eq(taken.processes + taken.cut, 0);
    cr_expect_eq(records.used, 0);
}

Test(proc_reader, what_is_read_is_what_synthesis_says)
{
    const pid_t pids[] = {12, 10, 999};
    struct weir_buf records = WEIR_BUF_INIT, expected = WEIR_BUF_INIT;
    struct weir_proc_reading taken;
    cr_assert_eq(read_all(pids, 3, PATIENCE_MS, &taken, &records), 0);
    cr_expect_eq(taken.processes, 3, "one that has gone was read");
    expect_fork(&expected, 12, 1, 12, 1);
    expect_comm(&expected, 12, 12, "twelve");
    expect_fork(&expected, 10, 1, 10, 1);
    expect_comm(&expected, 10, 10, "ten");
    cr_assert_eq(records.used, expected.used);
    cr_expect_arr_eq(records.data, expected.data, expected.used);
    weir_buf_fini(&records);
    weir_buf_fini(&expected);
}

Test(proc_reader, error_of_synthesis_ends_it)
{
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_proc_reading taken;
    const pid_t pid = 10;
    struct weir_proc_reader *other;
    struct weir_synth_options options = fixture.options;
    options.proc_root = "/there/is/no/proc";
    cr_assert_eq(weir_proc_reader_start(&other, &options), 0);
    cr_expect_eq(weir_proc_reader_read(other, &pid, 1, PATIENCE_MS, &records, &taken), -ENOENT);
    cr_expect_eq(taken.processes, 0);
    weir_proc_reader_free(other);
}

Test(proc_reader, process_that_hangs_is_not_waited_for_and_those_before_it_are_read)
{
    const pid_t pids[] = {10, 11, 12};
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_proc_reading taken;
    cr_expect_eq(read_all(pids, 3, HANG_MS, &taken, &records), -ETIMEDOUT);
    cr_expect_eq(taken.processes, 1);
    size_t of_first = records.used;
    cr_expect_gt(of_first, 0);
    /* It still hangs: at once, nothing; the patience would be that of this test. */
    cr_expect_eq(read_all(pids, 1, PATIENCE_MS, &taken, &records), -ETIMEDOUT);
    cr_expect_eq(taken.processes, 0);
    cr_expect_eq(records.used, of_first);

    let_go();
    weir_buf_reset(&records);
    while (read_all(pids, 1, PATIENCE_MS, &taken, &records) == -ETIMEDOUT)
        usleep(1000);
    cr_expect_eq(taken.processes, 1);
    cr_expect_eq(records.used, of_first, "what hung is not in it");
    weir_buf_fini(&records);
}

static void *hurry(void *unused)
{
    (void)unused;
    usleep(20000); /* the request may be under way by then; the test passes either way */
    weir_proc_reader_hurry(reader, HANG_MS);
    return NULL;
}

/* The end of a recording: a request is not given the time that each of its processes might take. */
Test(proc_reader, hurry_ends_a_request_that_others_would_be_patient_with)
{
    const pid_t pids[] = {10, 11};
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_proc_reading taken;
    pthread_t other;
    weir_proc_reader_hurry(NULL, 1);
    cr_assert_eq(pthread_create(&other, NULL, hurry, NULL), 0);
    cr_expect_eq(read_all(pids, 2, 1000 * PATIENCE_MS, &taken, &records), -ETIMEDOUT);
    cr_expect_eq(taken.processes, 1, "what was read is kept");
    pthread_join(other, NULL);
    let_go();
    weir_buf_fini(&records);
}

/* Time is up although none hangs. */
Test(proc_reader, hurry_ends_a_request_of_which_processes_are_finished)
{
    const pid_t pids[] = {10, 12, 10, 12, 10, 12};
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_proc_reading taken;
    weir_proc_reader_hurry(reader, 0);
    cr_expect_eq(read_all(pids, 6, PATIENCE_MS, &taken, &records), -ETIMEDOUT);
    cr_expect_lt(taken.processes, 6);
    weir_buf_fini(&records);
}

Test(proc_reader, it_is_freed_while_it_hangs)
{
    const pid_t pid = 11;
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_proc_reading taken;
    cr_expect_eq(read_all(&pid, 1, HANG_MS, &taken, &records), -ETIMEDOUT);
    weir_proc_reader_free(reader);
    reader = NULL;
    let_go();
}
