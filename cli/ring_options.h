/* What the commands that size and drain rings have in common. Main thread. */
#ifndef WEIR_CLI_RING_OPTIONS_H
#define WEIR_CLI_RING_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "cli/option.h"
#include "cli/value.h"
#include "engine/session/record.h"

/* How the arguments of each command begin that has the rows below: these write here. */
struct weir_ring_arguments {
    struct weir_record_options options;
    struct weir_ring_size_pair ring_sizes; /* -m, as typed */
};

#define WEIR_RING_ARGUMENTS_ASSERT(type)                                                               \
    _Static_assert(offsetof(type, options) == offsetof(struct weir_ring_arguments, options) &&         \
                       offsetof(type, ring_sizes) == offsetof(struct weir_ring_arguments, ring_sizes), \
                   "the rows of rings write elsewhere")

/* -m, --buffer-size, --shed and --threads. */
extern const struct weir_option_rows weir_ring_option_rows;

#define WEIR_THREADS_SPEC_ABSENT "cpu" /* --threads without SPEC, as in perf */

/* A ring's wake-up point is a u32 of bytes (perf_event_attr.wakeup_watermark), so no ring may be larger. */
#define WEIR_RING_BYTES_MAX (1ull << 32)

#define WEIR_BUFFER_BYTES_MIN (1ull << 20) /* one chunk */
#define WEIR_BUFFER_BYTES_MAX (1ull << 40)

#define WEIR_AUX_RING_BYTES_MAX (1ull << 44) /* perf counts its pages in 32 bits */

#define WEIR_SHED_DEFAULT WEIR_SHED_BATCHES

#define WEIR_RING_OPTIONS_SECTION "Buffers and threads"

/* Turns what -m asks for into bytes: options->memory.ring_bytes and options->aux.area_bytes, 0 for what it does not
 * name. A notice says when that is another number of pages than asked for. 0 or -EINVAL with err. */
int weir_ring_sizes_resolve(const struct weir_ring_size_pair *sizes, uint64_t page_bytes,
                            const struct weir_notice_sink *notices, struct weir_record_options *options,
                            struct weir_error *err);

#endif
