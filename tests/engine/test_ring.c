/*
 * Event rings: what is read across the end of the ring, what is given back, and who sees it. Then the Linux side, on
 * one software event of the test's own process.
 */
#include "engine/kernel/ring.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/engine/raw_kernel.h"

#define RING_BYTES 4096u

static struct weir_ring map_ring(struct raw_kernel *raw, uint64_t start)
{
    raw_kernel_init(raw);
    raw->rings[0].start = start;
    struct weir_ring ring = WEIR_RING_INIT;
    cr_assert_eq(weir_ring_map(&ring, &raw->kernel, 0, RING_BYTES), 0);
    return ring;
}

static void fill_pattern(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i * 5 + 1);
}

/* ---- mapping ---- */

Test(ring, refused_map_leaves_the_ring_unmapped)
{
    struct raw_kernel raw;
    raw_kernel_init(&raw);
    raw.map_error = -EPERM;
    struct weir_ring ring = WEIR_RING_INIT;
    cr_assert_eq(weir_ring_map(&ring, &raw.kernel, 0, RING_BYTES), -EPERM);
    cr_assert_null(ring.page);
    weir_ring_unmap(&ring);
    cr_assert_eq(raw.unmaps, 0);
}

Test(ring, unmap_is_idempotent_and_takes_null)
{
    struct raw_kernel raw;
    struct weir_ring ring = map_ring(&raw, 0);
    weir_ring_unmap(NULL);
    weir_ring_unmap(&ring);
    weir_ring_unmap(&ring);
    cr_assert_eq(raw.unmaps, 1);
    cr_assert_null(ring.page);
}

Test(ring, size_that_is_no_power_of_two_is_a_bug, .signal = SIGABRT)
{
    struct raw_kernel raw;
    raw_kernel_init(&raw);
    struct weir_ring ring = WEIR_RING_INIT;
    weir_ring_map(&ring, &raw.kernel, 0, RING_BYTES - 8);
}

Test(ring, tail_of_the_page_is_taken_over)
{
    struct raw_kernel raw;
    struct weir_ring ring = map_ring(&raw, 3 * RING_BYTES + 40);
    cr_assert_eq(ring.tail, 3 * RING_BYTES + 40);
    cr_assert_eq(weir_ring_head(&ring), 3 * RING_BYTES + 40);
    weir_ring_unmap(&ring);
}

Test(ring, data_follows_the_page_on_kernels_without_data_offset)
{
    struct raw_kernel raw;
    raw_kernel_init(&raw);
    raw.no_data_offset = true;
    struct weir_ring ring = WEIR_RING_INIT;
    cr_assert_eq(weir_ring_map(&ring, &raw.kernel, 0, RING_BYTES), 0);
    cr_assert_eq(ring.data, raw.rings[0].data);
    weir_ring_unmap(&ring);
}

/* ---- reading ---- */

Test(ring, copy_wraps_at_every_offset)
{
    uint8_t put[72], got[sizeof(put) + 1];
    fill_pattern(put, sizeof(put));
    for (uint64_t start = 0; start < RING_BYTES; start += 4) {
        struct raw_kernel raw;
        struct weir_ring ring = map_ring(&raw, start);
        raw_ring_put(&raw, 0, put, sizeof(put));
        cr_assert_eq(weir_ring_head(&ring), start + sizeof(put));
        got[sizeof(put)] = 0xee;
        weir_ring_copy(&ring, start, got, sizeof(put));
        cr_assert_eq(memcmp(got, put, sizeof(put)), 0, "start %u", (unsigned)start);
        cr_assert_eq(got[sizeof(put)], 0xee, "start %u", (unsigned)start);
        memset(got, 0xee, sizeof(got));
        weir_ring_copy_past_caches(&ring, start, got, sizeof(put));
        cr_assert_eq(memcmp(got, put, sizeof(put)), 0, "start %u", (unsigned)start);
        cr_assert_eq(got[sizeof(put)], 0xee, "start %u", (unsigned)start);
        weir_ring_unmap(&ring);
    }
}

