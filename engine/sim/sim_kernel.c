/*
 * The simulated kernel. This file plays the other side of the protocol in ring.h and is, with ring.c, the only one that
 * touches data_head and data_tail. Threads: see sim_kernel.h.
 */
#include "engine/sim/sim_kernel.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"

#define PAGE_FDS         1024
#define PAGES            256 /* more descriptors than a process has */
#define CPUS_OFFLINE_MAX 64  /* CPUs from here on stay online */

struct sim_ring {
    struct perf_event_mmap_page *page; /* owned by the caller that mapped it; ring_unmap unmaps it */
    uint8_t *data;
    uint64_t bytes;
    uint64_t head;      /* producer only; published in page->data_head */
    uint64_t wakeup;    /* producer only: head at the last wake-up */
    uint64_t watermark; /* 0: wake for every record */
    uint64_t lost;      /* producer only: since the last LOST record */
    bool newest;        /* an overwritten ring: head counts down */
    _Atomic bool paused;
    int wake_fd; /* borrowed: eventfd of the event that mapped the ring */
};

struct sim_event {
    int fd; /* owned eventfd, the event's descriptor; -1 after close */
    struct weir_sim_origin origin;
    pid_t pid;
    const struct sim_event *leader; /* borrowed; NULL: the event leads itself */
    struct sim_ring *ring;          /* borrowed; NULL before map or set_output */
    _Atomic bool enabled;
    bool dead; /* its CPU went off line */
    _Atomic uint64_t produced;
    _Atomic uint64_t lost;
};

/* The events of PAGE_FDS descriptors in a row. */
struct sim_event_page {
    struct sim_event *_Atomic by_fd[PAGE_FDS]; /* owned */
};

struct weir_sim_kernel {
    pthread_mutex_t lock; /* held while an event is opened */
    /* Owned; by descriptor. A page stays once it is there. So producers and readers can look up events while another
     * thread opens events: the acquire of a pointer pairs with the release that publishes it. */
    struct sim_event_page *_Atomic pages[PAGES];
    struct sim_ring **rings; /* owned */
    size_t ring_count;
    uint64_t next_id;
    uint64_t offline; /* bits of CPUs 0 to 63 */
};

int weir_sim_kernel_new(struct weir_sim_kernel **out)
{
    struct weir_sim_kernel *sim = calloc(1, sizeof(*sim));
    if (!sim)
        return -ENOMEM;
    pthread_mutex_init(&sim->lock, NULL);
    sim->next_id = 1;
    *out = sim;
    return 0;
}

static void close_event(struct sim_event *event)
{
    if (event->fd >= 0)
        close(event->fd);
    free(event);
}

static void free_page(struct sim_event_page *page)
{
    for (size_t i = 0; page && i < PAGE_FDS; i++) {
        struct sim_event *event = atomic_load_explicit(&page->by_fd[i], memory_order_relaxed);
        if (event)
            close_event(event);
    }
    free(page);
}

static size_t mapping_bytes(uint64_t data_bytes)
{
    return (size_t)sysconf(_SC_PAGESIZE) + data_bytes;
}

void weir_sim_kernel_free(struct weir_sim_kernel *sim)
{
    if (!sim)
        return;
    for (size_t i = 0; i < PAGES; i++)
        free_page(atomic_load_explicit(&sim->pages[i], memory_order_relaxed)); /* no other thread looks any more */
    for (size_t i = 0; i < sim->ring_count; i++) {
        if (sim->rings[i]->page)
            munmap(sim->rings[i]->page, mapping_bytes(sim->rings[i]->bytes));
        free(sim->rings[i]);
    }
    free(sim->rings);
    pthread_mutex_destroy(&sim->lock);
    free(sim);
}

static bool has_events(const struct sim_event_page *page)
{
    bool has = false;
    for (size_t i = 0; page && i < PAGE_FDS; i++)
        has |= atomic_load_explicit(&page->by_fd[i], memory_order_relaxed) != NULL; /* opened by this thread */
    return has;
}

