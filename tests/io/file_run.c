/* Spans of all kinds through an output into a real file. Criterion tests; one thread. */
#include "tests/io/file_run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/buf.h"
#include "tests/io/span.h"

#define SLOT_BYTES  (256u * 1024)
#define SLOTS       8u
#define LOOSE_SLOTS 1u /* of these, outside of the registered memory */
#define LOOSE_SKEW  8u /* and not on a block */
#define POISON      0xee
#define REAP_MAX    16u
#define WAIT_MS     100u
#define HEAD_NUMBER 1000000u

struct run {
    struct weir_output *output;
    uint8_t *memory; /* owned: SLOTS slots, the last ones loose */
    bool busy[SLOTS];
    uint32_t span_bytes[FILE_RUN_SPANS];
    unsigned slot_of[FILE_RUN_SPANS];
    unsigned appended, done, whole;
    int error;
};

static uint8_t *slot_data(const struct run *run, unsigned slot)
{
    return run->memory + slot * SLOT_BYTES + (slot >= SLOTS - LOOSE_SLOTS ? LOOSE_SKEW : 0);
}

/* Tiny ones, ones that are copied, whole slots, and sizes around every limit. */
static uint32_t bytes_of(unsigned number)
{
    static const uint32_t sizes[] = {
        8,     SLOT_BYTES - 4096, 136,   65528, 65536,  SLOT_BYTES - 8192 + 8, 4096, 40000,  65544, 8, 8,
        69632, SLOT_BYTES - 16,   32768, 4088,  131072, 131072 - 8u,           512,  100000, 24,
    };
    return sizes[number * 7 % WEIR_ARRAY_COUNT(sizes)];
}

/* Appends the next span from a free slot. False: there is none. */
static bool append_next(struct run *run, bool pressed)
{
    unsigned slot = 0;
    while (slot < SLOTS && run->busy[slot])
        slot++;
    if (slot == SLOTS)
        return false;
    unsigned number = run->appended++;
    run->busy[slot] = true;
    run->slot_of[number] = slot;
    run->span_bytes[number] = bytes_of(number);
    span_fill(slot_data(run, slot), number, run->span_bytes[number]);
    weir_output_append(run->output, slot_data(run, slot), run->span_bytes[number], slot < SLOTS - LOOSE_SLOTS ? 0 : -1,
                       pressed, (void *)(uintptr_t)(number + 1));
    return true;
}

static void take_done(struct run *run, const struct weir_output_done *done)
{
    unsigned number = run->done++;
    cr_assert_eq((uintptr_t)done->token, number + 1);
    if (run->error == 0)
        run->error = done->result;
    cr_assert_eq(done->result, run->error);
    run->whole += done->result == 0;
    memset(run->memory + run->slot_of[number] * SLOT_BYTES, POISON, SLOT_BYTES);
    run->busy[run->slot_of[number]] = false;
}

static void write_all(struct run *run, bool pressed_at_times)
{
    while (run->done < FILE_RUN_SPANS) {
        while (run->appended < FILE_RUN_SPANS && weir_output_can_append(run->output)) {
            if (!append_next(run, pressed_at_times && run->appended % 50 >= 40))
                break;
        }
        weir_output_push_tail(run->output);
        cr_assert_eq(weir_output_flush(run->output), 0);
        struct weir_output_done done[REAP_MAX];
        unsigned count = weir_output_reap(run->output, done, REAP_MAX, WAIT_MS);
        for (unsigned i = 0; i < count; i++)
            take_done(run, &done[i]);
    }
}

static void compare(const struct run *run, const char *path, const struct file_run_result *result, const uint8_t *head,
                    const uint8_t *tail)
{
    struct weir_buf file = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&file, path), 0);
    uint64_t stable_bytes = weir_output_stable_bytes(run->output);
    uint64_t end = FILE_RUN_HEAD_BYTES + stable_bytes;
    cr_assert_eq(file.used, end + (result->finish == 0 ? FILE_RUN_TAIL_BYTES : 0));
    cr_assert_eq(memcmp(file.data, head, FILE_RUN_HEAD_BYTES), 0);
    struct span_walk walk = {.data = file.data + FILE_RUN_HEAD_BYTES, .end = stable_bytes};
    for (unsigned i = 0; i < run->whole; i++)
        cr_assert(span_walk_next(&walk, i, run->span_bytes[i]), "span %u at %ju", i, (uintmax_t)walk.at);
    cr_assert_eq(walk.at, stable_bytes);
    if (result->finish == 0)
        cr_assert_eq(memcmp(file.data + end, tail, FILE_RUN_TAIL_BYTES), 0);
    weir_buf_fini(&file);
}

struct file_run_result file_run(const char *path, const struct file_run_options *options)
{
    struct run run = {.memory = aligned_alloc(4096, SLOTS * SLOT_BYTES)};
    cr_assert_not_null(run.memory);
    struct iovec buffer = {.iov_base = run.memory, .iov_len = (SLOTS - LOOSE_SLOTS) * SLOT_BYTES};
    struct weir_output_options output_options = {
        .engine = options->engine,
        .direct = options->direct,
        .buffers = &buffer,
        .buffer_count = 1,
        .fill_padding = span_fill_padding,
        .padding_least = SPAN_PADDING_LEAST,
        .notices = options->notices,
    };
    struct weir_error err = {0};
    cr_assert_eq(weir_output_open(&run.output, path, &output_options, &err), 0, "%s", err.what);
    static uint8_t head[FILE_RUN_HEAD_BYTES], tail[FILE_RUN_TAIL_BYTES];
    span_fill(head, HEAD_NUMBER, sizeof(head));
    span_fill(tail, HEAD_NUMBER + 1, sizeof(tail));
    cr_assert_eq(weir_output_write_head(run.output, head, sizeof(head)), 0);
    struct file_run_result result = {.error = 0};
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(run.output), &err), 0, "%s", err.what);
    write_all(&run, options->pressed_at_times);
    result.error = weir_output_error(run.output);
    cr_assert_eq(result.error, run.error);
    result.finish = weir_output_finish(run.output, tail, sizeof(tail));
    cr_assert_eq(weir_output_patch_head(run.output, 0, head, sizeof(head)), 0);
    result.whole = run.whole;
    snprintf(result.how, sizeof(result.how), "%s", weir_output_describe(run.output));
    weir_output_get_stats(run.output, &result.stats);
    result.file_bytes = FILE_RUN_HEAD_BYTES + weir_output_stable_bytes(run.output);
    compare(&run, path, &result, head, tail);
    weir_output_close(run.output);
    free(run.memory);
    return result;
}
