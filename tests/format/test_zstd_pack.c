/* Chunks that become COMPRESSED records, and come back as they were in every way that readers of perf.data take. */
#include "format/zstd_pack.h"

#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "format/perf_file.h"
#include "tests/base/failing_alloc.h"
#include "tests/base/random.h"
#include "tests/format/expand.h"

#define INPUT_MAX (1u << 20)

enum contents {
    CONTENTS_ZEROS,
    CONTENTS_COUNTERS, /* compresses about as records do */
    CONTENTS_NOISE,    /* does not compress */
    CONTENTS_MIXED,    /* noise and zeros by turns */
    CONTENTS_COUNT,
};

static uint32_t raw_ends[INPUT_MAX / 1024];

static void fill(uint8_t *data, size_t bytes, enum contents contents)
{
    uint64_t state = 1;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t random = test_random(&state);
        bool noise = contents == CONTENTS_NOISE || (contents == CONTENTS_MIXED && i / 50000 % 2);
        uint64_t word = noise ? random : contents == CONTENTS_COUNTERS ? i / 8 % 5 * 1000 + (i >> 6) : 0;
        memcpy(data + i, &word, sizeof(word));
    }
}

static struct weir_zstd_packer *new_packer(int level)
{
    struct weir_zstd_packer *packer = weir_zstd_packer_new(level, INPUT_MAX);
    cr_assert_not_null(packer);
    return packer;
}

/* Cut anywhere, a frame gives a decoder what is said of it. */
static void check_prefixes(const uint8_t *packed, size_t used, const uint8_t *data, size_t bytes)
{
    static const unsigned sixteenths[] = {0, 1, 5, 8, 11, 15, 16};
    for (unsigned i = 0; i < sizeof(sixteenths) / sizeof(*sixteenths); i++) {
        struct weir_buf out = WEIR_BUF_INIT;
        const char *failure;
        size_t raw, cut = used * sixteenths[i] / 16;
        size_t kept = weir_zstd_pack_prefix(packed, cut, raw_ends, &raw);
        cr_assert(kept <= cut && raw <= bytes && (kept == 0) == (raw == 0));
        cr_assert(cut < used || (kept == used && raw == bytes));
        cr_assert(kept == 0 || expand_records(packed, kept, INPUT_MAX, &out, NULL, 0, &failure), "%s", failure);
        cr_assert_eq(out.used, raw);
        cr_assert(raw == 0 || memcmp(out.data, data, raw) == 0);
        weir_buf_fini(&out);
    }
}

/* Packs, and takes apart again; returns the packed size. */
static size_t check_round_trip(struct weir_zstd_packer *packer, const uint8_t *data, size_t bytes)
{
    uint8_t *packed = malloc(weir_zstd_pack_bound(bytes));
    size_t used = weir_zstd_pack(packer, packed, data, bytes, raw_ends);
    struct weir_buf out = WEIR_BUF_INIT;
    const char *failure;
    cr_assert_gt(used, 0);
    cr_assert_leq(used, weir_zstd_pack_bound(bytes));
    cr_assert(expand_records(packed, used, INPUT_MAX, &out, NULL, 0, &failure), "%zu bytes: %s", bytes, failure);
    cr_assert_eq(out.used, bytes);
    cr_assert_eq(memcmp(out.data, data, bytes), 0, "%zu bytes are others", bytes);
    weir_buf_fini(&out);
    check_prefixes(packed, used, data, bytes);
    free(packed);
    return used;
}

Test(zstd_pack, without_memory_there_is_no_packer)
{
    for (unsigned successes = 0; successes < 3; successes++) { /* itself, and what it warms up with */
        failing_alloc_after(successes);
        cr_expect_null(weir_zstd_packer_new(1, INPUT_MAX), "after %u allocations", successes);
    }
    failing_alloc_never();
    weir_zstd_packer_free(NULL);
}

Test(zstd_pack, every_size_around_a_block_comes_back)
{
    static const size_t sizes[] = {8, 16, 24, 61432, 61440, 61448, 122880, 122888, 200000, INPUT_MAX - 8, INPUT_MAX};
    uint8_t *data = malloc(INPUT_MAX);
    struct weir_zstd_packer *packer = new_packer(1);
    for (int contents = 0; contents < CONTENTS_COUNT; contents++) {
        fill(data, INPUT_MAX, contents);
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(sizes); i++)
            check_round_trip(packer, data, sizes[i]);
    }
    weir_zstd_packer_free(packer);
    free(data);
}

