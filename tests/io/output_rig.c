/*
 * Drives an output by chance and checks it against the plainest model there is: a list of spans, a number of those that
 * are complete, and the bytes of the file. See output_rig.h.
 *
 * Spans lie in registered buffers, with a canary behind the room that output.h lends to the output, or each in an
 * allocation of its own of the exact size, so that a sanitizer sees every byte read or written beyond.
 */
#include "tests/io/output_rig.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "tests/io/span.h"

#define ROOM_BYTES         (1u << 20) /* per registered buffer */
#define BUFFER_COUNT       4u
#define PLACES             12u /* in the buffers: 2 of 1 MiB, 10 of a part of one */
#define PLACE_BYTES        ((size_t)192 * 1024)
#define HEAD_BYTES         OUTPUT_RIG_HEAD_BYTES
#define TAIL_BYTES         OUTPUT_RIG_TAIL_BYTES
#define HEAD_CONTENT       'h'
#define TAIL_CONTENT       't'
#define PATCH_OFFSET       48u /* where perf.data keeps data.size */
#define CANARY             0xc0ffee00c0ffee00ull
#define WORD_BYTES         8u
#define SMALL_BYTES        2048u
#define MIDDLE_BYTES       (96u * 1024)
#define REAP_MAX           64u
#define WAIT_MS            5u
#define MALLOC_KEEPS_BYTES (32 << 20)
#define STEPS_TO_THE_END   100000u /* more reaps than any run needs: it hangs */

struct place { /* for one span in a registered buffer */
    uint8_t *data;
    size_t bytes;
    int buffer_index;
    bool taken;
};

struct rig_span {
    uint8_t *data;
    size_t bytes;
    bool goes_on;        /* as part of a whole */
    struct place *place; /* that data lies in, from its start or off the block; NULL: data is an allocation, owned */
};

struct rig {
    const struct output_rig_profile *profile;
    struct fake_io *fake;
    struct weir_output *output;
    struct iovec buffers[BUFFER_COUNT]; /* borrowed */
    struct place places[PLACES];

    struct rig_span spans[OUTPUT_RIG_SPAN_MAX]; /* their addresses are the tokens */
    unsigned appended, reaped, whole;
    uint64_t appended_bytes;
    int failure; /* first result that was not 0 */
    bool pressed;
    uint64_t stable_bytes;  /* as last seen */
    struct span_walk walk;  /* over the stable prefix as far as it was checked */
    unsigned walked;        /* spans */
    unsigned left_of_whole; /* spans that are still to come of a whole that was begun */
    uint64_t patched;       /* what was last written at PATCH_OFFSET */
};

