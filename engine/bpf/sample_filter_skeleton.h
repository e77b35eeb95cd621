/* The compiled sample_filter.bpf.c. Constant data. */
#ifndef WEIR_ENGINE_BPF_SAMPLE_FILTER_SKELETON_H
#define WEIR_ENGINE_BPF_SAMPLE_FILTER_SKELETON_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t weir_sample_filter_skeleton[];
extern const size_t weir_sample_filter_skeleton_bytes;

#endif
