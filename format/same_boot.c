/*
 * Checks that a recording belongs to this boot. One thread.
 *
 * The kernel's map contains the address of a symbol. That address changes with every kernel build and, if the kernel is
 * loaded at a random address, with every boot. The time of boot is btime in proc_stat(5).
 */
#include "format/same_boot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "format/bytes.h"
#include "format/line_source.h"
#include "format/synth.h"

#define MAP_BYTES        40u /* MMAP up to its file name: header, pid and tid, start, length, page offset */
#define MAP2_NAME_OFFSET 72u
#define ADDRESSES        24u /* start, length, page offset, from 16 on in MMAP and in MMAP2 */
#define ADDRESSES_OFFSET 16u
#define NAME_BYTES       64u
#define LINE_BYTES       16384u /* symbols have at most 512 bytes, and a read gives a page */

enum {
    MAP_START,
    MAP_LENGTH,
    MAP_PAGE_OFFSET
}; /* words of `addresses` */

#define KERNEL_NAME "[kernel.kallsyms]"

struct kernel_map {
    bool is_there;
    uint8_t addresses[ADDRESSES];
    char name[NAME_BYTES];
};

/* The kernel's map, when the record is one. */
static void take_map(struct kernel_map *map, uint32_t type, const uint8_t *data, size_t bytes)
{
    size_t name = type == PERF_RECORD_MMAP ? MAP_BYTES : MAP2_NAME_OFFSET;
    if (map->is_there || (type != PERF_RECORD_MMAP && type != PERF_RECORD_MMAP2) || bytes <= name ||
        strncmp((const char *)data + name, KERNEL_NAME,
                bytes - name < strlen(KERNEL_NAME) ? bytes - name : strlen(KERNEL_NAME)) != 0)
        return;
    map->is_there = true;
    memcpy(map->addresses, data + ADDRESSES_OFFSET, ADDRESSES);
    snprintf(map->name, sizeof(map->name), "%.*s", (int)(bytes - name), (const char *)data + name);
}

static int take_records(void *ctx, const void *records, size_t bytes)
{
    for (size_t at = 0; at + MAP_BYTES <= bytes;) {
        struct perf_event_header header;
        memcpy(&header, (const uint8_t *)records + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > bytes - at)
            break;
        take_map(ctx, header.type, (const uint8_t *)records + at, header.size);
        at += header.size;
    }
    return 0;
}

static int fail(struct weir_error *err, const char *why)
{
    return weir_error_set(err, -ESTALE, "%s", why);
}

/* The recording's own map, among its first records. 0 or -errno of reading them. */
static int read_map(struct kernel_map *map, const char *path)
{
    struct weir_perf_input input;
    struct weir_record_view record;
    int result = weir_perf_input_open(&input, path, NULL);
    if (result < 0)
        return result;
    while (!map->is_there && (result = weir_perf_input_next(&input, &record, NULL)) == 1)
        take_map(map, record.type, record.data, record.bytes);
    weir_perf_input_close(&input);
    return result < 0 ? result : 0;
}

/* 0, or -errno of reading it; *seconds stays as it is when nothing says it. */
static int read_boot_time(const char *proc_root, uint64_t *seconds)
{
    char path[PATH_MAX];
    struct weir_buf text = WEIR_BUF_INIT;
    snprintf(path, sizeof(path), "%s/stat", proc_root ? proc_root : "/proc");
    int result = weir_buf_append_file(&text, path);
    const char *line = result == 0 ? strstr(weir_buf_str(&text), "\nbtime ") : NULL;
    if (line)
        *seconds = strtoull(line + strlen("\nbtime "), NULL, 10);
    if (result == 0)
        result = weir_buf_error(&text);
    weir_buf_fini(&text);
    return result;
}

static int fail_memory(struct weir_error *err)
{
    return weir_error_set_errno(err, -ENOMEM, "cannot compare kernels");
}

