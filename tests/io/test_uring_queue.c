/* The io_uring queue on the kernel's own io_uring: a file in memory, and a full pipe for writes that do not end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/io_ops.h"
#include "tests/io/refuse_call.h"

#define DEPTH      4u
#define BYTES      8192
#define PIPE_BYTES 4096

static const struct weir_io_queue_ops *const ops = &weir_io_queue_uring;

struct rig {
    void *queue;
    int fd;
    unsigned registered;
    uint8_t *memory; /* DEPTH times BYTES */
    struct iovec buffer;
};

static void open_queue(struct rig *rig, int fd, unsigned buffer_count)
{
    *rig = (struct rig){.fd = fd, .memory = aligned_alloc(4096, DEPTH * BYTES)};
    cr_assert_not_null(rig->memory);
    memset(rig->memory, 0x5a, DEPTH * BYTES);
    rig->buffer = (struct iovec){.iov_base = rig->memory, .iov_len = DEPTH * BYTES};
    const struct weir_io_queue_config config = {
        .depth = DEPTH,
        .fds = {[WEIR_IO_BUFFERED] = fd, [WEIR_IO_DIRECT] = -1},
        .buffers = &rig->buffer,
        .buffer_count = buffer_count,
        .file = &weir_io_file_real,
    };
    int rc = ops->open(&rig->queue, &config, &rig->registered);
    if (rc == -EPERM || rc == -ENOSYS)
        cr_skip_test("needs io_uring: %s", strerror(-rc));
    cr_assert_eq(rc, 0);
}

static void open_on_memory(struct rig *rig, unsigned buffer_count)
{
    int fd = memfd_create("weir-test", MFD_CLOEXEC);
    cr_assert_geq(fd, 0);
    open_queue(rig, fd, buffer_count);
}

static void close_rig(struct rig *rig)
{
    ops->close(rig->queue);
    close(rig->fd);
    free(rig->memory);
}

static int submit(struct rig *rig, unsigned number, enum weir_io_file file, int buffer_index)
{
    return ops->submit(rig->queue, &(struct weir_io_write){.file = file,
                                                           .buffer_index = buffer_index,
                                                           .data = rig->memory + (size_t)number * BYTES,
                                                           .bytes = BYTES,
                                                           .offset = (uint64_t)number * BYTES,
                                                           .tag = (void *)(uintptr_t)(number + 1)});
}

/* Reaps one completion, for up to a second. */
static struct weir_io_completion reap_one(struct rig *rig)
{
    struct weir_io_completion done = {0};
    cr_assert_eq(ops->reap(rig->queue, &done, 1, 1000), 1);
    return done;
}

/* A queue whose write 0 stays in flight until the pipe is read from. */
static int open_on_full_pipe(struct rig *rig)
{
    int ends[2];
    uint8_t fill[PIPE_BYTES] = {0};
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    cr_assert_eq(fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
    cr_assert_eq(write(ends[1], fill, sizeof(fill)), PIPE_BYTES);
    open_queue(rig, ends[1], 0);
    const struct weir_io_write write = {.buffer_index = -1, .data = rig->memory, .bytes = PIPE_BYTES, .tag = rig};
    cr_assert_eq(ops->submit(rig->queue, &write), 0);
    return ends[0];
}

/* Reads one pipe full: the write goes through. */
static void release(struct rig *rig, int reader)
{
    uint8_t buffer[PIPE_BYTES];
    cr_assert_eq(read(reader, buffer, sizeof(buffer)), PIPE_BYTES);
    struct weir_io_completion done = reap_one(rig);
    cr_assert_eq(done.result, PIPE_BYTES);
    cr_assert_eq(done.tag, rig);
    close(reader);
}

Test(uring_queue, more_than_depth_writes_are_refused)
{
    struct rig rig;
    open_on_memory(&rig, 1);
    for (unsigned i = 0; i < DEPTH; i++)
        cr_assert_eq(submit(&rig, i, WEIR_IO_BUFFERED, 0), 0);
    cr_assert_eq(submit(&rig, 0, WEIR_IO_BUFFERED, 0), -EBUSY);
    cr_assert_eq(ops->flush(rig.queue), 0);
    cr_assert_eq(submit(&rig, 0, WEIR_IO_BUFFERED, 0), -EBUSY);
    reap_one(&rig);
    cr_assert_eq(submit(&rig, 0, WEIR_IO_BUFFERED, 0), 0);
    close_rig(&rig);
}

Test(uring_queue, write_to_a_file_that_is_not_open_fails_alone)
{
    struct rig rig;
    open_on_memory(&rig, 1);
    cr_assert_eq(submit(&rig, 0, WEIR_IO_DIRECT, 0), 0);
    cr_assert_eq(submit(&rig, 1, WEIR_IO_BUFFERED, 0), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct weir_io_completion done = reap_one(&rig);
        cr_assert_eq(done.result, (uintptr_t)done.tag == 1 ? -EBADF : BYTES);
    }
    close_rig(&rig);
}

Test(uring_queue, refused_enter_fails_the_flush_and_close_does_not_hang)
{
    struct rig rig;
    open_on_memory(&rig, 1);
    cr_assert_eq(submit(&rig, 0, WEIR_IO_BUFFERED, 0), 0);
    refuse_call(SYS_io_uring_enter, EPERM);
    cr_assert_eq(ops->flush(rig.queue), -EPERM);
    struct weir_io_completion done;
    cr_assert_eq(ops->reap(rig.queue, &done, 1, 10), -EPERM);
    cr_assert_eq(ops->reap(rig.queue, &done, 1, 0), -EPERM);
    close_rig(&rig);
}

static void expect_patience(int error)
{
    struct rig rig;
    open_on_memory(&rig, 1);
    cr_assert_eq(submit(&rig, 0, WEIR_IO_BUFFERED, 0), 0);
    refuse_call(SYS_io_uring_enter, error);
    cr_assert_eq(ops->flush(rig.queue), 0);
    cr_assert_eq(ops->enters(rig.queue), 16);
    struct weir_io_completion done;
    cr_assert_eq(ops->reap(rig.queue, &done, 1, 10), 0);
    close_rig(&rig);
}

Test(uring_queue, interrupted_enter_is_retried_and_then_left_for_later)
{
    expect_patience(EINTR);
}

Test(uring_queue, kernel_short_of_memory_is_retried_and_then_left_for_later)
{
    expect_patience(EAGAIN);
}

Test(uring_queue, busy_kernel_is_retried_and_then_left_for_later)
{
    expect_patience(EBUSY);
}

Test(uring_queue, wait_ends_at_its_time)
{
    struct rig rig;
    int reader = open_on_full_pipe(&rig);
    struct weir_io_completion done;
    uint64_t begin_ns = weir_clock_now_ns(&weir_clock_monotonic);
    cr_assert_eq(ops->reap(rig.queue, &done, 1, 30), 0);
    cr_assert_geq(weir_clock_now_ns(&weir_clock_monotonic) - begin_ns, 30 * WEIR_NS_PER_MS);
    release(&rig, reader);
    close_rig(&rig);
}

static void take_alarm(int number)
{
    (void)number;
}

Test(uring_queue, signal_ends_a_wait_without_an_error)
{
    struct rig rig;
    int reader = open_on_full_pipe(&rig);
    cr_assert_eq(ops->flush(rig.queue), 0);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = take_alarm}, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 20000}}, NULL);
    struct weir_io_completion done;
    cr_assert_eq(ops->reap(rig.queue, &done, 1, 60000), 0);
    release(&rig, reader);
    close_rig(&rig);
}

