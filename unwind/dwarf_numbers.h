/* Numbers of DWARF at a cursor (format/bytes.h), which never passes its end. Pure; any thread. Source: "DWARF Debugging
 * Information Format 5", 7.6. */
#ifndef WEIR_UNWIND_DWARF_NUMBERS_H
#define WEIR_UNWIND_DWARF_NUMBERS_H

#include "format/bytes.h"

static inline uint8_t weir_dwarf_u8(struct weir_cursor *cursor)
{
    const uint8_t *byte = weir_cursor_take(cursor, 1);
    return byte ? *byte : 0;
}

static inline uint16_t weir_dwarf_u16(struct weir_cursor *cursor)
{
    const uint8_t *bytes = weir_cursor_take(cursor, 2);
    return bytes ? weir_load_u16(bytes) : 0;
}

/* Takes the bits of a LEB128 number; bits beyond 64 are dropped. *shift: how many there are, 64 at least if more.
 * *last: the last byte. */
static inline uint64_t weir_dwarf_leb(struct weir_cursor *cursor, unsigned *shift, uint8_t *last)
{
    uint64_t value = 0;
    *shift = 0;
    do {
        *last = weir_dwarf_u8(cursor);
        value |= *shift < 64 ? (uint64_t)(*last & 0x7f) << *shift : 0;
        *shift += *shift < 64 ? 7 : 0;
    } while (*last & 0x80);
    return value;
}

static inline uint64_t weir_dwarf_uleb(struct weir_cursor *cursor)
{
    unsigned shift;
    uint8_t last;
    return weir_dwarf_leb(cursor, &shift, &last);
}

static inline int64_t weir_dwarf_sleb(struct weir_cursor *cursor)
{
    unsigned shift;
    uint8_t last;
    uint64_t value = weir_dwarf_leb(cursor, &shift, &last);
    return (int64_t)(shift < 64 && (last & 0x40) ? value | UINT64_MAX << shift : value);
}

#endif
