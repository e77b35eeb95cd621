/* Reads the entries of call frame information. */
#include "base/bits.h"
#include "unwind/cfi_internal.h"
#include "unwind/dwarf_numbers.h"

enum encoding { /* DW_EH_PE_* */
    AS_ADDRESS = 0x00,
    AS_ULEB = 0x01,
    AS_U16 = 0x02,
    AS_U32 = 0x03,
    AS_U64 = 0x04,
    AS_SLEB = 0x09,
    AS_S16 = 0x0a,
    AS_S32 = 0x0b,
    AS_S64 = 0x0c,
    FORMAT = 0x0f,
    RELATIVE_TO_ITSELF = 0x10,
    RELATION = 0x70,
    INDIRECT = 0x80,
    OMITTED = 0xff,
};

#define LENGTH_IS_LONG UINT32_MAX
#define LETTERS_MAX    16u /* of an augmentation, with the zero */

bool weir_cfi_head_read(const struct weir_cfi_section *section, size_t offset, struct weir_cfi_head *head)
{
    if (offset >= section->bytes)
        return false;
    struct weir_cursor cursor = {.data = section->data + offset, .bytes = section->bytes - offset};
    uint64_t length = weir_cursor_u32(&cursor);
    bool is_long = length == LENGTH_IS_LONG;
    if (is_long)
        length = weir_cursor_u64(&cursor);
    if (cursor.failed || length > cursor.bytes)
        return false;
    size_t id_offset = (size_t)(cursor.data - section->data);
    *head = (struct weir_cfi_head){.body = {.data = cursor.data, .bytes = (size_t)length},
                                   .next = id_offset + (size_t)length,
                                   .cie = SIZE_MAX,
                                   .is_empty = length == 0};
    if (length == 0)
        return true;
    bool has_long_id = is_long && !section->is_eh;
    uint64_t id = has_long_id ? weir_cursor_u64(&head->body) : weir_cursor_u32(&head->body);
    uint64_t id_of_cie = section->is_eh ? 0 : has_long_id ? UINT64_MAX : UINT32_MAX;
    if (id != id_of_cie)
        head->cie = section->is_eh ? (id <= id_offset ? id_offset - (size_t)id : section->bytes)
                                   : (size_t)weir_min_u64(id, section->bytes);
    return !head->body.failed;
}

uint64_t weir_cfi_address(const struct weir_cfi_section *section, struct weir_cursor *cursor, uint8_t encoding,
                          bool is_absolute)
{
    uint64_t place = section->address + (uint64_t)(cursor->data - section->data), value = 0;
    switch (encoding & FORMAT) {
    case AS_ADDRESS:
    case AS_U64:
    case AS_S64:
        value = weir_cursor_u64(cursor);
        break;
    case AS_ULEB:
        value = weir_dwarf_uleb(cursor);
        break;
    case AS_SLEB:
        value = (uint64_t)weir_dwarf_sleb(cursor);
        break;
    case AS_U16:
        value = weir_dwarf_u16(cursor);
        break;
    case AS_U32:
        value = weir_cursor_u32(cursor);
        break;
    case AS_S16:
        value = (uint64_t)(int64_t)(int16_t)weir_dwarf_u16(cursor);
        break;
    case AS_S32:
        value = (uint64_t)(int64_t)(int32_t)weir_cursor_u32(cursor);
        break;
    default:
        cursor->failed = true;
    }
    if (is_absolute)
        return value;
    unsigned relation = encoding & RELATION;
    if ((encoding & INDIRECT) || (relation != 0 && relation != RELATIVE_TO_ITSELF))
        cursor->failed = true;
    return relation == RELATIVE_TO_ITSELF ? value + place : value;
}

/* Takes the fields that the letters of an augmentation announce. */
static void read_augmentation(const struct weir_cfi_section *section, struct weir_cursor *cursor, const char *letters,
                              struct weir_cfi_cie *cie)
{
    for (; *letters && !cursor->failed; letters++) {
        uint8_t encoding;
        switch (*letters) {
        case 'R':
            cie->encoding = weir_dwarf_u8(cursor);
            break;
        case 'L':
            weir_dwarf_u8(cursor);
            break;
        case 'P':
            encoding = weir_dwarf_u8(cursor);
            if (encoding != OMITTED)
                weir_cfi_address(section, cursor, encoding, true);
            break;
        case 'S':
            cie->is_signal = true;
            break;
        case 'B': /* arm64: return addresses are signed with the other key */
        case 'G': /* arm64: the stack is tagged */
            break;
        default:
            cursor->failed = true;
        }
    }
}

bool weir_cfi_cie_read(const struct weir_cfi_section *section, size_t offset, struct weir_cfi_cie *cie)
{
    struct weir_cfi_head head;
    if (!weir_cfi_head_read(section, offset, &head) || head.is_empty || head.cie != SIZE_MAX)
        return false;
    struct weir_cursor *cursor = &head.body;
    unsigned version = weir_dwarf_u8(cursor);
    struct weir_cursor text = {.data = cursor->data, .bytes = (size_t)weir_min_u64(cursor->bytes, LETTERS_MAX)};
    const char *letters = weir_cursor_text(&text);
    weir_cursor_take(cursor, (uint64_t)(text.data - cursor->data));
    if (!letters || version == 0 || version == 2 || version > 4)
        return false;
    uint8_t address_bytes = version == 4 ? weir_dwarf_u8(cursor) : sizeof(uint64_t);
    uint8_t segment_bytes = version == 4 ? weir_dwarf_u8(cursor) : 0;
    if (address_bytes != sizeof(uint64_t) || segment_bytes != 0)
        return false;
    *cie = (struct weir_cfi_cie){.code_align = weir_dwarf_uleb(cursor)};
    cie->data_align = weir_dwarf_sleb(cursor);
    uint64_t return_reg = version == 1 ? weir_dwarf_u8(cursor) : weir_dwarf_uleb(cursor);
    cie->return_reg = return_reg < WEIR_UNWIND_REGS_MAX ? (uint8_t)return_reg : WEIR_UNWIND_REGS_MAX;
    if (letters[0] == 'z') {
        uint64_t bytes = weir_dwarf_uleb(cursor);
        struct weir_cursor data = {.data = cursor->data, .bytes = (size_t)weir_min_u64(bytes, cursor->bytes)};
        cie->has_augmentation = true;
        weir_cursor_take(cursor, bytes);
        read_augmentation(section, &data, letters + 1, cie);
        if (data.failed)
            return false;
    } else if (letters[0] != '\0') {
        return false;
    }
    cie->program = *cursor;
    return !cursor->failed && cie->return_reg < WEIR_UNWIND_REGS_MAX;
}

bool weir_cfi_fde_read(const struct weir_cfi_section *section, const struct weir_cfi_head *head,
                       const struct weir_cfi_cie *cie, struct weir_cfi_fde *fde)
{
    struct weir_cursor cursor = head->body;
    fde->start = weir_cfi_address(section, &cursor, cie->encoding, false);
    fde->bytes = weir_cfi_address(section, &cursor, cie->encoding, true);
    if (cie->has_augmentation)
        weir_cursor_take(&cursor, weir_dwarf_uleb(&cursor));
    fde->program = cursor;
    return !cursor.failed;
}
