#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "unwind/cfi_internal.h"
#include "unwind/dwarf_numbers.h"

static int add_entry(struct weir_cfi_section *section, const struct weir_cfi_entry *entry)
{
    struct weir_cfi_entry *entries =
        weir_array_grow(section->entries, sizeof(*entries), section->count, 1, &section->capacity);
    if (!entries)
        return -ENOMEM;
    section->entries = entries;
    entries[section->count++] = *entry;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct weir_cfi_entry *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

/* Linkers write most sections in order. */
static void sort(struct weir_cfi_section *section)
{
    for (size_t i = 1; i < section->count; i++) {
        if (section->entries[i].start < section->entries[i - 1].start) {
            qsort(section->entries, section->count, sizeof(*section->entries), compare);
            return;
        }
    }
}

int weir_cfi_section_index(struct weir_cfi_section *section)
{
    struct weir_cfi_cie cie = {.code_align = 0};
    size_t cie_offset = SIZE_MAX; /* of cie */
    bool is_known = false;
    struct weir_cfi_head head;
    if (section->bytes > WEIR_CFI_SECTION_MAX_BYTES)
        return 0;
    for (size_t at = 0; weir_cfi_head_read(section, at, &head); at = head.next) {
        struct weir_cfi_fde fde;
        if (head.is_empty || head.cie == SIZE_MAX)
            continue;
        if (head.cie != cie_offset) {
            cie_offset = head.cie;
            is_known = weir_cfi_cie_read(section, cie_offset, &cie);
        }
        if (!is_known || !weir_cfi_fde_read(section, &head, &cie, &fde) || fde.bytes == 0 || fde.bytes > UINT32_MAX)
            continue;
        const struct weir_cfi_entry entry = {fde.start, (uint32_t)fde.bytes, (uint32_t)at};
        int result = add_entry(section, &entry);
        if (result < 0)
            return result;
    }
    sort(section);
    return 0;
}

void weir_cfi_section_fini(struct weir_cfi_section *section)
{
    free(section->data);
    free(section->entries);
    *section = (struct weir_cfi_section){.data = NULL};
}

static const struct weir_cfi_entry *search(const struct weir_cfi_section *section, uint64_t address)
{
    size_t count = weir_array_count_up_to(section->entries, sizeof(*section->entries),
                                          offsetof(struct weir_cfi_entry, start), section->count, address);
    if (count == 0)
        return NULL;
    const struct weir_cfi_entry *entry = &section->entries[count - 1];
    return address - entry->start < entry->bytes ? entry : NULL;
}

bool weir_cfi_find(const struct weir_cfi_section *section, const struct weir_unwind_machine *machine, uint64_t address,
                   struct weir_cfi_rule *rule)
{
    const struct weir_cfi_entry *entry = search(section, address);
    struct weir_cfi_head head;
    struct weir_cfi_cie cie;
    struct weir_cfi_fde fde;
    return entry && weir_cfi_head_read(section, entry->offset, &head) && weir_cfi_cie_read(section, head.cie, &cie) &&
           weir_cfi_fde_read(section, &head, &cie, &fde) &&
           weir_cfi_program_run(section, machine, &cie, &fde, address, rule);
}

const uint8_t *weir_cfi_expression(const struct weir_cfi_section *section, int32_t offset, size_t *bytes)
{
    if (offset < 0 || (size_t)offset >= section->bytes)
        return NULL;
    struct weir_cursor cursor = {.data = section->data + offset, .bytes = section->bytes - (size_t)offset};
    *bytes = (size_t)weir_dwarf_uleb(&cursor);
    return weir_cursor_take(&cursor, *bytes);
}
