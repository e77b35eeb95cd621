/* A growable byte buffer. Each buffer belongs to one thread at a time. */
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "perf.data is written in host order, which must be little");

#define BUF_MIN_BYTES   256
#define READ_STEP_BYTES 65536

void weir_buf_fini(struct weir_buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    *buf = (struct weir_buf)WEIR_BUF_INIT;
}

int weir_buf_error(const struct weir_buf *buf)
{
    return buf->error;
}

void weir_buf_fail(struct weir_buf *buf, int error)
{
    if (buf->error == 0)
        buf->error = error;
}

void weir_buf_reset(struct weir_buf *buf)
{
    buf->used = 0;
    buf->error = 0;
}

static int reserve(struct weir_buf *buf, size_t bytes)
{
    if (buf->error)
        return buf->error;
    if (bytes <= buf->capacity - buf->used)
        return 0;

    size_t needed;
    if (__builtin_add_overflow(buf->used, bytes, &needed)) {
        buf->error = -ENOMEM;
        return -ENOMEM;
    }
    size_t capacity = buf->capacity < BUF_MIN_BYTES ? BUF_MIN_BYTES : buf->capacity * 2;
    if (capacity < needed)
        capacity = needed;

    uint8_t *data = realloc(buf->data, capacity);
    if (!data) {
        buf->error = -ENOMEM;
        return -ENOMEM;
    }
    buf->data = data;
    buf->capacity = capacity;
    return 0;
}

void *weir_buf_extend(struct weir_buf *buf, size_t bytes)
{
    /* At least one byte: for no bytes at the end of an empty buffer, NULL would look like a failure. */
    if (reserve(buf, bytes ? bytes : 1) < 0)
        return NULL;
    void *space = buf->data + buf->used;
    buf->used += bytes;
    return space;
}

void weir_buf_append(struct weir_buf *buf, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    void *space = weir_buf_extend(buf, bytes);
    if (space)
        memcpy(space, data, bytes);
}

void weir_buf_append_zeros(struct weir_buf *buf, size_t bytes)
{
    if (bytes == 0)
        return;
    void *space = weir_buf_extend(buf, bytes);
    if (space)
        memset(space, 0, bytes);
}

void weir_buf_append_u8(struct weir_buf *buf, uint8_t v)
{
    weir_buf_append(buf, &v, sizeof(v));
}

void weir_buf_append_u16(struct weir_buf *buf, uint16_t v)
{
    weir_buf_append(buf, &v, sizeof(v));
}

void weir_buf_append_u32(struct weir_buf *buf, uint32_t v)
{
    weir_buf_append(buf, &v, sizeof(v));
}

void weir_buf_append_u64(struct weir_buf *buf, uint64_t v)
{
    weir_buf_append(buf, &v, sizeof(v));
}

void weir_buf_printf(struct weir_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 && !buf->error)
        buf->error = -EINVAL;
    if (length < 0 || reserve(buf, (size_t)length + 1) < 0)
        return;

    va_start(args, format);
    vsnprintf((char *)buf->data + buf->used, (size_t)length + 1, format, args);
    va_end(args);
    buf->used += (size_t)length;
}

static int read_to_end(struct weir_buf *buf, int fd)
{
    for (;;) {
        int result = reserve(buf, READ_STEP_BYTES);
        if (result < 0)
            return result;
        ssize_t got = read(fd, buf->data + buf->used, READ_STEP_BYTES);
        if (got == 0)
            return 0;
        if (got > 0)
            buf->used += (size_t)got;
        else if (errno != EINTR)
            return -errno;
    }
}

int weir_buf_append_file(struct weir_buf *buf, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;

    size_t used_before = buf->used;
    int result = read_to_end(buf, fd);
    if (result < 0)
        buf->used = used_before;
    close(fd);
    return result;
}

const char *weir_buf_str(struct weir_buf *buf)
{
    if (reserve(buf, 1) < 0)
        return "";
    buf->data[buf->used] = '\0';
    return (const char *)buf->data;
}
