/* Bytes after the headers of Linux 7.1; see newest_recording.h. Failures are Criterion assertions. */
#include "tests/format/newest_recording.h"

#include <criterion/criterion.h>
#include <string.h>
#include <zstd.h>

#define ATTR_BYTES    152u
#define ATTRS_OFFSET  112u
#define IDENTIFIER    1001u
#define SAMPLE_TYPE   (1u << 16 | 1u << 0 | 1u << 1 | 1u << 2 | 1u << 5) /* IDENTIFIER, IP, TID, TIME, CALLCHAIN */
#define FLAGS_KNOWN   (1ull << 1 | 1ull << 18 | 1ull << 34 | 1ull << 38 | 1ull << 39)
#define TRAILER_BYTES 24u /* TID, TIME, IDENTIFIER */

/* Appends a record's header, and returns where it stands for end(). */
static size_t begin(struct weir_buf *out, uint32_t type, uint16_t misc)
{
    size_t at = out->used;
    weir_buf_append_u32(out, type);
    weir_buf_append_u32(out, misc);
    return at;
}

static void end(struct weir_buf *out, size_t at)
{
    size_t bytes = out->used - at;
    cr_assert_lt(bytes, 1u << 16);
    uint16_t size = (uint16_t)bytes;
    memcpy(out->data + at + 6, &size, sizeof(size));
}

static void add_text(struct weir_buf *out, const char *text, size_t room)
{
    weir_buf_append(out, text, strlen(text));
    weir_buf_append_zeros(out, room - strlen(text));
}

static void add_trailer(struct weir_buf *out, uint64_t time)
{
    weir_buf_append_u32(out, 4242);
    weir_buf_append_u32(out, 4243);
    weir_buf_append_u64(out, time);
    weir_buf_append_u64(out, IDENTIFIER);
}

static void add_attr(struct weir_buf *out, const struct newest_recording_options *options)
{
    const uint32_t size = options->is_known_only ? 144 : ATTR_BYTES;
    uint64_t words[ATTR_BYTES / 8] = {
        [0] = 1 | (uint64_t)size << 32, /* type software, size */
        [1] = 0,                        /* config: cpu-clock */
        [2] = 250000,
        [3] = SAMPLE_TYPE,
        [5] = FLAGS_KNOWN | (options->is_known_only ? 0 : 1ull << 63),
        [14] = 2ull << 32, /* aux_action: pause */
        [16] = 0x33,       /* config3 */
        [17] = 0x44,       /* config4 */
        [18] = options->is_known_only ? 0 : 0x0155,
    };
    weir_buf_append(out, words, size);
}

static void add_sample(struct weir_buf *out, uint64_t time)
{
    const uint64_t chain[] = {4, (uint64_t)-128, 0xffffffff81000010, (uint64_t)-640, 0x77};
    size_t at = begin(out, 9, 1);
    weir_buf_append_u64(out, IDENTIFIER);
    weir_buf_append_u64(out, 0xffffffff81000010);
    weir_buf_append_u32(out, 4242);
    weir_buf_append_u32(out, 4243);
    weir_buf_append_u64(out, time);
    weir_buf_append(out, chain, sizeof(chain));
    end(out, at);
}

static void add_compressed(struct weir_buf *out)
{
    struct weir_buf inner = WEIR_BUF_INIT;
    uint8_t packed[512];
    add_sample(&inner, 1000002000);
    size_t bytes = ZSTD_compress(packed, sizeof(packed), inner.data, inner.used, 1);
    cr_assert(!ZSTD_isError(bytes));
    size_t at = begin(out, 83, 0);
    weir_buf_append_u64(out, bytes);
    weir_buf_append(out, packed, bytes);
    weir_buf_append_zeros(out, 8 - bytes % 8); /* at least a byte: what stands there is no data */
    end(out, at);
    weir_buf_fini(&inner);
}

static void add_schedstat(struct weir_buf *out, uint32_t type, uint16_t version, uint16_t domain, size_t bytes)
{
    size_t at = begin(out, type, 0);
    weir_buf_append_u64(out, 4300000000);
    weir_buf_append_u32(out, 3);
    weir_buf_append_u32(out, version | (uint32_t)domain << 16);
    for (uint32_t value = 1; out->used - at < bytes; value++) { /* six u32 and three u64; only u32 in domains */
        if (type == 85 && value > 6)
            weir_buf_append_u64(out, value);
        else
            weir_buf_append_u32(out, value);
    }
    end(out, at);
}

static void add_data(struct weir_buf *out, const struct newest_recording_options *options)
{
    const uint64_t chain[] = {0x77, 2, 0x401000, 0x402000};
    add_sample(out, 1000001000);
    add_compressed(out);
    size_t at = begin(out, 22, 2);
    weir_buf_append(out, chain, sizeof(chain));
    add_trailer(out, 1000003000);
    end(out, at);
    at = begin(out, 84, 0);
    add_text(out, "bpf_prog_0102030405060708_filter", 512);
    weir_buf_append_u64(out, 1);
    add_text(out, "version", 64);
    add_text(out, "1.2", 256);
    weir_buf_append_zeros(out, TRAILER_BYTES);
    end(out, at);
    add_schedstat(out, 85, 15, 0, 72);
    add_schedstat(out, 86, 15, 0, 208); /* perf writes the whole union */
    add_schedstat(out, 86, 17, 1, 208);
    if (options->is_known_only)
        return;
    at = begin(out, 200, 0);
    weir_buf_append_u64(out, 0);
    end(out, at);
}

