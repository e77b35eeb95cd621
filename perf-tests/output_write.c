/*
 * The output: CPU time per GB written, by way of writing.
 *
 *     output_write [--dir DIR] [--engine auto|uring|pwritev] [--buffered] [--no-fallocate] [--no-register]
 *                  [--no-huge] [--write-kb N] [--depth N] [--rate-mb N] [--mb N] [--runs N]
 *
 * Each run appends --mb of data in spans of --write-kb from a pool of 64 MiB, finishes the file and removes it. It
 * appends as fast as the disk takes the data, or --rate-mb per second in passes of 4 ms, as the writer thread does
 * while it records. Before each run the disk is let come to rest, since writeback of earlier runs would be paid for by
 * this one.
 *
 * The measurement lasts from the first append to the last completion. It has the wall time, and the user and system
 * time of this process, to which the kernel counts io_uring's worker threads. It also has the time of all kernel
 * threads, which convert extents and write pages back. The latter work for other programs as well: mind them, and
 * compare medians of alternating runs.
 *
 * Every span carries its number, which the program reads back from the file afterwards. "checksum" is the sum of the
 * numbers. The program fails when the sum is wrong.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/spread.h"
#include "io/io_ops.h"
#include "io/output.h"

#define HEAD_BYTES         4096u
#define POOL_BYTES         (64u << 20)
#define HUGE_BYTES         (2u << 20)
#define RUNS_MAX           64u
#define REAP_MAX           64u
#define WAIT_MS            100u
#define PASS_MS            4u /* as the writer thread's */
#define KERNEL_THREADS_MAX 4096u
#define PF_KTHREAD         0x00200000u /* include/linux/sched.h of Linux 6.12 */
#define USAGE_EXIT         2
#define BYTES_IN_GB        1e9

struct settings {
    const char *dir;
    enum weir_output_engine engine;
    bool buffered, no_fallocate, no_register, no_huge;
    unsigned write_kb, depth, rate_mb, mb, runs; /* rate_mb 0: as fast as it goes */
};

struct pool {
    uint8_t *memory;       /* owned */
    struct iovec *buffers; /* owned: one per span */
    unsigned *free;        /* owned: indexes of free spans */
    unsigned free_count;
    unsigned span_count;
    size_t span_bytes;
};

struct measure {
    double wall_seconds, cpu_seconds, kernel_thread_seconds;
    uint64_t checksum;
    struct weir_output_stats stats;
};

static void fill_padding(void *data, size_t bytes)
{
    memset(data, 0, bytes);
}

/* ---- ways of writing that no option of an output asks for ---- */

static int refuse_fallocate(void *ctx, int fd, off_t offset, off_t bytes)
{
    (void)ctx, (void)fd, (void)offset, (void)bytes;
    return -EOPNOTSUPP;
}

static int open_unregistered(void **queue, const struct weir_io_queue_config *config, unsigned *registered)
{
    struct weir_io_queue_config without = *config;
    without.buffer_count = 0;
    return weir_io_queue_uring.open(queue, &without, registered);
}

/* ---- pool ---- */

