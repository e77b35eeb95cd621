/*
 * A growable byte buffer, for set-up and finishing. It allocates, so the data path never uses it.
 *
 * The buffer remembers a failed append: later appends do nothing, and weir_buf_error() returns the reason at the end,
 * so that builders need no check per append. Integers are stored little endian, the byte order of the host. (weir runs
 * on little-endian machines only; base/buf.c asserts that at compile time.)
 */
#ifndef WEIR_BASE_BUF_H
#define WEIR_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct weir_buf {
    uint8_t *data;   /* owned; NULL while empty */
    size_t used;     /* bytes */
    size_t capacity; /* bytes */
    int error;       /* 0, or the -errno of the first failed append */
};

#define WEIR_BUF_INIT \
    {                 \
        NULL, 0, 0, 0 \
    }

/* Frees the bytes and makes buf empty again. NULL is allowed. */
void weir_buf_fini(struct weir_buf *buf);

/* 0, or the first failure since init or reset: -ENOMEM, or -EINVAL (weir_buf_printf: text that cannot be formatted). */
int weir_buf_error(const struct weir_buf *buf);

/* Remembers error (-errno) as the failure of an append, for callers that could not produce the bytes to append. */
void weir_buf_fail(struct weir_buf *buf, int error);

/* Empties buf and clears its error; keeps its memory. */
void weir_buf_reset(struct weir_buf *buf);

/* Adds `bytes` of uninitialized space at the end, counts them in used and returns the space; NULL on error only. Valid
 * until the next append. */
void *weir_buf_extend(struct weir_buf *buf, size_t bytes);

void weir_buf_append(struct weir_buf *buf, const void *data, size_t bytes);
void weir_buf_append_zeros(struct weir_buf *buf, size_t bytes);
void weir_buf_append_u8(struct weir_buf *buf, uint8_t v);
void weir_buf_append_u16(struct weir_buf *buf, uint16_t v);
void weir_buf_append_u32(struct weir_buf *buf, uint32_t v);
void weir_buf_append_u64(struct weir_buf *buf, uint64_t v);

/* Appends formatted text without its terminating zero. */
void weir_buf_printf(struct weir_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Appends the whole file, reading up to its end: sysfs and proc report no sizes. Blocks as the file does. Returns 0,
 * the buffer's error, or -errno of open(2) or read(2); a failure appends nothing.
 */
int weir_buf_append_file(struct weir_buf *buf, const char *path);

/* Puts a zero byte behind the contents, not counted in used, and returns the contents as a string, borrowed until the
 * next append. "" on error. */
const char *weir_buf_str(struct weir_buf *buf);

#endif