int weir_same_boot_check_newest(uint64_t newest_ns, struct weir_error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    if (newest_ns <= (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec)
        return 0;
    return fail(err, "its newest sample is later than now");
}

int weir_same_boot_check_file(const char *path, const char *proc_root, struct weir_error *err)
{
    struct stat status;
    uint64_t boot_s = 0;
    if (read_boot_time(proc_root, &boot_s) == -ENOMEM)
        return fail_memory(err);
    if (stat(path, &status) < 0 || boot_s == 0 || (uint64_t)status.st_mtim.tv_sec < boot_s)
        return fail(err, "it was last written before this machine was booted");
    return 0;
}

static uint64_t word_of(const struct kernel_map *map, size_t number)
{
    return weir_load_u64(map->addresses + number * sizeof(uint64_t));
}

/* Whether the line of kallsyms is of a symbol at which one recorder or another ends the kernel's map. */
static bool is_end(const char *line, uint64_t end)
{
    static const char *const names[] = {"_edata", "_etext", "_end"};
    const char *name = strrchr(line, ' ');
    for (size_t i = 0; name && i < WEIR_ARRAY_COUNT(names); i++) {
        if (strcmp(name + 1, names[i]) == 0)
            return strtoull(line, NULL, 16) == end;
    }
    return false;
}

static bool ends_with_kernel(const char *proc_root, uint64_t end)
{
    char path[PATH_MAX], text[LINE_BYTES];
    struct weir_line_source lines;
    bool is_found = false;
    snprintf(path, sizeof(path), "%s/kallsyms", proc_root ? proc_root : "/proc");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    for (const char *line; !is_found && (line = weir_line_source_next(&lines));)
        is_found = is_end(line, end);
    close(fd);
    return is_found;
}

/* perf's map of the same kernel has another length than ours: without _edata it ends at _etext, ours with the image. */
static bool is_same_kernel(const struct kernel_map *recorded, const struct kernel_map *present, const char *proc_root)
{
    if (word_of(recorded, MAP_START) != word_of(present, MAP_START) ||
        word_of(recorded, MAP_PAGE_OFFSET) != word_of(present, MAP_PAGE_OFFSET) ||
        strcmp(recorded->name, present->name) != 0)
        return false;
    return word_of(recorded, MAP_LENGTH) == word_of(present, MAP_LENGTH) ||
           ends_with_kernel(proc_root, word_of(recorded, MAP_START) + word_of(recorded, MAP_LENGTH));
}

/* Names the first thing that differs. */
static int fail_difference(const struct kernel_map *recorded, const struct kernel_map *present, struct weir_error *err)
{
    static const char *const words[] = {"address", "size", "page offset"};
    if (strcmp(recorded->name, present->name) != 0)
        return weir_error_set(err, -ESTALE, "its kernel's map is '%s', that of the running kernel is '%s'",
                              recorded->name, present->name);
    size_t i = MAP_START;
    while (i < MAP_PAGE_OFFSET && word_of(recorded, i) == word_of(present, i))
        i++;
    return weir_error_set(err, -ESTALE, "the %s of its kernel is %#" PRIx64 ", that of the running kernel is %#" PRIx64,
                          words[i], word_of(recorded, i), word_of(present, i));
}

int weir_same_boot_check(const char *path, const char *proc_root, struct weir_error *err)
{
    struct kernel_map recorded = {0}, present = {0};
    const struct weir_synth_options synth = {.proc_root = proc_root, .emit = take_records, .emit_ctx = &present};
    if (read_map(&recorded, path) == -ENOMEM)
        return fail_memory(err);
    if (!recorded.is_there)
        return fail(err, "the file does not contain the address of its kernel");
    int result = weir_synth_kernel(&synth, NULL);
    if (result == -ENOMEM)
        return fail_memory(err);
    if (result < 0 || !present.is_there)
        return fail(err, "the addresses of the running kernel cannot be read");
    if (!is_same_kernel(&recorded, &present, proc_root))
        return fail_difference(&recorded, &present, err);
    return weir_same_boot_check_file(path, proc_root, err);
}
