/*
 * The disk in memory. Protocol and threads: fake_io.h.
 *
 * A write in flight reaches the file when it completes, read from the caller's memory at that moment; a checksum taken
 * at submit proves that it was left alone in between. A write that fails may still have left rubbish in its range, as
 * real ones do: nothing behind the stable prefix may be relied on.
 */
#include "tests/io/fake_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"

#define BLOCK_BYTES    4096u
#define RUBBISH        0xee
#define PER_MILLE      1000u
#define FILE_BYTES_MAX (1ull << 30)
#define EVEN_CHANCE    2u
#define FNV_PRIME      0x100000001b3ull
#define FNV_OFFSET     0xcbf29ce484222325ull
#define SEED_INCREASE  0x9e3779b97f4a7c15ull /* splitmix64 */

struct held_write {
    struct weir_io_write write;
    uint64_t checksum; /* of its data at submit */
    int error;         /* -errno that it is to complete with, 0: none */
};

struct image {
    uint8_t *bytes; /* owned */
    uint64_t size;
};

struct fake_io {
    struct fake_io_options options;
    struct weir_io_ops ops;
    uint64_t random_state;
    uint64_t calls[FAKE_IO_CALL_COUNT];
    atomic_bool stalled;

    uint8_t *bytes;         /* owned; the file: FILE_BYTES_MAX of address space, memory as it is used */
    uint64_t size;          /* of the file */
    uint64_t used_end;      /* nothing behind was ever written */
    uint64_t allocated_end; /* of what was allocated ahead last */
    int direct_fd;          /* owned while >= 0 */

    struct weir_io_queue_config config; /* of the open queue */
    struct iovec *buffers;              /* owned; a copy of config.buffers, which is lent for the opening only */
    struct held_write *held;            /* owned; config.depth entries; NULL: no queue */
    unsigned held_count;
    void *sync_tag;       /* of the fdatasync in flight; NULL: none */
    int sync_error;       /* that it is to complete with, 0: none */
    struct image synced;  /* what it is to make durable */
    struct image durable; /* see fake_io_durable() */
    uint64_t enters;
    uint64_t failed_from; /* see fake_io_failed_from() */
};

static void require(const struct fake_io *fake, bool holds, const char *rule)
{
    if (holds)
        return;
    fprintf(stderr, "fake_io: seed %llu: %s\n", (unsigned long long)fake->options.seed, rule);
    abort();
}

/* ---- chance and faults ---- */

/* splitmix64, see https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(struct fake_io *fake)
{
    uint64_t z = fake->random_state += SEED_INCREASE;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

uint64_t fake_io_random(struct fake_io *fake, uint64_t bound)
{
    return next_random(fake) % bound;
}

static bool happens(struct fake_io *fake, unsigned per_mille)
{
    return per_mille > 0 && fake_io_random(fake, PER_MILLE) < per_mille;
}

/* Counts the call. 0, or the -errno that it is to fail with. */
static int begin_call(struct fake_io *fake, enum fake_io_call call)
{
    const struct fake_io_fault *fault = &fake->options.faults[call];
    uint64_t number = ++fake->calls[call];
    bool fails = fault->nth > 0 && (number == fault->nth || (fault->sticky && number > fault->nth));
    return fails ? fault->error : 0;
}

static int refusal(struct fake_io *fake)
{
    return fake_io_random(fake, EVEN_CHANCE) ? -EINTR : -EAGAIN;
}

/* ---- the file ---- */

/* Bytes behind used_end are zero as the kernel gave them. */
static void grow(struct fake_io *fake, uint64_t size)
{
    require(fake, size <= FILE_BYTES_MAX, "the file grows beyond what this fake holds");
    if (size <= fake->size)
        return;
    if (fake->size < fake->used_end)
        memset(fake->bytes + fake->size, 0, weir_min_u64(size, fake->used_end) - fake->size);
    fake->size = size;
}

static void touch(struct fake_io *fake, uint64_t end)
{
    grow(fake, end);
    fake->used_end = weir_max_u64(fake->used_end, end);
}

/* Bytes of [offset, offset + bytes) that there is room for. */
static uint64_t room_at(const struct fake_io *fake, uint64_t offset, uint64_t bytes)
{
    uint64_t space = fake->options.space_bytes;
    if (space == 0 || offset + bytes <= space)
        return bytes;
    return offset < space ? space - offset : 0;
}

