/* ID_INDEX, THREAD_MAP and CPU_MAP: every byte by hand from perf's event.h, and lists that no single record holds. */
#include "format/index_records.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct perf_event_header header_at(const struct weir_buf *out, size_t at)
{
    struct perf_event_header header;
    cr_assert_leq(at + sizeof(header), out->used);
    memcpy(&header, out->data + at, sizeof(header));
    return header;
}

/* The counts of the records in out, one after another, all of this type. */
static size_t read_counts(const struct weir_buf *out, uint32_t type, uint64_t *counts, size_t room)
{
    size_t used = 0;
    for (size_t at = 0; at < out->used; used++) {
        struct perf_event_header header = header_at(out, at);
        cr_assert_eq(header.type, type);
        cr_assert_eq(header.size % 8, 0);
        cr_assert_lt(used, room);
        memcpy(&counts[used], out->data + at + 8, sizeof(counts[used]));
        at += header.size;
    }
    return used;
}

Test(index_records, nothing_makes_no_record)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_record_id_index(&out, NULL, 0);
    weir_record_thread_map(&out, NULL, 0);
    cr_assert_eq(out.used, 0);
}

/* More than 8173 ids, more than 2730 tasks: several records, each whole. */
Test(index_records, long_lists_are_split)
{
    struct weir_buf out = WEIR_BUF_INIT;
    uint64_t counts[4];
    struct weir_id_index_entry *entries = calloc(2 * WEIR_ID_INDEX_MAX + 1, sizeof(*entries));
    cr_assert_not_null(entries);
    entries[WEIR_ID_INDEX_MAX].id = 77;
    weir_record_id_index(&out, entries, 2 * WEIR_ID_INDEX_MAX + 1);
    cr_assert_eq(read_counts(&out, WEIR_RECORD_ID_INDEX, counts, 4), 3);
    cr_assert(counts[0] == WEIR_ID_INDEX_MAX && counts[1] == WEIR_ID_INDEX_MAX && counts[2] == 1);
    cr_assert_eq(out.data[header_at(&out, 0).size + 16], 77, "the second record goes on where the first one ends");
    free(entries);
    weir_buf_reset(&out);

    pid_t *tids = calloc(WEIR_THREAD_MAP_MAX + 1, sizeof(*tids));
    cr_assert_not_null(tids);
    tids[WEIR_THREAD_MAP_MAX] = 99;
    weir_record_thread_map(&out, tids, WEIR_THREAD_MAP_MAX);
    cr_assert_eq(read_counts(&out, WEIR_RECORD_THREAD_MAP, counts, 4), 1);
    weir_buf_reset(&out);
    weir_record_thread_map(&out, tids, WEIR_THREAD_MAP_MAX + 1);
    cr_assert_eq(read_counts(&out, WEIR_RECORD_THREAD_MAP, counts, 4), 2);
    cr_assert_eq(counts[1], 1);
    cr_assert_eq(out.data[out.used - 24], 99);
    free(tids);
    weir_buf_fini(&out);
}

Test(index_records, cpus_beyond_one_record_are_left_out)
{
    struct weir_buf out = WEIR_BUF_INIT;
    int *cpus = calloc(WEIR_CPU_MAP_MAX + 1, sizeof(*cpus));
    cr_assert_not_null(cpus);
    weir_record_cpu_map(&out, cpus, WEIR_CPU_MAP_MAX + 1);
    cr_assert_eq(header_at(&out, 0).size, out.used);
    cr_assert_eq(out.used, WEIR_RECORD_MAX_BYTES);
    free(cpus);
    weir_buf_fini(&out);
}

Test(index_records, bytes_are_those_of_perf)
{
    struct weir_buf out = WEIR_BUF_INIT;
    const struct weir_id_index_entry entry = {.id = 0xa762, .index = 1, .cpu = 3, .tid = UINT64_MAX};
    const pid_t any = -1;
    const int cpus[] = {0, 1, 258};
    weir_record_id_index(&out, &entry, 1);
    weir_record_thread_map(&out, &any, 1);
    weir_record_cpu_map(&out, cpus, 3);
    weir_record_cpus_changed(&out, 0xa762, cpus, 3);
    weir_record_event_unit(&out, 0xa762, "Joules");
    weir_record_event_scale(&out, 0xa762, 0.5);
    static const uint8_t expected[] = {
        69,   0,    0,    0,    0,    0,    48,   0,    /* ID_INDEX, size */
        1,    0,    0,    0,    0,    0,    0,    0,    /* count */
        0x62, 0xa7, 0,    0,    0,    0,    0,    0,    /* id */
        1,    0,    0,    0,    0,    0,    0,    0,    /* index */
        3,    0,    0,    0,    0,    0,    0,    0,    /* CPU */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* task */
        73,   0,    0,    0,    0,    0,    40,   0,    /* THREAD_MAP, size */
        1,    0,    0,    0,    0,    0,    0,    0,    /* count */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* any task */
        0,    0,    0,    0,    0,    0,    0,    0,    /* without a name */
        0,    0,    0,    0,    0,    0,    0,    0,    /* ... */
        74,   0,    0,    0,    0,    0,    24,   0,    /* CPU_MAP, size */
        0,    0,    3,    0,    0,    0,    1,    0,    /* list, count, CPUs */
        2,    1,    0,    0,    0,    0,    0,    0,    /* CPU 258, padding */
        78,   0,    0,    0,    0,    0,    40,   0,    /* EVENT_UPDATE, size */
        3,    0,    0,    0,    0,    0,    0,    0,    /* of CPUs */
        0x62, 0xa7, 0,    0,    0,    0,    0,    0,    /* id */
        0,    0,    3,    0,    0,    0,    1,    0,    /* list, count, CPUs */
        2,    1,    0,    0,    0,    0,    0,    0,    /* CPU 258, padding */
        78,   0,    0,    0,    0,    0,    32,   0,    /* EVENT_UPDATE, size */
        0,    0,    0,    0,    0,    0,    0,    0,    /* a unit */
        0x62, 0xa7, 0,    0,    0,    0,    0,    0,    /* id */
        'J',  'o',  'u',  'l',  'e',  's',  0,    0,    /* its name, a zero, padding */
        78,   0,    0,    0,    0,    0,    32,   0,    /* EVENT_UPDATE, size */
        1,    0,    0,    0,    0,    0,    0,    0,    /* a scale */
        0x62, 0xa7, 0,    0,    0,    0,    0,    0,    /* id */
        0,    0,    0,    0,    0,    0,    0xe0, 0x3f, /* 0.5 */
    };
    cr_assert_eq(out.used, sizeof(expected));
    cr_assert_arr_eq(out.data, expected, sizeof(expected));
    weir_buf_fini(&out);
}
