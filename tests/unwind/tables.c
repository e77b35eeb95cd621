#include "tests/unwind/tables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"

static void set_u32(struct weir_buf *table, size_t at, uint32_t value)
{
    memcpy(table->data + at, &value, sizeof(value));
}

/* Fills the entry that begins at `at` up to a multiple of 8, and sets its length. */
static void end_entry(struct weir_buf *table, size_t at)
{
    weir_buf_append_zeros(table, (8 - (table->used - at - 4) % 8) % 8);
    set_u32(table, at, (uint32_t)(table->used - at - 4));
}

void table_add_cie(struct weir_buf *table, const char *letters)
{
    static const uint8_t program[] = {0x0c, 7, 8, 0x90, 1}; /* def_cfa rsp 8; offset of 16: 1 * -8 */
    size_t at = table->used;
    weir_buf_append_u32(table, 0);
    weir_buf_append_u32(table, 0);
    weir_buf_append_u8(table, 1);
    weir_buf_append(table, letters, strlen(letters) + 1);
    weir_buf_append_u8(table, 1);    /* code */
    weir_buf_append_u8(table, 0x78); /* data: -8 */
    weir_buf_append_u8(table, 16);
    weir_buf_append_u8(table, 1);
    weir_buf_append_u8(table, 0x1b); /* relative to itself, 4 bytes with a sign */
    weir_buf_append(table, program, sizeof(program));
    end_entry(table, at);
}

void table_add_fde(struct weir_buf *table, uint32_t cie, uint64_t start, uint32_t bytes, const void *program,
                   size_t program_bytes)
{
    size_t at = table->used;
    weir_buf_append_u32(table, 0);
    weir_buf_append_u32(table, (uint32_t)(at + 4 - cie));
    weir_buf_append_u32(table, (uint32_t)(start - (TABLE_ADDRESS + table->used)));
    weir_buf_append_u32(table, bytes);
    weir_buf_append_u8(table, 0);
    weir_buf_append(table, program, program_bytes);
    end_entry(table, at);
}

struct weir_cfi_section table_section(const struct weir_buf *table)
{
    struct weir_cfi_section section = {
        .data = malloc(table->used), .bytes = table->used, .address = TABLE_ADDRESS, .is_eh = true};
    weir_assert(section.data);
    memcpy(section.data, table->data, table->used);
    weir_assert(weir_cfi_section_index(&section) == 0);
    return section;
}

int table_elf(const struct weir_buf *table)
{
    static const char names[] = "\0.eh_frame\0.shstrtab";
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        Elf64_Shdr sections[3];
        char names[sizeof(names)];
    } file = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_machine = EM_X86_64,
                 .e_version = EV_CURRENT,
                 .e_phoff = sizeof(Elf64_Ehdr),
                 .e_phnum = 1,
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_ehsize = sizeof(Elf64_Ehdr),
                 .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
                 .e_shnum = 3,
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shstrndx = 2},
        .segment = {.p_type = PT_LOAD,
                    .p_flags = PF_R | PF_X,
                    .p_offset = CODE_ADDRESS,
                    .p_vaddr = CODE_ADDRESS,
                    .p_filesz = CODE_BYTES},
        .sections = {[1] = {.sh_type = SHT_PROGBITS,
                            .sh_name = 1,
                            .sh_addr = TABLE_ADDRESS,
                            .sh_offset = sizeof(file),
                            .sh_size = table->used},
                     [2] = {.sh_type = SHT_STRTAB,
                            .sh_name = 11,
                            .sh_offset = sizeof(file) - sizeof(names),
                            .sh_size = sizeof(names)}},
    };
    memcpy(file.names, names, sizeof(names));
    file.sections[2].sh_offset = offsetof(typeof(file), names);
    int fd = memfd_create("table", MFD_CLOEXEC);
    weir_assert(fd >= 0 && write(fd, &file, sizeof(file)) == (ssize_t)sizeof(file));
    weir_assert(write(fd, table->data, table->used) == (ssize_t)table->used);
    return fd;
}
