/*
 * The spans of an output: how each becomes part of a write, and when it is complete. One thread at a time; nothing
 * allocates.
 *
 *     append ─┬─ large ─► a write from the caller's memory
 *             └─ small ─┬► copied over the padding of a write that the queue does not have yet
 *                       └► copied into the open stage ─► a write: when the stage is full, before a large span, or at
 *                                                        push_tail
 *
 * A large span can go out with O_DIRECT when it starts on a block in one of the caller's buffers, with room up to the
 * next block behind the span. That room, the slack, takes a padding record, and before the padding the next small spans
 * that fit. Without that, the marker of a round, right behind the round's last chunk, would begin a block of its own,
 * and the next chunk would need padding. The file offset must be a multiple of the block as well. If it is not, the
 * output first closes the open stage with a padding record. No padding is shorter than padding_least: where less would
 * do, the padding of a stage takes a block more. All other large spans, those with less behind them, and all spans
 * while the pool is pressed go through the page cache at any offset.
 *
 * A full stage that begins on a block goes out with O_DIRECT. The bytes behind its last whole block move to the next
 * stage. So the next stage begins on a block again. push_tail writes through the page cache, to the last byte.
 * (Rejected: padding the tail with zeros to a whole block, with O_DIRECT, and writing that block again when more comes.
 * Then writes would overlap and wait for one another, and a span of eight bytes would wait for the disk.) Direct and
 * buffered writes of one file never share a block, so neither hides the other's bytes.
 *
 * Spans complete in order: each is on file when written_end has reached its end.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "io/output_internal.h"

#define BLOCK_BYTES       WEIR_OUTPUT_BLOCK_BYTES
#define WRITES_PER_APPEND 2u /* a stage that is closed, and the span itself or the next stage */

static bool is_on_block(uint64_t value)
{
    return value % BLOCK_BYTES == 0;
}

/* Returns the bytes of padding from there up to a block: up to the next one, or where that is too little for padding, a
 * block more. */
static size_t padding_behind(const struct weir_output *output, uint64_t end)
{
    size_t gap = weir_align_up(end, BLOCK_BYTES) - end;
    return gap > 0 && gap < output->padding_least ? gap + BLOCK_BYTES : gap;
}

/* ---- the slack: padding behind a span in place, whose write the queue does not have yet ---- */

/* Between the spans of a whole there is no padding. What is left of the slack stays padding. */
static bool slack_has_room(const struct weir_output *output, size_t bytes)
{
    size_t slack = output->slack.bytes;
    bool fits = bytes == slack || bytes + output->padding_least <= slack;
    return fits && !output->in_whole && weir_output_writes_newest_is_new(&output->writes);
}

/* Returns the file offset behind the data. */
static uint64_t append_to_slack(struct weir_output *output, const void *data, size_t bytes)
{
    struct weir_output_slack *slack = &output->slack;
    memcpy(slack->data, data, bytes);
    slack->data += bytes;
    slack->bytes -= bytes;
    if (slack->bytes > 0)
        output->fill_padding(slack->data, slack->bytes);
    output->stats.copied_bytes += bytes;
    output->stats.padding_bytes -= bytes;
    return output->end - slack->bytes;
}

/* ---- the stage ---- */

static unsigned stages_in_use(const struct weir_output *output)
{
    return (unsigned)(output->stages_opened - output->writes.stages_retired);
}

/* The longest padding is always left. */
static bool stage_has_room(const struct weir_output *output, size_t bytes)
{
    return output->stage.used + bytes + BLOCK_BYTES + output->padding_least <= output->stage_bytes;
}

/* Opens the next staging buffer, whose first byte goes to output->end. */
static void open_stage(struct weir_output *output)
{
    weir_assert(!output->stage.open && stages_in_use(output) < WEIR_OUTPUT_STAGE_COUNT);
    size_t index = output->stages_opened++ % WEIR_OUTPUT_STAGE_COUNT;
    output->stage = (struct weir_output_stage){
        .open = true,
        .data = output->stage_memory + index * output->stage_bytes,
        .offset = output->end,
    };
}

static void *extend_stage(struct weir_output *output, size_t bytes)
{
    struct weir_output_stage *stage = &output->stage;
    weir_assert(stage->open && stage->used + bytes <= output->stage_bytes);
    void *room = stage->data + stage->used;
    stage->used += bytes;
    output->end += bytes;
    return room;
}

/* Turns the stage into a write. */
static void close_stage(struct weir_output *output, bool pressed)
{
    const struct weir_output_stage *stage = &output->stage;
    bool on_blocks = is_on_block(stage->offset) && is_on_block(stage->used);
    weir_output_writes_add(&output->writes, &(struct weir_output_write){
                                                .data = stage->data,
                                                .offset = stage->offset,
                                                .bytes = stage->used,
                                                .buffer_index = output->stage_buffer_index,
                                                .direct = on_blocks && !pressed,
                                                .staged = true,
                                            });
    output->stage.open = false;
}

