/* Walks perf.data files by record headers alone, mapped read-only. */
#include "perf-tests/data_count.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/perf_file.h"

static uint64_t u64_at(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

static int walk(const uint8_t *data, uint64_t bytes, struct data_count *count)
{
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        if (bytes - at < sizeof(header))
            return -EBADMSG;
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > bytes - at)
            return -EBADMSG;
        if (header.type == PERF_RECORD_SAMPLE)
            count->samples++;
        else if (header.type == PERF_RECORD_LOST)
            count->lost_records += u64_at(data + at + 16);
        else if (header.type == PERF_RECORD_LOST_SAMPLES)
            count->lost_samples += u64_at(data + at + 8);
        at += header.size;
    }
    count->bytes += bytes;
    return 0;
}

static int count_mapped(const uint8_t *file, uint64_t bytes, struct data_count *count)
{
    struct weir_perf_header header;
    memset(&header, 0, sizeof(header));
    if (bytes >= sizeof(header))
        memcpy(&header, file, sizeof(header));
    if (header.magic != WEIR_PERF_MAGIC2)
        return walk(file, bytes, count); /* data.N of a directory is a bare stream */
    if (header.data.offset > bytes || header.data.size > bytes - header.data.offset)
        return -EBADMSG;
    return walk(file + header.data.offset, header.data.size, count);
}

static int count_file(const char *path, struct data_count *count)
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

int data_count(const char *path, struct data_count *count)
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