bool weir_sim_kernel_is_released(const struct weir_sim_kernel *sim)
{
    bool holds = false;
    for (size_t i = 0; i < PAGES; i++)
        holds |= has_events(atomic_load_explicit(&sim->pages[i], memory_order_relaxed));
    for (size_t i = 0; i < sim->ring_count; i++)
        holds |= sim->rings[i]->page != NULL;
    return !holds;
}

static struct sim_event *event_of(const struct weir_sim_kernel *sim, int fd)
{
    struct sim_event_page *page = NULL;
    if (fd >= 0 && fd < PAGES * PAGE_FDS)
        page = atomic_load_explicit(&sim->pages[fd / PAGE_FDS], memory_order_acquire);
    return page ? atomic_load_explicit(&page->by_fd[fd % PAGE_FDS], memory_order_acquire) : NULL;
}

/* ---- the interface ---- */

static int register_event(struct weir_sim_kernel *sim, struct sim_event *event)
{
    if (event->fd >= PAGES * PAGE_FDS)
        return -EMFILE;
    /* Relaxed: written under the lock. */
    struct sim_event_page *page = atomic_load_explicit(&sim->pages[event->fd / PAGE_FDS], memory_order_relaxed);
    if (!page) {
        page = calloc(1, sizeof(*page));
        if (!page)
            return -ENOMEM;
        atomic_store_explicit(&sim->pages[event->fd / PAGE_FDS], page, memory_order_release);
    }
    event->origin.id = sim->next_id++;
    atomic_store_explicit(&page->by_fd[event->fd % PAGE_FDS], event, memory_order_release);
    return 0;
}

/* Checks places and groups as perf_event_open() does (kernel/events/core.c, Linux 6.12). */
static int refuse_open(const struct sim_event *leader, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
    if (pid == -1 && cpu == -1)
        return -EINVAL;
    if ((flags & PERF_FLAG_PID_CGROUP) && (pid == -1 || cpu == -1))
        return -EINVAL;
    if (group_fd == -1)
        return 0;
    if (!leader)
        return -EBADF;
    return leader->leader || leader->origin.cpu != cpu || leader->pid != pid ? -EINVAL : 0;
}

static int sim_event_open(void *ctx, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                          unsigned long flags)
{
    struct weir_sim_kernel *sim = ctx;
    const struct sim_event *leader = event_of(sim, group_fd);
    int refusal = refuse_open(leader, pid, cpu, group_fd, flags);
    if (refusal == 0 && cpu >= 0 && cpu < CPUS_OFFLINE_MAX && pid == -1 && (sim->offline >> cpu & 1))
        refusal = -ENODEV;
    if (refusal < 0)
        return refusal;
    struct sim_event *event = calloc(1, sizeof(*event));
    if (!event)
        return -ENOMEM;
    event->origin.attr = *attr;
    event->origin.cpu = cpu;
    event->pid = pid;
    event->leader = leader;
    atomic_init(&event->enabled, !attr->disabled);
    event->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int result = event->fd < 0 ? -errno : 0;
    if (result == 0) {
        pthread_mutex_lock(&sim->lock);
        result = register_event(sim, event);
        pthread_mutex_unlock(&sim->lock);
    }
    if (result < 0)
        close_event(event);
    return result < 0 ? result : event->fd;
}

static void sim_event_close(void *ctx, int fd)
{
    struct weir_sim_kernel *sim = ctx;
    struct sim_event *event = event_of(sim, fd);
    weir_assert(event);
    struct sim_event_page *page =
        atomic_load_explicit(&sim->pages[fd / PAGE_FDS], memory_order_relaxed); /* it is there */
    atomic_store_explicit(&page->by_fd[fd % PAGE_FDS], NULL, memory_order_release);
    close_event(event);
}

static int sim_event_id(void *ctx, int fd, uint64_t *id)
{
    *id = event_of(ctx, fd)->origin.id;
    return 0;
}

