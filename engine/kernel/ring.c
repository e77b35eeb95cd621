/*
 * Event rings, AUX areas, and the Linux side of engine/kernel/kernel.h. The coordinator maps; the ring's one reader
 * calls head, copy and release; any thread may ask whether a ring is drained.
 */
#include "engine/kernel/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/copy.h"

static void take_mapping(struct weir_ring *ring, const struct weir_kernel *kernel, struct perf_event_mmap_page *page,
                         uint64_t bytes)
{
    ring->page = page;
    /* data_offset is 0 on kernels before 4.1, where the data follows the first page. */
    uint64_t offset = page->data_offset ? page->data_offset : (uint64_t)sysconf(_SC_PAGESIZE);
    ring->data = (const uint8_t *)page + offset;
    ring->bytes = bytes;
    ring->tail = page->data_tail;
    ring->kernel = kernel;
    ring->newest = false;
}

int weir_ring_map(struct weir_ring *ring, const struct weir_kernel *kernel, int fd, uint64_t bytes)
{
    weir_assert(weir_is_power_of_two(bytes));
    struct perf_event_mmap_page *page;
    int result = kernel->ops->ring_map(kernel->ctx, fd, bytes, &page);
    if (result == 0)
        take_mapping(ring, kernel, page, bytes);
    return result;
}

int weir_ring_map_newest(struct weir_ring *ring, const struct weir_kernel *kernel, int fd, uint64_t bytes)
{
    weir_assert(weir_is_power_of_two(bytes));
    struct perf_event_mmap_page *page;
    int result = kernel->ops->ring_map_newest(kernel->ctx, fd, bytes, &page);
    if (result == 0) {
        take_mapping(ring, kernel, page, bytes);
        ring->newest = true;
    }
    return result;
}

void weir_ring_unmap(struct weir_ring *ring)
{
    if (!ring || !ring->page)
        return;
    ring->kernel->ops->ring_unmap(ring->kernel->ctx, ring->page, ring->bytes);
    *ring = (struct weir_ring)WEIR_RING_INIT;
}

