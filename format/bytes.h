/*
 * Reads numbers from unchecked bytes: unaligned loads, and a cursor that never passes its end.
 *
 * Little endian, as base/buf.h. Pure, any thread, no allocation.
 */
#ifndef WEIR_FORMAT_BYTES_H
#define WEIR_FORMAT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t weir_load_u16(const void *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline uint32_t weir_load_u32(const void *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline uint64_t weir_load_u64(const void *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

/* A position in bytes. A read beyond the end sets `failed`; that read and all later ones return 0 or NULL. */
struct weir_cursor {
    const uint8_t *data; /* borrowed */
    size_t bytes;        /* left */
    bool failed;
};

static inline const uint8_t *weir_cursor_take(struct weir_cursor *cursor, uint64_t bytes)
{
    if (cursor->failed || bytes > cursor->bytes) {
        cursor->failed = true;
        return NULL;
    }
    const uint8_t *taken = cursor->data;
    cursor->data += bytes;
    cursor->bytes -= bytes;
    return taken;
}

static inline uint32_t weir_cursor_u32(struct weir_cursor *cursor)
{
    const uint8_t *bytes = weir_cursor_take(cursor, sizeof(uint32_t));
    return bytes ? weir_load_u32(bytes) : 0;
}

static inline uint64_t weir_cursor_u64(struct weir_cursor *cursor)
{
    const uint8_t *bytes = weir_cursor_take(cursor, sizeof(uint64_t));
    return bytes ? weir_load_u64(bytes) : 0;
}

/* Takes a text with its terminating zero; NULL: no zero follows. */
static inline const char *weir_cursor_text(struct weir_cursor *cursor)
{
    size_t length = cursor->failed ? cursor->bytes : strnlen((const char *)cursor->data, cursor->bytes);
    if (length == cursor->bytes) {
        cursor->failed = true;
        return NULL;
    }
    return (const char *)weir_cursor_take(cursor, length + 1);
}

/* Takes perf's string: u32 length, then as many bytes with a zero among them. NULL: no such string follows. */
static inline const char *weir_cursor_string(struct weir_cursor *cursor)
{
    uint32_t bytes = weir_cursor_u32(cursor);
    const char *text = (const char *)weir_cursor_take(cursor, bytes);
    if (!text || strnlen(text, bytes) == bytes) {
        cursor->failed = true;
        return NULL;
    }
    return text;
}

#endif