static int sim_event_enable(void *ctx, int fd)
{
    atomic_store_explicit(&event_of(ctx, fd)->enabled, true, memory_order_release);
    return 0;
}

static int sim_event_disable(void *ctx, int fd)
{
    atomic_store_explicit(&event_of(ctx, fd)->enabled, false, memory_order_release);
    return 0;
}

static int sim_event_set_output(void *ctx, int fd, int ring_fd)
{
    struct sim_event *event = event_of(ctx, fd), *owner = event_of(ctx, ring_fd);
    if (!event || !owner || !owner->ring)
        return -EINVAL;
    if (event->origin.cpu != owner->origin.cpu)
        return -EINVAL; /* perf_event_set_output(): no cross-CPU rings */
    if (event->origin.attr.write_backward != owner->origin.attr.write_backward)
        return -EINVAL;
    if (event->origin.cpu == -1 && event->pid != owner->pid)
        return -EINVAL; /* no rings across tasks */
    event->ring = owner->ring;
    return 0;
}

static int sim_event_set_filter(void *ctx, int fd, const char *filter)
{
    (void)ctx, (void)fd, (void)filter;
    return -EINVAL; /* as Linux answers for all events but tracepoints */
}

static int sim_event_set_program(void *ctx, int fd, int program_fd)
{
    (void)ctx, (void)fd, (void)program_fd;
    return -EOPNOTSUPP; /* a simulated machine runs no BPF programs */
}

static int sim_event_programs(void *ctx, int fd, unsigned *count)
{
    (void)ctx, (void)fd, (void)count;
    return -EINVAL; /* as Linux answers for all events but tracepoints */
}

static int sim_event_read(void *ctx, int fd, uint64_t read_format, uint64_t id, struct weir_event_count *count)
{
    (void)read_format, (void)id;
    const struct sim_event *event = event_of(ctx, fd);
    memset(count, 0, sizeof(*count));
    count->id = event->origin.id;
    count->value = atomic_load_explicit(&event->produced, memory_order_acquire);
    count->lost = atomic_load_explicit(&event->lost, memory_order_acquire);
    return 0;
}

static struct sim_ring *add_ring(struct weir_sim_kernel *sim)
{
    struct sim_ring *ring = calloc(1, sizeof(*ring));
    struct sim_ring **grown = realloc(sim->rings, (sim->ring_count + 1) * sizeof(struct sim_ring *));
    if (grown)
        sim->rings = grown;
    if (!ring || !grown) {
        free(ring);
        return NULL;
    }
    sim->rings[sim->ring_count++] = ring;
    return ring;
}

