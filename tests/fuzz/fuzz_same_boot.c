/*
 * Whether a recording is of the kernel that runs (format/same_boot.h). Input, parted by FUZZ_SEPARATOR: kallsyms and
 * iomem of the kernel that was recorded, the same of the one that runs, and stat, which has the time of its boot.
 *
 * It is the same when synthesis says the same of both, but for the length of the map, and the file was written after
 * the boot. All but a time that is no plain number is expected by a second reading; the error is one line.
 */
#include "format/same_boot.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/buf.h"
#include "format/synth.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define KERNEL_NAME     "[kernel.kallsyms]"
#define LENGTH_OFFSET   24u /* in an MMAP record */
#define NAME_OFFSET     40u
#define WRITTEN_S       1000000
#define NUMBER_DIGITS   18u
#define PIPE_HEAD_BYTES 16

static const char *const files[] = {"then/kallsyms", "then/iomem", "now/kallsyms", "now/iomem", "now/stat"};
#define FILE_COUNT WEIR_ARRAY_COUNT(files)
#define STAT       (FILE_COUNT - 1)

struct fixture {
    struct fuzz_tree tree;
    char then[PATH_MAX], now[PATH_MAX], recording[PATH_MAX];
    int recording_fd;
};

static void *init(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    weir_assert(fixture);
    fuzz_tree_init(&fixture->tree);
    fuzz_tree_create_all(&fixture->tree, files, FILE_COUNT);
    snprintf(fixture->then, sizeof(fixture->then), "%s/then", fixture->tree.root);
    snprintf(fixture->now, sizeof(fixture->now), "%s/now", fixture->tree.root);
    snprintf(fixture->recording, sizeof(fixture->recording), "%s/recording", fixture->tree.root);
    fixture->recording_fd = fuzz_tree_create(&fixture->tree, "recording");
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->recording_fd);
    fuzz_tree_fini(&fixture->tree);
    free(fixture);
}

static int emit(void *ctx, const void *records, size_t bytes)
{
    weir_buf_append(ctx, records, bytes);
    return weir_buf_error(ctx);
}

static void synthesize(const char *proc_root, struct weir_buf *records)
{
    const struct weir_synth_options options = {.proc_root = proc_root, .emit = emit, .emit_ctx = records};
    weir_assert(weir_synth_kernel(&options, NULL) == 0);
}

/* The record of the kernel's map among those from `at` on; NULL: none. */
static const uint8_t *find_kernel_map(const struct weir_buf *records, size_t at, size_t *bytes)
{
    for (; at < records->used; at += *bytes) {
        struct perf_event_header header;
        memcpy(&header, records->data + at, sizeof(header));
        *bytes = header.size;
        if (strncmp((const char *)records->data + at + NAME_OFFSET, KERNEL_NAME, strlen(KERNEL_NAME)) == 0)
            return records->data + at;
    }
    return NULL;
}

/* A recording as one is piped, of what synthesis says of the kernel then; its last change is at a time of its own. */
static void write_recording(const struct fixture *fixture, struct weir_buf *recording)
{
    static const struct timespec written[2] = {{.tv_sec = WRITTEN_S}, {.tv_sec = WRITTEN_S}};
    weir_buf_append(recording, "PERFILE2", 8);
    weir_buf_append_u64(recording, PIPE_HEAD_BYTES);
    synthesize(fixture->then, recording);
    fuzz_file_write(fixture->recording_fd, (struct fuzz_part){.data = recording->data, .bytes = recording->used});
    weir_assert(futimens(fixture->recording_fd, written) == 0);
}

/* The number of the first line, but for that of all, that begins with "btime "; 0: it is told there is none. False: it
 * is not as the kernel writes one. */
static bool read_boot_time(struct fuzz_part stat, uint64_t *seconds)
{
    char *text = fuzz_part_text(stat);
    const char *line = strchr(text, '\n');
    while (line && strncmp(line + 1, "btime ", 6) != 0)
        line = strchr(line + 1, '\n');
    size_t digits = line ? strspn(line + 7, "0123456789") : 0;
    bool is_plain = !line || (digits > 0 && digits <= NUMBER_DIGITS);
    *seconds = line && is_plain ? strtoull(line + 7, NULL, 10) : 0;
    free(text);
    return is_plain;
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct fuzz_part parts[FILE_COUNT];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, FILE_COUNT);
    for (size_t i = 0; i < FILE_COUNT; i++)
        fuzz_file_write(fixture->tree.fds[i], parts[i]);

    struct weir_buf recording = WEIR_BUF_INIT, present = WEIR_BUF_INIT;
    write_recording(fixture, &recording);
    synthesize(fixture->now, &present);
    size_t then_bytes = 0, now_bytes = 0;
    const uint8_t *then = find_kernel_map(&recording, PIPE_HEAD_BYTES, &then_bytes);
    const uint8_t *now = find_kernel_map(&present, 0, &now_bytes);
    bool is_same = then && now && then_bytes == now_bytes && memcmp(then, now, then_bytes) == 0;
    /* A map of another length is of the same kernel if a symbol at its end says so. */
    bool is_similar = then && now && then_bytes == now_bytes && memcmp(then, now, LENGTH_OFFSET) == 0 &&
                      memcmp(then + LENGTH_OFFSET + 8, now + LENGTH_OFFSET + 8, then_bytes - LENGTH_OFFSET - 8) == 0;

    struct weir_error err = {0};
    uint64_t boot_s;
    bool is_plain = read_boot_time(parts[STAT], &boot_s);
    int result = weir_same_boot_check(fixture->recording, fixture->now, &err);
    weir_assert(result == 0 || result == -ESTALE);
    weir_assert(is_similar || result < 0);
    weir_assert(!is_plain || result < 0 || (boot_s > 0 && boot_s <= WRITTEN_S));
    weir_assert(!is_plain || !is_same || (result == 0) == (boot_s > 0 && boot_s <= WRITTEN_S));
    if (result < 0) {
        uint64_t was, is;
        fuzz_check_error(&err, result);
        weir_assert(sscanf(err.what, "the %*s of its kernel is %lx, that of the running kernel is %lx", &was, &is) !=
                        2 ||
                    was != is);
    }
    weir_buf_fini(&recording);
    weir_buf_fini(&present);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
