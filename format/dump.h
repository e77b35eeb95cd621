/* `weir dump`: writes the records of a recording as text or JSON to a sink, piece by piece. One thread. */
#ifndef WEIR_FORMAT_DUMP_H
#define WEIR_FORMAT_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "format/dump_filter.h"
#include "format/perf_input.h"

struct weir_dump_options {
    const char *path;                       /* borrowed; "-": standard input */
    const struct weir_dump_filter *filter;  /* borrowed */
    uint64_t limit;                         /* records at most; 0: all */
    bool json;                              /* one object per line */
    const struct weir_notice_sink *notices; /* borrowed; may be NULL */
    const struct weir_input_gate *gate;     /* borrowed; may be NULL */
    /* Takes text in order; borrowed until return. 0, or -errno with err, which ends the dump. */
    int (*write)(void *ctx, const char *text, size_t bytes, struct weir_error *err);
    void *ctx; /* borrowed */
};

/* Dumps a recording. Of a damaged recording, writes the readable records before it fails. 0, or -errno with err: of
 * weir_perf_input_open(), weir_perf_input_next() or the sink. *records: the number written. */
int weir_dump_run(const struct weir_dump_options *options, uint64_t *records, struct weir_error *err);

#endif