static void store(struct fake_io *fake, const void *data, uint64_t bytes, uint64_t offset)
{
    touch(fake, offset + bytes);
    memcpy(fake->bytes + offset, data, bytes);
}

/* What a failed write may leave behind. */
static void spoil(struct fake_io *fake, uint64_t bytes, uint64_t offset)
{
    uint64_t spoilt = room_at(fake, offset, fake_io_random(fake, bytes + 1));
    if (spoilt == 0)
        return;
    touch(fake, offset + spoilt);
    memset(fake->bytes + offset, RUBBISH, spoilt);
}

/* Bytes that a write of so many gets done, at least 1; a short one may end at any byte. */
static uint64_t done_share(struct fake_io *fake, uint64_t bytes)
{
    return bytes > 1 && happens(fake, fake->options.short_per_mille) ? 1 + fake_io_random(fake, bytes - 1) : bytes;
}

static int fake_open_direct(void *ctx, int fd)
{
    struct fake_io *fake = ctx;
    int rc = begin_call(fake, FAKE_IO_OPEN_DIRECT);
    if (rc < 0)
        return rc;
    if (fake->options.no_direct)
        return -EOPNOTSUPP;
    require(fake, fake->direct_fd < 0, "opened for direct writes twice");
    fake->direct_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    require(fake, fake->direct_fd >= 0, "no descriptor for direct writes");
    return fake->direct_fd;
}

static bool is_on_blocks(uint64_t a, uint64_t b)
{
    return a % BLOCK_BYTES == 0 && b % BLOCK_BYTES == 0;
}

static int no_room(const struct fake_io *fake)
{
    return fake->options.is_quota ? -EDQUOT : -ENOSPC;
}

static void check_direct(const struct fake_io *fake, const void *data, uint64_t bytes, uint64_t offset)
{
    require(fake, is_on_blocks(offset, bytes), "direct write not on blocks in the file");
    require(fake, (uintptr_t)data % BLOCK_BYTES == 0, "direct write not on a block in memory");
}

static ssize_t fake_pwritev(void *ctx, int fd, const struct iovec *parts, int part_count, off_t offset)
{
    struct fake_io *fake = ctx;
    int rc = begin_call(fake, FAKE_IO_PWRITEV);
    uint64_t bytes = 0;
    for (int i = 0; i < part_count; i++) {
        if (fd == fake->direct_fd)
            check_direct(fake, parts[i].iov_base, parts[i].iov_len, (uint64_t)offset + bytes);
        bytes += parts[i].iov_len;
    }
    require(fake, bytes > 0, "pwritev of nothing");
    if (rc == 0 && fd == fake->direct_fd && fake->options.refuses_direct)
        return -EINVAL;
    if (rc == 0 && happens(fake, fake->options.refuse_per_mille))
        return refusal(fake);
    if (rc == 0 && room_at(fake, (uint64_t)offset, bytes) == 0)
        rc = no_room(fake);
    if (rc < 0) {
        spoil(fake, bytes, (uint64_t)offset);
        return rc;
    }

    uint64_t left = done_share(fake, room_at(fake, (uint64_t)offset, bytes));
    uint64_t done = 0;
    for (int i = 0; i < part_count && left > 0; i++) {
        uint64_t share = weir_min_u64(left, parts[i].iov_len);
        store(fake, parts[i].iov_base, share, (uint64_t)offset + done);
        done += share;
        left -= share;
    }
    return (ssize_t)done;
}

/* As between two file systems: then the bytes come by pwritev(). */
static ssize_t fake_copy_range(void *ctx, int from, off_t *from_at, int to, off_t *to_at, size_t bytes)
{
    (void)ctx, (void)from, (void)from_at, (void)to, (void)to_at, (void)bytes;
    return -EXDEV;
}

/* A write in flight below `offset` has its space, or may find the disk full by what is allocated behind it. */
static bool leaves_space_for_all(const struct fake_io *fake, uint64_t offset)
{
    for (unsigned i = 0; i < fake->held_count; i++) {
        const struct weir_io_write *write = &fake->held[i].write;
        if (weir_max_u64(write->offset, fake->allocated_end) < weir_min_u64(write->offset + write->bytes, offset))
            return false;
    }
    return true;
}