uint64_t weir_ring_head(const struct weir_ring *ring)
{
    /* (C) pairs with the kernel's write barrier (B): records below head are whole before we read them. */
    return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

void weir_ring_release(struct weir_ring *ring, uint64_t tail)
{
    ring->tail = tail;
    /* (D) pairs with the kernel's read of data_tail (A): our reads of the records are done before it may reuse them. */
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static uint64_t bytes_before_wrap(const struct weir_ring *ring, uint64_t position)
{
    return ring->bytes - (position & (ring->bytes - 1));
}

const uint8_t *weir_ring_at(const struct weir_ring *ring, uint64_t position, uint64_t bytes)
{
    return bytes <= bytes_before_wrap(ring, position) ? ring->data + (position & (ring->bytes - 1)) : NULL;
}

void weir_ring_copy(const struct weir_ring *ring, uint64_t position, void *to, uint64_t bytes)
{
    uint64_t first = weir_min_u64(bytes, bytes_before_wrap(ring, position));
    weir_copy(to, weir_ring_at(ring, position, first), first);
    weir_copy((uint8_t *)to + first, ring->data, bytes - first);
}

void weir_ring_copy_past_caches(const struct weir_ring *ring, uint64_t position, void *to, uint64_t bytes)
{
    uint64_t first = weir_min_u64(bytes, bytes_before_wrap(ring, position));
    weir_copy_past_caches(to, weir_ring_at(ring, position, first), first);
    weir_copy_past_caches((uint8_t *)to + first, ring->data, bytes - first);
}

uint64_t weir_ring_fill(const struct weir_ring *ring)
{
    if (ring->newest)
        return 0;
    /* Tail first: a head read later can only be farther on, so equality means empty at the time of the second read. The
     * acquire of the tail is (ring-drained); that of the head orders both reads before the reads of the caller. */
    uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    return head - tail;
}

bool weir_ring_is_drained(const struct weir_ring *ring)
{
    return weir_ring_fill(ring) == 0;
}

/* ---- time ---- */

#define CONVERSION_TRIES 10000 /* as perf_read_tsc_conversion(), tools/perf/util/tsc.c */

/* Bits of capabilities, as perf_event.h has them as bit fields. */
#define CAP_USER_TIME_ZERO  (1u << 4)
#define CAP_USER_TIME_SHORT (1u << 5)

void weir_ring_time_conversion(const struct weir_ring *ring, struct weir_time_conversion *conversion)
{
    const struct perf_event_mmap_page *page = ring->page;
    for (unsigned i = 0; i < CONVERSION_TRIES; i++) {
        /* page->lock is a sequence lock, odd while the kernel writes (perf_event.h). All loads are acquires, so that
         * none moves behind the second read of the lock, nor before the first. */
        uint32_t before = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        uint64_t capabilities = __atomic_load_n(&page->capabilities, __ATOMIC_ACQUIRE);
        *conversion = (struct weir_time_conversion){
            .shift = __atomic_load_n(&page->time_shift, __ATOMIC_ACQUIRE),
            .multiplier = __atomic_load_n(&page->time_mult, __ATOMIC_ACQUIRE),
            .zero = __atomic_load_n(&page->time_zero, __ATOMIC_ACQUIRE),
            .cycles = __atomic_load_n(&page->time_cycles, __ATOMIC_ACQUIRE),
            .mask = __atomic_load_n(&page->time_mask, __ATOMIC_ACQUIRE),
            .has_zero = capabilities & CAP_USER_TIME_ZERO,
            .has_short = capabilities & CAP_USER_TIME_SHORT,
        };
        if (before % 2 == 0 && __atomic_load_n(&page->lock, __ATOMIC_RELAXED) == before)
            return;
    }
    *conversion = (struct weir_time_conversion){0};
}

/* ---- AUX areas ---- */

int weir_aux_area_map(struct weir_aux_area *area, const struct weir_ring *ring, int fd, uint64_t bytes, bool newest)
{
    weir_assert(weir_is_power_of_two(bytes) && !ring->newest);
    struct perf_event_mmap_page *page = ring->page;
    /* The offset in a mapping of the descriptor: behind the ring. The kernel reads offset and size from the page. */
    uint64_t offset = (uint64_t)(ring->data - (const uint8_t *)page) + ring->bytes;
    page->aux_offset = offset;
    page->aux_size = bytes;
    void *data;
    int result = ring->kernel->ops->aux_map(ring->kernel->ctx, fd, offset, bytes, !newest, &data);
    if (result < 0) {
        page->aux_offset = page->aux_size = 0;
        return result;
    }
    *area = (struct weir_aux_area){
        .page = page,
        .data = data,
        .bytes = bytes,
        .tail = page->aux_tail,
        .kernel = ring->kernel,
        .newest = newest,
    };
    return 0;
}

void weir_aux_area_unmap(struct weir_aux_area *area)
{
    if (!area || !area->page)
        return;
    area->kernel->ops->aux_unmap(area->kernel->ctx, (void *)(uintptr_t)area->data, area->bytes);
    *area = (struct weir_aux_area){0};
}

uint64_t weir_aux_area_head(const struct weir_aux_area *area)
{
    return __atomic_load_n(&area->page->aux_head, __ATOMIC_ACQUIRE); /* (C') */
}

void weir_aux_area_release(struct weir_aux_area *area, uint64_t tail)
{
    area->tail = tail;
    __atomic_store_n(&area->page->aux_tail, tail, __ATOMIC_RELEASE); /* (D') */
}

/* ---- Linux ---- */

static int linux_event_open(void *ctx, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                            unsigned long flags)
{
    (void)ctx;
    for (;;) {
        long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
        if (fd >= 0 && !(flags & PERF_FLAG_FD_CLOEXEC))
            fcntl((int)fd, F_SETFD, FD_CLOEXEC);
        if (fd >= 0)
            return (int)fd;
        if (errno != EINTR)
            return -errno;
    }
}

static void linux_event_close(void *ctx, int fd)
{
    (void)ctx;
    close(fd);
}

static int event_ioctl(int fd, unsigned long request, void *argument)
{
    return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

static int linux_event_id(void *ctx, int fd, uint64_t *id)
{
    (void)ctx;
    return event_ioctl(fd, PERF_EVENT_IOC_ID, id);
}

static int linux_event_enable(void *ctx, int fd)
{
    (void)ctx;
    return event_ioctl(fd, PERF_EVENT_IOC_ENABLE, NULL);
}

static int linux_event_disable(void *ctx, int fd)
{
    (void)ctx;
    return event_ioctl(fd, PERF_EVENT_IOC_DISABLE, NULL);
}

static int linux_event_set_output(void *ctx, int fd, int ring_fd)
{
    (void)ctx;
    return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0 ? -errno : 0;
}

static int linux_event_set_filter(void *ctx, int fd, const char *filter)
{
    (void)ctx;
    return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0 ? -errno : 0;
}

static int linux_event_set_program(void *ctx, int fd, int program_fd)
{
    (void)ctx;
    return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ? -errno : 0;
}

static int linux_event_programs(void *ctx, int fd, unsigned *count)
{
    (void)ctx;
    struct perf_event_query_bpf query = {.ids_len = 0}; /* without room for ids the kernel only counts */
    if (ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &query) < 0)
        return -errno;
    *count = query.prog_cnt;
    return 0;
}

/* The kernel refuses groups whose counts need more: perf_event_validate_size(), kernel/events/core.c, Linux 6.12. */
#define READ_BYTES_MAX (16 * 1024)

struct read_cursor {
    const uint64_t *next, *end;
};

/* Takes a field of "Reading results", perf_event_open(2), when its bit is set. False: the read was too short. */
static bool take_field(struct read_cursor *cursor, bool is_there, uint64_t *field)
{
    if (!is_there)
        return true;
    if (cursor->next == cursor->end)
        return false;
    *field = *cursor->next++;
    return true;
}

static bool take_times(struct read_cursor *cursor, uint64_t read_format, struct weir_event_count *count)
{
    return take_field(cursor, read_format & PERF_FORMAT_TOTAL_TIME_ENABLED, &count->time_enabled_ns) &&
           take_field(cursor, read_format & PERF_FORMAT_TOTAL_TIME_RUNNING, &count->time_running_ns);
}

static bool take_id_and_lost(struct read_cursor *cursor, uint64_t read_format, struct weir_event_count *count)
{
    return take_field(cursor, read_format & PERF_FORMAT_ID, &count->id) &&
           take_field(cursor, read_format & PERF_FORMAT_LOST, &count->lost);
}

/* Takes the counts of event `id` from those of its group: number, times, then value, id and losses of each. */
static bool take_from_group(struct read_cursor *cursor, uint64_t read_format, uint64_t id,
                            struct weir_event_count *count)
{
    uint64_t events = 0;
    struct weir_event_count times = {0};
    if (!take_field(cursor, true, &events) || !take_times(cursor, read_format, &times))
        return false;
    for (uint64_t i = 0; i < events; i++) {
        struct weir_event_count one = times;
        if (!take_field(cursor, true, &one.value) || !take_id_and_lost(cursor, read_format, &one))
            return false;
        if (one.id == id) {
            *count = one;
            return true;
        }
    }
    return false;
}

static int linux_event_read(void *ctx, int fd, uint64_t read_format, uint64_t id, struct weir_event_count *count)
{
    (void)ctx;
    uint64_t values[READ_BYTES_MAX / sizeof(uint64_t)];
    ssize_t got = read(fd, values, sizeof(values));
    if (got < 0)
        return -errno;

    struct read_cursor cursor = {values, values + (size_t)got / sizeof(values[0])};
    struct weir_event_count read_count = {0};
    bool is_whole;
    if (read_format & PERF_FORMAT_GROUP)
        is_whole = take_from_group(&cursor, read_format, id, &read_count);
    else
        is_whole = take_field(&cursor, true, &read_count.value) && take_times(&cursor, read_format, &read_count) &&
                   take_id_and_lost(&cursor, read_format, &read_count);
    if (!is_whole)
        return -EIO;
    *count = read_count;
    return 0;
}

static int map_pages(int fd, size_t data_bytes, int protection, struct perf_event_mmap_page **page)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *base = mmap(NULL, page_bytes + data_bytes, protection, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    *page = base;
    return 0;
}

static int linux_ring_map(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page)
{
    (void)ctx;
    return map_pages(fd, data_bytes, PROT_READ | PROT_WRITE, page);
}

static int linux_ring_map_newest(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page)
{
    (void)ctx;
    return map_pages(fd, data_bytes, PROT_READ, page);
}

static int linux_ring_pause(void *ctx, int fd, bool paused)
{
    (void)ctx;
    return ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, (unsigned long)paused) < 0 ? -errno : 0;
}

static void linux_ring_unmap(void *ctx, struct perf_event_mmap_page *page, size_t data_bytes)
{
    (void)ctx;
    munmap(page, (size_t)sysconf(_SC_PAGESIZE) + data_bytes);
}

static int linux_aux_map(void *ctx, int fd, uint64_t offset, size_t bytes, bool writable, void **area)
{
    (void)ctx;
    void *base = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, (off_t)offset);
    if (base == MAP_FAILED)
        return -errno;
    *area = base;
    return 0;
}

static void linux_aux_unmap(void *ctx, void *area, size_t bytes)
{
    (void)ctx;
    munmap(area, bytes);
}

static int linux_poll(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)ctx;
    int ready = poll(fds, count, timeout_ms);
    return ready < 0 ? -errno : ready;
}

static const struct weir_kernel_ops linux_ops = {
    .event_open = linux_event_open,
    .event_close = linux_event_close,
    .event_id = linux_event_id,
    .event_enable = linux_event_enable,
    .event_disable = linux_event_disable,
    .event_set_output = linux_event_set_output,
    .event_set_filter = linux_event_set_filter,
    .event_set_program = linux_event_set_program,
    .event_programs = linux_event_programs,
    .event_read = linux_event_read,
    .ring_map = linux_ring_map,
    .ring_map_newest = linux_ring_map_newest,
    .ring_pause = linux_ring_pause,
    .ring_unmap = linux_ring_unmap,
    .aux_map = linux_aux_map,
    .aux_unmap = linux_aux_unmap,
    .poll = linux_poll,
};

const struct weir_kernel weir_kernel_linux = {.ops = &linux_ops};
