/* Samples of any layout. Reentrant. */
#include "tests/engine/full_sample.h"
#include "tests/base/random.h"

#include <string.h>

#include "base/bits.h"
#include "format/sample_layout.h"

struct writer {
    uint8_t *to;
    size_t at;
    uint64_t random;
};

void full_sample_choose(struct perf_event_attr *attr, uint64_t *state)
{
    const uint64_t unknown = ~((PERF_SAMPLE_WEIGHT_STRUCT << 1) - 1);
    memset(attr, 0, sizeof(*attr));
    attr->size = sizeof(*attr);
    attr->sample_type = (test_random(state) & test_random(state) & ~unknown) | PERF_SAMPLE_IDENTIFIER;
    if (test_random(state) % 8)
        attr->sample_type |= PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER;
    if (attr->sample_type & PERF_SAMPLE_WEIGHT)
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT; /* the kernel takes one of them */
    attr->read_format = test_random(state) & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                                              PERF_FORMAT_ID | PERF_FORMAT_GROUP | PERF_FORMAT_LOST);
    attr->branch_sample_type = test_random(state) & (PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_COUNTERS);
    attr->sample_regs_user = test_random(state) & 0xffffff;
    attr->sample_regs_intr = test_random(state) & 0xffff;
    attr->sample_stack_user = 8 * (uint32_t)(1 + test_random(state) % 2048);
    attr->sample_id_all = 1;
}

static void put_u64(struct writer *writer, uint64_t value)
{
    memcpy(writer->to + writer->at, &value, sizeof(value));
    writer->at += sizeof(value);
}

static void put_words(struct writer *writer, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        put_u64(writer, test_random(&writer->random));
}

static uint64_t few(struct writer *writer, uint64_t most)
{
    return test_random(&writer->random) % (most + 1);
}

static void put_chain(struct writer *writer)
{
    uint64_t count = few(writer, 127);
    put_u64(writer, count);
    put_words(writer, count);
}

static void put_read(struct writer *writer, uint64_t format)
{
    unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
    if (!(format & PERF_FORMAT_GROUP)) {
        put_words(writer, times + each);
        return;
    }
    uint64_t members = 1 + few(writer, 5);
    put_u64(writer, members);
    put_words(writer, times + members * each);
}

static void put_branches(struct writer *writer, uint64_t kind)
{
    uint64_t count = few(writer, 32);
    put_u64(writer, count);
    if (kind & PERF_SAMPLE_BRANCH_HW_INDEX)
        put_words(writer, 1);
    put_words(writer, 3 * count);
    if (kind & PERF_SAMPLE_BRANCH_COUNTERS)
        put_words(writer, count);
}

static void put_raw(struct writer *writer)
{
    uint32_t bytes = 4 + 8 * (uint32_t)few(writer, 40); /* with its size word a multiple of 8 */
    memcpy(writer->to + writer->at, &bytes, sizeof(bytes));
    writer->at += sizeof(bytes);
    for (uint32_t i = 0; i < bytes; i++)
        writer->to[writer->at++] = (uint8_t)test_random(&writer->random);
}

static void put_regs(struct writer *writer, uint64_t mask)
{
    uint64_t abi = few(writer, 2);
    put_u64(writer, abi);
    if (abi != PERF_SAMPLE_REGS_ABI_NONE)
        put_words(writer, (uint64_t)__builtin_popcountll(mask));
}

static void put_stack(struct writer *writer, uint64_t seed, uint64_t room, uint64_t used)
{
    put_u64(writer, room);
    for (uint64_t i = 0; i < room; i++)
        writer->to[writer->at++] = (uint8_t)(seed + 3 * i + (i >> 8));
    if (room > 0)
        put_u64(writer, used);
}

static void put_sized(struct writer *writer, uint64_t bytes)
{
    put_u64(writer, bytes);
    put_words(writer, bytes / 8);
}

size_t full_sample_put(uint8_t *to, const struct perf_event_attr *attr, uint64_t id, uint64_t seed, uint64_t stack_room,
                       uint64_t stack_used)
{
    static const uint64_t fixed[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR,
                                     PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD};
    static const uint64_t words[] = {PERF_SAMPLE_WEIGHT, PERF_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_DATA_SRC,
                                     PERF_SAMPLE_TRANSACTION};
    static const uint64_t last_words[] = {PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP, PERF_SAMPLE_DATA_PAGE_SIZE,
                                          PERF_SAMPLE_CODE_PAGE_SIZE};
    struct writer writer = {.to = to, .at = sizeof(struct perf_event_header), .random = seed};
    uint64_t type = attr->sample_type;
    put_u64(&writer, id);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fixed); i++)
        put_words(&writer, !!(type & fixed[i]));
    if (type & PERF_SAMPLE_READ)
        put_read(&writer, attr->read_format);
    if (type & PERF_SAMPLE_CALLCHAIN)
        put_chain(&writer);
    if (type & PERF_SAMPLE_RAW)
        put_raw(&writer);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        put_branches(&writer, attr->branch_sample_type);
    if (type & PERF_SAMPLE_REGS_USER)
        put_regs(&writer, attr->sample_regs_user);
    if (type & PERF_SAMPLE_STACK_USER)
        put_stack(&writer, seed, stack_room, stack_used);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++)
        put_words(&writer, !!(type & words[i]));
    if (type & PERF_SAMPLE_REGS_INTR)
        put_regs(&writer, attr->sample_regs_intr);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(last_words); i++)
        put_words(&writer, !!(type & last_words[i]));
    if (type & PERF_SAMPLE_AUX)
        put_sized(&writer, 8 * few(&writer, 20));
    struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = (uint16_t)writer.at};
    memcpy(to, &header, sizeof(header));
    return writer.at;
}