/* ---- features ---- */

static void add_string(struct weir_buf *out, const char *text)
{
    weir_buf_append_u32(out, 64);
    add_text(out, text, 64);
}

static void add_domains(struct weir_buf *out)
{
    weir_buf_append_u32(out, 17);
    weir_buf_append_u32(out, 1);
    for (uint32_t cpu = 0; cpu < 2; cpu++) {
        weir_buf_append_u32(out, cpu);
        weir_buf_append_u32(out, 1);
        weir_buf_append_u32(out, 0);
        add_string(out, "PKG");
        add_string(out, "3");
        add_string(out, "0-1");
    }
}

struct feature {
    unsigned bit;
    struct weir_buf payload;
};

static size_t make_features(struct feature features[8], const struct newest_recording_options *options)
{
    size_t count = 0;
    memset(features, 0, 8 * sizeof(*features));
    features[count].bit = 3;
    add_string(&features[count++].payload, "made-by-hand");
    if (options->has_new_events) {
        struct weir_buf *payload = &features[count].payload;
        features[count++].bit = 12;
        weir_buf_append_u32(payload, 1);
        weir_buf_append_u32(payload, options->is_known_only ? 144 : ATTR_BYTES);
        add_attr(payload, options);
        weir_buf_append_u32(payload, 1);
        add_string(payload, "cpu-clock");
        weir_buf_append_u64(payload, IDENTIFIER);
    }
    const uint32_t compressed[] = {0, 1, 1, 1, 1 << 20};
    features[count].bit = 27;
    weir_buf_append(&features[count++].payload, compressed, sizeof(compressed));
    features[count].bit = 32;
    add_domains(&features[count++].payload);
    features[count].bit = 33;
    weir_buf_append_u32(&features[count].payload, 62);
    weir_buf_append_u32(&features[count++].payload, 0);
    features[count].bit = 34;
    weir_buf_append_u32(&features[count++].payload, 64);
    if (!options->is_known_only) {
        features[count].bit = 40;
        weir_buf_append_u32(&features[count++].payload, 7);
    }
    return count;
}

static void build_stream(struct weir_buf *out, const struct newest_recording_options *options)
{
    struct feature features[8];
    weir_buf_append(out, "PERFILE2", 8);
    weir_buf_append_u64(out, 16);
    size_t at = begin(out, 64, 0);
    add_attr(out, options);
    weir_buf_append_u64(out, IDENTIFIER);
    end(out, at);
    size_t count = make_features(features, options);
    for (size_t i = 0; i < count; i++) {
        at = begin(out, 80, 0);
        weir_buf_append_u64(out, features[i].bit);
        weir_buf_append(out, features[i].payload.data, features[i].payload.used);
        end(out, at);
        weir_buf_fini(&features[i].payload);
    }
    at = begin(out, 80, 0); /* HEADER_LAST_FEATURE of perf 7.1 */
    weir_buf_append_u64(out, 35);
    end(out, at);
    add_data(out, options);
}

static void set_word(struct weir_buf *out, size_t at, uint64_t word)
{
    memcpy(out->data + at, &word, sizeof(word));
}

static void add_features(struct weir_buf *out, const struct newest_recording_options *options)
{
    struct feature features[8];
    size_t count = make_features(features, options), table = out->used;
    uint64_t bits = 0;
    weir_buf_append_zeros(out, count * 16);
    for (size_t i = 0; i < count; i++) {
        bits |= 1ull << features[i].bit;
        set_word(out, table + i * 16, out->used);
        set_word(out, table + i * 16 + 8, features[i].payload.used);
        weir_buf_append(out, features[i].payload.data, features[i].payload.used);
        weir_buf_fini(&features[i].payload);
    }
    set_word(out, 72, bits);
}

void newest_recording_build(struct weir_buf *out, const struct newest_recording_options *options)
{
    if (options->stream) {
        build_stream(out, options);
        return;
    }
    uint64_t entry_bytes = (options->is_known_only ? 144 : ATTR_BYTES) + 16;
    weir_buf_append(out, "PERFILE2", 8);
    const uint64_t header[] = {104, entry_bytes, ATTRS_OFFSET, entry_bytes, NEWEST_DATA_OFFSET, 0, 0, 0, 0, 0, 0, 0};
    weir_buf_append(out, header, sizeof(header));
    weir_buf_append_u64(out, IDENTIFIER);
    add_attr(out, options);
    weir_buf_append_u64(out, 104);
    weir_buf_append_u64(out, 8);
    weir_buf_append_zeros(out, NEWEST_DATA_OFFSET - out->used);
    add_data(out, options);
    if (options->has_no_size)
        return;
    set_word(out, 48, out->used - NEWEST_DATA_OFFSET);
    add_features(out, options);
}
