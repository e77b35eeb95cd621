/*
 * MMAP2 records of one process. Runs on the synthesis workers.
 *
 * Two sources give the same records. PROCMAP_QUERY (Linux 6.11) is an ioctl on the maps file that returns one map in
 * binary form. It can skip maps that are not executable, which a recording without -d does not need: 5 maps instead of
 * 30 lines of text. All other cases, also -d, read the text.
 *
 * The query does not return the map that the kernel adds outside of the address space ([vsyscall] on x86). That map is
 * the same for all 64-bit tasks, and weir copies it from its own maps. Executable maps above 4 GiB identify a 64-bit
 * task, so only a static program at low addresses and without a vDSO misses it.
 *
 * Source: perf_event__synthesize_mmap_events(), tools/perf of Linux 6.12, for the choice and names of maps;
 * include/uapi/linux/fs.h of Linux 6.11 for the query, which Debian 12's headers do not have yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/regular_file.h"
#include "format/line_source.h"
#include "format/records.h"
#include "format/synth_internal.h"

#define DEFAULT_TIMEOUT_MS 500u
#define FIRST_NAME_BYTES   256u         /* the kernel allocates that much per query: long names ask again */
#define COMPAT_SPACE_END   (1ull << 32) /* 32-bit tasks have nothing above */
#define KERNEL_SPACE_BIT   (1ull << 63)
#define ANONYMOUS_NAME     "//anon"
#define OVERLONG_NAME      "//toolong"

