/* A stream of random spans through an output, and the proof that the file holds them. One thread. */
#include "tests/io/stream.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"

#define SMALL_SLOTS      160u
#define SMALL_SLOT_BYTES 4096u
#define LARGE_SLOTS      12u
#define LOOSE_SLOTS      4u
#define SLOTS            (SMALL_SLOTS + LARGE_SLOTS + LOOSE_SLOTS)
#define MEMORY_BYTES     (SMALL_SLOTS * SMALL_SLOT_BYTES + LARGE_SLOTS * STREAM_CHUNK_BYTES)
#define LOOSE_SKEW       8u /* loose memory does not lie on blocks */
#define POISON           0xee
#define PADDING_TAG      0xffffffff00000000ull
#define STEPS_PER_SPAN   400u
#define WAIT_MS          20u

void stream_fill_padding(void *data, size_t bytes)
{
    uint64_t tag = PADDING_TAG | bytes;
    memset(data, 0xff, bytes);
    memcpy(data, &tag, sizeof(tag));
}

void stream_fill(void *data, size_t bytes, uint64_t number)
{
    uint64_t *words = data;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        words[i] = (number + 1) << 24 | i;
}

static bool is_span(const uint8_t *data, size_t bytes, uint64_t number)
{
    const uint64_t *words = (const uint64_t *)(const void *)data;
    for (size_t i = 0; i < bytes / sizeof(*words); i++) {
        if (words[i] != ((number + 1) << 24 | i))
            return false;
    }
    return true;
}

/* Bytes of the padding record at data; 0 when there is none. */
static size_t padding_at(const uint8_t *data, uint64_t room)
{
    uint64_t tag;
    memcpy(&tag, data, sizeof(tag));
    size_t bytes = (uint32_t)tag;
    if ((tag & PADDING_TAG) != PADDING_TAG || bytes == 0 || bytes > 4096 || bytes % 8 != 0 || bytes > room)
        return 0;
    for (size_t i = sizeof(tag); i < bytes; i++) {
        if (data[i] != 0xff)
            return 0;
    }
    return bytes;
}

bool stream_compare(struct stream_cursor *cursor, const uint8_t *file, uint64_t end, const struct stream_span *spans,
                    size_t span_count)
{
    while (cursor->offset < end) {
        uint64_t room = end - cursor->offset;
        size_t padding = padding_at(file + cursor->offset, room);
        if (padding > 0) {
            cursor->offset += padding;
            cursor->padding += padding;
            continue;
        }
        if (cursor->span == span_count || spans[cursor->span].bytes > room ||
            !is_span(file + cursor->offset, spans[cursor->span].bytes, cursor->span))
            return false;
        cursor->offset += spans[cursor->span].bytes;
        cursor->span++;
    }
    return true;
}

static uint64_t roll(struct stream *stream, uint64_t limit)
{
    return fake_io_random(stream->dice, limit);
}

static void make_slots(struct stream *stream)
{
    stream->memory = aligned_alloc(4096, MEMORY_BYTES);
    stream->loose_memory = aligned_alloc(4096, LOOSE_SLOTS * STREAM_CHUNK_BYTES);
    stream->slots = calloc(SLOTS, sizeof(*stream->slots));
    cr_assert(stream->memory && stream->loose_memory && stream->slots);
    stream->buffer = (struct iovec){.iov_base = stream->memory, .iov_len = MEMORY_BYTES};
    uint8_t *at = stream->memory;
    for (unsigned i = 0; i < SMALL_SLOTS + LARGE_SLOTS; i++) {
        stream->slots[i].data = at;
        stream->slots[i].bytes = i < SMALL_SLOTS ? SMALL_SLOT_BYTES : STREAM_CHUNK_BYTES;
        at += stream->slots[i].bytes;
    }
    for (unsigned i = 0; i < LOOSE_SLOTS; i++) {
        stream->slots[SMALL_SLOTS + LARGE_SLOTS + i] = (struct stream_slot){
            .data = stream->loose_memory + i * STREAM_CHUNK_BYTES + LOOSE_SKEW,
            .bytes = STREAM_CHUNK_BYTES - LOOSE_SKEW,
            .buffer_index = -1,
        };
    }
}

void stream_init(struct stream *stream, uint64_t seed, size_t span_count, const char *path, struct fake_io *disk,
                 struct weir_output_options options)
{
    *stream = (struct stream){.seed = seed, .disk = disk, .span_count = span_count};
    stream->dice = fake_io_new(&(struct fake_io_options){.seed = ~seed});
    stream->spans = calloc(span_count, sizeof(*stream->spans));
    cr_assert(stream->spans);
    make_slots(stream);
    options.buffers = &stream->buffer;
    options.buffer_count = 1;
    options.fill_padding = stream_fill_padding;
    options.io = disk ? fake_io_ops(disk) : NULL;
    struct weir_error err;
    int rc = weir_output_open(&stream->output, path, &options, &err);
    cr_assert_eq(rc, 0, "seed %#jx: %s", (uintmax_t)seed, err.what);
    uint8_t head[STREAM_HEAD_BYTES];
    stream_fill(head, sizeof(head), UINT32_MAX);
    rc = weir_output_write_head(stream->output, head, sizeof(head));
    cr_assert_eq(rc, 0, "seed %#jx: head: %d", (uintmax_t)seed, rc);
    stream->cursor.offset = STREAM_HEAD_BYTES;
}

/* A free slot out of [first, first + count), or NULL. */
static struct stream_slot *take_slot(struct stream *stream, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        if (!stream->slots[i].busy)
            return &stream->slots[i];
    }
    return NULL;
}

