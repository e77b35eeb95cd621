/* Outputs that are streams: real pipes and sockets, and what is no stream to write a recording to. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/output.h"

#define SPAN_BYTES  (256u * 1024)
#define SPANS       40u
#define SMALL_BYTES 24u
#define HEAD        "sixteen bytes ! and an odd number more"
#define HEAD_BYTES  sizeof(HEAD)
#define WAIT_MS     50u

static const struct weir_output_options plain = {0};

static struct weir_output *open_on(int fd)
{
    struct weir_output *output = NULL;
    struct weir_error err = {0};
    signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(weir_output_open_stream(&output, fd, &plain, &err), 0, "%s", err.what);
    cr_assert(weir_output_is_stream(output));
    cr_assert_not(weir_output_is_unread(output));
    return output;
}

static unsigned reap_all(struct weir_output *output, int result)
{
    struct weir_output_done done[64];
    unsigned total = 0, count;
    weir_output_push_tail(output);
    while (weir_output_pending(output) > 0) {
        count = weir_output_reap(output, done, 64, WAIT_MS);
        for (unsigned i = 0; i < count; i++)
            cr_assert_eq(done[i].result, result);
        total += count;
    }
    return total;
}

static uint8_t *make_spans(void)
{
    uint8_t *spans = malloc((size_t)SPANS * SPAN_BYTES);
    cr_assert(spans);
    for (size_t i = 0; i < (size_t)SPANS * SPAN_BYTES; i++)
        spans[i] = (uint8_t)(i * 7 + i / SPAN_BYTES);
    return spans;
}

struct reading {
    int fd;
    size_t bite;
    uint8_t *bytes;
    size_t used, capacity;
};

static void *read_all(void *argument)
{
    struct reading *reading = argument;
    ssize_t got;
    do {
        size_t room = reading->capacity - reading->used;
        got = read(reading->fd, reading->bytes + reading->used, room < reading->bite ? room : reading->bite);
        reading->used += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    return NULL;
}

/* Head, small and large spans through the descriptors, read in bites: exactly these bytes come out. */
static void expect_all(const int fds[2], size_t bite)
{
    uint8_t *spans = make_spans();
    size_t capacity = HEAD_BYTES + (size_t)SPANS * (SPAN_BYTES + SMALL_BYTES) + 1;
    struct reading reading = {.fd = fds[0], .bite = bite, .bytes = malloc(capacity), .capacity = capacity};
    pthread_t reader;
    cr_assert_eq(pthread_create(&reader, NULL, read_all, &reading), 0);

    struct weir_output *output = open_on(fds[1]);
    close(fds[1]);
    cr_assert_eq(weir_output_write_head(output, HEAD, HEAD_BYTES), 0);
    for (unsigned i = 0; i < SPANS; i++) {
        struct weir_output_done done[4];
        while (!weir_output_can_append(output))
            weir_output_reap(output, done, 4, WAIT_MS);
        weir_output_append(output, spans + (size_t)i * SPAN_BYTES, SPAN_BYTES, -1, false, NULL);
        while (!weir_output_can_append(output))
            weir_output_reap(output, done, 4, WAIT_MS);
        weir_output_append(output, spans + i, SMALL_BYTES, -1, false, NULL);
        cr_assert_eq(weir_output_flush(output), 0);
    }
    reap_all(output, 0);
    cr_assert_eq(weir_output_stable_bytes(output), (uint64_t)SPANS * (SPAN_BYTES + SMALL_BYTES));
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), NULL), 0);
    cr_assert_eq(weir_output_finish(output, NULL, 0), 0);
    cr_assert_eq(weir_output_sync(output), 0);
    weir_output_close(output);
    pthread_join(reader, NULL);

    cr_assert_eq(reading.used, capacity - 1);
    cr_assert_eq(memcmp(reading.bytes, HEAD, HEAD_BYTES), 0);
    const uint8_t *at = reading.bytes + HEAD_BYTES;
    for (unsigned i = 0; i < SPANS; i++, at += SPAN_BYTES + SMALL_BYTES) {
        cr_assert_eq(memcmp(at, spans + (size_t)i * SPAN_BYTES, SPAN_BYTES), 0);
        cr_assert_eq(memcmp(at + SPAN_BYTES, spans + i, SMALL_BYTES), 0);
    }
    free(reading.bytes);
    free(spans);
}

