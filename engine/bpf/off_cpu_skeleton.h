/* The compiled off_cpu.bpf.c (weir_bpf_skeleton() of cmake/weir.cmake). Constant data. */
#ifndef WEIR_ENGINE_BPF_OFF_CPU_SKELETON_H
#define WEIR_ENGINE_BPF_OFF_CPU_SKELETON_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t weir_off_cpu_skeleton[];
extern const size_t weir_off_cpu_skeleton_bytes;

#endif
