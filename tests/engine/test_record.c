/* Records for tests: built and checked. Reentrant. */
#include "tests/engine/test_record.h"

#include <linux/perf_event.h>
#include <string.h>

static void put_u64(uint8_t *at, uint64_t v)
{
    memcpy(at, &v, sizeof(v));
}

static uint64_t get_u64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

void test_header_put(void *to, uint32_t type, uint16_t size)
{
    struct perf_event_header header = {.type = type, .misc = PERF_RECORD_MISC_USER, .size = size};
    memcpy(to, &header, sizeof(header));
}

static uint8_t payload_byte(uint64_t sequence, size_t at)
{
    return (uint8_t)(sequence * 7 + at * 3 + (at >> 8));
}

size_t test_sample_put(void *to, uint64_t id, uint64_t time_ns, uint64_t sequence, uint16_t bytes)
{
    uint8_t *record = to;
    test_header_put(record, PERF_RECORD_SAMPLE, bytes);
    put_u64(record + TEST_SAMPLE_ID_OFFSET, id);
    put_u64(record + TEST_SAMPLE_TIME_OFFSET, time_ns);
    put_u64(record + TEST_SAMPLE_MIN_BYTES - 8, sequence);
    for (size_t at = TEST_SAMPLE_MIN_BYTES; at < bytes; at++)
        record[at] = payload_byte(sequence, at);
    return bytes;
}

size_t test_lost_put(void *to, uint64_t id, uint64_t lost)
{
    uint8_t *record = to;
    test_header_put(record, PERF_RECORD_LOST, TEST_LOST_BYTES);
    put_u64(record + 8, id);
    put_u64(record + 16, lost);
    put_u64(record + 24, id);
    return TEST_LOST_BYTES;
}

size_t test_side_put(void *to, uint32_t type, uint64_t id)
{
    uint8_t *record = to;
    memset(record, 0, TEST_SIDE_BYTES);
    test_header_put(record, type, TEST_SIDE_BYTES);
    put_u64(record + TEST_SIDE_BYTES - 8, id);
    return TEST_SIDE_BYTES;
}

uint32_t test_record_type(const void *record)
{
    struct perf_event_header header;
    memcpy(&header, record, sizeof(header));
    return header.type;
}

uint16_t test_record_bytes(const void *record)
{
    struct perf_event_header header;
    memcpy(&header, record, sizeof(header));
    return header.size;
}

uint64_t test_sample_sequence(const void *record)
{
    return get_u64((const uint8_t *)record + TEST_SAMPLE_MIN_BYTES - 8);
}

bool test_sample_is_whole(const void *record)
{
    const uint8_t *bytes = record;
    size_t size = test_record_bytes(record);
    if (test_record_type(record) != PERF_RECORD_SAMPLE || size < TEST_SAMPLE_MIN_BYTES)
        return false;
    uint64_t sequence = test_sample_sequence(record);
    for (size_t at = TEST_SAMPLE_MIN_BYTES; at < size; at++) {
        if (bytes[at] != payload_byte(sequence, at))
            return false;
    }
    return true;
}