static int fake_fallocate(void *ctx, int fd, off_t offset, off_t bytes)
{
    struct fake_io *fake = ctx;
    (void)fd;
    int rc = begin_call(fake, FAKE_IO_FALLOCATE);
    if (rc < 0)
        return rc;
    require(fake, offset >= 0 && bytes > 0, "fallocate of nothing");
    require(fake, leaves_space_for_all(fake, (uint64_t)offset), "space allocated over a write that has none yet");
    if (room_at(fake, (uint64_t)offset, (uint64_t)bytes) < (uint64_t)bytes)
        return no_room(fake);
    grow(fake, (uint64_t)(offset + bytes));
    fake->allocated_end = (uint64_t)(offset + bytes);
    return 0;
}

static int fake_ftruncate(void *ctx, int fd, off_t bytes)
{
    struct fake_io *fake = ctx;
    (void)fd;
    int rc = begin_call(fake, FAKE_IO_FTRUNCATE);
    if (rc < 0)
        return rc;
    require(fake, fake->held_count == 0, "the file is cut under a write in flight");
    grow(fake, (uint64_t)bytes);
    fake->size = (uint64_t)bytes;
    return 0;
}

static int fake_fsync(void *ctx, int fd)
{
    (void)fd;
    return begin_call(ctx, FAKE_IO_FSYNC);
}

/* Keeps the file as it is now. */
static void begin_sync(struct fake_io *fake)
{
    fake->synced = (struct image){.bytes = malloc(fake->used_end + 1), .size = fake->used_end};
    require(fake, fake->synced.bytes != NULL, "no memory for what is synced");
    memcpy(fake->synced.bytes, fake->bytes, fake->used_end);
}

static int end_sync(struct fake_io *fake, int error)
{
    free(error == 0 ? fake->durable.bytes : fake->synced.bytes);
    if (error == 0)
        fake->durable = fake->synced;
    fake->synced = (struct image){0};
    return error;
}

static int fake_fdatasync(void *ctx, int fd)
{
    (void)fd;
    begin_sync(ctx);
    return end_sync(ctx, begin_call(ctx, FAKE_IO_FDATASYNC));
}

/* /dev/null stands in for a file that somebody reads. */
static bool fake_is_sink(void *ctx, int fd)
{
    (void)ctx, (void)fd;
    return false;
}

static void fake_close(void *ctx, int fd)
{
    struct fake_io *fake = ctx;
    require(fake, close(fd) == 0, "closed what was not open");
    if (fd == fake->direct_fd)
        fake->direct_fd = -1;
}

static const struct weir_io_file_ops fake_file = {
    .open_direct = fake_open_direct,
    .is_sink = fake_is_sink,
    .pwritev = fake_pwritev,
    .copy_range = fake_copy_range,
    .fallocate = fake_fallocate,
    .ftruncate = fake_ftruncate,
    .fsync = fake_fsync,
    .fdatasync = fake_fdatasync,
    .close = fake_close,
};

/* ---- the queue ---- */

static int queue_open(void **queue, const struct weir_io_queue_config *config, unsigned *registered)
{
    struct fake_io *fake = config->ctx;
    int rc = begin_call(fake, FAKE_IO_QUEUE_OPEN);
    if (rc < 0)
        return rc;
    require(fake, !fake->held, "a second queue");
    require(fake, config->depth >= 1 && config->depth <= WEIR_IO_DEPTH_MAX, "depth out of range");
    unsigned taken_max = fake->options.buffers_taken_max;
    fake->config = *config;
    bool takes_buffers = taken_max == 0 || config->buffer_count <= taken_max;
    fake->held = calloc(config->depth, sizeof(*fake->held));
    fake->buffers = calloc(config->buffer_count + 1u, sizeof(*fake->buffers));
    if (!fake->held || !fake->buffers) {
        free(fake->buffers);
        free(fake->held);
        fake->held = NULL;
        return -ENOMEM;
    }
    if (config->buffer_count > 0)
        memcpy(fake->buffers, config->buffers, config->buffer_count * sizeof(*fake->buffers));
    *registered = takes_buffers ? config->buffer_count : 0;
    *queue = fake;
    return 0;
}

static uint64_t checksum_of(const void *data, size_t bytes)
{
    const uint8_t *from = data;
    uint64_t sum = FNV_OFFSET;
    uint64_t word;
    for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
        memcpy(&word, from + i, sizeof(word));
        sum = (sum ^ word) * FNV_PRIME;
    }
    for (size_t i = bytes - bytes % sizeof(word); i < bytes; i++)
        sum = (sum ^ from[i]) * FNV_PRIME;
    return sum;
}

