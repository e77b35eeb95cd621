/*
 * Simulated recordings with all their threads: readers, writer, producers, and the main thread as the coordinator.
 * What the simulated kernel was asked for must be what the file holds plus what is told as lost, counted again in the
 * file by its headers alone. A plain program, so that it also runs under ThreadSanitizer.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/sim/simulate.h"
#include "format/perf_file.h"

struct found {                            /* in a file */
    uint64_t samples, rounds, other, end; /* end: bytes up to which there are whole records */
};

static struct found count_records(const uint8_t *data, uint64_t bytes)
{
    struct found found = {0};
    while (bytes - found.end >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        memcpy(&header, data + found.end, sizeof(header));
        if (header.size < sizeof(header) || header.size > bytes - found.end)
            break;
        found.samples += header.type == PERF_RECORD_SAMPLE;
        found.rounds += header.type == WEIR_RECORD_FINISHED_ROUND;
        found.other += header.type != PERF_RECORD_SAMPLE && header.type != WEIR_RECORD_FINISHED_ROUND;
        found.end += header.size;
    }
    return found;
}

static int check_file(const char *path, const struct weir_simulate_result *result)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof(struct weir_perf_header)) {
        printf("cannot read the file: %s\n", strerror(errno));
        return 1;
    }
    const uint8_t *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return 1;
    struct weir_perf_header header;
    memcpy(&header, file, sizeof(header));
    struct found found = {0};
    if (header.data.offset <= (uint64_t)st.st_size && header.data.size <= (uint64_t)st.st_size - header.data.offset)
        found = count_records(file + header.data.offset, header.data.size);
    munmap((void *)(uintptr_t)file, (size_t)st.st_size);

    printf("  file: %llu samples, %llu rounds, %llu others, whole up to %llu of %llu bytes\n",
           (unsigned long long)found.samples, (unsigned long long)found.rounds, (unsigned long long)found.other,
           (unsigned long long)found.end, (unsigned long long)header.data.size);
    return found.samples != result->record.samples || found.rounds != result->record.rounds ||
           found.end != header.data.size || result->record.file_bytes != (uint64_t)st.st_size;
}

static int check_ledger(const struct weir_record_result *record)
{
    int failures = 0;
    for (size_t i = 0; i < record->ledger_count; i++) {
        const struct weir_ledger_row *row = &record->ledger[i];
        if (row->written + row->evicted + row->lost_ring_full + row->lost_write_failed == row->counted)
            continue;
        printf("  cpu %d, event %u does not balance\n", row->cpu, row->event);
        failures++;
    }
    return failures;
}

static int race(const char *name, const struct weir_simulate_options *options)
{
    struct weir_simulate_result result;
    struct weir_error err = {0};
    int code = weir_simulate_run(options, &result, &err);
    if (code < 0) {
        printf("%s: %s\n", name, err.what);
        weir_simulate_result_fini(&result);
        return 1;
    }
    printf("%s: produced %llu, written %llu, evicted %llu, lost %llu, of these %llu for want of a chunk\n", name,
           (unsigned long long)result.produced, (unsigned long long)result.record.samples,
           (unsigned long long)result.record.evicted_samples, (unsigned long long)result.record.lost_samples,
           (unsigned long long)result.record.lost_while_pool_empty);
    int failures =
        result.produced != options->load.cpus * options->load.records_per_cpu ||
        result.produced != result.record.samples + result.record.evicted_samples + result.record.lost_samples ||
        result.record.unknown_samples != 0 || result.record.discarded_bytes != 0;
    failures += check_ledger(&result.record);
    failures += check_file(options->record.output.path, &result);
    if (failures)
        printf("%s: does not add up\n", name);
    weir_simulate_result_fini(&result);
    return failures;
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char folder[PATH_MAX - 32], path[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s/weir-race-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        printf("cannot make a folder: %s\n", strerror(errno));
        return 1;
    }
    snprintf(path, sizeof(path), "%s/perf.data", folder);

    struct weir_simulate_options options = {
        .load = {.cpus = 8, .records_per_cpu = 20000, .payload_bytes = 200, .mix.parts = {1, 0, 0}, .seed = 1},
        .nodes = 2,
        .record.output.path = path,
    };
    int failures = race("reader per cpu", &options);
    options.record.readers.threads_spec = "package";
    options.record.memory.ring_bytes = 16u << 10;
    failures += race("one reader, small rings", &options);
    options.record.readers.threads_spec = "0-3/0-3:4-7/4-7";
    options.record.memory.ring_bytes = 256u << 10;
    options.record.memory.buffer_bytes = 512u << 10;
    options.load.payload_bytes = 8000;
    options.load.records_per_cpu = 2000;
    failures += race("two readers, small pool", &options);

    options.load.mix = (struct weir_sim_mix){.parts = {8, 1, 1}};
    options.stall_ns = 20 * WEIR_NS_PER_MS;
    options.load.rate_per_cpu_hz = 5000;
    failures += race("three kinds, a disk that stands still", &options);

    options = (struct weir_simulate_options){
        .load = {.cpus = 8, .records_per_cpu = 20000, .payload_bytes = 200, .mix.parts = {8, 1, 1}, .seed = 7},
        .nodes = 2,
        .record.output.path = path,
        .record.memory.retained_bytes = 4u << 20,
    };
    failures += race("snapshots of memory, reader per cpu", &options);
    options.record.readers.threads_spec = "package";
    options.record.memory.buffer_bytes = 1u << 20;
    options.record.memory.retained_bytes = 1u << 20;
    options.record.memory.ring_bytes = 64u << 10;
    failures += race("snapshots of little memory, one reader", &options);
    options.record.readers.threads_spec = "0-3/0-3:4-7/4-7";
    options.record.memory.retained_span_ns = 5 * WEIR_NS_PER_MS;
    options.load.rate_per_cpu_hz = 50000;
    failures += race("snapshots of some milliseconds", &options);

    char old[PATH_MAX + 8];
    snprintf(old, sizeof(old), "%s.old", path);
    unlink(old);
    unlink(path);
    rmdir(folder);
    return failures ? 1 : 0;
}
