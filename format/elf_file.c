/* Reads heads and table entries of ELF files. Numbers are little endian, as on this host (base/buf.c), and of the
 * file's word size. Any thread. */
#include "format/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/read_whole.h"

/* A number of a structure that 32-bit and 64-bit files have in two forms. */
#define NUMBER(head, data, structure, field)                                                                    \
    ((head)->is_64 ? load((data) + offsetof(Elf64_##structure, field), sizeof(((Elf64_##structure *)0)->field)) \
                   : load((data) + offsetof(Elf32_##structure, field), sizeof(((Elf32_##structure *)0)->field)))
#define BYTES(head, structure) ((head)->is_64 ? sizeof(Elf64_##structure) : sizeof(Elf32_##structure))

static uint64_t load(const uint8_t *data, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, data, bytes);
    return value;
}

static bool read_entry(const struct weir_elf_head *head, const struct weir_elf_table *table, uint64_t number,
                       uint8_t *data, size_t bytes)
{
    uint64_t offset;
    return number < table->count && number < WEIR_ELF_ENTRIES_MAX &&
           !__builtin_add_overflow(table->offset, number * bytes, &offset) &&
           weir_read_exactly_at(head->fd, data, bytes, offset);
}

/* Numbers that the head has no room for stand in the first section. */
static void read_counts(struct weir_elf_head *head, const uint8_t *data)
{
    uint8_t first[sizeof(Elf64_Shdr)];
    head->segments = (struct weir_elf_table){NUMBER(head, data, Ehdr, e_phoff), NUMBER(head, data, Ehdr, e_phnum)};
    head->sections = (struct weir_elf_table){NUMBER(head, data, Ehdr, e_shoff), NUMBER(head, data, Ehdr, e_shnum)};
    bool has_first =
        head->sections.offset != 0 && weir_read_exactly_at(head->fd, first, BYTES(head, Shdr), head->sections.offset);
    if (has_first && head->sections.count == 0)
        head->sections.count = NUMBER(head, first, Shdr, sh_size);
    if (has_first && head->segments.count == PN_XNUM)
        head->segments.count = NUMBER(head, first, Shdr, sh_info);
}

int weir_elf_head_read(struct weir_elf_head *head, int fd)
{
    uint8_t data[sizeof(Elf64_Ehdr)];
    ssize_t got = pread(fd, data, sizeof(data), 0);
    if (got < 0)
        return -errno;
    if (got < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(data, ELFMAG, SELFMAG) != 0 ||
        (data[EI_CLASS] != ELFCLASS32 && data[EI_CLASS] != ELFCLASS64) || data[EI_DATA] != ELFDATA2LSB)
        return -ENODATA;
    *head = (struct weir_elf_head){.fd = fd, .is_64 = data[EI_CLASS] == ELFCLASS64};
    if ((size_t)got < BYTES(head, Ehdr))
        return -ENODATA;
    head->machine = (uint16_t)NUMBER(head, data, Ehdr, e_machine);
    head->names = (uint16_t)NUMBER(head, data, Ehdr, e_shstrndx);
    read_counts(head, data);
    return 0;
}

bool weir_elf_segment(const struct weir_elf_head *head, uint64_t number, struct weir_elf_entry *entry)
{
    uint8_t data[sizeof(Elf64_Phdr)];
    if (!read_entry(head, &head->segments, number, data, BYTES(head, Phdr)))
        return false;
    *entry = (struct weir_elf_entry){
        .type = (uint32_t)NUMBER(head, data, Phdr, p_type),
        .flags = NUMBER(head, data, Phdr, p_flags),
        .address = NUMBER(head, data, Phdr, p_vaddr),
        .offset = NUMBER(head, data, Phdr, p_offset),
        .bytes = NUMBER(head, data, Phdr, p_filesz),
        .align = NUMBER(head, data, Phdr, p_align),
    };
    return true;
}

bool weir_elf_section(const struct weir_elf_head *head, uint64_t number, struct weir_elf_entry *entry)
{
    uint8_t data[sizeof(Elf64_Shdr)];
    if (!read_entry(head, &head->sections, number, data, BYTES(head, Shdr)))
        return false;
    *entry = (struct weir_elf_entry){
        .type = (uint32_t)NUMBER(head, data, Shdr, sh_type),
        .name = (uint32_t)NUMBER(head, data, Shdr, sh_name),
        .flags = NUMBER(head, data, Shdr, sh_flags),
        .address = NUMBER(head, data, Shdr, sh_addr),
        .offset = NUMBER(head, data, Shdr, sh_offset),
        .bytes = NUMBER(head, data, Shdr, sh_size),
        .align = NUMBER(head, data, Shdr, sh_addralign),
    };
    return true;
}

bool weir_elf_section_is(const struct weir_elf_head *head, const struct weir_elf_entry *section, const char *name)
{
    struct weir_elf_entry names;
    char text[32]; /* longer names are none that weir looks for */
    size_t bytes = strlen(name) + 1;
    return bytes <= sizeof(text) && weir_elf_section(head, head->names, &names) && section->name < names.bytes &&
           bytes <= names.bytes - section->name && names.offset <= (uint64_t)INT64_MAX - section->name &&
           weir_read_exactly_at(head->fd, text, bytes, names.offset + section->name) && memcmp(text, name, bytes) == 0;
}

Elf *weir_elf_begin(int fd)
{
    struct weir_elf_head head = {.fd = -1};
    if (elf_version(EV_CURRENT) == EV_NONE || weir_elf_head_read(&head, fd) < 0 ||
        head.sections.count > WEIR_ELF_ENTRIES_MAX || head.segments.count > WEIR_ELF_ENTRIES_MAX)
        return NULL;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        return elf;
    elf_end(elf);
    return NULL;
}