#define rig_check(rig, condition)                                                                            \
    cr_assert(condition, "seed %ju, span %u of %u: %s", (uintmax_t)(rig)->profile->disk.seed, (rig)->reaped, \
              (rig)->appended, #condition)

/* ---- memory ---- */

/* The buffers are those of all runs, which are thousands: a new page costs more than what a run does to it. */
static void rig_init_memory(struct rig *rig)
{
    static uint8_t *buffers[BUFFER_COUNT];
    unsigned next = 0;
    mallopt(M_MMAP_THRESHOLD, MALLOC_KEEPS_BYTES);
    mallopt(M_TRIM_THRESHOLD, MALLOC_KEEPS_BYTES);
    for (unsigned i = 0; i < BUFFER_COUNT; i++) {
        if (!buffers[i])
            buffers[i] = aligned_alloc(WEIR_OUTPUT_ALIGN_BYTES, ROOM_BYTES);
        uint8_t *memory = buffers[i];
        cr_assert(memory);
        rig->buffers[i] = (struct iovec){.iov_base = memory, .iov_len = ROOM_BYTES};
        size_t bytes = i < 2 ? ROOM_BYTES : PLACE_BYTES;
        for (size_t at = 0; at + bytes <= ROOM_BYTES; at += bytes)
            rig->places[next++] = (struct place){.data = memory + at, .bytes = bytes, .buffer_index = (int)i};
    }
    cr_assert(next == PLACES);
}

static struct place *find_place(struct rig *rig, size_t bytes)
{
    for (unsigned i = 0, first = (unsigned)fake_io_random(rig->fake, PLACES); i < PLACES; i++) {
        struct place *place = &rig->places[(first + i) % PLACES];
        if (!place->taken && place->bytes >= bytes)
            return place;
    }
    return NULL;
}

/* The first bytes of a place that are neither the span's nor lent to the output; NULL: none. */
static uint8_t *canary_of(const struct rig_span *span)
{
    if (!span->place)
        return NULL;
    size_t used = (size_t)(span->data - span->place->data) + span->bytes;
    size_t lent_end = weir_align_up(used, WEIR_OUTPUT_ALIGN_BYTES);
    return lent_end < span->place->bytes ? span->place->data + lent_end : NULL;
}

static void make_span(struct rig *rig, struct rig_span *span, size_t bytes)
{
    struct place *place = fake_io_random(rig->fake, 4) ? find_place(rig, bytes) : NULL;
    span->bytes = bytes;
    span->place = place;
    span->data = place ? place->data : malloc(bytes);
    cr_assert(span->data);
    if (place) {
        size_t slack = place->bytes - bytes;
        place->taken = true;
        if (slack > 0 && fake_io_random(rig->fake, 8) == 0)
            span->data += WORD_BYTES * fake_io_random(rig->fake, slack / WORD_BYTES);
    }
    span_fill(span->data, rig->appended, bytes);
    uint8_t *canary = canary_of(span);
    if (canary)
        memcpy(canary, &(uint64_t){CANARY}, WORD_BYTES);
}

static void drop_span(struct rig *rig, struct rig_span *span)
{
    const uint8_t *canary = canary_of(span);
    rig_check(rig, !canary || memcmp(canary, &(uint64_t){CANARY}, WORD_BYTES) == 0);
    if (span->place)
        span->place->taken = false;
    else
        free(span->data);
}

/* ---- checks ---- */

/* Walks on over the stable prefix: spans in order, padding between them, but not in a whole, nothing else, and a span
 * at its end that ends what it is part of. */
static void check_stable(struct rig *rig)
{
    uint64_t stable_bytes = weir_output_stable_bytes(rig->output);
    rig_check(rig, stable_bytes >= rig->stable_bytes);
    if (stable_bytes == rig->stable_bytes)
        return;
    rig->stable_bytes = stable_bytes;
    rig->walk.data = fake_io_bytes(rig->fake);
    rig->walk.end = HEAD_BYTES + stable_bytes;
    rig_check(rig, rig->walk.end <= fake_io_size(rig->fake));
    while (rig->walk.at < rig->walk.end) {
        uint64_t padding_bytes = rig->walk.padding_bytes;
        rig_check(rig, rig->walked < rig->appended);
        rig_check(rig, span_walk_next(&rig->walk, rig->walked, rig->spans[rig->walked].bytes));
        if (rig->walked > 0 && rig->spans[rig->walked - 1].goes_on)
            rig_check(rig, rig->walk.padding_bytes == padding_bytes);
        rig->walked++;
    }
    rig_check(rig, !rig->spans[rig->walked - 1].goes_on);
}

/* Spans that are complete and not in the stable prefix belong to a whole that is not. */
static void check_ahead(struct rig *rig)
{
    for (unsigned i = rig->walked; i < rig->whole; i++)
        rig_check(rig, rig->spans[i].goes_on);
}

static void check_done(struct rig *rig, const struct weir_output_done *done)
{
    rig_check(rig, rig->reaped < rig->appended);
    struct rig_span *span = &rig->spans[rig->reaped];
    rig_check(rig, done->token == span);
    if (done->result == 0) {
        rig_check(rig, rig->failure == 0);
        rig->whole++;
    } else {
        rig_check(rig, done->result == weir_output_error(rig->output));
        rig->failure = done->result;
    }
    rig->reaped++;
    drop_span(rig, span);
}

static void reap(struct rig *rig, unsigned max, unsigned wait_ms)
{
    struct weir_output_done done[REAP_MAX];
    unsigned count = weir_output_reap(rig->output, done, max, wait_ms);
    rig_check(rig, count <= max);
    check_stable(rig);
    for (unsigned i = 0; i < count; i++)
        check_done(rig, &done[i]);
    rig_check(rig, weir_output_pending(rig->output) == rig->appended - rig->reaped);
    check_ahead(rig);
    if (count < max || rig->failure < 0) /* all that are complete were handed out */
        rig_check(rig, rig->whole >= rig->walked);
}

/* ---- steps ---- */

static size_t random_bytes(struct rig *rig)
{
    uint64_t kind = fake_io_random(rig->fake, 1000);
    size_t most = kind < rig->profile->large_per_mille                                    ? ROOM_BYTES
                  : kind < rig->profile->large_per_mille + rig->profile->middle_per_mille ? MIDDLE_BYTES
                                                                                          : SMALL_BYTES;
    return WORD_BYTES * (1 + fake_io_random(rig->fake, most / WORD_BYTES));
}

/* A full output takes spans again when it is reaped and nothing else is done. */
static void wait_until_free(struct rig *rig)
{
    for (unsigned i = 0; !weir_output_can_append(rig->output); i++) {
        rig_check(rig, i < STEPS_TO_THE_END);
        reap(rig, REAP_MAX, WAIT_MS);
    }
}

/* Begins or ends a whole around the next span. */
static void mark_whole(struct rig *rig, struct rig_span *span)
{
    if (rig->profile->wholes && rig->left_of_whole == 0 && fake_io_random(rig->fake, 6) == 0) {
        rig->left_of_whole = 1 + (unsigned)fake_io_random(rig->fake, 5);
        weir_output_begin_whole(rig->output);
    }
    if (rig->left_of_whole == 0)
        return;
    span->goes_on = --rig->left_of_whole > 0;
    if (!span->goes_on)
        weir_output_end_whole(rig->output);
}

static void append(struct rig *rig)
{
    if (!rig->profile->never_reaps && fake_io_random(rig->fake, 8) == 0)
        wait_until_free(rig);
    if (rig->appended == OUTPUT_RIG_SPAN_MAX || !weir_output_can_append(rig->output))
        return;
    if (fake_io_random(rig->fake, 16) == 0)
        rig->pressed = !rig->pressed;
    struct rig_span *span = &rig->spans[rig->appended];
    make_span(rig, span, random_bytes(rig));
    rig->appended++;
    rig->appended_bytes += span->bytes;
    mark_whole(rig, span);
    weir_output_append(rig->output, span->data, span->bytes, span->place ? span->place->buffer_index : -1, rig->pressed,
                       span);
}

static void patch(struct rig *rig)
{
    uint64_t word = rig->stable_bytes;
    if (weir_output_patch_head(rig->output, PATCH_OFFSET, &word, sizeof(word)) == 0)
        rig->patched = word;
}

static void step(struct rig *rig)
{
    uint64_t what = fake_io_random(rig->fake, 32);
    if (what < 20)
        append(rig);
    else if (what < 22)
        weir_output_push_tail(rig->output);
    else if (what < 26)
        weir_output_flush(rig->output);
    else if (what < 31 && !rig->profile->never_reaps)
        reap(rig, 1 + (unsigned)fake_io_random(rig->fake, REAP_MAX), what % 2 ? WAIT_MS : 0);
    else if (what == 31)
        patch(rig);
    check_stable(rig);
}

static void reap_all(struct rig *rig)
{
    for (unsigned i = 0; weir_output_pending(rig->output) > 0; i++) {
        rig_check(rig, i < STEPS_TO_THE_END);
        weir_output_push_tail(rig->output);
        reap(rig, REAP_MAX, WAIT_MS);
    }
    rig_check(rig, rig->reaped == rig->appended);
}

/* ---- a run ---- */

static int rig_open(struct rig *rig)
{
    const struct weir_output_options options = {
        .direct = rig->profile->direct,
        .stage_bytes = rig->profile->stage_bytes,
        .queue_depth = rig->profile->queue_depth,
        .buffers = rig->buffers,
        .buffer_count = BUFFER_COUNT,
        .late_count = rig->profile->late_count,
        .fill_padding = span_fill_padding,
        .padding_least = SPAN_PADDING_LEAST,
        .io = fake_io_ops(rig->fake),
    };
    struct weir_error err = {0};
    int rc = weir_output_open(&rig->output, "/dev/null", &options, &err);
    rig_check(rig, rc == err.code);
    if (rc < 0)
        return rc;

    char head[HEAD_BYTES];
    memset(head, HEAD_CONTENT, sizeof(head));
    memcpy(head + PATCH_OFFSET, &rig->patched, sizeof(rig->patched));
    return weir_output_write_head(rig->output, head, sizeof(head));
}

static void check_head(struct rig *rig)
{
    char head[HEAD_BYTES];
    memset(head, HEAD_CONTENT, sizeof(head));
    const uint8_t *file = fake_io_bytes(rig->fake);
    rig_check(rig, memcmp(file, head, PATCH_OFFSET) == 0);
    size_t behind = PATCH_OFFSET + sizeof(rig->patched);
    rig_check(rig, memcmp(file + behind, head + behind, HEAD_BYTES - behind) == 0);
}

/* The whole file once more: nothing that came later has touched what was stable. */
static void check_file(struct rig *rig, int finish, const char *tail)
{
    struct span_walk walk = {.data = fake_io_bytes(rig->fake), .at = HEAD_BYTES};
    walk.end = HEAD_BYTES + rig->stable_bytes;
    for (unsigned i = 0; i < rig->walked; i++)
        rig_check(rig, span_walk_next(&walk, i, rig->spans[i].bytes));
    rig_check(rig, walk.at == walk.end);
    check_head(rig);
    if (finish < 0 && rig->profile->disk.faults[FAKE_IO_FTRUNCATE].nth == 0)
        rig_check(rig, fake_io_size(rig->fake) == walk.end);
    if (finish == 0) {
        rig_check(rig, fake_io_size(rig->fake) == walk.end + TAIL_BYTES);
        rig_check(rig, memcmp(walk.data + walk.end, tail, TAIL_BYTES) == 0);
    }
}

/* The prefix ends only where a write failed: the next span, if all of it was written before that, would be whole. */
static void check_nothing_given_up(struct rig *rig)
{
    struct span_walk walk = rig->walk;
    walk.data = fake_io_bytes(rig->fake);
    walk.end = fake_io_failed_from(rig->fake);
    if (!rig->profile->wholes && rig->whole < rig->appended && walk.end < UINT64_MAX)
        rig_check(rig, !span_walk_next(&walk, rig->whole, rig->spans[rig->whole].bytes));
}

static int rig_finish(struct rig *rig)
{
    char tail[TAIL_BYTES];
    memset(tail, TAIL_CONTENT, sizeof(tail));
    if (!rig->profile->never_reaps && fake_io_random(rig->fake, 2)) {
        reap_all(rig);
        check_nothing_given_up(rig);
    }
    int rc = weir_output_finish(rig->output, tail, sizeof(tail));
    rig_check(rig, !weir_output_can_append(rig->output));
    reap_all(rig);
    check_file(rig, rc, tail);
    return rc;
}

static void check_stats(struct rig *rig, const struct weir_output_stats *stats)
{
    rig_check(rig, stats->appended_bytes == rig->appended_bytes);
    rig_check(rig, stats->written_bytes == stats->direct_bytes + stats->buffered_bytes);
    rig_check(rig, stats->in_flight_max <= rig->profile->queue_depth);
    if (rig->failure == 0) {
        rig_check(rig, stats->written_bytes == stats->appended_bytes + stats->padding_bytes);
        rig_check(rig, rig->whole == rig->appended);
    }
}

struct output_rig_result output_rig_run(const struct output_rig_profile *profile)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    cr_assert(rig);
    rig->profile = profile;
    rig->fake = fake_io_new(&profile->disk);
    rig->walk.at = HEAD_BYTES;
    rig_init_memory(rig);

    struct output_rig_result result = {.open = rig_open(rig)};
    if (result.open == 0) {
        for (unsigned i = 0; i < profile->steps; i++)
            step(rig);
        result.finish = rig_finish(rig);
        result.error = weir_output_error(rig->output);
        result.spans = rig->appended;
        result.whole = rig->whole;
        result.stable_bytes = rig->stable_bytes;
        weir_output_get_stats(rig->output, &result.stats);
        check_stats(rig, &result.stats);
        rig_check(rig, result.error == rig->failure || rig->whole == rig->appended);
    }
    for (unsigned call = 0; call < FAKE_IO_CALL_COUNT; call++)
        result.calls[call] = fake_io_calls(rig->fake, call);
    weir_output_close(rig->output);
    fake_io_free(rig->fake);
    free(rig);
    return result;
}
