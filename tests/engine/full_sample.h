/*
 * Samples of any layout, written field by field as the kernel does (perf_output_sample(), Linux 6.18), for tests of
 * what takes them apart. It shares nothing with format/sample_layout.c. What is in a sample follows from its seed.
 */
#ifndef WEIR_TESTS_ENGINE_FULL_SAMPLE_H
#define WEIR_TESTS_ENGINE_FULL_SAMPLE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#define FULL_SAMPLE_BYTES_MAX 65536u

/* A sample_type with PERF_SAMPLE_IDENTIFIER and whatever else by chance, with what goes with its fields. */
void full_sample_choose(struct perf_event_attr *attr, uint64_t *state);

/*
 * Writes one at `to`, with room for FULL_SAMPLE_BYTES_MAX; returns its bytes. stack_room: of the user stack's dump, a
 * multiple of 8; stack_used: of these, how many are used; neither changes the other fields.
 */
size_t full_sample_put(uint8_t *to, const struct perf_event_attr *attr, uint64_t id, uint64_t seed, uint64_t stack_room,
                       uint64_t stack_used);

#endif