/* Appends a span of random size from random memory. False: no memory is free. */
static bool append_one(struct stream *stream)
{
    uint64_t kind = roll(stream, 100);
    struct stream_slot *slot = kind < 60   ? take_slot(stream, 0, SMALL_SLOTS)
                               : kind < 94 ? take_slot(stream, SMALL_SLOTS, LARGE_SLOTS)
                                           : take_slot(stream, SMALL_SLOTS + LARGE_SLOTS, LOOSE_SLOTS);
    if (!slot)
        return false;
    size_t limit = kind < 30 ? 64 : slot->bytes;
    size_t bytes = weir_align_up(1 + roll(stream, limit), 8);
    size_t skew = kind == 93 ? 8 : 0; /* off the block */
    bytes = weir_min_u64(bytes, slot->bytes - skew);
    struct stream_span *span = &stream->spans[stream->appended];
    *span = (struct stream_span){.bytes = (uint32_t)bytes, .slot = slot};
    slot->busy = true;
    stream_fill(slot->data + skew, bytes, stream->appended);
    bool pressed = roll(stream, 100) < stream->pressed_percent;
    stream->appended++;
    weir_output_append(stream->output, slot->data + skew, bytes, slot->buffer_index, pressed,
                       (void *)(uintptr_t)stream->appended);
    return true;
}

static void take_done(struct stream *stream, const struct weir_output_done *done)
{
    stream->done++;
    cr_assert_eq((uintptr_t)done->token, stream->done, "seed %#jx: completed out of order", (uintmax_t)stream->seed);
    if (done->result == 0) {
        cr_assert_eq(stream->first_error, 0, "seed %#jx: success after failure", (uintmax_t)stream->seed);
        stream->done_well++;
    } else if (stream->first_error == 0) {
        stream->first_error = done->result;
    }
    cr_assert_eq(done->result, stream->first_error, "seed %#jx", (uintmax_t)stream->seed);
    struct stream_slot *slot = stream->spans[stream->done - 1].slot;
    memset(slot->data, POISON, slot->bytes);
    slot->busy = false;
}

/* The stable prefix, as it is in the fake file at this moment. */
static void check_stable(struct stream *stream)
{
    uint64_t stable = weir_output_stable_bytes(stream->output);
    cr_assert_geq(stable, stream->stable, "seed %#jx: stable_bytes went back", (uintmax_t)stream->seed);
    stream->stable = stable;
    if (!stream->disk)
        return;
    cr_assert_geq(fake_io_size(stream->disk), STREAM_HEAD_BYTES + stable, "seed %#jx", (uintmax_t)stream->seed);
    bool same = stream_compare(&stream->cursor, fake_io_bytes(stream->disk), STREAM_HEAD_BYTES + stable, stream->spans,
                               stream->appended);
    cr_assert(same, "seed %#jx: wrong bytes at %ju, span %zu", (uintmax_t)stream->seed,
              (uintmax_t)stream->cursor.offset, stream->cursor.span);
    cr_assert_geq(stream->cursor.span, stream->done_well, "seed %#jx: completed before on file",
                  (uintmax_t)stream->seed);
}

void stream_run(struct stream *stream)
{
    for (size_t step = 0; stream->done < stream->span_count; step++) {
        cr_assert_lt(step, stream->span_count * STEPS_PER_SPAN, "seed %#jx: no progress after span %zu",
                     (uintmax_t)stream->seed, stream->done);
        bool any = false;
        for (uint64_t burst = roll(stream, 12);
             burst > 0 && stream->appended < stream->span_count && weir_output_can_append(stream->output); burst--)
            any |= append_one(stream);
        if (!any || roll(stream, 100) < 15)
            weir_output_push_tail(stream->output);
        if (roll(stream, 100) < 70)
            weir_output_flush(stream->output);
        struct weir_output_done done[16];
        unsigned max = 1 + (unsigned)roll(stream, WEIR_ARRAY_COUNT(done));
        unsigned count = weir_output_reap(stream->output, done, max, any ? 0 : WAIT_MS);
        cr_assert_leq(count, max);
        for (unsigned i = 0; i < count; i++)
            take_done(stream, &done[i]);
        check_stable(stream);
    }
    cr_assert_eq(weir_output_pending(stream->output), 0);
}

void stream_check_file(struct stream *stream, const char *path, const void *tail, size_t tail_bytes)
{
    struct weir_buf file = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&file, path), 0);
    uint64_t end = STREAM_HEAD_BYTES + weir_output_stable_bytes(stream->output);
    cr_assert_eq(file.used, end + tail_bytes);
    cr_assert(is_span(file.data, STREAM_HEAD_BYTES, UINT32_MAX), "wrong head");
    struct stream_cursor cursor = {.offset = STREAM_HEAD_BYTES};
    bool same = stream_compare(&cursor, file.data, end, stream->spans, stream->appended);
    cr_assert(same, "wrong bytes at %ju, span %zu", (uintmax_t)cursor.offset, cursor.span);
    cr_assert_eq(cursor.span, stream->done_well);
    if (tail_bytes > 0)
        cr_assert_eq(memcmp(file.data + end, tail, tail_bytes), 0, "wrong tail");
    weir_buf_fini(&file);
}

void stream_fini(struct stream *stream)
{
    weir_output_close(stream->output);
    fake_io_free(stream->dice);
    free(stream->spans);
    free(stream->slots);
    free(stream->memory);
    free(stream->loose_memory);
}