Test(ring, bytes_lie_in_one_piece_up_to_the_wrap)
{
    struct raw_kernel raw;
    struct weir_ring ring = map_ring(&raw, 3 * RING_BYTES);
    cr_assert_eq(weir_ring_at(&ring, 3 * RING_BYTES, RING_BYTES), ring.data);
    cr_assert_eq(weir_ring_at(&ring, 3 * RING_BYTES + 8, RING_BYTES - 8), ring.data + 8);
    cr_assert_null(weir_ring_at(&ring, 3 * RING_BYTES + 8, RING_BYTES - 7));
    cr_assert_eq(weir_ring_at(&ring, 4 * RING_BYTES - 1, 1), ring.data + RING_BYTES - 1);
    cr_assert_null(weir_ring_at(&ring, 4 * RING_BYTES - 1, 2));
    weir_ring_unmap(&ring);
}

Test(ring, copy_takes_the_whole_ring)
{
    static uint8_t put[RING_BYTES], got[RING_BYTES];
    fill_pattern(put, sizeof(put));
    struct raw_kernel raw;
    struct weir_ring ring = map_ring(&raw, 1000 * 8);
    raw_ring_put(&raw, 0, put, sizeof(put));
    weir_ring_copy(&ring, ring.tail, got, sizeof(got));
    cr_assert_eq(memcmp(got, put, sizeof(put)), 0);
    weir_ring_unmap(&ring);
}

Test(ring, copy_of_nothing_touches_nothing)
{
    struct raw_kernel raw;
    struct weir_ring ring = map_ring(&raw, RING_BYTES - 8);
    uint8_t got = 0xee;
    weir_ring_copy(&ring, ring.tail, &got, 0);
    cr_assert_eq(got, 0xee);
    weir_ring_unmap(&ring);
}

Test(ring, ring_is_drained_only_once_all_was_given_back)
{
    struct raw_kernel raw;
    struct weir_ring ring = map_ring(&raw, 64);
    cr_assert(weir_ring_is_drained(&ring));
    raw_ring_put(&raw, 0, "01234567abcdefgh", 16);
    cr_assert_not(weir_ring_is_drained(&ring));
    weir_ring_release(&ring, 72);
    cr_assert_eq(raw_ring_tail(&raw, 0), 72);
    cr_assert_not(weir_ring_is_drained(&ring));
    weir_ring_release(&ring, 80);
    cr_assert_eq(ring.tail, 80);
    cr_assert_eq(raw_ring_tail(&raw, 0), 80);
    cr_assert(weir_ring_is_drained(&ring));
    weir_ring_unmap(&ring);
}

Test(ring, fill_is_what_was_written_and_not_given_back)
{
    struct raw_kernel raw;
    struct weir_ring ring = map_ring(&raw, RING_BYTES - 8);
    cr_assert_eq(weir_ring_fill(&ring), 0);
    raw_ring_put(&raw, 0, "01234567abcdefgh", 16);
    cr_assert_eq(weir_ring_fill(&ring), 16);
    weir_ring_release(&ring, RING_BYTES);
    cr_assert_eq(weir_ring_fill(&ring), 8);
    ring.newest = true;
    cr_assert_eq(weir_ring_fill(&ring), 0);
    weir_ring_unmap(&ring);
}

/* ---- Linux ---- */

static int open_dummy(uint64_t read_format)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .read_format = read_format,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int fd = weir_kernel_linux.ops->event_open(NULL, &attr, 0, -1, -1, 0);
    if (fd == -EACCES || fd == -EPERM || fd == -ENOSYS)
        cr_skip_test("perf_event_open(2) of a software event on the own process is not allowed here: %s",
                     strerror(-fd));
    return fd;
}

