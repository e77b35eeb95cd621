/*
 * --sweep of `weir bench drain`: options that take one value after another. Every combination of values is a point.
 * Main thread.
 */
#ifndef WEIR_CLI_BENCH_SWEEP_H
#define WEIR_CLI_BENCH_SWEEP_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/option.h"

#define WEIR_BENCH_AXES_MAX   6u
#define WEIR_BENCH_VALUES_MAX 32u
#define WEIR_BENCH_POINTS_MAX 1024u

struct weir_bench_axis {
    const struct weir_option *option; /* borrowed from the table */
    char *text;                       /* owned; the values, each ended by a zero */
    const char *values[WEIR_BENCH_VALUES_MAX];
    size_t count;
};

struct weir_bench_sweep {
    const struct weir_option_table *table; /* borrowed */
    struct weir_bench_axis axes[WEIR_BENCH_AXES_MAX];
    size_t axis_count;
    size_t point_count; /* at least 1: without axes the one point of the options as given */
};

/* Parses each "OPTION=VALUE,VALUE,..." of texts; the values themselves are checked by weir_bench_sweep_apply(). 0,
 * -EINVAL or -ENOMEM with err. Release *sweep with weir_bench_sweep_fini() in any case. Allocates. */
int weir_bench_sweep_parse(struct weir_bench_sweep *sweep, const struct weir_option_table *table,
                           const struct weir_text_list *texts, struct weir_error *err);
void weir_bench_sweep_fini(struct weir_bench_sweep *sweep);

/* Applies the values of a point to arguments, an object of the table; texts stay borrowed from sweep. The last axis
 * changes first. 0 or -errno with err. */
int weir_bench_sweep_apply(const struct weir_bench_sweep *sweep, size_t point, void *arguments, struct weir_error *err);

/* Appends "cpus=8 rate=1000"; "all" without axes. */
void weir_bench_sweep_describe(const struct weir_bench_sweep *sweep, size_t point, struct weir_buf *text);

#endif
