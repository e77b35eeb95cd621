/*
 * The independent reader. Layouts: perf_event_open(2), with the sample_type that weir gives to every event:
 *
 *     sample   header, IDENTIFIER, IP, PID and TID, TIME, CPU and 0, PERIOD, u32 size and raw bytes
 *     stacks   as a sample, with ADDR before CPU, the length of a chain, 0, before the raw bytes, and behind them
 *              ABI, registers, size, dump, how much of it is used, DATA_SRC
 *     COMM     header, PID and TID, 16 bytes of name, then the trailer
 *     LOST     header, id, lost, then the trailer
 *     trailer  PID and TID, TIME, CPU and 0, IDENTIFIER
 *
 * In a recording without ids IDENTIFIER is missing in both: then it is the CPU that says what a record is of.
 *
 * Rounds: whatever stands behind round n + 1 is not older than anything that stands before round n.
 */
#include "tests/engine/stream_walk.h"

#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"

#define TYPE_PADDING        65u
#define TYPE_FINISHED_ROUND 68u
#define MISC_RETURNED       (1u << 13)
#define MISC_SHED           (1u << 14)

#define ID_BYTES   8u
#define ADDR_BYTES 8u

/* Of records with an id. */
#define SAMPLE_ID_OFFSET       8u
#define SAMPLE_IP_OFFSET       16u
#define SAMPLE_TIME_OFFSET     32u
#define SAMPLE_CPU_OFFSET      40u
#define SAMPLE_RAW_SIZE_OFFSET 56u
#define TRAILER_BYTES          32u

#define TRAILER_TIME_OFFSET 8u
#define TRAILER_CPU_OFFSET  16u
#define TRAILER_ID_OFFSET   24u
#define COMM_OFFSET         16u
#define COMM_BYTES          16u
#define LOST_ID_OFFSET      8u
#define LOST_OFFSET         16u
#define LOST_BYTES          8u
#define LOST_SAMPLES_OFFSET 8u

#define WORD_FACTOR 0x9e3779b97f4a7c15ull
#define STACK_MARK  (1u << 23) /* no payload is as long */

struct walk {
    const struct walk_input *input;
    struct walk_result *result;
    uint64_t at;
    uint64_t greatest_ns;     /* so far */
    uint64_t before_round_ns; /* greatest before the last round */
    uint64_t floor_ns;        /* nothing may be older from here on: greatest before the last round but one */
    size_t checkpoints_passed;
};

static uint64_t load_u64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

static uint32_t load_u32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

/* ---- what was produced ---- */

void stream_note(struct stream *stream, bool landed)
{
    if (stream->attempts == stream->capacity) {
        stream->capacity = stream->capacity ? 2 * stream->capacity : 1024;
        stream->landed = realloc(stream->landed, stream->capacity);
        weir_assert(stream->landed);
    }
    stream->landed[stream->attempts++] = landed;
}

void stream_fini(struct stream *stream)
{
    free(stream->landed);
    stream->landed = NULL;
}

/* The payload is a sequence of words that no two attempts share; the last one is cut. */
static uint64_t payload_word(const struct stream *stream, uint64_t attempt, uint32_t at)
{
    return (stream->id << 56 ^ attempt << 24 ^ at) * WORD_FACTOR;
}

void stream_fill_payload(const struct stream *stream, uint64_t attempt, uint8_t *payload, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(uint64_t)) {
        uint64_t word = payload_word(stream, attempt, at);
        memcpy(payload + at, &word, weir_min_u64(sizeof(word), bytes - at));
    }
}

void stream_fill_stack(const struct stream *stream, uint64_t attempt, uint8_t *stack, uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(uint64_t)) {
        uint64_t word = payload_word(stream, attempt, STACK_MARK ^ at);
        memcpy(stack + at, &word, sizeof(word));
    }
}

static bool is_payload(const struct stream *stream, uint64_t attempt, const uint8_t *payload, uint32_t bytes)
{
    uint8_t expected[UINT16_MAX];
    stream_fill_payload(stream, attempt, expected, bytes);
    return memcmp(payload, expected, bytes) == 0;
}

/* ---- the walk ---- */

static bool __attribute__((format(printf, 2, 3))) fail(const struct walk *walk, const char *format, ...)
{
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(walk->result->failure, sizeof(walk->result->failure), "at byte %llu of %llu: %s",
             (unsigned long long)walk->at, (unsigned long long)walk->input->bytes, what);
    return false;
}