Test(zstd_pack, every_level_comes_back)
{
    uint8_t *data = malloc(INPUT_MAX);
    fill(data, INPUT_MAX, CONTENTS_MIXED);
    for (int level = 1; level <= WEIR_ZSTD_LEVEL_MAX; level++) {
        struct weir_zstd_packer *packer = new_packer(level);
        check_round_trip(packer, data, 200000);
        weir_zstd_packer_free(packer);
    }
    free(data);
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* What it takes is 19 MiB; without a word to the library about its tables 640. */
Test(zstd_pack, the_highest_level_takes_no_more_memory_than_a_chunk_has_use_for)
{
    long before = peak_kib();
    struct weir_zstd_packer *packer = new_packer(WEIR_ZSTD_LEVEL_MAX);
    cr_expect_lt(peak_kib() - before, 256 * 1024, "%ld KiB", peak_kib() - before);
    weir_zstd_packer_free(packer);
}

Test(zstd_pack, records_are_multiples_of_eight_and_no_longer_than_any_other)
{
    uint8_t *data = malloc(INPUT_MAX), *packed = malloc(weir_zstd_pack_bound(INPUT_MAX));
    struct weir_zstd_packer *packer = new_packer(1);
    fill(data, INPUT_MAX, CONTENTS_NOISE);
    size_t used = weir_zstd_pack(packer, packed, data, INPUT_MAX, raw_ends), count = 0;
    for (size_t at = 0; at < used; count++) {
        struct perf_event_header header;
        memcpy(&header, packed + at, sizeof(header));
        cr_assert_eq(header.type, WEIR_RECORD_COMPRESSED);
        cr_assert_eq(header.misc, 0);
        cr_assert_eq(header.size % 8, 0);
        cr_assert_leq(header.size, WEIR_RECORD_MAX_BYTES);
        at += header.size;
    }
    cr_assert_geq(count, 18); /* 1 MiB in pieces of 60 KiB at most, which noise leaves as they are */
    cr_assert_leq(count, weir_zstd_pack_records(INPUT_MAX));
    weir_zstd_packer_free(packer);
    free(packed);
    free(data);
}

Test(zstd_pack, chunks_after_one_another_are_one_stream)
{
    uint8_t *data = malloc(INPUT_MAX);
    struct weir_zstd_packer *first = new_packer(1), *second = new_packer(1);
    struct weir_buf packed = WEIR_BUF_INIT, out = WEIR_BUF_INIT;
    uint64_t boundaries[] = {0, 4, 0};
    const char *failure;
    fill(data, INPUT_MAX, CONTENTS_COUNTERS);
    /* By two packers in turn, as two threads do, with a record between them that stays as it is. */
    for (size_t i = 0; i < 10; i++) {
        uint8_t *room = malloc(weir_zstd_pack_bound(100000));
        weir_buf_append(&packed, room,
                        weir_zstd_pack(i % 2 ? first : second, room, data + i * 100000, 100000, raw_ends));
        free(room);
        if (i == 0)
            boundaries[2] = packed.used;
    }
    const struct perf_event_header round = {.type = WEIR_RECORD_FINISHED_ROUND, .size = sizeof(round)};
    weir_buf_append(&packed, &round, sizeof(round));
    cr_assert(expand_records(packed.data, packed.used, INPUT_MAX, &out, boundaries, 3, &failure), "%s", failure);
    cr_assert_eq(out.used, 1000000 + sizeof(round));
    cr_assert_eq(memcmp(out.data, data, 1000000), 0);
    cr_assert_eq(boundaries[0], 0);
    cr_assert_eq(boundaries[1], UINT64_MAX);
    cr_assert_eq(boundaries[2], 100000);
    weir_buf_fini(&packed);
    weir_buf_fini(&out);
    weir_zstd_packer_free(first);
    weir_zstd_packer_free(second);
    free(data);
}

/* Bytes in use, libzstd's among them. (Under AddressSanitizer there is no such count: always 0.) */
static size_t heap_bytes(void)
{
    struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

/* After many small chunks the encoder must not think that it has too much memory, and let go of some. */
Test(zstd_pack, packing_takes_and_gives_back_no_memory)
{
    uint8_t *data = malloc(INPUT_MAX), *packed = malloc(weir_zstd_pack_bound(INPUT_MAX));
    struct weir_zstd_packer *packer = new_packer(3);
    fill(data, INPUT_MAX, CONTENTS_COUNTERS);
    size_t before = heap_bytes();
    for (int i = 0; i < 300; i++) {
        cr_assert_gt(weir_zstd_pack(packer, packed, data, 64, raw_ends), 0);
        cr_assert_eq(heap_bytes(), before, "small chunk %d", i);
    }
    cr_expect_gt(weir_zstd_pack(packer, packed, data, INPUT_MAX, raw_ends), 0);
    cr_expect_eq(heap_bytes(), before);
    weir_zstd_packer_free(packer);
    free(packed);
    free(data);
}

Test(zstd_pack, records_of_a_counter_shrink)
{
    uint8_t *data = malloc(INPUT_MAX);
    struct weir_zstd_packer *packer = new_packer(1);
    fill(data, INPUT_MAX, CONTENTS_COUNTERS);
    cr_expect_lt(check_round_trip(packer, data, INPUT_MAX), INPUT_MAX / 10);
    weir_zstd_packer_free(packer);
    free(data);
}

/* Whatever is cut off a frame, what is left expands to whole records. */
Test(zstd_pack, blocks_end_where_records_end)
{
    uint8_t *data = calloc(1, INPUT_MAX), *packed = malloc(weir_zstd_pack_bound(INPUT_MAX));
    struct weir_zstd_packer *packer = new_packer(1);
    uint64_t state = 5;
    size_t bytes = 0, raw, kept;
    for (;;) {
        struct perf_event_header header = {.size = (uint16_t)(8 + test_random(&state) % 4000 / 8 * 8)};
        if (bytes + header.size > INPUT_MAX)
            break;
        for (size_t i = sizeof(header); i < header.size; i++)
            data[bytes + i] = (uint8_t)test_random(&state);
        memcpy(data + bytes, &header, sizeof(header));
        bytes += header.size;
    }
    size_t used = weir_zstd_pack(packer, packed, data, bytes, raw_ends);
    for (size_t cut = used; cut > 0; cut = kept > 0 ? kept - 1 : 0) {
        kept = weir_zstd_pack_prefix(packed, cut, raw_ends, &raw);
        size_t end = 0;
        while (end < raw)
            end += ((const struct perf_event_header *)(const void *)(data + end))->size;
        cr_assert_eq(end, raw);
    }
    weir_zstd_packer_free(packer);
    free(packed);
    free(data);
}
