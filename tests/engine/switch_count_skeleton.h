/* The compiled switch_count.bpf.c. Constant data. */
#ifndef WEIR_TESTS_ENGINE_SWITCH_COUNT_SKELETON_H
#define WEIR_TESTS_ENGINE_SWITCH_COUNT_SKELETON_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t weir_switch_count_skeleton[];
extern const size_t weir_switch_count_skeleton_bytes;

#endif