/* What a record has less than one with an id. */
static uint32_t missing_bytes(const struct walk *walk)
{
    return walk->input->without_ids ? ID_BYTES : 0;
}

static uint32_t trailer_bytes(const struct walk *walk)
{
    return TRAILER_BYTES - missing_bytes(walk);
}

static struct stream *stream_of(const struct walk *walk, uint64_t id)
{
    for (size_t i = 0; i < walk->input->stream_count; i++) {
        struct stream *stream = &walk->input->streams[i];
        if (id && stream->id == id)
            return stream;
    }
    return NULL;
}

static struct stream *stream_on(const struct walk *walk, uint64_t cpu, bool sideband)
{
    for (size_t i = 0; i < walk->input->stream_count; i++) {
        struct stream *stream = &walk->input->streams[i];
        if (stream->cpu == cpu && stream->sideband == sideband)
            return stream;
    }
    return NULL;
}

static struct stream *stream_of_trailer(const struct walk *walk, const uint8_t *trailer, bool sideband)
{
    return walk->input->without_ids ? stream_on(walk, load_u64(trailer + TRAILER_CPU_OFFSET), sideband)
                                    : stream_of(walk, load_u64(trailer + TRAILER_ID_OFFSET));
}

static bool pass_time(struct walk *walk, uint64_t time_ns)
{
    if (time_ns < walk->floor_ns)
        return fail(walk, "time %llu is behind a round, but older than %llu before the round before that",
                    (unsigned long long)time_ns, (unsigned long long)walk->floor_ns);
    walk->greatest_ns = weir_max_u64(walk->greatest_ns, time_ns);
    return true;
}

/* The next record of a snapshot, or the newest of the next one. */
static bool pass_newest_first(struct walk *walk, struct stream *stream, uint64_t attempt)
{
    if (attempt >= stream->next) {
        stream->floor = stream->next;
        stream->next = attempt + 1;
    } else if (attempt >= stream->last || attempt < stream->floor) {
        return fail(walk, "cpu %u: attempt %llu comes after %llu, from %llu on", stream->cpu,
                    (unsigned long long)attempt, (unsigned long long)stream->last, (unsigned long long)stream->floor);
    } else {
        while (--stream->last > attempt) {
            if (stream->landed[stream->last] && !stream->may_have_gaps)
                return fail(walk, "cpu %u: attempt %llu is missing behind %llu", stream->cpu,
                            (unsigned long long)stream->last, (unsigned long long)attempt);
        }
    }
    stream->last = attempt;
    stream->seen++;
    return true;
}

/* One record of an event: it has landed, and so has nothing between it and the one before it. */
static bool pass_attempt(struct walk *walk, struct stream *stream, uint64_t attempt)
{
    if (attempt >= stream->attempts || !stream->landed[attempt])
        return fail(walk, "cpu %u: attempt %llu has never landed", stream->cpu, (unsigned long long)attempt);
    if (stream->newest_first)
        return pass_newest_first(walk, stream, attempt);
    for (; stream->next < attempt; stream->next++) {
        if (!stream->landed[stream->next] || stream->may_miss)
            continue;
        /* Told of already, by a record that stands where it is missing. */
        if (stream->missed++ >= stream->shed_samples)
            return fail(walk, "cpu %u: attempt %llu is missing before %llu", stream->cpu,
                        (unsigned long long)stream->next, (unsigned long long)attempt);
    }
    if (stream->next > attempt)
        return fail(walk, "cpu %u: attempt %llu comes after %llu", stream->cpu, (unsigned long long)attempt,
                    (unsigned long long)stream->next - 1);
    stream->next++;
    stream->seen++;
    return true;
}

