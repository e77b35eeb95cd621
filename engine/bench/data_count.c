/* Walks perf.data files by record headers alone, mapped read-only; what is compressed is expanded first. */
#include "engine/bench/data_count.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/perf_file.h"
#include "format/zstd_stream.h"

#define ROOM_BYTES (4u << 20)

/* Of a recording that is compressed: pieces of records wait for their rest. */
struct expansion {
    struct weir_zstd_stream *stream; /* owned; NULL until something was compressed */
    uint8_t *room;                   /* owned */
    size_t held;
};

static int walk(const uint8_t *data, uint64_t bytes, struct expansion *expansion, struct weir_data_count *count);

/* Walks the expanded bytes of a COMPRESSED record, as far as its records are whole. */
static int walk_compressed(const uint8_t *data, size_t bytes, struct expansion *expansion,
                           struct weir_data_count *count)
{
    if (!expansion->stream)
        expansion->stream = weir_zstd_stream_new();
    if (!expansion->room)
        expansion->room = malloc(ROOM_BYTES);
    if (!expansion->stream || !expansion->room)
        return -ENOMEM;
    weir_zstd_stream_feed(expansion->stream, data, bytes);
    for (;;) {
        size_t written, whole = 0;
        const char *reason;
        uint8_t *room = expansion->room;
        if (weir_zstd_stream_take(expansion->stream, room + expansion->held, ROOM_BYTES - expansion->held, &written,
                                  &reason) < 0)
            return -EBADMSG;
        if (written == 0)
            return 0;
        expansion->held += written;
        struct perf_event_header header;
        while (expansion->held - whole >= sizeof(header)) {
            memcpy(&header, room + whole, sizeof(header));
            if (header.size < sizeof(header) || header.size > expansion->held - whole)
                break;
            whole += header.size;
        }
        int result = walk(room, whole, NULL, count);
        if (result < 0)
            return result;
        expansion->held -= whole;
        memmove(room, room + whole, expansion->held);
    }
}

static int walk(const uint8_t *data, uint64_t bytes, struct expansion *expansion, struct weir_data_count *count)
{
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        if (bytes - at < sizeof(header))
            return -EBADMSG;
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > bytes - at)
            return -EBADMSG;
        if (header.type == WEIR_RECORD_COMPRESSED && expansion) {
            int result = walk_compressed(data + at + sizeof(header), header.size - sizeof(header), expansion, count);
            if (result < 0)
                return result;
            count->bytes -= header.size; /* only what it expands to */
        } else if (header.type == PERF_RECORD_SAMPLE)
            count->samples++;
        else if (header.type == PERF_RECORD_LOST)
            count->lost_records += weir_load_u64(data + at + 16);
        else if (header.type == PERF_RECORD_LOST_SAMPLES)
            count->lost_samples += weir_load_u64(data + at + 8);
        at += header.size;
    }
    count->bytes += bytes;
    return 0;
}

static int count_mapped(const uint8_t *file, uint64_t bytes, struct weir_data_count *count)
{
    struct weir_perf_header header;
    memset(&header, 0, sizeof(header));
    if (bytes >= sizeof(header))
        memcpy(&header, file, sizeof(header));
    if (header.magic != WEIR_PERF_MAGIC2)
        return walk(file, bytes, NULL, count); /* data.N of a directory is a bare stream */
    if (header.data.offset > bytes || header.data.size > bytes - header.data.offset)
        return -EBADMSG;
    struct expansion expansion = {0};
    int result = walk(file + header.data.offset, header.data.size, &expansion, count);
    weir_zstd_stream_free(expansion.stream);
    free(expansion.room);
    return result;
}

static int count_file(const char *path, struct weir_data_count *count)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0)
        return -errno;
    if (fstat(fd, &about) < 0 || about.st_size == 0) {
        close(fd);
        return 0;
    }
    uint64_t bytes = (uint64_t)about.st_size;
    void *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return -errno;
    int result = count_mapped(file, bytes, count);
    munmap(file, bytes);
    return result;
}

int weir_data_count(const char *path, struct weir_data_count *count)
{
    memset(count, 0, sizeof(*count));
    struct stat about;
    if (stat(path, &about) < 0)
        return -errno;
    if (!S_ISDIR(about.st_mode))
        return count_file(path, count);

    char pattern[4096];
    snprintf(pattern, sizeof(pattern), "%s/data*", path);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return -ENOENT;
    int result = 0;
    for (size_t i = 0; result == 0 && i < found.gl_pathc; i++)
        result = count_file(found.gl_pathv[i], count);
    globfree(&found);
    return result;
}
