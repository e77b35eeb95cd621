#include "cli/bench_sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* Options that may be swept. Values of those in the second list have commas of their own. */
static const char *const swept[] = {"cpus", "nodes", "rate", "payload", "burst", "shed", "buffer-size", "mmap-pages"};
static const char *const swept_with_commas[] = {"mix", "threads"};

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static int refuse(const char *text, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "option '--sweep': '%s' is no sweep", text);
    weir_error_hint(err, "takes cpus, nodes, rate, payload, burst, shed, buffer-size or mmap-pages with values, as "
                         "cpus=1,8,64; mix or threads with values between semicolons, as 'threads=cpu;core'");
    return -EINVAL;
}

/* Cuts "OPTION=VALUES", which the axis owns. */
static int cut(struct weir_bench_axis *axis, const struct weir_option_table *table, const char *typed,
               struct weir_error *err)
{
    char *values = strchr(axis->text, '=');
    if (!values)
        return refuse(typed, err);
    *values++ = '\0';
    bool has_commas = is_among(swept_with_commas, WEIR_ARRAY_COUNT(swept_with_commas), axis->text), negated = false;
    if (!has_commas && !is_among(swept, WEIR_ARRAY_COUNT(swept), axis->text))
        return refuse(typed, err);
    axis->option = weir_option_find(table, axis->text, &negated);
    if (!axis->option)
        return refuse(typed, err);
    for (char *at = values; at;) {
        char *end = strchr(at, has_commas ? ';' : ',');
        if (end)
            *end++ = '\0';
        if (!*at || axis->count == WEIR_BENCH_VALUES_MAX)
            return refuse(typed, err);
        axis->values[axis->count++] = at;
        at = end;
    }
    return 0;
}

int weir_bench_sweep_parse(struct weir_bench_sweep *sweep, const struct weir_option_table *table,
                           const struct weir_text_list *texts, struct weir_error *err)
{
    *sweep = (struct weir_bench_sweep){.table = table, .point_count = 1};
    for (size_t i = 0; i < texts->count; i++) {
        if (sweep->axis_count == WEIR_BENCH_AXES_MAX)
            return weir_error_set(err, -EINVAL, "option '--sweep': more than %u options are swept",
                                  WEIR_BENCH_AXES_MAX);
        struct weir_bench_axis *axis = &sweep->axes[sweep->axis_count++];
        axis->text = strdup(texts->items[i]);
        if (!axis->text)
            return weir_error_set_errno(err, -ENOMEM, "cannot keep option '--sweep'");
        int result = cut(axis, table, texts->items[i], err);
        if (result < 0)
            return result;
        for (size_t earlier = 0; earlier + 1 < sweep->axis_count; earlier++) {
            if (sweep->axes[earlier].option == axis->option)
                return weir_error_set(err, -EINVAL, "option '--sweep': '%s' is swept twice", axis->text);
        }
        sweep->point_count *= axis->count;
        if (sweep->point_count > WEIR_BENCH_POINTS_MAX)
            return weir_error_set(err, -EINVAL, "option '--sweep': more than %u combinations of values",
                                  WEIR_BENCH_POINTS_MAX);
    }
    return 0;
}

void weir_bench_sweep_fini(struct weir_bench_sweep *sweep)
{
    for (size_t i = 0; i < sweep->axis_count; i++)
        free(sweep->axes[i].text);
    *sweep = (struct weir_bench_sweep){.point_count = 1};
}

/* The value of an axis at a point. */
static const char *value_at(const struct weir_bench_sweep *sweep, size_t axis, size_t point)
{
    for (size_t later = sweep->axis_count; later-- > axis + 1;)
        point /= sweep->axes[later].count;
    return sweep->axes[axis].values[point % sweep->axes[axis].count];
}

int weir_bench_sweep_apply(const struct weir_bench_sweep *sweep, size_t point, void *arguments, struct weir_error *err)
{
    for (size_t i = 0; i < sweep->axis_count; i++) {
        int result =
            weir_option_apply(sweep->table, arguments, sweep->axes[i].option, false, value_at(sweep, i, point), err);
        if (result < 0)
            return result;
    }
    return 0;
}

void weir_bench_sweep_describe(const struct weir_bench_sweep *sweep, size_t point, struct weir_buf *text)
{
    if (sweep->axis_count == 0)
        weir_buf_printf(text, "all");
    for (size_t i = 0; i < sweep->axis_count; i++)
        weir_buf_printf(text, "%s%s=%s", i ? " " : "", sweep->axes[i].text, value_at(sweep, i, point));
}