Test(output_stream, terminal_is_refused)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert_geq(terminal, 0);
    struct weir_error err = {0};
    struct weir_output *output = NULL;
    cr_assert_eq(weir_output_file_check_stream(terminal, &err), -ENOTTY);
    cr_assert_eq(weir_output_open_stream(&output, terminal, &plain, &err), -ENOTTY);
    cr_assert_str_eq(err.what, "refusing to write binary data to a terminal");
    cr_assert_str_eq(err.hint, "write to a file (-o perf.data) or to a pipe: weir record -o - ... | perf report -i -");
    cr_assert_null(output);
    close(terminal);
}

Test(output_stream, what_is_closed_or_for_reading_only_is_refused)
{
    int fds[2];
    struct weir_error err = {0};
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(weir_output_file_check_stream(fds[0], &err), -EBADF);
    close(fds[0]);
    close(fds[1]);
    cr_assert_eq(weir_output_file_check_stream(fds[1], &err), -EBADF);
}

Test(output_stream, reader_that_has_gone_fails_all_that_is_left)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    struct weir_output *output = open_on(fds[1]);
    cr_assert_eq(weir_output_write_head(output, HEAD, HEAD_BYTES), 0);
    close(fds[0]);
    static const uint8_t span[SMALL_BYTES];
    weir_output_append(output, span, sizeof(span), -1, false, NULL);
    cr_assert_eq(reap_all(output, -EPIPE), 1);
    cr_assert_eq(weir_output_error(output), -EPIPE);
    cr_assert_eq(weir_output_stable_bytes(output), 0);
    cr_assert_eq(weir_output_finish(output, NULL, 0), 0);
    weir_output_close(output);
    close(fds[1]);
}

Test(output_stream, reader_that_does_not_read_is_let_go_of)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    struct weir_output *output = open_on(fds[1]);
    cr_assert_eq(weir_output_write_head(output, HEAD, HEAD_BYTES), 0);
    uint8_t *spans = make_spans();
    unsigned appended = 0;
    while (weir_output_can_append(output) && appended < SPANS)
        weir_output_append(output, spans + (size_t)appended++ * SPAN_BYTES, SPAN_BYTES, -1, false, NULL);
    struct weir_output_done done[SPANS];
    unsigned whole = 0;
    for (unsigned i = 0; i < 3; i++)
        whole += weir_output_reap(output, done, SPANS, 1);
    cr_assert_lt(whole, appended);
    weir_output_abandon(output, -ECANCELED);
    cr_assert_eq(weir_output_error(output), -ECANCELED);
    cr_assert_eq(reap_all(output, -ECANCELED), appended - whole);
    cr_assert_eq(weir_output_finish(output, NULL, 0), 0);
    weir_output_close(output);
    free(spans);
    close(fds[0]);
    close(fds[1]);
}

Test(output_stream, pipe_gets_every_byte_once_and_in_order)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    expect_all(fds, 1 << 20);
}

Test(output_stream, reader_of_small_bites_gets_the_same)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    expect_all(fds, 3000);
}

Test(output_stream, socket_gets_every_byte_once_and_in_order)
{
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    expect_all(fds, 1 << 16);
}

Test(output_stream, others_on_the_same_descriptor_still_block)
{
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    struct weir_output *output = open_on(fds[1]);
    cr_assert_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
    cr_assert_geq(fcntl(fds[1], F_GETPIPE_SZ), 1 << 16);
    weir_output_close(output);
    cr_assert_eq(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
    close(fds[0]);
    close(fds[1]);
}

Test(output_stream, file_is_written_where_the_shell_opened_it)
{
    char path[] = "/tmp/weir-stream-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "before ", 7), 7);
    struct weir_output *output = open_on(fd);
    cr_assert_eq(weir_output_write_head(output, HEAD, HEAD_BYTES), 0);
    static const uint8_t span[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    weir_output_append(output, span, sizeof(span), -1, false, NULL);
    cr_assert_eq(reap_all(output, 0), 1);
    weir_output_close(output);
    char bytes[64];
    cr_assert_eq(pread(fd, bytes, sizeof(bytes), 0), (ssize_t)(7 + HEAD_BYTES + sizeof(span)));
    cr_assert_eq(memcmp(bytes + 7, HEAD, HEAD_BYTES), 0);
    close(fd);
    unlink(path);
}
