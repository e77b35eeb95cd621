/*
 * Outputs that are streams, on a reader that takes what chance says: any number of bytes, nothing for a while, or none
 * any more. Whatever it takes is a prefix of what was appended, and the stable bytes are whole spans of it. By seed,
 * which is printed on failure.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "io/io_ops.h"
#include "io/output.h"

#define SEEDS         200u
#define STEPS         120u
#define SPAN_MAX      (300u * 1024)
#define HEAD_BYTES    1004u
#define MEMORY_BYTES  (4u << 20)
#define PER_MILLE     1000u
#define GONE_PER_SEED 3u /* in every third run the reader goes */

struct reader {
    uint64_t random;
    uint64_t seed;
    uint64_t taken;   /* bytes */
    uint64_t goes_at; /* UINT64_MAX: never */
    uint8_t *bytes;   /* owned: what it has taken */
    size_t capacity;
};

/* splitmix64, see https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(uint64_t *state, uint64_t bound)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (z ^ (z >> 31)) % weir_max_u64(bound, 1);
}

static ssize_t take(void *ctx, int fd, const struct iovec *parts, int part_count)
{
    struct reader *reader = ctx;
    (void)fd;
    if (reader->taken >= reader->goes_at)
        return -EPIPE;
    uint64_t chance = next_random(&reader->random, PER_MILLE);
    if (chance < 300)
        return chance < 50 ? -EINTR : -EAGAIN;
    uint64_t bytes = 0;
    for (int i = 0; i < part_count; i++)
        bytes += parts[i].iov_len;
    uint64_t left = chance < 600 ? 1 + next_random(&reader->random, bytes) : bytes, took = 0;
    left = weir_min_u64(left, reader->goes_at - reader->taken);
    for (int i = 0; i < part_count && left > 0; i++) {
        uint64_t share = weir_min_u64(left, parts[i].iov_len);
        cr_assert_leq(reader->taken + share, reader->capacity, "seed %ju", (uintmax_t)reader->seed);
        memcpy(reader->bytes + reader->taken, parts[i].iov_base, share);
        reader->taken += share;
        took += share;
        left -= share;
    }
    return (ssize_t)took;
}

static int wait_for_room(void *ctx, int fd, unsigned wait_ms)
{
    struct reader *reader = ctx;
    (void)fd;
    (void)wait_ms;
    return next_random(&reader->random, 2) > 0;
}

static void close_fd(void *ctx, int fd)
{
    (void)ctx;
    close(fd);
}

static const struct weir_io_file_ops reader_ops = {.writev = take, .wait_for_room = wait_for_room, .close = close_fd};

struct run {
    struct reader reader;
    struct weir_output *output;
    uint8_t *memory; /* owned: what is appended, from its start on */
    uint64_t used;   /* bytes appended */
    uint64_t reaped; /* bytes of spans that completed with 0 */
    uint64_t begun;  /* of others, as they say themselves */
    unsigned spans;  /* appended, and not reaped */
    bool failed;     /* a span has completed with an error */
    uint64_t ends[STEPS * 4];
    unsigned added, done;
};

static void reap(struct run *run, unsigned wait_ms)
{
    struct weir_output_done done[16];
    unsigned count = weir_output_reap(run->output, done, 16, wait_ms);
    for (unsigned i = 0; i < count; i++) {
        cr_assert(done[i].result == 0 || done[i].result == -EPIPE || done[i].result == -ECANCELED);
        cr_assert(done[i].result < 0 || !run->failed, "seed %ju: whole behind a failed one",
                  (uintmax_t)run->reader.seed);
        run->failed |= done[i].result < 0;
        if (!run->failed)
            run->reaped = run->ends[run->done];
        run->begun += done[i].begun_bytes;
        run->done++;
    }
    cr_assert_geq(weir_output_stable_bytes(run->output), run->reaped);
    cr_assert_leq(weir_output_stable_bytes(run->output) + HEAD_BYTES, run->reader.taken + HEAD_BYTES);
}

static void append(struct run *run)
{
    bool large = next_random(&run->reader.random, 4) == 0;
    uint64_t bytes = weir_align_up(1 + next_random(&run->reader.random, large ? SPAN_MAX : 600), 8);
    if (!weir_output_can_append(run->output) || run->used + bytes > MEMORY_BYTES || run->added == STEPS * 4)
        return;
    weir_output_append(run->output, run->memory + run->used, bytes, -1, next_random(&run->reader.random, 2), NULL);
    run->used += bytes;
    run->ends[run->added++] = run->used;
}