static int sim_ring_map(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page)
{
    struct weir_sim_kernel *sim = ctx;
    struct sim_event *event = event_of(sim, fd);
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (!event || !weir_is_power_of_two(data_bytes) || data_bytes % page_bytes)
        return -EINVAL;
    if (event->origin.cpu == -1 && event->origin.attr.inherit)
        return -EINVAL; /* perf_mmap(): many CPUs would write to one ring */
    void *base = mmap(NULL, mapping_bytes(data_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return -errno;
    struct sim_ring *ring = add_ring(sim);
    if (!ring) {
        munmap(base, mapping_bytes(data_bytes));
        return -ENOMEM;
    }
    ring->page = base;
    ring->data = (uint8_t *)base + page_bytes;
    ring->bytes = data_bytes;
    ring->watermark = event->origin.attr.watermark ? event->origin.attr.wakeup_watermark : 0;
    ring->wake_fd = fd;
    ring->page->data_offset = page_bytes;
    ring->page->data_size = data_bytes;
    event->ring = ring;
    *page = base;
    return 0;
}

static int sim_ring_map_newest(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page)
{
    int result = sim_ring_map(ctx, fd, data_bytes, page);
    if (result == 0)
        event_of(ctx, fd)->ring->newest = true;
    return result;
}

static int sim_ring_pause(void *ctx, int fd, bool paused)
{
    struct sim_event *event = event_of(ctx, fd);
    if (!event || !event->ring)
        return -EINVAL;
    atomic_store_explicit(&event->ring->paused, paused, memory_order_seq_cst);
    return 0;
}

static void sim_ring_unmap(void *ctx, struct perf_event_mmap_page *page, size_t data_bytes)
{
    struct weir_sim_kernel *sim = ctx;
    for (size_t i = 0; i < sim->ring_count; i++) {
        if (sim->rings[i]->page == page)
            sim->rings[i]->page = NULL;
    }
    munmap(page, mapping_bytes(data_bytes));
}

static int sim_poll(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    int ready = poll(fds, count, timeout_ms);
    if (ready < 0)
        return -errno;
    for (nfds_t i = 0; ready > 0 && i < count; i++) {
        /* perf_poll() consumes the wake-up: the next poll reports the next one. */
        if ((fds[i].revents & POLLIN) && event_of(ctx, fds[i].fd)) {
            eventfd_t taken;
            eventfd_read(fds[i].fd, &taken);
        }
    }
    return ready;
}

static const struct weir_kernel_ops sim_ops = {
    .event_open = sim_event_open,
    .event_close = sim_event_close,
    .event_id = sim_event_id,
    .event_enable = sim_event_enable,
    .event_disable = sim_event_disable,
    .event_set_output = sim_event_set_output,
    .event_set_filter = sim_event_set_filter,
    .event_set_program = sim_event_set_program,
    .event_programs = sim_event_programs,
    .event_read = sim_event_read,
    .ring_map = sim_ring_map,
    .ring_map_newest = sim_ring_map_newest,
    .ring_pause = sim_ring_pause,
    .ring_unmap = sim_ring_unmap,
    .poll = sim_poll,
};

struct weir_kernel weir_sim_kernel_interface(struct weir_sim_kernel *sim)
{
    return (struct weir_kernel){.ops = &sim_ops, .ctx = sim};
}

/* ---- production ---- */

static void ring_put(struct sim_ring *ring, const void *data, uint64_t bytes)
{
    if (ring->newest)
        ring->head -= bytes;
    uint64_t offset = ring->head & (ring->bytes - 1);
    uint64_t before_wrap = weir_min_u64(bytes, ring->bytes - offset);
    memcpy(ring->data + offset, data, before_wrap);
    memcpy(ring->data, (const uint8_t *)data + before_wrap, bytes - before_wrap);
    if (!ring->newest)
        ring->head += bytes;
}

static void put_lost_record(const struct sim_event *event, struct sim_ring *ring, uint64_t time_ns)
{
    uint8_t record[WEIR_SIM_SIDE_RECORD_MAX_BYTES];
    size_t bytes = weir_sim_record_lost(&event->origin, ring->lost, time_ns, record);
    ring_put(ring, record, bytes);
    ring->lost = 0;
}

static void wake_reader(struct sim_ring *ring)
{
    if (!ring->newest && ring->head - ring->wakeup > ring->watermark) {
        ring->wakeup += ring->watermark ? ring->watermark : ring->head - ring->wakeup;
        eventfd_write(ring->wake_fd, 1);
    }
}

static bool is_enabled(const struct sim_event *event)
{
    return !event->dead && atomic_load_explicit(&event->enabled, memory_order_acquire) &&
           (!event->leader || is_enabled(event->leader));
}

static bool has_room(const struct sim_ring *ring, size_t bytes)
{
    /* Linux lets a larger record overwrite its own beginning; the code that maps such a ring must prevent that. */
    weir_assert(!ring->newest || bytes <= ring->bytes);
    /* Sequentially consistent on both sides: who pauses and then looks whether a producer is at work (race_snapshot.c)
     * sees it, or the producer sees the pause. */
    bool paused = atomic_load_explicit(&ring->paused, memory_order_seq_cst);
    if (paused || ring->newest)
        return !paused;
    /* (A) of ring.h: the producer may overwrite the bytes that the reader has given back. */
    uint64_t tail = __atomic_load_n(&ring->page->data_tail, __ATOMIC_ACQUIRE);
    uint64_t needed = bytes + (ring->lost ? WEIR_SIM_SIDE_RECORD_MAX_BYTES : 0);
    return ring->bytes - (ring->head - tail) >= needed;
}

/* Writes one record, or counts it as lost. */
static bool output(struct sim_event *event, const uint8_t *record, size_t bytes, uint64_t time_ns)
{
    if (!is_enabled(event))
        return false;
    struct sim_ring *ring = event->ring;
    atomic_fetch_add_explicit(&event->produced, 1, memory_order_release);
    if (!ring) /* as perf_output_begin(): without a ring nothing is lost */
        return false;

    if (!has_room(ring, bytes)) {
        ring->lost++;
        atomic_fetch_add_explicit(&event->lost, 1, memory_order_release);
        return false;
    }
    if (ring->lost)
        put_lost_record(event, ring, time_ns);
    ring_put(ring, record, bytes);
    /* (B) of ring.h: the records are whole before the reader sees the new head. */
    __atomic_store_n(&ring->page->data_head, ring->head, __ATOMIC_RELEASE);
    wake_reader(ring);
    return true;
}

bool weir_sim_kernel_has_room(struct weir_sim_kernel *sim, int fd, size_t bytes)
{
    const struct sim_event *event = event_of(sim, fd);
    return !is_enabled(event) || !event->ring || bytes > event->ring->bytes || has_room(event->ring, bytes);
}

bool weir_sim_kernel_sample(struct weir_sim_kernel *sim, int fd, const struct weir_sim_sample *sample)
{
    struct sim_event *event = event_of(sim, fd);
    uint8_t record[WEIR_SIM_RECORD_MAX_BYTES];
    size_t bytes = weir_sim_record_sample(&event->origin, sample, record);
    return output(event, record, bytes, sample->time_ns);
}

bool weir_sim_kernel_user_part(struct weir_sim_kernel *sim, int fd, const struct weir_sim_user_part *part)
{
    struct sim_event *event = event_of(sim, fd);
    uint8_t record[WEIR_SIM_USER_PART_MAX_BYTES];
    size_t bytes = weir_sim_record_user_part(&event->origin, part, record);
    return output(event, record, bytes, part->time_ns);
}

bool weir_sim_kernel_comm(struct weir_sim_kernel *sim, int fd, uint32_t pid, const char *comm, uint64_t time_ns)
{
    struct sim_event *event = event_of(sim, fd);
    uint8_t record[WEIR_SIM_SIDE_RECORD_MAX_BYTES];
    size_t bytes = weir_sim_record_comm(&event->origin, pid, comm, time_ns, record);
    return output(event, record, bytes, time_ns);
}

static void kill_events(struct sim_event_page *page, int cpu)
{
    for (size_t i = 0; page && i < PAGE_FDS; i++) {
        struct sim_event *event = atomic_load_explicit(&page->by_fd[i], memory_order_relaxed);
        if (event && event->origin.cpu == cpu && event->pid == -1)
            event->dead = true;
    }
}

void weir_sim_kernel_set_cpu(struct weir_sim_kernel *sim, int cpu, bool online)
{
    weir_assert(cpu >= 0 && cpu < CPUS_OFFLINE_MAX);
    if (online)
        sim->offline &= ~(UINT64_C(1) << cpu);
    else
        sim->offline |= UINT64_C(1) << cpu;
    for (size_t i = 0; !online && i < PAGES; i++)
        kill_events(atomic_load_explicit(&sim->pages[i], memory_order_relaxed), cpu); /* opened by this thread */
}

void weir_sim_kernel_totals(const struct weir_sim_kernel *sim, int fd, uint64_t *produced, uint64_t *lost)
{
    const struct sim_event *event = event_of(sim, fd);
    *produced = atomic_load_explicit(&event->produced, memory_order_acquire);
    *lost = atomic_load_explicit(&event->lost, memory_order_acquire);
}
