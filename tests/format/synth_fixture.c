/* What the tests of synthesis share, see synth_fixture.h. */
#include "tests/format/synth_fixture.h"

#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sink_emit(void *ctx, const void *records, size_t bytes)
{
    struct synth_sink *sink = ctx;
    pthread_mutex_lock(&sink->lock);
    sink->calls++;
    if (bytes > sink->largest_bytes)
        sink->largest_bytes = bytes;
    bool fails = sink->fail_at && sink->calls >= sink->fail_at;
    if (!fails)
        weir_buf_append(&sink->records, records, bytes);
    pthread_mutex_unlock(&sink->lock);
    return fails ? sink->error : 0;
}

static void sink_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    struct synth_sink *sink = ctx;
    cr_expect_eq(level, WEIR_NOTICE_WARNING);
    sink->notices++;
    snprintf(sink->notice, sizeof(sink->notice), "%s", line);
    sink->notice_thread = pthread_self();
}

void synth_fixture_init(struct synth_fixture *fixture)
{
    *fixture = (struct synth_fixture){0};
    temp_tree_init(&fixture->tree);
    temp_tree_make_folder(&fixture->tree, "proc");
    temp_tree_path(&fixture->tree, "proc", fixture->proc_root);
    temp_tree_path(&fixture->tree, "modules", fixture->modules_root);
    pthread_mutex_init(&fixture->sink.lock, NULL);
    fixture->notice_sink = (struct weir_notice_sink){.emit = sink_notice, .ctx = &fixture->sink};
    fixture->options = (struct weir_synth_options){
        .proc_root = fixture->proc_root,
        .modules_root = fixture->modules_root,
        .sample_id_bytes = TRAILER_BYTES,
        .emit = sink_emit,
        .emit_ctx = &fixture->sink,
        .notices = &fixture->notice_sink,
    };
}

void synth_fixture_fini(struct synth_fixture *fixture)
{
    temp_tree_fini(&fixture->tree);
    weir_buf_fini(&fixture->sink.records);
    pthread_mutex_destroy(&fixture->sink.lock);
}

void synth_fixture_write(const struct synth_fixture *fixture, const char *path, const char *text)
{
    char below_root[PATH_MAX];
    format_text(below_root, sizeof(below_root), "proc/%s", path);
    temp_tree_write_text(&fixture->tree, below_root, text);
}

/* A line of Linux 6.18 with the task's values in it, and numbers elsewhere that would be noticed if they were taken. */
void synth_fixture_add(const struct synth_fixture *fixture, const struct fixture_task *task)
{
    char path[64], line[512];
    format_text(path, sizeof(path), "%d/stat", (int)task->pid);
    format_text(line, sizeof(line),
                "%d (%s) S %d 901 902 903 -1 4194560 905 906 907 908 909 910 911 912 20 -5 %u 0 913 %llu 914 915\n",
                (int)task->pid, task->comm, (int)task->ppid, task->threads ? task->threads : 1,
                (unsigned long long)task->vm_bytes);
    synth_fixture_write(fixture, path, line);
    format_text(path, sizeof(path), "%d/maps", (int)task->pid);
    if (task->maps)
        synth_fixture_write(fixture, path, task->maps);
}

void synth_fixture_add_thread(const struct synth_fixture *fixture, pid_t pid, pid_t tid, const char *comm)
{
    char path[64], line[128];
    format_text(path, sizeof(path), "%d/task/%d/comm", (int)pid, (int)tid);
    format_text(line, sizeof(line), "%s\n", comm);
    synth_fixture_write(fixture, path, line);
}

/* ---- records by hand: layouts as perf_event_open(2) prints them ---- */

static void put_header(struct weir_buf *out, uint32_t type, uint16_t misc, size_t bytes)
{
    weir_buf_append_u32(out, type);
    weir_buf_append_u16(out, misc);
    weir_buf_append_u16(out, (uint16_t)bytes);
}

static size_t text_room(const char *text)
{
    return (strlen(text) / 8 + 1) * 8;
}

static void put_text_and_trailer(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, text, strlen(text));
    weir_buf_append_zeros(out, text_room(text) - strlen(text) + TRAILER_BYTES);
}

void expect_fork(struct weir_buf *expected, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid)
{
    put_header(expected, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, 32 + TRAILER_BYTES);
    weir_buf_append_u32(expected, (uint32_t)pid);
    weir_buf_append_u32(expected, (uint32_t)ppid);
    weir_buf_append_u32(expected, (uint32_t)tid);
    weir_buf_append_u32(expected, (uint32_t)ptid);
    weir_buf_append_u64(expected, 0);
    weir_buf_append_zeros(expected, TRAILER_BYTES);
}

