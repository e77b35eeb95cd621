/* The hand-filled kernel. One thread, so the words of the control page need no order. */
#include "tests/engine/raw_kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* From the heap, so that a read behind the ring is seen by AddressSanitizer. */
static int raw_map(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page)
{
    struct raw_kernel *raw = ctx;
    weir_assert(fd >= 0 && fd < RAW_RINGS_MAX);
    if (raw->map_error)
        return raw->map_error;
    struct raw_ring *ring = &raw->rings[fd];
    ring->page = aligned_alloc(page_bytes(), page_bytes() + data_bytes);
    weir_assert(ring->page);
    memset(ring->page, 0, page_bytes() + data_bytes);
    ring->page->data_offset = raw->no_data_offset ? 0 : page_bytes();
    ring->page->data_head = ring->page->data_tail = ring->start;
    ring->data = (uint8_t *)ring->page + page_bytes();
    ring->bytes = data_bytes;
    *page = ring->page;
    return 0;
}

static void raw_unmap(void *ctx, struct perf_event_mmap_page *page, size_t data_bytes)
{
    struct raw_kernel *raw = ctx;
    for (unsigned i = 0; i < RAW_RINGS_MAX; i++) {
        if (raw->rings[i].page != page)
            continue;
        weir_assert(raw->rings[i].bytes == data_bytes);
        raw->rings[i].page = NULL;
        free(page);
        raw->unmaps++;
        return;
    }
    weir_assert(!"a page that was never mapped");
}

static int raw_aux_map(void *ctx, int fd, uint64_t offset, size_t bytes, bool writable, void **area)
{
    struct raw_kernel *raw = ctx;
    struct raw_ring *ring = &raw->rings[fd];
    if (raw->map_error)
        return raw->map_error;
    weir_assert(ring->page && ring->page->aux_offset == offset && ring->page->aux_size == bytes && !ring->area);
    weir_assert(offset == page_bytes() + ring->bytes);
    ring->area = aligned_alloc(page_bytes(), bytes);
    weir_assert(ring->area);
    memset(ring->area, 0, bytes);
    ring->area_bytes = bytes;
    ring->area_writable = writable;
    *area = ring->area;
    return 0;
}

static void raw_aux_unmap(void *ctx, void *area, size_t bytes)
{
    struct raw_kernel *raw = ctx;
    for (unsigned i = 0; i < RAW_RINGS_MAX; i++) {
        if (raw->rings[i].area != area)
            continue;
        weir_assert(raw->rings[i].area_bytes == bytes && raw->rings[i].page); /* before the ring */
        raw->rings[i].area = NULL;
        free(area);
        return;
    }
    weir_assert(!"an area that was never mapped");
}

/* The first descriptor is a reader's wake-up: a real one, looked at without waiting. */
static int raw_poll(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct raw_kernel *raw = ctx;
    weir_assert(count >= 1 && count <= RAW_RINGS_MAX + 1);
    raw->polls++;
    raw->polled_timeout_ms = timeout_ms;
    raw->polled_count = count;
    memcpy(raw->polled, fds, count * sizeof(*fds));

    int ready = poll(fds, 1, 0);
    for (nfds_t i = 1; i < count; i++) {
        fds[i].revents = fds[i].fd >= 0 ? raw->revents[i - 1] : 0;
        ready += fds[i].revents != 0;
    }
    return ready;
}

static const struct weir_kernel_ops raw_ops = {
    .ring_map = raw_map,
    .ring_unmap = raw_unmap,
    .aux_map = raw_aux_map,
    .aux_unmap = raw_aux_unmap,
    .poll = raw_poll,
};

void raw_kernel_init(struct raw_kernel *raw)
{
    memset(raw, 0, sizeof(*raw));
    raw->kernel = (struct weir_kernel){.ops = &raw_ops, .ctx = raw};
}

/* At a position that counts on, across the end. */
static void write_wrapped(uint8_t *to, uint64_t size, uint64_t position, const void *bytes, size_t count)
{
    uint64_t offset = position & (size - 1);
    uint64_t before_wrap = weir_min_u64(count, size - offset);
    memcpy(to + offset, bytes, before_wrap);
    memcpy(to, (const uint8_t *)bytes + before_wrap, count - before_wrap);
}

void raw_ring_write(struct raw_kernel *raw, unsigned n, const void *bytes, size_t count)
{
    const struct raw_ring *ring = &raw->rings[n];
    write_wrapped(ring->data, ring->bytes, ring->page->data_head, bytes, count);
}

void raw_ring_publish(struct raw_kernel *raw, unsigned n, size_t count)
{
    struct perf_event_mmap_page *page = raw->rings[n].page;
    weir_assert(page->data_head - page->data_tail + count <= raw->rings[n].bytes);
    page->data_head += count;
}

void raw_ring_put(struct raw_kernel *raw, unsigned n, const void *bytes, size_t count)
{
    raw_ring_write(raw, n, bytes, count);
    raw_ring_publish(raw, n, count);
}

void raw_aux_write(struct raw_kernel *raw, unsigned n, const void *bytes, size_t count)
{
    const struct raw_ring *ring = &raw->rings[n];
    write_wrapped(ring->area, ring->area_bytes, ring->page->aux_head, bytes, count);
}

void raw_aux_publish(struct raw_kernel *raw, unsigned n, size_t count)
{
    struct perf_event_mmap_page *page = raw->rings[n].page;
    weir_assert(page->aux_head - page->aux_tail + count <= raw->rings[n].area_bytes);
    page->aux_head += count;
}

void raw_aux_set_head(struct raw_kernel *raw, unsigned n, uint64_t head)
{
    raw->rings[n].page->aux_head = head;
}

uint64_t raw_aux_head(const struct raw_kernel *raw, unsigned n)
{
    return raw->rings[n].page->aux_head;
}

uint64_t raw_aux_tail(const struct raw_kernel *raw, unsigned n)
{
    return raw->rings[n].page->aux_tail;
}

uint64_t raw_ring_head(const struct raw_kernel *raw, unsigned n)
{
    return raw->rings[n].page->data_head;
}

uint64_t raw_ring_tail(const struct raw_kernel *raw, unsigned n)
{
    return raw->rings[n].page->data_tail;
}
