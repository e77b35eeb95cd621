/*
 * Synthesis from a /proc of one process with two threads (format/synth.h). Input: the files in the order of the table
 * below, parted by FUZZ_SEPARATOR. A byte 1 stands for a thousand letters, so that small inputs have names of the
 * greatest lengths.
 *
 * Whatever /proc says, what is emitted is a row of whole, well-formed records: each exactly as long as its name needs,
 * its trailer zero, its numbers those of the process; and there are as many of each kind as the counts say.
 */
#include "format/synth.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/buf.h"
#include "base/notice.h"
#include "format/perf_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define TRAILER_BYTES   32u
#define COMM_BYTES_MAX  16u
#define TIMEOUT_MS      3600000u /* never: a slow machine must not change what is emitted */
#define LONG_NAME       1
#define LONG_NAME_BYTES 1000
#define PID             41
#define TID             42
#define STRINGIFY(x)    #x
#define NUMBER(x)       STRINGIFY(x)
#define PROCESS         "proc/" NUMBER(PID)
#define RELEASE         "6.12.1"

static const char *const files[] = {
    PROCESS "/stat",   PROCESS "/maps", PROCESS "/task/" NUMBER(TID) "/comm",
    PROCESS "/status", "proc/mounts",   "proc/self/maps",
    "proc/kallsyms",   "proc/modules",  "modules/" RELEASE "/modules.dep",
};
#define FILE_COUNT WEIR_ARRAY_COUNT(files)

struct fixture {
    struct fuzz_tree tree;
    char proc_root[PATH_MAX];
    char modules_root[PATH_MAX];
};

static void *init(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    weir_assert(fixture);
    fuzz_tree_init(&fixture->tree);
    snprintf(fixture->proc_root, sizeof(fixture->proc_root), "%s/proc", fixture->tree.root);
    snprintf(fixture->modules_root, sizeof(fixture->modules_root), "%s/modules", fixture->tree.root);
    fuzz_tree_create_all(&fixture->tree, files, FILE_COUNT);
    int fd = fuzz_tree_create(&fixture->tree, "proc/sys/kernel/osrelease");
    fuzz_file_write(fd, (struct fuzz_part){.data = (const uint8_t *)RELEASE, .bytes = strlen(RELEASE)});
    close(fd);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    fuzz_tree_fini(&fixture->tree);
    free(fixture);
}

/* ---- records ---- */

struct sums {
    uint64_t comms, forks, maps, kernel_maps;
};

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
    uint64_t number = 0;
    memcpy(&number, at, bytes);
    return number;
}

/* A record of head_bytes, a name of at most name_bytes_max with its zero, padding and trailer: nothing more. */
static void check_shape(const uint8_t *record, size_t record_bytes, size_t head_bytes, size_t name_bytes_max)
{
    weir_assert(record_bytes >= head_bytes + TRAILER_BYTES);
    const char *name = (const char *)record + head_bytes;
    size_t room = record_bytes - head_bytes - TRAILER_BYTES;
    size_t name_bytes = name_bytes_max ? strnlen(name, room) + 1 : 0;
    weir_assert(name_bytes <= name_bytes_max && room == weir_align_up(name_bytes, 8));
    for (size_t i = head_bytes + name_bytes; i < record_bytes; i++)
        weir_assert(record[i] == 0);
}

static void check_user_map(const uint8_t *record, bool data_maps)
{
    uint64_t start = number_at(record + 16, 8), map_bytes = number_at(record + 24, 8);
    uint64_t protection = number_at(record + 64, 4), flags = number_at(record + 68, 4);
    weir_assert(number_at(record + 8, 4) == PID && number_at(record + 12, 4) == PID);
    weir_assert(map_bytes > 0 && start + map_bytes > start);
    weir_assert(protection & PROT_EXEC || (data_maps && protection & PROT_READ));
    weir_assert((flags & ~(uint64_t)MAP_HUGETLB) == MAP_PRIVATE || (flags & ~(uint64_t)MAP_HUGETLB) == MAP_SHARED);
}

/* It may reach to the last address of all: that is how one without a known end is written. */
static void check_kernel_map(const uint8_t *record)
{
    uint64_t start = number_at(record + 16, 8), map_bytes = number_at(record + 24, 8);
    weir_assert(number_at(record + 8, 4) == UINT32_MAX);
    weir_assert(start > 0 && map_bytes <= UINT64_MAX - start && (map_bytes > 0 || start == UINT64_MAX));
}

static void check_task(const uint8_t *record)
{
    uint64_t tid = number_at(record + (number_at(record, 4) == PERF_RECORD_COMM ? 12 : 16), 4);
    weir_assert(number_at(record + 8, 4) == PID && (tid == PID || tid == TID));
}