Test(uring_queue, nothing_held_is_not_waited_for)
{
    struct rig rig;
    open_on_memory(&rig, 1);
    struct weir_io_completion done;
    cr_assert_eq(ops->reap(rig.queue, &done, 1, 60000), 0);
    cr_assert_eq(ops->enters(rig.queue), 0);
    close_rig(&rig);
}

static void expect_bytes(unsigned buffer_count, int buffer_index)
{
    struct rig rig;
    open_on_memory(&rig, buffer_count);
    cr_assert_eq(rig.registered, buffer_count);
    for (unsigned i = 0; i < DEPTH; i++) {
        memset(rig.memory + i * BYTES, (int)i + 1, BYTES);
        cr_assert_eq(submit(&rig, i, WEIR_IO_BUFFERED, buffer_index), 0);
    }
    for (unsigned i = 0; i < DEPTH; i++)
        cr_assert_eq(reap_one(&rig).result, BYTES);
    uint8_t file[DEPTH * BYTES];
    cr_assert_eq(pread(rig.fd, file, sizeof(file), 0), (ssize_t)sizeof(file));
    cr_assert_eq(memcmp(file, rig.memory, sizeof(file)), 0);
    close_rig(&rig);
}

Test(uring_queue, registered_buffers_reach_the_file)
{
    expect_bytes(1, 0);
}

Test(uring_queue, memory_that_is_not_registered_reaches_the_file)
{
    expect_bytes(1, -1);
    expect_bytes(0, -1);
}

Test(uring_queue, one_enter_starts_and_reaps_all)
{
    struct rig rig;
    open_on_memory(&rig, 1);
    for (unsigned i = 0; i < DEPTH; i++)
        cr_assert_eq(submit(&rig, i, WEIR_IO_BUFFERED, 0), 0);
    struct weir_io_completion done[DEPTH];
    int count = ops->reap(rig.queue, done, DEPTH, 1000);
    cr_assert_eq(ops->enters(rig.queue), 1);
    while (count < (int)DEPTH)
        count += ops->reap(rig.queue, done, DEPTH, 1000);
    cr_assert_eq(count, DEPTH);
    close_rig(&rig);
}

/* A caller comes again once a write has completed. */
Test(uring_queue, sync_is_refused_while_the_queue_is_full)
{
    struct rig rig;
    open_on_memory(&rig, 0);
    for (unsigned i = 0; i < DEPTH; i++)
        cr_assert_eq(submit(&rig, i, WEIR_IO_BUFFERED, -1), 0);
    cr_expect_eq(ops->sync(rig.queue, rig.fd, &rig), -EBUSY);
    cr_expect_eq(reap_one(&rig).result, BYTES);
    cr_expect_eq(ops->sync(rig.queue, rig.fd, &rig), 0);
    for (unsigned i = 1; i < DEPTH + 1; i++)
        cr_expect_geq(reap_one(&rig).result, 0);
    close_rig(&rig);
}

/* The ring of this process. */
static int ring_fd(void)
{
    for (int fd = 3; fd < 64; fd++) {
        char link[64], target[64] = "";
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof(target) - 1) > 0 && strcmp(target, "anon_inode:[io_uring]") == 0)
            return fd;
    }
    return -1;
}

/* A ring without limits gives the credentials an id. */
Test(uring_queue, ring_takes_no_registration_once_it_is_open)
{
    struct rig rig;
    open_on_memory(&rig, 1);
    int fd = ring_fd();
    cr_assert_geq(fd, 0);
    cr_assert_lt(syscall(SYS_io_uring_register, fd, IORING_REGISTER_PERSONALITY, NULL, 0), 0);
    cr_assert_eq(errno, EACCES);
    close_rig(&rig);
}