static int pool_init(struct pool *pool, const struct settings *settings)
{
    pool->span_bytes = (size_t)settings->write_kb << 10;
    pool->span_count = (unsigned)(POOL_BYTES / pool->span_bytes);
    pool->memory = mmap(NULL, POOL_BYTES + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pool->buffers = calloc(pool->span_count, sizeof(*pool->buffers));
    pool->free = calloc(pool->span_count, sizeof(*pool->free));
    if (pool->memory == MAP_FAILED || !pool->buffers || !pool->free)
        return -ENOMEM;
    uint8_t *aligned = pool->memory + (HUGE_BYTES - (uintptr_t)pool->memory % HUGE_BYTES) % HUGE_BYTES;
    madvise(aligned, POOL_BYTES, settings->no_huge ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    memset(aligned, 0x5a, POOL_BYTES);
    for (unsigned i = 0; i < pool->span_count; i++)
        pool->buffers[i] = (struct iovec){.iov_base = aligned + i * pool->span_bytes, .iov_len = pool->span_bytes};
    return 0;
}

static void pool_reset(struct pool *pool)
{
    pool->free_count = pool->span_count;
    for (unsigned i = 0; i < pool->span_count; i++)
        pool->free[i] = i;
}

static void pool_fini(struct pool *pool)
{
    if (pool->memory != MAP_FAILED)
        munmap(pool->memory, POOL_BYTES + HUGE_BYTES);
    free(pool->buffers);
    free(pool->free);
}

/* ---- one run ---- */

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* CPU time of one thread if it is the kernel's own; negative: it is not, or is gone. */
static int64_t kernel_thread_ns(const char *pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    size_t bytes = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    const char *name_end = strrchr(text, ')'); /* proc_pid_stat(5): flags are the seventh field behind the name */
    unsigned flags;
    if (bytes == 0 || !name_end || sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
        !(flags & PF_KTHREAD))
        return -1;

    snprintf(path, sizeof(path), "/proc/%.20s/schedstat", pid);
    file = fopen(path, "re");
    if (!file)
        return -1;
    int64_t run_ns;
    int count = fscanf(file, "%" SCNd64, &run_ns);
    fclose(file);
    return count == 1 ? run_ns : -1;
}

struct kernel_threads {
    unsigned count;
    struct {
        unsigned pid;
        int64_t ns; /* of CPU */
    } threads[KERNEL_THREADS_MAX];
};

/* Empty where the kernel does not say (CONFIG_SCHED_INFO). */
static void look_at_kernel_threads(struct kernel_threads *all)
{
    all->count = 0;
    DIR *proc = opendir("/proc");
    for (const struct dirent *entry; proc && all->count < KERNEL_THREADS_MAX && (entry = readdir(proc));) {
        int64_t ns = isdigit((unsigned char)entry->d_name[0]) ? kernel_thread_ns(entry->d_name) : -1;
        if (ns < 0)
            continue;
        all->threads[all->count].pid = (unsigned)strtoul(entry->d_name, NULL, 10);
        all->threads[all->count++].ns = ns;
    }
    if (proc)
        closedir(proc);
}

/* The time that the threads in both lists have used in between. */
static double kernel_thread_seconds(const struct kernel_threads *before, const struct kernel_threads *after)
{
    int64_t sum_ns = 0;
    for (unsigned i = 0, j = 0; i < before->count && j < after->count;) { /* proc lists them by number */
        if (before->threads[i].pid == after->threads[j].pid)
            sum_ns += after->threads[j++].ns - before->threads[i++].ns;
        else if (before->threads[i].pid < after->threads[j].pid)
            i++;
        else
            j++;
    }
    return (double)sum_ns / (double)WEIR_NS_PER_S;
}

/* Spans that the rate allows by now. */
static uint64_t spans_due(const struct settings *settings, uint64_t begin_ns, uint64_t spans)
{
    if (settings->rate_mb == 0)
        return spans;
    double seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - begin_ns) / (double)WEIR_NS_PER_S;
    double kb = seconds * settings->rate_mb * 1024;
    return weir_min_u64((uint64_t)(kb / settings->write_kb), spans);
}

/* Appends spans number [appended, due) as far as pool and output have room. Returns the number of the next one. */
static uint64_t append_spans(struct weir_output *output, struct pool *pool, uint64_t appended, uint64_t due)
{
    while (appended < due && pool->free_count > 0 && weir_output_can_append(output)) {
        unsigned index = pool->free[--pool->free_count];
        appended++;
        memcpy(pool->buffers[index].iov_base, &appended, sizeof(appended));
        weir_output_append(output, pool->buffers[index].iov_base, pool->span_bytes, (int)index, false,
                           (void *)(uintptr_t)(index + 1));
    }
    return appended;
}

/* Appends `spans` spans and reaps them. 0 or -errno. */
static int write_spans(const struct settings *settings, struct weir_output *output, struct pool *pool, uint64_t spans)
{
    const struct timespec pass = {.tv_nsec = PASS_MS * (long)WEIR_NS_PER_MS};
    uint64_t appended = 0, done_count = 0;
    uint64_t begin_ns = weir_clock_now_ns(&weir_clock_monotonic);
    while (done_count < spans) {
        appended = append_spans(output, pool, appended, spans_due(settings, begin_ns, spans));
        if (appended == spans)
            weir_output_push_tail(output);
        weir_output_flush(output);
        bool rests = settings->rate_mb > 0 && appended < spans;
        if (rests)
            nanosleep(&pass, NULL);
        struct weir_output_done done[REAP_MAX];
        unsigned count = weir_output_reap(output, done, REAP_MAX, rests ? 0 : WAIT_MS);
        for (unsigned i = 0; i < count; i++) {
            if (done[i].result < 0)
                return done[i].result;
            pool->free[pool->free_count++] = (unsigned)(uintptr_t)done[i].token - 1;
        }
        done_count += count;
    }
    return 0;
}

/* The sum of the numbers that the spans carry in the file. */
static int read_back(const char *path, const struct pool *pool, uint64_t spans, uint64_t *sum)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *sum = 0;
    int rc = 0;
    for (uint64_t i = 0; i < spans && rc == 0; i++) {
        uint64_t number;
        if (pread(fd, &number, sizeof(number), (off_t)(HEAD_BYTES + i * pool->span_bytes)) != sizeof(number))
            rc = -EIO;
        else
            *sum += number;
    }
    close(fd);
    return rc;
}

