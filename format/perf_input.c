/*
 * A recording opened for reading: which form it has, and its records in order. perf_input_file.c reads a file's head,
 * perf_input_pipe.c takes events and features from a pipe's records. One thread.
 */
#include "format/perf_input.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bits.h"
#include "format/byte_order.h"
#include "format/bytes.h"
#include "format/perf_input_internal.h"

#define PARTS_MAX           65536u
#define PART_PREFIX         "data."
#define MAGIC_1             0x454c494646524550ull /* "PERFFILE" */
#define COMPRESSED_MMAP_LEN 16
#define PROGRESS_BYTES      (1u << 20)

/* ---- open ---- */

static int refuse_magic(const struct weir_perf_input *input, uint64_t magic, struct weir_error *err)
{
    const char *path = input->source.path;
    if (magic == MAGIC_1)
        return weir_error_set(err, -ENOTSUP, "%s: a perf.data file of version 1, which perf stopped writing with 3.7",
                              path);
    return weir_error_set(err, -EBADMSG, "%s: not a perf.data file (bad magic)", path);
}

static int read_form(struct weir_perf_input *input, struct weir_error *err)
{
    uint8_t start[WEIR_PIPE_HEADER_BYTES];
    ssize_t count = weir_byte_source_read(&input->source, 0, start, sizeof(start));
    if (count < 0)
        return weir_error_set_errno(err, (int)count, "cannot read %s", input->source.path);
    if (count == 0)
        return weir_error_set(err, -EBADMSG, "%s: %s is empty", input->source.path,
                              input->source.is_file ? "file" : "stream");
    if ((size_t)count < sizeof(start))
        return weir_error_set(err, -EBADMSG, "%s: cut off at %#zx, inside the header", input->source.path,
                              (size_t)count);
    uint64_t magic = weir_load_u64(start), size = weir_load_u64(start + sizeof(magic));
    input->is_foreign = magic == __builtin_bswap64(WEIR_PERF_MAGIC2);
    if (magic != WEIR_PERF_MAGIC2 && !input->is_foreign)
        return refuse_magic(input, magic, err);
    size = input->is_foreign ? __builtin_bswap64(size) : size;
    input->header.magic = WEIR_PERF_MAGIC2;
    input->header.size = size;
    input->is_pipe = size == WEIR_PIPE_HEADER_BYTES;
    if (input->is_pipe) {
        input->data_end = input->source.is_file ? input->source.file_bytes : UINT64_MAX;
        return 0;
    }
    if (!input->source.is_file) {
        weir_error_set(err, -ENOTSUP, "%s: a perf.data file, which cannot be read from a stream", input->source.path);
        weir_error_hint(err, "give the file's name, or record with -o - for a stream");
        return -ENOTSUP;
    }
    return weir_perf_input_read_file(input, err);
}

/* Whether DIR has a data.N of a greater number: then the one of this number has been lost. *beyond: which. */
static bool find_part_beyond(const char *path, unsigned number, unsigned *beyond)
{
    DIR *folder = opendir(path);
    bool is_found = false;
    for (const struct dirent *entry; folder && !is_found && (entry = readdir(folder));) {
        char *end;
        if (strncmp(entry->d_name, PART_PREFIX, strlen(PART_PREFIX)) != 0)
            continue;
        const char *digits = entry->d_name + strlen(PART_PREFIX);
        unsigned long found = strtoul(digits, &end, 10);
        is_found = isdigit((unsigned char)digits[0]) && *end == '\0' && found > number && found < PARTS_MAX;
        *beyond = (unsigned)found;
    }
    if (folder)
        closedir(folder);
    return is_found;
}

/* Refuses a gap: there are `number` parts, but a later one exists too, so one was removed. Other consumers would take
 * the parts before it for the whole. */
static int check_parts(const char *path, unsigned number, struct weir_error *err)
{
    unsigned beyond;
    if (!find_part_beyond(path, number, &beyond))
        return 0;
    weir_error_set(err, -ENOENT, "%s/" PART_PREFIX "%u is missing, and %s/" PART_PREFIX "%u is there", path, number,
                   path, beyond);
    weir_error_hint(err, "to read the others, put an empty file in its place: touch %s/" PART_PREFIX "%u", path,
                    number);
    return -ENOENT;
}

/* Opens a file of a directory. weir would wait for a FIFO there, and a device could have any effect. The user has named
 * neither. A descriptor; or -errno, -EINVAL of what is no file. */