void expect_comm(struct weir_buf *expected, pid_t pid, pid_t tid, const char *comm)
{
    put_header(expected, PERF_RECORD_COMM, 0, 16 + text_room(comm) + TRAILER_BYTES);
    weir_buf_append_u32(expected, (uint32_t)pid);
    weir_buf_append_u32(expected, (uint32_t)tid);
    put_text_and_trailer(expected, comm);
}

void expect_mmap2(struct weir_buf *expected, const struct expected_map *map)
{
    put_header(expected, PERF_RECORD_MMAP2, map->misc, 72 + text_room(map->name) + TRAILER_BYTES);
    weir_buf_append_u32(expected, (uint32_t)map->pid);
    weir_buf_append_u32(expected, (uint32_t)map->pid);
    weir_buf_append_u64(expected, map->start);
    weir_buf_append_u64(expected, map->end - map->start);
    weir_buf_append_u64(expected, map->page_offset);
    weir_buf_append_u32(expected, map->major);
    weir_buf_append_u32(expected, map->minor);
    weir_buf_append_u64(expected, map->inode);
    weir_buf_append_u64(expected, 0);
    weir_buf_append_u32(expected, map->protection);
    weir_buf_append_u32(expected, map->flags);
    put_text_and_trailer(expected, map->name);
}

void expect_mmap(struct weir_buf *expected, uint64_t start, uint64_t bytes, uint64_t page_offset, const char *name)
{
    put_header(expected, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, 40 + text_room(name) + TRAILER_BYTES);
    weir_buf_append_u32(expected, UINT32_MAX);
    weir_buf_append_u32(expected, 0);
    weir_buf_append_u64(expected, start);
    weir_buf_append_u64(expected, bytes);
    weir_buf_append_u64(expected, page_offset);
    put_text_and_trailer(expected, name);
}

void expect_emitted(const struct synth_fixture *fixture, struct weir_buf *expected)
{
    const struct weir_buf *records = &fixture->sink.records;
    cr_assert_eq(weir_buf_error(records), 0);
    cr_assert_eq(weir_buf_error(expected), 0);
    cr_expect_eq(records->used, expected->used, "%zu bytes emitted, %zu expected", records->used, expected->used);
    size_t common = records->used < expected->used ? records->used : expected->used;
    size_t same = 0;
    while (same < common && records->data[same] == expected->data[same])
        same++;
    cr_expect_eq(same, common, "first difference at byte %zu", same);
    weir_buf_fini(expected);
}

/* ---- any order ---- */

static int compare_records(const void *a, const void *b)
{
    const struct perf_event_header *x = *(const void *const *)a, *y = *(const void *const *)b;
    size_t bytes = x->size < y->size ? x->size : y->size;
    int order = memcmp(x, y, bytes);
    return order ? order : (int)x->size - (int)y->size;
}

/* Rearranges the records of buf into one order that depends on their contents only. */
static void sort_records(struct weir_buf *buf)
{
    size_t count = 0, at = 0;
    const void **records = calloc(buf->used / sizeof(struct perf_event_header) + 1, sizeof(*records));
    cr_assert_not_null(records);
    while (at < buf->used) {
        const struct perf_event_header *header = (const void *)(buf->data + at);
        cr_assert_geq(header->size, sizeof(*header));
        records[count++] = header;
        at += header->size;
    }
    cr_assert_eq(at, buf->used, "the last record is not whole");
    qsort(records, count, sizeof(*records), compare_records);

    struct weir_buf sorted = WEIR_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        weir_buf_append(&sorted, records[i], ((const struct perf_event_header *)records[i])->size);
    free(records);
    weir_buf_fini(buf);
    *buf = sorted;
}

void expect_emitted_in_any_order(const struct synth_fixture *fixture, struct weir_buf *expected)
{
    struct synth_fixture sorted = *fixture;
    sorted.sink.records = (struct weir_buf)WEIR_BUF_INIT;
    weir_buf_append(&sorted.sink.records, fixture->sink.records.data, fixture->sink.records.used);
    sort_records(&sorted.sink.records);
    sort_records(expected);
    expect_emitted(&sorted, expected);
    weir_buf_fini(&sorted.sink.records);
}