/* The dump of the user stack, and what is before it: as it was, or a part of it that is large enough. */
static bool walk_stack(struct walk *walk, const struct stream *stream, uint64_t attempt, const uint8_t *at,
                       uint32_t bytes)
{
    const uint32_t fixed = (uint32_t)sizeof(uint64_t) * (2 + stream->register_count); /* ABI, registers, size */
    if (bytes < fixed)
        return fail(walk, "%u bytes behind the payload", bytes);
    uint64_t room = load_u64(at + fixed - sizeof(uint64_t));
    if (room > stream->stack_bytes || room < stream->stack_bytes / 4 || bytes != fixed + room + 2 * sizeof(uint64_t))
        return fail(walk, "dump of %llu bytes in %u", (unsigned long long)room, bytes);
    if (load_u64(at + fixed + room) != room || load_u64(at + fixed + room + sizeof(uint64_t)) != 0)
        return fail(walk, "dump of %llu bytes is not used, or wrong is what follows", (unsigned long long)room);
    uint8_t expected[UINT16_MAX];
    stream_fill_stack(stream, attempt, expected, (uint32_t)room);
    if (memcmp(at + fixed, expected, room) != 0)
        return fail(walk, "cpu %u: stack of attempt %llu is not its own", stream->cpu, (unsigned long long)attempt);
    walk->result->trimmed += room < stream->stack_bytes;
    return true;
}

/* Without ids all samples are of one event, with stacks or without. */
static struct stream *stream_of_sample(const struct walk *walk, const uint8_t *record)
{
    if (!walk->input->without_ids)
        return stream_of(walk, load_u64(record + SAMPLE_ID_OFFSET));
    bool has_stacks = stream_on(walk, walk->input->streams[0].cpu, false)->stack_bytes > 0;
    return stream_on(walk, load_u64(record + SAMPLE_CPU_OFFSET - ID_BYTES + (has_stacks ? ADDR_BYTES : 0)), false);
}

static bool walk_sample(struct walk *walk, const uint8_t *record, uint32_t size)
{
    const uint32_t missing = missing_bytes(walk);
    if (size < SAMPLE_RAW_SIZE_OFFSET - missing + 8)
        return fail(walk, "sample of %u bytes", size);
    struct stream *stream = stream_of_sample(walk, record);
    if (!stream || stream->sideband)
        return fail(walk, "sample of a strange id or CPU");
    uint64_t attempt = load_u64(record + SAMPLE_IP_OFFSET - missing);
    uint32_t raw_at = SAMPLE_RAW_SIZE_OFFSET - missing + (stream->stack_bytes > 0 ? 16 : 0);
    uint32_t raw_bytes = load_u32(record + raw_at);
    raw_at += (uint32_t)sizeof(raw_bytes);
    bool fits = raw_at <= size && raw_bytes <= size - raw_at;
    if (!fits || (stream->stack_bytes == 0 && raw_at + raw_bytes != size))
        return fail(walk, "%u raw bytes in a sample of %u", raw_bytes, size);
    if (!is_payload(stream, attempt, record + raw_at, raw_bytes))
        return fail(walk, "cpu %u: payload of attempt %llu is not its own", stream->cpu, (unsigned long long)attempt);
    if (stream->stack_bytes > 0 &&
        !walk_stack(walk, stream, attempt, record + raw_at + raw_bytes, size - raw_at - raw_bytes))
        return false;
    return pass_attempt(walk, stream, attempt) && pass_time(walk, load_u64(record + SAMPLE_TIME_OFFSET - missing));
}

static bool walk_comm(struct walk *walk, const uint8_t *record, uint32_t size)
{
    if (size < COMM_OFFSET + trailer_bytes(walk))
        return fail(walk, "COMM record of %u bytes", size);
    const uint8_t *trailer = record + size - trailer_bytes(walk);
    uint64_t mark = load_u64(trailer + (walk->input->without_ids ? TRAILER_TIME_OFFSET : TRAILER_ID_OFFSET));
    if (mark == 0) {
        walk->result->synthesized++;
        uint64_t time_ns = load_u64(trailer + TRAILER_TIME_OFFSET); /* of what was recorded before; else 0 */
        return time_ns == 0 || pass_time(walk, time_ns);
    }
    struct stream *stream = stream_of_trailer(walk, trailer, true);
    if (size != COMM_OFFSET + COMM_BYTES + trailer_bytes(walk) || !stream || !stream->sideband ||
        load_u32(trailer + TRAILER_CPU_OFFSET) != stream->cpu)
        return fail(walk, "COMM record of %u bytes or of a strange id or CPU", size);
    uint64_t attempt = strtoull((const char *)record + COMM_OFFSET, NULL, 10);
    return pass_attempt(walk, stream, attempt) && pass_time(walk, load_u64(trailer + TRAILER_TIME_OFFSET));
}

