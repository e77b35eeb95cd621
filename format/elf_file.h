/*
 * ELF files of which nobody vouches for a byte: whatever a task has mapped may be one. libelf reads a table of headers
 * as a whole into memory before it gives the first of them, and makes room for all sections when it begins, also where
 * a file of a few blocks says that it has a thousand million, and the file may be written meanwhile. So what others
 * choose is read here, entry by entry, without memory; libelf gets files that the user has named, and of these none
 * with tables that no linker makes.
 *
 * Any thread. Blocks as pread(2) does. Source: elf(5).
 */
#ifndef WEIR_FORMAT_ELF_FILE_H
#define WEIR_FORMAT_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#define WEIR_ELF_ENTRIES_MAX 65536u /* sections, and segments, that are looked at */

struct weir_elf_table {
    uint64_t offset, count; /* count: as the file says */
};

struct weir_elf_head {
    int fd; /* borrowed */
    bool is_64;
    struct weir_elf_table segments, sections;
};

/* A segment or section: where its bytes are in the file. */
struct weir_elf_entry {
    uint32_t type; /* PT_* or SHT_* */
    uint64_t offset, bytes, align;
};

/* Reads the head of the file behind fd. 0; -ENODATA: it is no ELF file, or one of a big-endian machine; -errno of
 * pread(2). No allocation. */
int weir_elf_head_read(struct weir_elf_head *head, int fd);

/* The entry of that number. False: the file has none there. No allocation. */
bool weir_elf_segment(const struct weir_elf_head *head, uint64_t number, struct weir_elf_entry *entry);
bool weir_elf_section(const struct weir_elf_head *head, uint64_t number, struct weir_elf_entry *entry);

/*
 * Begins to read an ELF file by libelf, which does not map it: that would be a SIGBUS where it shrinks meanwhile. NULL:
 * it is none as above, it has more sections or segments than the limit, or there is no memory. To be given to
 * elf_end(3) before fd is closed. Allocates.
 */
Elf *weir_elf_begin(int fd);

#endif