static int measure_output(const struct settings *settings, struct weir_output *output, struct pool *pool,
                          uint64_t spans, struct measure *measure)
{
    static const uint8_t head[HEAD_BYTES];
    int rc = weir_output_write_head(output, head, sizeof(head));
    if (rc < 0)
        return rc;
    sync();
    struct kernel_threads before, after;
    look_at_kernel_threads(&before);
    double cpu = cpu_seconds();
    uint64_t begin_ns = weir_clock_now_ns(&weir_clock_monotonic);
    rc = write_spans(settings, output, pool, spans);
    measure->wall_seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - begin_ns) / (double)WEIR_NS_PER_S;
    measure->cpu_seconds = cpu_seconds() - cpu;
    look_at_kernel_threads(&after);
    measure->kernel_thread_seconds = kernel_thread_seconds(&before, &after);
    weir_output_get_stats(output, &measure->stats);
    return rc < 0 ? rc : weir_output_finish(output, head, sizeof(head));
}

static int run(const struct settings *settings, struct pool *pool, struct measure *measure, char how[static 128])
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/output_write-%d.data", settings->dir, (int)getpid());
    struct weir_io_file_ops file_ops = weir_io_file_real;
    if (settings->no_fallocate)
        file_ops.fallocate = refuse_fallocate;
    struct weir_io_queue_ops unregistered = weir_io_queue_uring;
    unregistered.open = open_unregistered;
    const struct weir_io_ops ops = {.file = &file_ops, .queue = settings->no_register ? &unregistered : NULL};
    const struct weir_output_options options = {
        .engine = settings->engine,
        .direct = settings->buffered ? WEIR_OUTPUT_DIRECT_OFF : WEIR_OUTPUT_DIRECT_AUTO,
        .queue_depth = settings->depth,
        .buffers = pool->buffers,
        .buffer_count = pool->span_count,
        .fill_padding = fill_padding,
        .io = &ops,
    };
    struct weir_output *output;
    struct weir_error err;
    int rc = weir_output_open(&output, path, &options, &err);
    if (rc < 0) {
        fprintf(stderr, "output_write: %s\n", err.what);
        return rc;
    }
    pool_reset(pool);
    uint64_t spans = ((uint64_t)settings->mb << 20) / pool->span_bytes;
    rc = measure_output(settings, output, pool, spans, measure);
    snprintf(how, 128, "%s", weir_output_describe(output));
    if (rc == 0)
        rc = weir_output_file_publish(weir_output_file_of(output), &err);
    weir_output_close(output);
    if (rc == 0)
        rc = read_back(path, pool, spans, &measure->checksum);
    unlink(path);
    if (rc == 0 && measure->checksum != spans * (spans + 1) / 2)
        rc = -EILSEQ;
    return rc;
}

/* ---- report ---- */

static void print_spread(const char *name, double *values, unsigned count)
{
    const struct weir_spread spread = weir_spread_of(values, count);
    printf("\"%s\": {\"median\": %.4f, \"min\": %.4f, \"max\": %.4f}, ", name, spread.median, spread.min, spread.max);
}