Test(ring_linux, refused_open_gives_the_errno)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = UINT32_MAX};
    int fd = open_dummy(0);
    weir_kernel_linux.ops->event_close(NULL, fd);
    cr_assert_eq(weir_kernel_linux.ops->event_open(NULL, &attr, 0, -1, -1, 0), -ENOENT);
    cr_assert_eq(weir_kernel_linux.ops->event_open(NULL, &attr, 0, -1, -1, ~0ul), -EINVAL);
}

Test(ring_linux, calls_on_a_closed_descriptor_give_ebadf)
{
    const struct weir_kernel_ops *ops = weir_kernel_linux.ops;
    uint64_t id;
    struct weir_event_count count;
    struct perf_event_mmap_page *page;
    cr_assert_eq(ops->event_id(NULL, -1, &id), -EBADF);
    cr_assert_eq(ops->event_enable(NULL, -1), -EBADF);
    cr_assert_eq(ops->event_disable(NULL, -1), -EBADF);
    cr_assert_eq(ops->event_set_output(NULL, -1, -1), -EBADF);
    cr_assert_eq(ops->event_set_filter(NULL, -1, "x"), -EBADF);
    cr_assert_eq(ops->event_set_program(NULL, -1, -1), -EBADF);
    cr_assert_eq(ops->event_programs(NULL, -1, &(unsigned){0}), -EBADF);
    cr_assert_eq(ops->event_read(NULL, -1, 0, 0, &count), -EBADF);
    cr_assert_eq(ops->ring_map(NULL, -1, 4096, &page), -EBADF);
}

Test(ring_linux, descriptor_is_close_on_exec)
{
    int fd = open_dummy(0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    weir_kernel_linux.ops->event_close(NULL, fd);
    cr_assert_eq(fcntl(fd, F_GETFD), -1);
}

Test(ring_linux, read_sorts_the_fields_of_every_read_format)
{
    const uint64_t bits[] = {PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_FORMAT_ID,
                             PERF_FORMAT_LOST};
    for (unsigned set = 0; set < 1u << WEIR_ARRAY_COUNT(bits); set++) {
        uint64_t read_format = 0, id;
        for (unsigned i = 0; i < WEIR_ARRAY_COUNT(bits); i++)
            read_format |= set & 1u << i ? bits[i] : 0;
        int fd = open_dummy(read_format);
        if (fd == -EINVAL && (read_format & PERF_FORMAT_LOST))
            cr_skip_test("PERF_FORMAT_LOST needs Linux 6.0");
        cr_assert_geq(fd, 0);
        cr_assert_eq(weir_kernel_linux.ops->event_id(NULL, fd, &id), 0);
        struct weir_event_count count;
        memset(&count, 0xff, sizeof(count));
        cr_assert_eq(weir_kernel_linux.ops->event_read(NULL, fd, read_format, 0, &count), 0);
        cr_assert_eq(count.value, 0);
        cr_assert_eq(count.id, read_format & PERF_FORMAT_ID ? id : 0, "read_format %#x", (unsigned)read_format);
        cr_assert_eq(count.time_enabled_ns != 0, (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0);
        cr_assert_eq(count.lost, 0);
        weir_kernel_linux.ops->event_close(NULL, fd);
    }
}

Test(ring_linux, read_with_a_longer_format_than_the_events_is_refused)
{
    int fd = open_dummy(PERF_FORMAT_ID);
    cr_assert_geq(fd, 0);
    struct weir_event_count count;
    cr_assert_eq(
        weir_kernel_linux.ops->event_read(NULL, fd, PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED, 0, &count), -EIO);
    weir_kernel_linux.ops->event_close(NULL, fd);
}

/* Every member of a group reads the whole of it; what comes back is its own. */
Test(ring_linux, read_of_a_group_gives_the_count_of_the_event_itself)
{
    const uint64_t configs[] = {PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_DUMMY};
    const uint64_t formats[] = {PERF_FORMAT_GROUP | PERF_FORMAT_ID, PERF_FORMAT_GROUP | PERF_FORMAT_ID |
                                                                        PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                                        PERF_FORMAT_TOTAL_TIME_RUNNING};
    for (size_t f = 0; f < WEIR_ARRAY_COUNT(formats); f++) {
        int fds[WEIR_ARRAY_COUNT(configs)];
        uint64_t ids[WEIR_ARRAY_COUNT(configs)];
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(configs); i++) {
            struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                           .size = sizeof(attr),
                                           .config = configs[i],
                                           .read_format = formats[f],
                                           .exclude_kernel = 1,
                                           .exclude_hv = 1};
            fds[i] = weir_kernel_linux.ops->event_open(NULL, &attr, 0, -1, i ? fds[0] : -1, 0);
            cr_assert_geq(fds[i], 0);
            cr_assert_eq(weir_kernel_linux.ops->event_id(NULL, fds[i], &ids[i]), 0);
        }
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(configs); i++) {
            struct weir_event_count count;
            cr_assert_eq(weir_kernel_linux.ops->event_read(NULL, fds[i], formats[f], ids[i], &count), 0);
            cr_expect_eq(count.id, ids[i]);
            cr_expect_eq(count.value != 0, i == 1, "event %zu counts %llu", i, (unsigned long long)count.value);
            cr_expect_eq(count.time_enabled_ns != 0, (formats[f] & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0);
        }
        struct weir_event_count count = {.value = 77};
        cr_expect_eq(weir_kernel_linux.ops->event_read(NULL, fds[0], formats[f], UINT64_MAX, &count), -EIO);
        cr_expect_eq(count.value, 77, "untouched when the event is not in the group");
        for (size_t i = WEIR_ARRAY_COUNT(configs); i-- > 0;)
            weir_kernel_linux.ops->event_close(NULL, fds[i]);
    }
}