static bool overlap(const struct weir_io_write *a, const struct weir_io_write *b)
{
    uint64_t grain = a->file == WEIR_IO_DIRECT || b->file == WEIR_IO_DIRECT ? BLOCK_BYTES : 1;
    return weir_align_down(a->offset, grain) < weir_align_up(b->offset + b->bytes, grain) &&
           weir_align_down(b->offset, grain) < weir_align_up(a->offset + a->bytes, grain);
}

static bool is_in_buffer(const struct fake_io *fake, const struct weir_io_write *write)
{
    const struct iovec *buffer = &fake->buffers[write->buffer_index];
    const uint8_t *memory = buffer->iov_base, *data = write->data;
    return data >= memory && data + write->bytes <= memory + buffer->iov_len;
}

static void check_write(const struct fake_io *fake, const struct weir_io_write *write)
{
    require(fake, write->bytes > 0 && write->bytes <= WEIR_IO_WRITE_MAX_BYTES, "write of no or too many bytes");
    if (write->buffer_index >= 0) {
        require(fake, (unsigned)write->buffer_index < fake->config.buffer_count, "buffer index out of range");
        require(fake, is_in_buffer(fake, write), "write from outside of its registered buffer");
    }
    require(fake, fake->config.fds[write->file] >= 0, "write to a descriptor that there is none of");
    if (write->file == WEIR_IO_DIRECT)
        check_direct(fake, write->data, write->bytes, write->offset);
    for (unsigned i = 0; i < fake->held_count; i++)
        require(fake, !overlap(write, &fake->held[i].write), "two writes in flight overlap");
}

static int queue_submit(void *queue, const struct weir_io_write *write)
{
    struct fake_io *fake = queue;
    if (fake->held_count == fake->config.depth)
        return -EBUSY;
    /* Only while there is a completion to come that makes the caller try again. */
    if (fake->held_count > 0 && happens(fake, fake->options.refuse_per_mille))
        return -EBUSY;
    check_write(fake, write);
    fake->held[fake->held_count++] = (struct held_write){
        .write = *write,
        .checksum = checksum_of(write->data, write->bytes),
        .error = begin_call(fake, FAKE_IO_WRITE),
    };
    return 0;
}

static int queue_sync(void *queue, int fd, void *tag)
{
    struct fake_io *fake = queue;
    (void)fd;
    require(fake, tag != NULL && fake->sync_tag == NULL, "two syncs at once");
    fake->sync_tag = tag;
    fake->sync_error = begin_call(fake, FAKE_IO_FDATASYNC);
    begin_sync(fake);
    return 0;
}

static int queue_flush(void *queue)
{
    struct fake_io *fake = queue;
    fake->enters++;
    return begin_call(fake, FAKE_IO_FLUSH);
}

/* Does one write; returns what its completion says. */
static int64_t perform(struct fake_io *fake, const struct held_write *held)
{
    const struct weir_io_write *write = &held->write;
    require(fake, checksum_of(write->data, write->bytes) == held->checksum, "data changed while in flight");
    if (held->error == 0 && write->file == WEIR_IO_DIRECT && fake->options.refuses_direct)
        return -EINVAL;
    if (held->error == 0 && happens(fake, fake->options.refuse_per_mille))
        return refusal(fake);
    uint64_t room = room_at(fake, write->offset, write->bytes);
    if (held->error < 0 || room == 0) {
        spoil(fake, write->bytes, write->offset);
        fake->failed_from = weir_min_u64(fake->failed_from, write->offset);
        return held->error < 0 ? held->error : no_room(fake);
    }
    uint64_t bytes = done_share(fake, room);
    store(fake, write->data, bytes, write->offset);
    return (int64_t)bytes;
}

/* How many writes complete in this call. */
static unsigned completions_now(struct fake_io *fake, unsigned max, unsigned wait_ms)
{
    if (atomic_load_explicit(&fake->stalled, memory_order_relaxed)) /* a switch, it guards no data */
        return 0;
    unsigned most = (unsigned)weir_min_u64(fake->held_count, max);
    if (!fake->options.reorders || most == 0)
        return most;
    unsigned count = (unsigned)fake_io_random(fake, most + 1);
    /* Now and then even a wait ends without any. */
    return count == 0 && wait_ms > 0 && fake_io_random(fake, EVEN_CHANCE) ? 1 : count;
}

static void sleep_ms(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * (long)WEIR_NS_PER_MS};
    nanosleep(&pause, NULL);
}