struct map_query { /* struct procmap_query */
    uint64_t size, query_flags, query_addr;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
_Static_assert(sizeof(struct map_query) == 104, "struct procmap_query");
_Static_assert(offsetof(struct map_query, vma_name_size) == 80, "struct procmap_query.vma_name_size");

#define MAP_QUERY _IOWR('f', 17, struct map_query)

enum map_query_flag { /* enum procmap_query_flags */
    QUERY_READABLE = 0x01,
    QUERY_WRITABLE = 0x02,
    QUERY_EXECUTABLE = 0x04,
    QUERY_SHARED = 0x08,
    QUERY_COVERING_OR_NEXT = 0x10,
};

/* One process in hand. */
struct maps_walk {
    struct weir_synth_worker *worker;
    int fd; /* its maps */
    pid_t pid;
    uint64_t start_ns;
};

/* ---- what is the same for all processes ---- */

static bool read_gate(struct weir_synth_maps *maps, const char *line)
{
    struct weir_proc_map map;
    if (!weir_proc_map_parse(line, &map) || !(map.start & KERNEL_SPACE_BIT) ||
        strlen(map.name) >= sizeof(maps->gate_name))
        return false;
    snprintf(maps->gate_name, sizeof(maps->gate_name), "%s", map.name);
    maps->gate = map;
    maps->gate.name = maps->gate_name;
    return true;
}

/* Keeps the mount point of a line "DEVICE POINT hugetlbfs ..."; returns whether there is room for more. */
static bool read_huge_mount(struct weir_synth_maps *maps, char *line)
{
    char *at = NULL;
    const char *device = strtok_r(line, " ", &at);
    const char *point = device ? strtok_r(NULL, " ", &at) : NULL;
    const char *type = point ? strtok_r(NULL, " ", &at) : NULL;
    if (type && strcmp(type, "hugetlbfs") == 0 && strlen(point) < sizeof(maps->huge_mounts[0]))
        snprintf(maps->huge_mounts[maps->huge_mount_count++], sizeof(maps->huge_mounts[0]), "%s", point);
    return maps->huge_mount_count < WEIR_SYNTH_HUGE_MOUNTS;
}

void weir_synth_maps_init(struct weir_synth_maps *maps, int proc_fd, unsigned timeout_ms)
{
    *maps = (struct weir_synth_maps){.timeout_ns = (timeout_ms ? timeout_ms : DEFAULT_TIMEOUT_MS) * WEIR_NS_PER_MS};
    char text[WEIR_SYNTH_TEXT_BYTES];
    struct weir_line_source lines;
    char *line;

    int fd = openat(proc_fd, "mounts", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        weir_line_source_init(&lines, fd, text, sizeof(text));
        while ((line = weir_line_source_next(&lines)) && read_huge_mount(maps, line)) {
        }
        close(fd);
    }
    fd = openat(proc_fd, "self/maps", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        weir_line_source_init(&lines, fd, text, sizeof(text));
        while (!maps->has_gate && (line = weir_line_source_next(&lines)))
            maps->has_gate = read_gate(maps, line);
        close(fd);
    }
}

/* ---- one map ---- */

static bool is_below(const char *path, const char *directory)
{
    size_t bytes = strlen(directory);
    return strncmp(path, directory, bytes) == 0 && (path[bytes] == '/' || path[bytes] == '\0');
}

/* The name that the record gets; flags gains MAP_HUGETLB where that is known from the name only. */
static const char *record_name(const struct weir_synth_worker *worker, const char *name, uint32_t *flags)
{
    const struct weir_synth_maps *maps = &worker->run->maps;
    if (name[0] == '\0')
        return ANONYMOUS_NAME;
    for (unsigned i = 0; i < maps->huge_mount_count; i++) {
        if (is_below(name, maps->huge_mounts[i])) {
            *flags |= MAP_HUGETLB;
            return ANONYMOUS_NAME;
        }
    }
    return strlen(name) < PATH_MAX - worker->run->options->sample_id_bytes ? name : OVERLONG_NAME;
}

static bool is_wanted(const struct weir_synth_worker *worker, uint32_t protection)
{
    return (protection & PROT_EXEC) || (worker->run->options->data_maps && (protection & PROT_READ));
}

static int emit_map(struct weir_synth_worker *worker, pid_t pid, const struct weir_proc_map *map, uint16_t misc)
{
    int result = weir_synth_block_reserve(&worker->block);
    if (result < 0)
        return result;
    struct weir_record_map record = {
        .pid = pid,
        .tid = pid,
        .start = map->start,
        .bytes = map->end - map->start,
        .page_offset = map->page_offset,
        .major = map->major,
        .minor = map->minor,
        .inode = map->inode,
        .protection = map->protection,
        .flags = map->flags,
        .cpumode = misc,
        .build_id = &worker->build_id,
    };
    record.filename = record_name(worker, map->name, &record.flags);
    weir_record_mmap2(&worker->block.records, &record, worker->run->options->sample_id_bytes);
    worker->counts.maps++;
    return 0;
}

/* For kernels that do not tell it: the id of the file that has the name in the root of the process. */
static void read_build_id(const struct maps_walk *walk, const struct weir_proc_map *map)
{
    struct weir_synth_worker *worker = walk->worker;
    char path[PATH_MAX + sizeof("2147483647/root")];
    worker->build_id.bytes = 0;
    if (!worker->run->options->build_ids || map->inode == 0 || !(map->protection & PROT_EXEC) ||
        (size_t)snprintf(path, sizeof(path), "%d/root%s", (int)walk->pid, map->name) >= sizeof(path))
        return;
    struct stat status;
    int fd = weir_regular_file_open(worker->run->proc_fd, path, &status);
    if (fd < 0)
        return;
    weir_build_id_of_file(fd, &worker->build_id);
    close(fd);
}

static bool is_late(const struct maps_walk *walk)
{
    return weir_clock_now_ns(&weir_clock_monotonic) - walk->start_ns > walk->worker->run->maps.timeout_ns;
}

/* Marks the last record of a list that took too long, so that consumers know: the present map, wanted or not. */
static int emit_timed_out(const struct maps_walk *walk, const struct weir_proc_map *map)
{
    struct weir_synth_worker *worker = walk->worker;
    worker->counts.timed_out++;
    if (!worker->first_timed_out)
        worker->first_timed_out = walk->pid;
    return emit_map(worker, walk->pid, map, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT);
}

/* ---- from the text ---- */

static int read_maps(const struct maps_walk *walk)
{
    struct weir_synth_worker *worker = walk->worker;
    struct weir_line_source lines;
    weir_line_source_init(&lines, walk->fd, worker->text, sizeof(worker->text));

    uint64_t reads = 0;
    const char *line;
    while ((line = weir_line_source_next(&lines))) {
        struct weir_proc_map map;
        if (!weir_proc_map_parse(line, &map))
            continue;
        /* Time passes in read(2): lines that came with the same one need no look at the clock. */
        if (reads != lines.reads && is_late(walk))
            return emit_timed_out(walk, &map);
        reads = lines.reads;
        if (!is_wanted(worker, map.protection))
            continue;
        read_build_id(walk, &map);
        int result = emit_map(worker, walk->pid, &map, PERF_RECORD_MISC_USER);
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- from queries ---- */

/* The form that names have in the text: a newline is written as \012 (seq_path() in fs/seq_file.c). */
static const char *escape_newlines(const char *name, char *escaped, size_t bytes)
{
    if (!strchr(name, '\n'))
        return name;
    size_t used = 0;
    for (; *name; name++) {
        if (used + sizeof("\\012") > bytes)
            return OVERLONG_NAME;
        if (*name == '\n')
            used += (size_t)(stpcpy(escaped + used, "\\012") - (escaped + used));
        else
            escaped[used++] = *name;
    }
    escaped[used] = '\0';
    return escaped;
}

static void map_from_query(struct weir_synth_worker *worker, const struct map_query *query, struct weir_proc_map *map)
{
    *map = (struct weir_proc_map){
        .start = query->vma_start,
        .end = query->vma_end,
        .page_offset = query->vma_offset,
        .inode = query->inode,
        .major = query->dev_major,
        .minor = query->dev_minor,
        .protection = (query->vma_flags & QUERY_READABLE ? PROT_READ : 0) |
                      (query->vma_flags & QUERY_WRITABLE ? PROT_WRITE : 0) |
                      (query->vma_flags & QUERY_EXECUTABLE ? PROT_EXEC : 0),
        .flags = query->vma_flags & QUERY_SHARED ? MAP_SHARED : MAP_PRIVATE,
        .name = "",
    };
    if (!query->vma_name_addr)
        map->name = OVERLONG_NAME; /* asked without its name because that did not fit */
    else if (query->vma_name_size)
        map->name = escape_newlines(worker->name, worker->text, sizeof(worker->text));
}

/* The first executable map at or behind address. 1, 0 at the end, or -errno: -ENOTTY where queries are not known. */
static int query_map(const struct maps_walk *walk, uint64_t address, struct weir_proc_map *map)
{
    struct weir_synth_worker *worker = walk->worker;
    uint32_t name_bytes = FIRST_NAME_BYTES;
    bool wants_id = worker->run->options->build_ids;
    for (;;) {
        struct map_query query = {
            .size = sizeof(query),
            .query_flags = QUERY_EXECUTABLE | QUERY_COVERING_OR_NEXT,
            .query_addr = address,
            .vma_name_size = name_bytes,
            .vma_name_addr = name_bytes ? (uintptr_t)worker->name : 0,
            .build_id_size = wants_id ? WEIR_BUILD_ID_MAX_BYTES : 0,
            .build_id_addr = wants_id ? (uintptr_t)worker->build_id.data : 0,
        };
        if (ioctl(walk->fd, MAP_QUERY, &query) == 0) {
            worker->build_id.bytes = (uint8_t)weir_min_u64(query.build_id_size, WEIR_BUILD_ID_MAX_BYTES);
            map_from_query(worker, &query, map);
            return 1;
        }
        if (errno == ENAMETOOLONG && name_bytes)
            name_bytes = name_bytes < PATH_MAX ? PATH_MAX : 0;
        else if (errno != EINTR)
            return errno == ENOENT || errno == ESRCH ? 0 : -errno;
    }
}

/* found, map: what the first query gave. */
static int query_maps(const struct maps_walk *walk, int found, struct weir_proc_map *map)
{
    struct weir_synth_worker *worker = walk->worker;
    bool is_64_bit = false;
    for (; found > 0; found = query_map(walk, map->end, map)) {
        if (is_late(walk))
            return emit_timed_out(walk, map);
        int result = emit_map(worker, walk->pid, map, PERF_RECORD_MISC_USER);
        if (result < 0)
            return result;
        is_64_bit = is_64_bit || map->start >= COMPAT_SPACE_END;
    }
    worker->build_id.bytes = 0; /* the map that follows has no file */
    if (is_64_bit && worker->run->maps.has_gate && is_wanted(worker, worker->run->maps.gate.protection))
        return emit_map(worker, walk->pid, &worker->run->maps.gate, PERF_RECORD_MISC_USER);
    return 0;
}

/* ---- one process ---- */

static int walk_maps(const struct maps_walk *walk)
{
    struct weir_synth_worker *worker = walk->worker;
    /* Without a permission to filter by, one query per map costs more than a page of text. */
    if (worker->query_refused || worker->run->options->data_maps)
        return read_maps(walk);

    struct weir_proc_map map = {.name = ""};
    int found = query_map(walk, 0, &map);
    if (found == -ENOTTY) {
        worker->query_refused = true;
        return read_maps(walk);
    }
    return query_maps(walk, found, &map);
}

int weir_synth_process_maps(struct weir_synth_worker *worker, pid_t pid, const char *path)
{
    int fd = openat(worker->run->proc_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int code = -errno;
        return weir_synth_is_gone(code) ? 0 : code;
    }
    struct maps_walk walk = {
        .worker = worker,
        .fd = fd,
        .pid = pid,
        .start_ns = weir_clock_now_ns(&weir_clock_monotonic),
    };
    int result = walk_maps(&walk);
    close(fd);
    return result;
}