static void print_json(const struct settings *settings, const struct measure *runs, const char *how)
{
    double cpu[RUNS_MAX] = {0}, kernel_threads[RUNS_MAX] = {0}, rate[RUNS_MAX] = {0};
    for (unsigned i = 0; i < settings->runs; i++) {
        double gb = (double)runs[i].stats.written_bytes / BYTES_IN_GB;
        cpu[i] = runs[i].cpu_seconds / gb;
        kernel_threads[i] = runs[i].kernel_thread_seconds / gb;
        rate[i] = gb / runs[i].wall_seconds;
    }
    const struct weir_output_stats *stats = &runs[settings->runs - 1].stats;
    struct utsname system;
    uname(&system);
    printf("{\"bench\": \"output_write\", \"kernel\": \"%s\", \"machine\": \"%s\", \"cpus\": %ld, ", system.release,
           system.machine, sysconf(_SC_NPROCESSORS_ONLN));
    printf("\"how\": \"%s\", \"write_kb\": %u, \"depth\": %u, \"rate_mb\": %u, \"mb\": %u, \"fallocate\": %s, "
           "\"registered\": %s, \"huge_pages\": %s, \"runs\": %u, ",
           how, settings->write_kb, settings->depth, settings->rate_mb, settings->mb,
           settings->no_fallocate ? "false" : "true", settings->no_register ? "false" : "true",
           settings->no_huge ? "false" : "true", settings->runs);
    print_spread("cpu_seconds_per_gb", cpu, settings->runs);
    print_spread("kernel_thread_seconds_per_gb", kernel_threads, settings->runs);
    print_spread("gb_per_second", rate, settings->runs);
    printf("\"writes\": %ju, \"enters\": %ju, \"in_flight_max\": %u, \"direct_bytes\": %ju, \"copied_bytes\": %ju, "
           "\"checksum\": %ju}\n",
           (uintmax_t)stats->writes, (uintmax_t)stats->enters, stats->in_flight_max, (uintmax_t)stats->direct_bytes,
           (uintmax_t)stats->copied_bytes, (uintmax_t)runs[0].checksum);
}

/* ---- options ---- */

static bool parse_engine(const char *name, enum weir_output_engine *engine)
{
    static const char *const names[] = {
        [WEIR_OUTPUT_AUTO] = "auto", [WEIR_OUTPUT_URING] = "uring", [WEIR_OUTPUT_WRITEV] = "pwritev"};
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *engine = (enum weir_output_engine)i;
            return true;
        }
    }
    return false;
}

static bool parse(int argc, char **argv, struct settings *settings)
{
    static const struct option options[] = {
        {"dir", required_argument, NULL, 'D'},      {"engine", required_argument, NULL, 'e'},
        {"buffered", no_argument, NULL, 'b'},       {"no-fallocate", no_argument, NULL, 'a'},
        {"no-register", no_argument, NULL, 'g'},    {"no-huge", no_argument, NULL, 'h'},
        {"write-kb", required_argument, NULL, 'w'}, {"depth", required_argument, NULL, 'd'},
        {"rate-mb", required_argument, NULL, 'R'},  {"mb", required_argument, NULL, 'm'},
        {"runs", required_argument, NULL, 'r'},     {NULL, 0, NULL, 0},
    };
    bool good = true;
    int letter;
    while ((letter = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        const char *value = optarg ? optarg : "";
        unsigned number = (unsigned)strtoul(value, NULL, 10);
        switch (letter) {
        case 'D':
            settings->dir = value;
            break;
        case 'e':
            good &= parse_engine(value, &settings->engine);
            break;
        case 'b':
            settings->buffered = true;
            break;
        case 'a':
            settings->no_fallocate = true;
            break;
        case 'g':
            settings->no_register = true;
            break;
        case 'h':
            settings->no_huge = true;
            break;
        case 'w':
            settings->write_kb = number;
            break;
        case 'd':
            settings->depth = number;
            break;
        case 'R':
            settings->rate_mb = number;
            break;
        case 'm':
            settings->mb = number;
            break;
        case 'r':
            settings->runs = number;
            break;
        default:
            good = false;
        }
    }
    return good && optind == argc && settings->write_kb >= 4 && settings->write_kb % 4 == 0 &&
           settings->write_kb <= POOL_BYTES >> 11 && settings->mb >= 64 && settings->depth >= 1 &&
           settings->runs >= 1 && settings->runs <= RUNS_MAX;
}

int main(int argc, char **argv)
{
    struct settings settings = {.dir = "/tmp", .write_kb = 1024, .depth = 32, .mb = 2048, .runs = 5};
    if (!parse(argc, argv, &settings)) {
        fprintf(stderr, "usage: see the head of perf-tests/output_write.c\n");
        return USAGE_EXIT;
    }
    struct pool pool;
    struct measure runs[RUNS_MAX] = {0};
    char how[128] = "";
    int rc = pool_init(&pool, &settings);
    for (unsigned i = 0; i < settings.runs && rc == 0; i++)
        rc = run(&settings, &pool, &runs[i], how);
    if (rc == 0)
        print_json(&settings, runs, how);
    else
        fprintf(stderr, "output_write: %s\n", strerror(-rc));
    pool_fini(&pool);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