/* Replaces a full stage by the next one. */
static void change_stage(struct weir_output *output, bool pressed)
{
    const struct weir_output_stage full = output->stage;
    size_t moved = output->writes.direct ? (full.offset + full.used) % BLOCK_BYTES : 0;
    output->stage.used -= moved;
    output->end -= moved;
    close_stage(output, pressed);
    open_stage(output);
    memcpy(extend_stage(output, moved), full.data + full.used - moved, moved);
}

/* Returns the file offset behind the data. */
static uint64_t append_copy(struct weir_output *output, const void *data, size_t bytes, bool pressed)
{
    output->slack.bytes = 0; /* the file goes on behind it */
    if (!output->stage.open)
        open_stage(output);
    else if (!stage_has_room(output, bytes))
        change_stage(output, pressed);
    memcpy(extend_stage(output, bytes), data, bytes);
    output->stats.copied_bytes += bytes;
    return output->end;
}

/* Closes the stage, if there is one, with padding up to a block. */
static void pad_to_block(struct weir_output *output)
{
    size_t padding = padding_behind(output, output->end);
    if (padding > 0) {
        if (!output->stage.open)
            open_stage(output);
        output->fill_padding(extend_stage(output, padding), padding);
        output->stats.padding_bytes += padding;
    }
    if (output->stage.open)
        close_stage(output, false);
}

void weir_output_push_tail(struct weir_output *output)
{
    if (output->stage.open && output->writes.error == 0)
        close_stage(output, false);
}

/* ---- spans in place ---- */

/* Returns the place of padding behind the data. NULL when the data does not start on a block, or the bytes up to the
 * next block are not in the caller's buffer. (The data is the caller's and constant, the bytes behind it are lent to
 * us: see output.h.) */
static uint8_t *room_behind(const struct weir_output *output, const uint8_t *data, size_t bytes, int buffer_index)
{
    if (buffer_index < 0)
        return NULL;
    weir_assert((unsigned)buffer_index < output->buffer_count);
    const struct iovec *buffer = &output->buffers[buffer_index];
    uint8_t *memory = buffer->iov_base;
    weir_assert(data >= memory && data + bytes <= memory + buffer->iov_len);

    size_t used = (size_t)(data - memory) + bytes;
    size_t slack = weir_align_up(bytes, BLOCK_BYTES) - bytes;
    return is_on_block((uintptr_t)data) && used + slack <= buffer->iov_len ? memory + used : NULL;
}

/* Whether the file's end is on a block, or may be padded to one. */
static bool may_begin_on_block(const struct weir_output *output)
{
    return !output->whole_begun || (is_on_block(output->end) && !output->stage.open);
}

/* Returns the file offset behind the data. */
static uint64_t append_in_place(struct weir_output *output, const uint8_t *data, size_t bytes, int buffer_index,
                                bool pressed)
{
    uint8_t *room = room_behind(output, data, bytes, buffer_index);
    size_t padding = padding_behind(output, bytes);
    bool direct = room && output->writes.direct && !pressed && may_begin_on_block(output) && padding < BLOCK_BYTES &&
                  (!output->in_whole || padding == 0);
    bool registered = buffer_index >= 0 && (unsigned)buffer_index < output->buffer_count - output->late_count;
    if (!direct)
        padding = 0;
    if (direct)
        pad_to_block(output);
    else if (output->stage.open)
        close_stage(output, pressed);

    if (padding > 0)
        output->fill_padding(room, padding);
    output->stats.padding_bytes += padding;
    weir_output_writes_add(&output->writes, &(struct weir_output_write){
                                                .data = data,
                                                .offset = output->end,
                                                .bytes = bytes + padding,
                                                .buffer_index = registered ? buffer_index : -1,
                                                .direct = direct,
                                            });
    output->end += bytes + padding;
    output->slack = (struct weir_output_slack){.data = room, .bytes = padding};
    return output->end - padding;
}

/* ---- spans ---- */

static struct weir_output_span *span_at(struct weir_output *output, uint64_t number)
{
    return &output->spans[number % WEIR_OUTPUT_SPAN_MAX];
}

static void add_span(struct weir_output *output, void *token, uint64_t end, size_t bytes)
{
    *span_at(output, output->span_added++) =
        (struct weir_output_span){.token = token, .end = end, .bytes = bytes, .goes_on = output->in_whole};
    output->whole_begun = output->in_whole;
}

void weir_output_begin_whole(struct weir_output *output)
{
    weir_assert(!output->in_whole);
    output->in_whole = true;
    output->whole_begun = false;
}

