/* Refusals and a log around the simulated kernel. One thread. */
#include "tests/engine/faulty_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

static int faulty_event_open(void *ctx, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                             unsigned long flags)
{
    struct faulty_kernel *faulty = ctx;
    struct faulty_open attempt = {
        .attr = attr, .pid = pid, .cpu = cpu, .group_fd = group_fd, .flags = flags, .number = faulty->opens++};
    int fd = faulty->refuse ? faulty->refuse(&attempt) : 0;
    if (fd == 0)
        fd = faulty->inner.ops->event_open(faulty->inner.ctx, attr, pid, cpu, group_fd, flags);
    faulty->open_now += fd >= 0;
    faulty->opens_failed += fd < 0;
    return fd;
}

static void faulty_event_close(void *ctx, int fd)
{
    struct faulty_kernel *faulty = ctx;
    faulty->inner.ops->event_close(faulty->inner.ctx, fd);
    faulty->open_now--;
}

static int faulty_event_id(void *ctx, int fd, uint64_t *id)
{
    struct faulty_kernel *faulty = ctx;
    if (++faulty->ids_read == faulty->fail_id_at)
        return -EIO;
    return faulty->inner.ops->event_id(faulty->inner.ctx, fd, id);
}

static int faulty_event_enable(void *ctx, int fd)
{
    struct faulty_kernel *faulty = ctx;
    faulty->enables++;
    return faulty->inner.ops->event_enable(faulty->inner.ctx, fd);
}

static int faulty_event_disable(void *ctx, int fd)
{
    struct faulty_kernel *faulty = ctx;
    faulty->disables++;
    return faulty->inner.ops->event_disable(faulty->inner.ctx, fd);
}

static int faulty_event_set_output(void *ctx, int fd, int ring_fd)
{
    struct faulty_kernel *faulty = ctx;
    weir_assert(faulty->redirect_count < FAULTY_LOG_MAX);
    faulty->redirects[faulty->redirect_count++] = (struct faulty_redirect){fd, ring_fd};
    if (faulty->redirect_count == faulty->fail_redirect_at)
        return -EINVAL;
    return faulty->inner.ops->event_set_output(faulty->inner.ctx, fd, ring_fd);
}

static int faulty_event_set_filter(void *ctx, int fd, const char *filter)
{
    struct faulty_kernel *faulty = ctx;
    weir_assert(faulty->filter_count < FAULTY_LOG_MAX);
    struct faulty_filter *entry = &faulty->filters[faulty->filter_count++];
    entry->fd = fd;
    snprintf(entry->text, sizeof(entry->text), "%s", filter);
    return faulty->filter_error;
}

static int faulty_event_read(void *ctx, int fd, uint64_t read_format, uint64_t id, struct weir_event_count *count)
{
    struct faulty_kernel *faulty = ctx;
    return faulty->inner.ops->event_read(faulty->inner.ctx, fd, read_format, id, count);
}

static int faulty_ring_map(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page)
{
    struct faulty_kernel *faulty = ctx;
    int result = faulty->inner.ops->ring_map(faulty->inner.ctx, fd, data_bytes, page);
    faulty->maps_now += result == 0;
    return result;
}

static int faulty_ring_map_newest(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page)
{
    struct faulty_kernel *faulty = ctx;
    int result = faulty->inner.ops->ring_map_newest(faulty->inner.ctx, fd, data_bytes, page);
    faulty->maps_now += result == 0;
    return result;
}

static int faulty_ring_pause(void *ctx, int fd, bool paused)
{
    struct faulty_kernel *faulty = ctx;
    return faulty->inner.ops->ring_pause(faulty->inner.ctx, fd, paused);
}

static void faulty_ring_unmap(void *ctx, struct perf_event_mmap_page *page, size_t data_bytes)
{
    struct faulty_kernel *faulty = ctx;
    faulty->inner.ops->ring_unmap(faulty->inner.ctx, page, data_bytes);
    faulty->maps_now--;
}

static int faulty_aux_map(void *ctx, int fd, uint64_t offset, size_t bytes, bool writable, void **area)
{
    struct faulty_kernel *faulty = ctx;
    int result = faulty->inner.ops->aux_map(faulty->inner.ctx, fd, offset, bytes, writable, area);
    faulty->maps_now += result == 0;
    return result;
}

static void faulty_aux_unmap(void *ctx, void *area, size_t bytes)
{
    struct faulty_kernel *faulty = ctx;
    faulty->inner.ops->aux_unmap(faulty->inner.ctx, area, bytes);
    faulty->maps_now--;
}

static int faulty_poll(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct faulty_kernel *faulty = ctx;
    return faulty->inner.ops->poll(faulty->inner.ctx, fds, count, timeout_ms);
}

static const struct weir_kernel_ops faulty_ops = {
    .event_open = faulty_event_open,
    .event_close = faulty_event_close,
    .event_id = faulty_event_id,
    .event_enable = faulty_event_enable,
    .event_disable = faulty_event_disable,
    .event_set_output = faulty_event_set_output,
    .event_set_filter = faulty_event_set_filter,
    .event_read = faulty_event_read,
    .ring_map = faulty_ring_map,
    .ring_map_newest = faulty_ring_map_newest,
    .ring_pause = faulty_ring_pause,
    .ring_unmap = faulty_ring_unmap,
    .aux_map = faulty_aux_map,
    .aux_unmap = faulty_aux_unmap,
    .poll = faulty_poll,
};

void faulty_kernel_init(struct faulty_kernel *faulty)
{
    memset(faulty, 0, sizeof(*faulty));
    weir_assert(weir_sim_kernel_new(&faulty->sim) == 0);
    faulty->inner = weir_sim_kernel_interface(faulty->sim);
    faulty->kernel = (struct weir_kernel){.ops = &faulty_ops, .ctx = faulty};
}

void faulty_kernel_fini(struct faulty_kernel *faulty)
{
    weir_sim_kernel_free(faulty->sim);
}