static void step(struct run *run)
{
    switch (next_random(&run->reader.random, 8)) {
    case 0:
        weir_output_push_tail(run->output);
        break;
    case 1:
    case 2:
        weir_output_flush(run->output);
        break;
    case 3:
        reap(run, (unsigned)next_random(&run->reader.random, 2));
        break;
    default:
        append(run);
    }
}

static void check_bytes(const struct run *run, const uint8_t *head)
{
    uint64_t taken = run->reader.taken;
    cr_assert_eq(memcmp(run->reader.bytes, head, weir_min_u64(taken, HEAD_BYTES)), 0);
    if (taken > HEAD_BYTES)
        cr_assert_eq(memcmp(run->reader.bytes + HEAD_BYTES, run->memory, taken - HEAD_BYTES), 0, "seed %ju",
                     (uintmax_t)run->reader.seed);
}

static void start(struct run *run, uint64_t seed, const uint8_t *head)
{
    memset(run, 0, sizeof(*run));
    run->reader = (struct reader){.seed = seed, .random = seed, .goes_at = UINT64_MAX};
    run->reader.capacity = HEAD_BYTES + MEMORY_BYTES;
    run->reader.bytes = malloc(run->reader.capacity);
    run->memory = malloc(MEMORY_BYTES);
    cr_assert(run->reader.bytes && run->memory);
    for (size_t i = 0; i < MEMORY_BYTES / sizeof(uint64_t); i++)
        memcpy(run->memory + i * sizeof(uint64_t), &(uint64_t){i * 0x9e3779b97f4a7c15ull}, sizeof(uint64_t));
    if (seed % GONE_PER_SEED == 0)
        run->reader.goes_at = next_random(&run->reader.random, MEMORY_BYTES / 4);

    const struct weir_io_ops io = {.file = &reader_ops, .ctx = &run->reader};
    const struct weir_output_options options = {
        .io = &io,
        .queue_depth = 1 + (unsigned)next_random(&run->reader.random, 8),
        .stage_bytes = seed % 2 ? 16u * 1024 : 0,
    };
    int fds[2];
    struct weir_error err = {0};
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(weir_output_open_stream(&run->output, fds[1], &options, &err), 0, "%s", err.what);
    close(fds[0]);
    close(fds[1]);
    cr_assert_eq(weir_output_write_head(run->output, head, HEAD_BYTES), 0);
}

static void run_seed(uint64_t seed)
{
    static struct run run;
    uint8_t head[HEAD_BYTES];
    memset(head, (int)seed | 1, sizeof(head));
    start(&run, seed, head);
    for (unsigned i = 0; i < STEPS; i++)
        step(&run);
    bool gives_up = seed % 7 == 5;
    if (gives_up)
        weir_output_abandon(run.output, -ECANCELED);
    weir_output_push_tail(run.output);
    while (weir_output_pending(run.output) > 0)
        reap(&run, 1);
    cr_assert_eq(run.done, run.added);
    uint64_t taken = weir_max_u64(run.reader.taken, HEAD_BYTES) - HEAD_BYTES;
    cr_assert_eq(run.reaped + run.begun, taken, "seed %ju: %ju bytes taken, %ju and %ju told", (uintmax_t)seed,
                 (uintmax_t)taken, (uintmax_t)run.reaped, (uintmax_t)run.begun);
    cr_assert_eq(weir_output_finish(run.output, NULL, 0), 0);
    if (!gives_up && run.reader.goes_at == UINT64_MAX) {
        cr_assert_eq(run.reader.taken, HEAD_BYTES + run.used, "seed %ju", (uintmax_t)seed);
        cr_assert_eq(weir_output_stable_bytes(run.output), run.used);
        cr_assert_eq(weir_output_error(run.output), 0);
    }
    check_bytes(&run, head);
    weir_output_close(run.output);
    free(run.reader.bytes);
    free(run.memory);
}

Test(output_stream_sim, reader_gets_a_prefix_whatever_it_does)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_seed(seed);
}
