/* The CPUs of PERF_RECORD_CPU_MAP as text. One thread; allocates. */
#ifndef WEIR_FORMAT_CPU_MAP_TEXT_H
#define WEIR_FORMAT_CPU_MAP_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends the CPUs of a map as a list, "0-3,8"; -1 stands for any CPU. A map that cannot be read, or that is empty,
 * gives "?". map: from its u16 type on; bytes: at least two.
 */
void weir_cpu_map_append(const uint8_t *map, size_t bytes, struct weir_buf *out);

#endif
