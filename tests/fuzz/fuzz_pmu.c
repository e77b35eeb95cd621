/*
 * What sysfs says of a PMU (engine/events/pmu.h) and what becomes of an event that is made of it. Input: the files in
 * the order of the table below, parted by FUZZ_SEPARATOR.
 *
 * A bit field has bits, and takes its greatest value whole; an alias is one line, its scale above 0. An event of the
 * alias is taken or refused with an error of one line; a field that is there sets its own bits and no others.
 */
#include "engine/events/pmu.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/events/event_parse.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define DEVICES "bus/event_source/devices/"

static const char *const files[] = {
    DEVICES "box/format/field",      DEVICES "box/events/alias", DEVICES "box/events/alias.scale",
    DEVICES "box/events/alias.unit", DEVICES "box/cpumask",
};
#define FILE_COUNT WEIR_ARRAY_COUNT(files)

static void *init(void)
{
    struct fuzz_tree *tree = fuzz_tree_new(files, FILE_COUNT);
    int fd = fuzz_tree_create(tree, DEVICES "box/type");
    fuzz_file_write(fd, (struct fuzz_part){.data = (const uint8_t *)"9\n", .bytes = 2});
    close(fd);
    return tree;
}

static void check_description(const struct weir_pmu *pmu)
{
    weir_assert(pmu->format_count <= 1 && pmu->alias_count <= 1);
    const struct weir_pmu_format *format = weir_pmu_find_format(pmu, "field", strlen("field"));
    weir_assert((format != NULL) == (pmu->format_count == 1));
    if (format) {
        weir_assert(format->mask != 0 && format->word < WEIR_PMU_CONFIG_WORDS);
        weir_assert(weir_pmu_format_place(format, weir_pmu_format_max(format)) == format->mask);
        weir_assert(weir_pmu_format_place(format, 0) == 0);
    }
    const struct weir_pmu_alias *alias = weir_pmu_find_alias(pmu, "alias", strlen("alias"));
    weir_assert((alias != NULL) == (pmu->alias_count == 1));
    if (alias) {
        fuzz_check_line(alias->terms);
        weir_assert(alias->scale > 0 && isfinite(alias->scale));
    }
    if (alias && alias->unit)
        fuzz_check_line(alias->unit);
}

static void check_event(const char *text, const struct fuzz_tree *tree, const struct weir_pmu_format *format)
{
    const struct weir_event_sources sources = {.tracefs_root = tree->root, .sysfs_root = tree->root};
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    int result = weir_event_list_parse(&list, text, &sources, &err);
    if (result < 0) {
        weir_assert((result == -EINVAL || result == -ENOENT) && list.count == 0);
        fuzz_check_error(&err, result);
    } else {
        weir_assert(list.count == 1 && list.events[0].attr.type == 9 && list.events[0].scale > 0);
    }
    if (format && format->word < 3) {
        weir_assert(result == 0);
        const struct perf_event_attr *attr = &list.events[0].attr;
        const uint64_t words[] = {attr->config, attr->config1, attr->config2};
        for (unsigned i = 0; i < WEIR_ARRAY_COUNT(words); i++)
            weir_assert(words[i] == (i == format->word ? weir_pmu_format_place(format, 1) : 0));
    }
    weir_event_list_fini(&list);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fuzz_tree *tree = object;
    struct fuzz_part parts[FILE_COUNT];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, FILE_COUNT);
    for (size_t i = 0; i < FILE_COUNT; i++)
        fuzz_file_write(tree->fds[i], parts[i]);

    struct weir_pmu_list pmus;
    weir_assert(weir_pmu_list_read(&pmus, tree->root) == 0 && pmus.count == 1);
    weir_assert(weir_pmu_describe(&pmus, &pmus.pmus[0]) == 0);
    check_description(&pmus.pmus[0]);
    check_event("box/alias/", tree, NULL);
    check_event("alias/field=1/u", tree, NULL);
    check_event("box/field/", tree, weir_pmu_find_format(&pmus.pmus[0], "field", strlen("field")));
    weir_pmu_list_fini(&pmus);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fuzz_tree_free};
