#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef WEIR_ZLIB
#include <zlib.h>
#endif

#include "base/read_whole.h"
#include "format/elf_file.h"

#define SECTIONS_MAX 1024u /* that are looked at; programs have some dozens */

static void read_segments(struct weir_unwind_table *table, const struct weir_elf_head *head)
{
    struct weir_elf_entry segment;
    for (uint64_t i = 0; weir_elf_segment(head, i, &segment); i++) {
        if (segment.type == PT_LOAD && (segment.flags & PF_X) && table->segment_count < WEIR_UNWIND_SEGMENTS_MAX)
            table->segments[table->segment_count++] =
                (struct weir_unwind_segment){segment.offset, segment.bytes, segment.address};
    }
}

#ifdef WEIR_ZLIB

/* Replaces compressed contents by their expansion. 0, -ENODATA, -EFBIG or -ENOMEM. */
static int expand(struct weir_cfi_section *section)
{
    Elf64_Chdr head;
    if (section->bytes < sizeof(head))
        return -ENODATA;
    memcpy(&head, section->data, sizeof(head));
    if (head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size == 0)
        return -ENODATA;
    if (head.ch_size > WEIR_CFI_SECTION_MAX_BYTES)
        return -EFBIG;
    uLongf bytes = head.ch_size;
    uint8_t *data = malloc(bytes);
    if (!data)
        return -ENOMEM;
    if (uncompress(data, &bytes, section->data + sizeof(head), section->bytes - sizeof(head)) != Z_OK) {
        free(data);
        return -ENODATA;
    }
    free(section->data);
    section->data = data;
    section->bytes = bytes;
    return 0;
}

#else

static int expand(struct weir_cfi_section *section)
{
    (void)section;
    return -ENODATA;
}

#endif

/* Reads a section, of which the first of its name counts. One that cannot be expanded is left out. */
static int read_section(struct weir_cfi_section *section, const struct weir_elf_head *head,
                        const struct weir_elf_entry *entry)
{
    if (entry->bytes > WEIR_CFI_SECTION_MAX_BYTES)
        return -EFBIG;
    if (entry->bytes == 0 || entry->offset > INT64_MAX - entry->bytes || section->data)
        return 0;
    section->data = malloc(entry->bytes);
    if (!section->data)
        return -ENOMEM;
    ssize_t got = weir_read_whole_at(head->fd, section->data, entry->bytes, entry->offset);
    if (got < 0)
        return (int)got;
    section->bytes = (size_t)got;
    section->address = entry->address;
    int result = entry->flags & SHF_COMPRESSED ? expand(section) : 0;
    if (result == -ENODATA) {
        section->bytes = 0;
        return 0;
    }
    return result < 0 ? result : weir_cfi_section_index(section);
}

static int read_sections(struct weir_unwind_table *table, const struct weir_elf_head *head)
{
    struct weir_elf_entry entry;
    int result = 0;
    table->eh_frame.is_eh = true;
    for (uint64_t i = 0; result == 0 && i < SECTIONS_MAX && weir_elf_section(head, i, &entry); i++) {
        if (entry.type == SHT_NOBITS)
            continue;
        if (weir_elf_section_is(head, &entry, ".eh_frame"))
            result = read_section(&table->eh_frame, head, &entry);
        else if (weir_elf_section_is(head, &entry, ".debug_frame"))
            result = read_section(&table->debug_frame, head, &entry);
    }
    return result;
}

int weir_unwind_table_load(struct weir_unwind_table *table, int fd, const struct weir_unwind_machine *machine)
{
    struct weir_elf_head head;
    *table = (struct weir_unwind_table){.segment_count = 0};
    int result = weir_elf_head_read(&head, fd);
    if (result == 0 && (!head.is_64 || head.machine != machine->elf))
        result = -ENODATA;
    if (result < 0)
        return result;
    read_segments(table, &head);
    result = read_sections(table, &head);
    if (result == 0 && table->eh_frame.count + table->debug_frame.count == 0)
        result = -ENODATA;
    if (result < 0)
        weir_unwind_table_fini(table);
    return result;
}

void weir_unwind_table_fini(struct weir_unwind_table *table)
{
    weir_cfi_section_fini(&table->eh_frame);
    weir_cfi_section_fini(&table->debug_frame);
    table->segment_count = 0;
}

static size_t section_bytes(const struct weir_cfi_section *section)
{
    return section->bytes + section->capacity * sizeof(*section->entries);
}

size_t weir_unwind_table_bytes(const struct weir_unwind_table *table)
{
    return section_bytes(&table->eh_frame) + section_bytes(&table->debug_frame);
}

bool weir_unwind_table_address(const struct weir_unwind_table *table, uint64_t offset, uint64_t *address)
{
    for (unsigned i = 0; i < table->segment_count; i++) {
        const struct weir_unwind_segment *segment = &table->segments[i];
        if (offset - segment->offset < segment->bytes) {
            *address = offset - segment->offset + segment->address;
            return true;
        }
    }
    return false;
}

bool weir_unwind_table_find(const struct weir_unwind_table *table, const struct weir_unwind_machine *machine,
                            uint64_t address, struct weir_cfi_rule *rule)
{
    return weir_cfi_find(&table->eh_frame, machine, address, rule) ||
           weir_cfi_find(&table->debug_frame, machine, address, rule);
}
