/* What the commands that size and drain rings have in common. Main thread. */
#ifndef WEIR_CLI_RING_OPTIONS_H
#define WEIR_CLI_RING_OPTIONS_H

#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "cli/value.h"
#include "engine/drain/shed.h"

#define WEIR_THREADS_SPEC_ABSENT "cpu" /* --threads without SPEC, as in perf */

/* A ring's wake-up point is a u32 of bytes (perf_event_attr.wakeup_watermark), so no ring may be larger. */
#define WEIR_RING_BYTES_MAX (1ull << 32)

#define WEIR_BUFFER_BYTES_MIN (1ull << 20) /* one chunk */
#define WEIR_BUFFER_BYTES_MAX (1ull << 40)

#define WEIR_AUX_RING_BYTES_MAX (1ull << 44) /* perf counts its pages in 32 bits */

/* What -m asks for in bytes, 0 when it was not given; a notice when that is another number of pages than asked for.
 * max_bytes: a power of two. 0 or -EINVAL with err. */
int weir_ring_size_resolve(const struct weir_ring_size *size, uint64_t max_bytes, uint64_t page_bytes,
                           const struct weir_notice_sink *notices, uint64_t *ring_bytes, struct weir_error *err);

/* Checks the SPEC of --threads and sets *spec; text NULL: without SPEC. 0 or -errno with err. */
int weir_threads_spec_apply(const char **spec, const char *text, struct weir_error *err);

#define WEIR_SHED_ARGUMENT "none|batches|stacks|cpus"
#define WEIR_SHED_DEFAULT  WEIR_SHED_BATCHES

/* The argument of --shed. 0 or -EINVAL with err. */
int weir_shed_apply(enum weir_shed *shed, const char *text, struct weir_error *err);

#endif
