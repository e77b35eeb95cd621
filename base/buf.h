/*
 * A growable byte buffer, for set-up and finishing (never on the data path: it allocates).
 *
 * A failed append is remembered: later appends do nothing, and weir_buf_error() says why once at the end, so that
 * builders need no check per append. Integers are stored little endian as the host is (weir runs on little
 * endian machines only; base/buf.c asserts that at compile time).
 */
#ifndef WEIR_BASE_BUF_H
#define WEIR_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct weir_buf {
    uint8_t *data;   /* owned; NULL while empty */
    size_t used;     /* bytes */
    size_t capacity; /* bytes */
    int error;       /* 0, or why an append failed */
};

#define WEIR_BUF_INIT \
    {                 \
        NULL, 0, 0, 0 \
    }

/* Frees the bytes and makes buf empty again. NULL is allowed. */
void weir_buf_fini(struct weir_buf *buf);

/* 0, or the first failure since init or reset: -ENOMEM, or -EINVAL (weir_buf_printf: text that cannot be formatted). */
int weir_buf_error(const struct weir_buf *buf);

/* Remembers error (-errno) as that of a failed append, for those who could not make what they were to append. */
void weir_buf_fail(struct weir_buf *buf, int error);

/* Empties buf, keeps its memory, forgets an error. */
void weir_buf_reset(struct weir_buf *buf);

/* Makes room for and returns bytes of uninitialised space at the end, already counted in used; NULL on error,
 * and only then. Valid until the next append. */
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
 * Appends the whole file; its size is not asked for, since sysfs and proc do not know it. Blocks as the file does.
 * Returns 0, the buffer's error, or -errno of open(2) or read(2); what was appended of a failed file is taken back.
 */
int weir_buf_append_file(struct weir_buf *buf, const char *path);

/* A zero byte is put behind the contents (not counted in used) and the whole returned as a string, borrowed until the
 * next append. "" on error. */
const char *weir_buf_str(struct weir_buf *buf);

#endif
