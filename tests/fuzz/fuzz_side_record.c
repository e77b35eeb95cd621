/*
 * Side records (format/side_record.h) and the task map that they make (engine/tasks/task_map.h). Input: a byte that
 * chooses the trailer, then records.
 *
 * What is taken apart lies within its record; the maps of every task are ascending and apart; and what the map emits
 * makes the same map again.
 */
#include "engine/tasks/task_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/engine/mappings_of.h"
#include "tests/fuzz/fuzz.h"

#define TIDS 64 /* looked at one by one */

static void check_record(const struct weir_side_record *record, const uint8_t *data, int bytes)
{
    bool is_map = record->type == PERF_RECORD_MMAP || record->type == PERF_RECORD_MMAP2;
    const char *text = record->type == PERF_RECORD_COMM ? record->comm : is_map ? record->map.filename : NULL;
    if (text)
        weir_assert((const uint8_t *)text >= data && (const uint8_t *)text + strlen(text) < data + bytes);
    weir_assert(record->build_id.bytes <= WEIR_BUILD_ID_MAX_BYTES);
}

static void apply_all(const struct weir_side_layout *layout, struct weir_task_map *map, const uint8_t *data,
                      size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        struct weir_side_record record;
        int size = weir_side_record_parse(layout, data + at, bytes - at, &record);
        if (size <= 0)
            return;
        weir_assert((size_t)size <= bytes - at && size % 8 == 0);
        if (record.type != 0) {
            check_record(&record, data + at, size);
            if (record.type != PERF_RECORD_BPF_EVENT)
                weir_task_map_apply(map, &record);
        }
        at += (size_t)size;
    }
}

static void check_maps(const struct weir_task_map *map, pid_t pid)
{
    size_t count;
    const struct weir_task_mapping *maps = mappings_of(map, pid, &count);
    for (size_t i = 0; i < count; i++) {
        weir_assert(maps[i].start < maps[i].end && maps[i].file < map->files->count);
        weir_assert(i == 0 || maps[i - 1].end <= maps[i].start);
    }
}

static int take(void *ctx, const void *records, size_t bytes)
{
    weir_buf_append(ctx, records, bytes);
    return 0;
}

static int take_incomplete(void *ctx, pid_t pid)
{
    (void)ctx;
    (void)pid;
    return 0;
}

static void expect_same_maps(const struct weir_task_map *a, const struct weir_task_map *b, pid_t pid)
{
    size_t a_count, b_count;
    const struct weir_task_mapping *a_maps = mappings_of(a, pid, &a_count);
    const struct weir_task_mapping *b_maps = mappings_of(b, pid, &b_count);
    weir_assert(a_count == b_count);
    for (size_t i = 0; i < a_count; i++)
        weir_assert(a_maps[i].start == b_maps[i].start && a_maps[i].end == b_maps[i].end);
}

/* Emits map and applies that to another one. */
static void check_emitted(const struct weir_side_layout *layout, const struct weir_task_map *map)
{
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_task_map_sink sink = {
        .sample_id_bytes = layout->trailer_bytes, .emit = take, .incomplete = take_incomplete, .ctx = &records};
    struct weir_mapped_files files;
    struct weir_task_map copy;
    weir_mapped_files_init(&files);
    weir_task_map_init(&copy, &files);
    weir_assert(weir_task_map_emit(map, &sink) == 0);
    apply_all(layout, &copy, records.data, records.used);
    for (pid_t pid = 1; pid < TIDS; pid++) {
        const struct weir_task *task = weir_task_map_find(map, pid);
        if (task && !task->is_incomplete)
            expect_same_maps(map, &copy, pid);
    }
    weir_task_map_fini(&copy);
    weir_mapped_files_fini(&files);
    weir_buf_fini(&records);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    if (bytes == 0)
        return;
    struct perf_event_attr attr = {.sample_id_all = data[0] & 1, .sample_type = PERF_SAMPLE_TID};
    attr.sample_type |= data[0] & 2 ? PERF_SAMPLE_TIME : 0;
    attr.sample_type |= data[0] & 4 ? PERF_SAMPLE_IDENTIFIER : 0;
    struct weir_side_layout layout;
    weir_side_layout_init(&layout, &attr);

    struct weir_mapped_files files;
    struct weir_task_map map;
    weir_mapped_files_init(&files);
    weir_task_map_init(&map, &files);
    apply_all(&layout, &map, data + 1, bytes - 1);
    for (pid_t pid = 1; pid < TIDS; pid++)
        check_maps(&map, pid);
    if (!map.is_doubtful)
        check_emitted(&layout, &map);
    weir_task_map_fini(&map);
    weir_assert(map.map_bytes == 0);
    weir_mapped_files_fini(&files);
}

const struct fuzz_target fuzz_target = {.run = run};