/* The sync in flight completes, now or later; returns how many have. */
static unsigned complete_sync(struct fake_io *fake, struct weir_io_completion *done, unsigned room)
{
    bool waits = room == 0 || !fake->sync_tag || atomic_load_explicit(&fake->stalled, memory_order_relaxed) ||
                 (fake->options.reorders && fake_io_random(fake, EVEN_CHANCE));
    if (waits)
        return 0;
    *done = (struct weir_io_completion){.tag = fake->sync_tag, .result = end_sync(fake, fake->sync_error)};
    fake->sync_tag = NULL;
    return 1;
}

static int queue_reap(void *queue, struct weir_io_completion *done, unsigned max, unsigned wait_ms)
{
    struct fake_io *fake = queue;
    fake->enters++;
    int rc = begin_call(fake, FAKE_IO_REAP);
    if (rc < 0)
        return rc;
    unsigned count = completions_now(fake, max, wait_ms);
    if (count == 0 && fake->options.waits && fake->held_count > 0)
        sleep_ms(wait_ms);
    for (unsigned i = 0; i < count; i++) {
        unsigned which = fake->options.reorders ? (unsigned)fake_io_random(fake, fake->held_count) : 0;
        done[i].tag = fake->held[which].write.tag;
        done[i].result = perform(fake, &fake->held[which]);
        fake->held_count--;
        memmove(&fake->held[which], &fake->held[which + 1], (fake->held_count - which) * sizeof(*fake->held));
    }
    return (int)(count + complete_sync(fake, done + count, max - count));
}

static uint64_t queue_enters(const void *queue)
{
    return ((const struct fake_io *)queue)->enters;
}

static void queue_close(void *queue)
{
    struct fake_io *fake = queue;
    for (unsigned i = 0; i < fake->held_count; i++)
        perform(fake, &fake->held[i]);
    fake->held_count = 0;
    if (fake->sync_tag)
        end_sync(fake, fake->sync_error);
    fake->sync_tag = NULL;
    free(fake->buffers);
    free(fake->held);
    fake->held = NULL;
}

static const struct weir_io_queue_ops fake_queue = {
    .name = "fake",
    .open = queue_open,
    .submit = queue_submit,
    .sync = queue_sync,
    .flush = queue_flush,
    .reap = queue_reap,
    .enters = queue_enters,
    .close = queue_close,
};

/* ---- for tests ---- */

struct fake_io *fake_io_new(const struct fake_io_options *options)
{
    struct fake_io *fake = calloc(1, sizeof(*fake));
    if (!fake)
        abort();
    fake->options = *options;
    fake->random_state = options->seed;
    fake->direct_fd = -1;
    fake->failed_from = UINT64_MAX;
    fake->bytes =
        mmap(NULL, FILE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(fake, fake->bytes != MAP_FAILED, "no address space for the file");
    atomic_init(&fake->stalled, false);
    fake->ops = (struct weir_io_ops){
        .file = &fake_file,
        .queue = options->pwritev_queue ? &weir_io_queue_pwritev : &fake_queue,
        .ctx = fake,
    };
    return fake;
}

void fake_io_free(struct fake_io *fake)
{
    if (!fake)
        return;
    require(fake, !fake->held, "the queue was left open");
    require(fake, fake->direct_fd < 0, "the descriptor for direct writes was left open");
    munmap(fake->bytes, FILE_BYTES_MAX);
    free(fake->durable.bytes);
    free(fake);
}

const struct weir_io_ops *fake_io_ops(struct fake_io *fake)
{
    return &fake->ops;
}

const uint8_t *fake_io_bytes(const struct fake_io *fake)
{
    return fake->bytes;
}

uint64_t fake_io_size(const struct fake_io *fake)
{
    return fake->size;
}

const uint8_t *fake_io_durable(const struct fake_io *fake, uint64_t *bytes)
{
    *bytes = fake->durable.size;
    return fake->durable.bytes;
}

uint64_t fake_io_calls(const struct fake_io *fake, enum fake_io_call call)
{
    return fake->calls[call];
}

uint64_t fake_io_failed_from(const struct fake_io *fake)
{
    return fake->failed_from;
}

void fake_io_set_fault(struct fake_io *fake, enum fake_io_call call, const struct fake_io_fault *fault)
{
    fake->options.faults[call] = *fault;
}

void fake_io_stall(struct fake_io *fake, bool stalled)
{
    atomic_store_explicit(&fake->stalled, stalled, memory_order_relaxed); /* partner: completions_now() */
}