static bool walk_lost(struct walk *walk, const uint8_t *record, uint32_t size)
{
    if (size != LOST_OFFSET + LOST_BYTES + trailer_bytes(walk))
        return fail(walk, "LOST record of %u bytes", size);
    const struct stream *stream = stream_of(walk, load_u64(record + LOST_ID_OFFSET));
    bool is_silent = walk->input->without_ids && stream && stream->sideband; /* no LOST_SAMPLES tell of those */
    walk->result->lost_reported += load_u64(record + LOST_OFFSET);
    walk->result->lost_silent += is_silent ? load_u64(record + LOST_OFFSET) : 0;
    return pass_time(walk, load_u64(record + size - trailer_bytes(walk) + TRAILER_TIME_OFFSET));
}

static bool walk_lost_samples(struct walk *walk, const uint8_t *record, uint32_t size)
{
    const uint8_t *trailer = record + size - trailer_bytes(walk);
    bool is_whole = size == LOST_SAMPLES_OFFSET + LOST_BYTES + trailer_bytes(walk);
    struct stream *stream = is_whole ? stream_of_trailer(walk, trailer, false) : NULL;
    if (!stream || load_u32(trailer + TRAILER_CPU_OFFSET) != stream->cpu)
        return fail(walk, "LOST_SAMPLES record of %u bytes or of a strange id or CPU", size);
    uint64_t lost = load_u64(record + sizeof(struct perf_event_header));
    uint16_t misc;
    memcpy(&misc, record + offsetof(struct perf_event_header, misc), sizeof(misc));
    if (misc == MISC_SHED) {
        stream->shed_samples += lost;
        return !stream->sideband && pass_time(walk, load_u64(trailer + TRAILER_TIME_OFFSET));
    }
    if (misc == MISC_RETURNED) {
        walk->result->returns++;
        return (lost == 0 && !stream->sideband) || fail(walk, "a return that tells of losses, or of side records");
    }
    stream->lost_reports++;
    stream->lost_samples += lost;
    return true;
}

static bool walk_record(struct walk *walk, const struct perf_event_header *header, const uint8_t *record)
{
    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        return walk_sample(walk, record, header->size);
    case PERF_RECORD_COMM:
        return walk_comm(walk, record, header->size);
    case PERF_RECORD_LOST:
        return walk_lost(walk, record, header->size);
    case PERF_RECORD_LOST_SAMPLES:
        return walk_lost_samples(walk, record, header->size);
    case TYPE_PADDING:
        walk->result->padding_bytes += header->size;
        return true;
    case TYPE_FINISHED_ROUND:
        walk->result->rounds++;
        walk->floor_ns = walk->before_round_ns;
        walk->before_round_ns = walk->greatest_ns;
        return header->size == sizeof(*header) || fail(walk, "round of %u bytes", header->size);
    default:
        return fail(walk, "record of type %u", header->type);
    }
}

static bool pass_checkpoints(struct walk *walk)
{
    const struct walk_input *input = walk->input;
    while (walk->checkpoints_passed < input->checkpoint_count &&
           input->checkpoints[walk->checkpoints_passed] <= walk->at) {
        if (input->checkpoints[walk->checkpoints_passed++] != walk->at)
            return fail(walk, "a checkpoint lies inside the record before this");
    }
    return true;
}

bool stream_walk(const struct walk_input *input, struct walk_result *result)
{
    struct walk walk = {.input = input, .result = result};
    memset(result, 0, sizeof(*result));
    for (size_t i = 0; !input->goes_on && i < input->stream_count; i++) {
        struct stream *stream = &input->streams[i];
        stream->next = stream->last = stream->floor = stream->seen = 0;
        stream->lost_reports = stream->lost_samples = 0;
        stream->shed_samples = stream->missed = 0;
    }
    while (walk.at < input->bytes) {
        if (!pass_checkpoints(&walk))
            return false;
        struct perf_event_header header;
        if (input->bytes - walk.at < sizeof(header))
            return fail(&walk, "half a header");
        memcpy(&header, input->data + walk.at, sizeof(header));
        if (header.size < sizeof(header) || header.size % 8 || header.size > input->bytes - walk.at)
            return fail(&walk, "record of %u bytes", header.size);
        if (!walk_record(&walk, &header, input->data + walk.at))
            return false;
        walk.at += header.size;
    }
    if (!pass_checkpoints(&walk))
        return false;
    return walk.checkpoints_passed == input->checkpoint_count || fail(&walk, "a checkpoint lies behind the data");
}