static int open_in_directory(const char *name)
{
    struct stat status;
    if (stat(name, &status) == 0 && !S_ISREG(status.st_mode))
        return -EINVAL;
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static int fail_in_directory(const char *name, int code, struct weir_error *err)
{
    if (code == -EINVAL)
        return weir_error_set(err, code, "%s is not a regular file, as those of a recording are", name);
    weir_error_set_errno(err, code, "cannot open %s", name);
    if (code == -EMFILE)
        weir_error_hint(err, "weir opens all files of a directory at once: raise the limit with ulimit -n");
    return code;
}

/* Goes on to DIR/data.N, N from 0 on, up to the first that is not there. */
static int open_parts(struct weir_perf_input *input, const char *path, struct weir_error *err)
{
    char name[PATH_MAX];
    for (unsigned number = 0; number < PARTS_MAX; number++) {
        int length = snprintf(name, sizeof(name), "%s/data.%u", path, number);
        int fd = length < (int)sizeof(name) ? open_in_directory(name) : -ENAMETOOLONG;
        if (fd == -ENOENT)
            return check_parts(path, number, err);
        if (fd < 0)
            return fail_in_directory(name, fd, err);
        int *parts = weir_array_grow(input->parts, sizeof(*parts), input->part_count, 1, &input->part_capacity);
        if (!parts) {
            close(fd);
            return weir_error_set_errno(err, -ENOMEM, "cannot open %s", name);
        }
        input->parts = parts;
        input->parts[input->part_count++] = fd;
    }
    return 0;
}

static int open_source(struct weir_perf_input *input, const char *path, struct weir_error *err)
{
    struct stat status;
    if (strcmp(path, "-") == 0 || stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
        return weir_byte_source_open(&input->source, path, err);
    char main_path[PATH_MAX];
    if (snprintf(main_path, sizeof(main_path), "%s/data", path) >= (int)sizeof(main_path))
        return weir_error_set_errno(err, -ENAMETOOLONG, "cannot open %.64s...", path);
    bool is_other = stat(main_path, &status) == 0 && !S_ISREG(status.st_mode);
    int result =
        is_other ? fail_in_directory(main_path, -EINVAL, err) : weir_byte_source_open(&input->source, main_path, err);
    if (result == -ENOENT) {
        weir_error_set(err, result, "the directory %s contains no recording", path);
        weir_error_hint(err, "name a file, or a directory of weir record --kcore or perf record --threads");
    }
    if (result < 0)
        return result;
    snprintf(input->directory, sizeof(input->directory), "%s", path);
    return open_parts(input, path, err);
}

/* HEADER_COMPRESSED {u32 version, type, level, ratio, mmap_len}: a record expands to at most mmap_len bytes. */
static int find_expanded_max(struct weir_perf_input *input)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    uint64_t limit = WEIR_RECORD_STREAM_EXPANDED_MAX;
    int found = weir_perf_input_feature(input, WEIR_FEATURE_COMPRESSED, &payload, NULL);
    if (found == 1 && payload.used >= COMPRESSED_MMAP_LEN + sizeof(uint32_t)) {
        uint32_t mmap_len = weir_load_u32(payload.data + COMPRESSED_MMAP_LEN);
        limit = mmap_len ? weir_min_u64(mmap_len, limit) : limit;
    }
    weir_buf_fini(&payload);
    input->stream.expanded_max = limit;
    return found == -ENOMEM ? found : 0;
}

static void await_progress(struct weir_perf_input *input, uint64_t from)
{
    input->progress_at = input->progress.tell ? from + PROGRESS_BYTES : UINT64_MAX;
}

static void tell_progress(struct weir_perf_input *input, uint64_t offset)
{
    const struct weir_byte_source *source = input->part.fd >= 0 ? &input->part : &input->source;
    input->progress.tell(input->progress.ctx, offset, source->file_bytes);
    await_progress(input, offset);
}

static void turn_record(void *ctx, uint8_t *record, size_t bytes)
{
    weir_byte_order_turn_record(ctx, record, bytes);
}

static int start_streaming(struct weir_perf_input *input, const struct weir_byte_source *source, uint64_t offset,
                           uint64_t end, struct weir_error *err)
{
    weir_record_stream_fini(&input->stream);
    await_progress(input, offset);
    int result = weir_record_stream_init(&input->stream, source, offset, end);
    if (input->is_foreign)
        input->stream.turner = (struct weir_record_turner){.turn = turn_record, .ctx = &input->events};
    if (result == 0)
        result = find_expanded_max(input);
    return result < 0 ? weir_error_set_errno(err, result, "cannot read %s", source->path) : 0;
}

int weir_perf_input_open(struct weir_perf_input *input, const char *path, struct weir_error *err)
{
    return weir_perf_input_open_gated(input, path, NULL, err);
}

int weir_perf_input_open_gated(struct weir_perf_input *input, const char *path, const struct weir_input_gate *gate,
                               struct weir_error *err)
{
    memset(input, 0, sizeof(*input));
    input->source.fd = -1;
    input->part.fd = -1;
    int result = open_source(input, path, err);
    if (result == 0 && gate)
        result = gate->opened(gate->ctx, err);
    if (gate)
        input->progress = gate->progress;
    if (result == 0)
        result = read_form(input, err);
    if (result == 0)
        result =
            start_streaming(input, &input->source, input->is_pipe ? WEIR_PIPE_HEADER_BYTES : input->header.data.offset,
                            input->data_end, err);
    if (result < 0)
        weir_perf_input_close(input);
    return result;
}

int weir_perf_input_check_order(const struct weir_perf_input *input, struct weir_error *err)
{
    if (!input->is_foreign)
        return 0;
    weir_error_set(err, -ENOTSUP, "%s: a perf.data file of a big-endian machine", input->source.path);
    weir_error_hint(err, "weir report, dump, info and verify read it");
    return -ENOTSUP;
}

void weir_perf_input_close(struct weir_perf_input *input)
{
    weir_record_stream_fini(&input->stream);
    weir_input_events_fini(&input->events);
    for (size_t i = 0; i < WEIR_FEATURES_KNOWN; i++)
        weir_buf_fini(&input->payloads[i]);
    weir_byte_source_close(&input->source);
    weir_byte_source_close(&input->part);
    for (size_t i = 0; i < input->part_count; i++) {
        if (input->parts[i] >= 0)
            close(input->parts[i]);
    }
    free(input->parts);
    input->parts = NULL;
    input->part_count = 0;
}

/* ---- records ---- */

int weir_perf_input_next_part(struct weir_perf_input *input, struct weir_error *err)
{
    char name[PATH_MAX];
    if (input->next_part >= input->part_count)
        return 0;
    snprintf(name, sizeof(name), "%.*s/data.%zu", (int)sizeof(name) - 32, input->directory, input->next_part);
    int fd = input->parts[input->next_part];
    input->parts[input->next_part++] = -1;
    weir_record_stream_fini(&input->stream); /* it has borrowed the part that is closed now */
    weir_byte_source_close(&input->part);
    int result = weir_byte_source_adopt(&input->part, fd, name, err);
    if (result == 0)
        result =
            start_streaming(input, &input->part, 0, input->part.is_file ? input->part.file_bytes : UINT64_MAX, err);
    return result < 0 ? result : 1;
}

/* Damage in the data. `weir recover` takes a directory whole. It takes neither a stream, nor standard input, nor a
 * recording of another byte order. */
static void hint_at_recovery(const struct weir_perf_input *input, struct weir_error *err)
{
    if (input->is_foreign)
        return;
    if (input->directory[0])
        weir_error_hint(err, "weir recover %s saves the whole records in a new directory", input->directory);
    else if (!input->is_pipe && input->source.is_owned)
        weir_error_hint(err, "weir recover %s saves the whole records in a new file", input->source.path);
}

int weir_perf_input_next_here(struct weir_perf_input *input, struct weir_record_view *record, struct weir_error *err)
{
    int result = weir_record_stream_next(&input->stream, record, err);
    if (result == 1 && record->offset >= input->progress_at)
        tell_progress(input, record->offset);
    if (result == -EBADMSG)
        hint_at_recovery(input, err);
    if (result == 1)
        weir_merge_parse(record, &input->events.merge);
    if (result == 1 && input->is_pipe) {
        int absorbed = weir_perf_input_absorb(input, record, err);
        if (absorbed < 0)
            return absorbed;
        if (record->type == WEIR_RECORD_FEATURE && find_expanded_max(input) < 0)
            return weir_error_set_errno(err, -ENOMEM, "cannot read %s", input->source.path);
    }
    return result;
}

int weir_perf_input_next(struct weir_perf_input *input, struct weir_record_view *record, struct weir_error *err)
{
    int result;
    do {
        result = weir_perf_input_next_here(input, record, err);
    } while (result == 0 && (result = weir_perf_input_next_part(input, err)) > 0);
    return result;
}
