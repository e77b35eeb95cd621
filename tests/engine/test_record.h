/*
 * Records as the kernel writes them, small enough to check: a sample is header, id, time, a sequence number and a
 * payload that follows from the sequence number, so that a torn, doubled or shifted record shows.
 */
#ifndef WEIR_TESTS_ENGINE_TEST_RECORD_H
#define WEIR_TESTS_ENGINE_TEST_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEST_SAMPLE_ID_OFFSET   8
#define TEST_SAMPLE_TIME_OFFSET 16
#define TEST_SAMPLE_MIN_BYTES   32 /* header, id, time, sequence number */
#define TEST_SIDE_BYTES         32 /* header, two words, the id in the trailer */
#define TEST_LOST_BYTES         32 /* header, id, lost, the id in the trailer */

/* Fill `bytes` or a fixed number of bytes at `to` with one record; return its size. */
size_t test_sample_put(void *to, uint64_t id, uint64_t time_ns, uint64_t sequence, uint16_t bytes);
size_t test_lost_put(void *to, uint64_t id, uint64_t lost);
size_t test_side_put(void *to, uint32_t type, uint64_t id);

/* Only a header; what is behind it is left as it is. */
void test_header_put(void *to, uint32_t type, uint16_t size);

uint32_t test_record_type(const void *record);
uint16_t test_record_bytes(const void *record);
uint64_t test_sample_sequence(const void *record);

/* True when every byte of the sample is as test_sample_put() made it. */
bool test_sample_is_whole(const void *record);

#endif