void weir_output_end_whole(struct weir_output *output)
{
    weir_assert(output->in_whole);
    output->in_whole = false;
}

bool weir_output_can_append(const struct weir_output *output)
{
    if (output->finished || output->span_added - output->span_reaped == WEIR_OUTPUT_SPAN_MAX)
        return false;
    if (output->writes.error < 0)
        return true;
    bool stage_ready = stages_in_use(output) < WEIR_OUTPUT_STAGE_COUNT ||
                       (output->stage.open && stage_has_room(output, output->copy_bytes));
    return stage_ready && weir_output_writes_room(&output->writes) >= WRITES_PER_APPEND;
}

uint64_t weir_output_append(struct weir_output *output, const void *data, size_t bytes, int buffer_index, bool pressed,
                            void *token)
{
    weir_assert(output->begun && bytes > 0 && bytes % 8 == 0 && weir_output_can_append(output));
    output->stats.appended_bytes += bytes;
    if (output->writes.error < 0) {
        add_span(output, token, UINT64_MAX, bytes);
        return UINT64_MAX;
    }

    uint64_t end;
    if (slack_has_room(output, bytes))
        end = append_to_slack(output, data, bytes);
    else if (bytes < output->copy_bytes)
        end = append_copy(output, data, bytes, pressed);
    else
        end = append_in_place(output, data, bytes, buffer_index, pressed);
    add_span(output, token, end, bytes);
    /* The caller waits for an output that takes no more: everything must be on its way then. */
    if (!weir_output_can_append(output))
        weir_output_push_tail(output);
    return end - bytes;
}

void weir_output_pass_written_spans(struct weir_output *output)
{
    while (output->span_on_file < output->span_added) {
        const struct weir_output_span *span = span_at(output, output->span_on_file);
        if (span->end > output->writes.written_end)
            return;
        if (!span->goes_on)
            output->stable_end = span->end;
        output->span_on_file++;
    }
}

/* Returns how many bytes are out of a span that is not on file whole. */
static size_t begun_bytes(const struct weir_output *output, const struct weir_output_span *span)
{
    if (span->end == UINT64_MAX)
        return 0;
    uint64_t begin = span->end - span->bytes;
    return output->writes.written_end > begin ? output->writes.written_end - begin : 0;
}

/*
 * Returns how many bytes of a failed span in a file the caller may keep, and notes where the span begins. The tail gets
 * the room of the last bytes, as far as the output could not set bytes aside for the tail. A limit to the file's size
 * knows no such room.
 */
static size_t begin_keeping(struct weir_output *output, const struct weir_output_span *span)
{
    size_t begun = begun_bytes(output, span);
    if (output->file.stream || begun == 0)
        return begun;
    output->begun_at = span->end - span->bytes;
    uint64_t tail = output->writes.error == -EFBIG ? output->tail_least : output->tail_least_beyond;
    output->begun_bytes = begun - weir_min_u64(tail, begun);
    return output->begun_bytes;
}

void weir_output_keep(struct weir_output *output, size_t bytes)
{
    weir_assert(!output->file.stream && bytes <= output->begun_bytes);
    if (bytes > 0)
        output->stable_end = output->begun_at + bytes;
    output->begun_bytes = 0;
}

/* All data is still there: no failed span has been given back. */
static void fill(struct weir_output *output)
{
    if (output->file.stream || output->finished || !output->writes.queue)
        return;
    weir_output_writes_fill(&output->writes);
    weir_output_pass_written_spans(output);
}

unsigned weir_output_reap(struct weir_output *output, struct weir_output_done *done, unsigned max, unsigned wait_ms)
{
    bool waits = output->span_reaped == output->span_on_file;
    if (!weir_output_writes_idle(&output->writes))
        weir_output_writes_collect(&output->writes, waits ? wait_ms : 0);
    weir_output_pass_written_spans(output);

    /* After a failure the other spans are given back when the kernel holds none of their memory any more. */
    bool failed = output->writes.error < 0 && weir_output_writes_idle(&output->writes);
    if (failed && !output->filled) {
        output->filled = true;
        fill(output);
    }
    uint64_t complete = failed ? output->span_added : output->span_on_file;
    unsigned count = 0;
    for (; count < max && output->span_reaped < complete; count++, output->span_reaped++) {
        const struct weir_output_span *span = span_at(output, output->span_reaped);
        bool on_file = output->span_reaped < output->span_on_file;
        done[count] = (struct weir_output_done){
            .token = span->token,
            .result = on_file ? 0 : output->writes.error,
            .begun_bytes = on_file ? 0 : begin_keeping(output, span),
        };
    }
    return count;
}

unsigned weir_output_pending(const struct weir_output *output)
{
    return (unsigned)(output->span_added - output->span_reaped);
}