Test(ring_linux, mapped_ring_starts_empty)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    int fd = open_dummy(PERF_FORMAT_ID);
    struct weir_ring ring = WEIR_RING_INIT;
    cr_assert_eq(weir_ring_map(&ring, &weir_kernel_linux, fd, bytes), 0);
    cr_assert_eq(ring.page->data_size, bytes);
    cr_assert_eq((const uint8_t *)ring.page + ring.page->data_offset, ring.data);
    cr_assert(weir_ring_is_drained(&ring));
    weir_ring_unmap(&ring);
    weir_kernel_linux.ops->event_close(NULL, fd);
}

/* ---- time ---- */

Test(ring, time_conversion_is_read_from_the_page_and_not_while_the_kernel_writes_it)
{
    struct raw_kernel raw;
    struct weir_ring ring;
    struct weir_time_conversion conversion;
    raw_kernel_init(&raw);
    cr_assert_eq(weir_ring_map(&ring, &raw.kernel, 0, 4096), 0);
    struct perf_event_mmap_page *page = raw.rings[0].page;
    weir_ring_time_conversion(&ring, &conversion);
    cr_assert_not(conversion.has_zero);
    page->time_shift = 1;
    page->time_mult = 2;
    page->time_zero = 3;
    page->time_cycles = 4;
    page->time_mask = 5;
    page->cap_user_time_zero = 1;
    weir_ring_time_conversion(&ring, &conversion);
    cr_assert(conversion.has_zero && !conversion.has_short);
    cr_assert(conversion.shift == 1 && conversion.multiplier == 2 && conversion.zero == 3);
    cr_assert(conversion.cycles == 4 && conversion.mask == 5);
    page->cap_user_time_short = 1;
    weir_ring_time_conversion(&ring, &conversion);
    cr_assert(conversion.has_short);
    page->lock = 1; /* and never lets go of it */
    weir_ring_time_conversion(&ring, &conversion);
    cr_assert(!conversion.has_zero && conversion.zero == 0);
    weir_ring_unmap(&ring);
}