static void check_record(const uint8_t *record, size_t record_bytes, bool data_maps, struct sums *sums)
{
    switch (number_at(record, 4)) {
    case PERF_RECORD_MMAP2:
        check_shape(record, record_bytes, 72, PATH_MAX);
        check_user_map(record, data_maps);
        sums->maps++;
        break;
    case PERF_RECORD_MMAP:
        check_shape(record, record_bytes, 40, PATH_MAX);
        check_kernel_map(record);
        sums->kernel_maps++;
        break;
    case PERF_RECORD_COMM:
        check_shape(record, record_bytes, 16, COMM_BYTES_MAX);
        check_task(record);
        sums->comms++;
        break;
    case PERF_RECORD_FORK:
        check_shape(record, record_bytes, 32, 0);
        check_task(record);
        sums->forks++;
        break;
    default:
        weir_assert(!"a record that synthesis makes");
    }
}

static struct sums check_records(const struct weir_buf *records, bool data_maps)
{
    struct sums sums = {0};
    for (size_t at = 0; at < records->used;) {
        weir_assert(records->used - at >= sizeof(struct perf_event_header));
        size_t record_bytes = number_at(records->data + at + 6, 2);
        weir_assert(record_bytes >= sizeof(struct perf_event_header) && record_bytes % 8 == 0);
        weir_assert(record_bytes <= records->used - at);
        check_record(records->data + at, record_bytes, data_maps, &sums);
        at += record_bytes;
    }
    return sums;
}

/* ---- runs ---- */

static void write_file(int fd, struct fuzz_part part)
{
    static const char letters[] = "nnnnnnnnnnnnnnnnnnnn";
    struct weir_buf contents = WEIR_BUF_INIT;
    for (size_t i = 0; i < part.bytes; i++) {
        if (part.data[i] != LONG_NAME) {
            weir_buf_append_u8(&contents, part.data[i]);
            continue;
        }
        for (size_t bytes = 0; bytes < LONG_NAME_BYTES; bytes += sizeof(letters) - 1)
            weir_buf_append(&contents, letters, sizeof(letters) - 1);
    }
    weir_assert(weir_buf_error(&contents) == 0);
    fuzz_file_write(fd, (struct fuzz_part){.data = contents.data, .bytes = contents.used});
    weir_buf_fini(&contents);
}

static int emit(void *ctx, const void *records, size_t bytes)
{
    weir_assert(bytes > 0 && bytes <= WEIR_SYNTH_BLOCK_BYTES);
    weir_buf_append(ctx, records, bytes);
    return weir_buf_error(ctx);
}

static void check_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    (void)level;
    fuzz_check_line(line);
}

static void check_tasks(const struct weir_synth_options *options, struct weir_buf *records, bool chosen)
{
    static const pid_t pids[] = {PID};
    struct weir_error err = {0};
    struct weir_synth_counts counts;
    weir_buf_reset(records);
    int result =
        chosen ? weir_synth_processes(options, pids, 1, &counts, &err) : weir_synth_all_tasks(options, &counts, &err);
    weir_assert(result == 0 && counts.timed_out == 0);
    struct sums sums = check_records(records, options->data_maps);
    weir_assert(sums.forks == counts.tasks && sums.comms == counts.tasks && counts.tasks <= 2);
    weir_assert(sums.maps == counts.maps && sums.kernel_maps == 0);
    weir_assert(counts.vanished == (counts.tasks == 0));
}

static void check_kernel(const struct weir_synth_options *options, struct weir_buf *records)
{
    struct weir_error err = {0};
    weir_buf_reset(records);
    weir_assert(weir_synth_kernel(options, &err) == 0);
    struct sums sums = check_records(records, false);
    weir_assert(sums.forks == 0 && sums.comms == 0 && sums.maps == 0);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct fuzz_part parts[FILE_COUNT];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, FILE_COUNT);
    for (size_t i = 0; i < FILE_COUNT; i++)
        write_file(fixture->tree.fds[i], parts[i]);

    struct weir_buf records = WEIR_BUF_INIT;
    const struct weir_notice_sink notices = {.emit = check_notice};
    struct weir_synth_options options = {
        .proc_root = fixture->proc_root,
        .modules_root = fixture->modules_root,
        .sample_id_bytes = TRAILER_BYTES,
        .map_timeout_ms = TIMEOUT_MS,
        .emit = emit,
        .emit_ctx = &records,
        .notices = &notices,
    };
    check_kernel(&options, &records);
    check_tasks(&options, &records, false);
    options.data_maps = true;
    check_tasks(&options, &records, true);
    weir_buf_fini(&records);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
