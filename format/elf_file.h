/*
 * Reads ELF files that nobody has checked. Any file that a task has mapped may be such a file, and it may change
 * meanwhile. libelf is unsafe for such files. It reads a whole table of headers into memory before it returns the
 * first. It also allocates memory for all sections at once, even if a file of a few blocks claims a thousand million
 * sections. So this module reads such files entry by entry, without allocating. libelf gets only files that the user
 * has named, and only those whose tables have a size that linkers make.
 *
 * Any thread. Blocks as pread(2) does. Source: elf(5).
 */
#ifndef WEIR_FORMAT_ELF_FILE_H
#define WEIR_FORMAT_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#define WEIR_ELF_ENTRIES_MAX 65536u /* sections, and segments, that are read at most */

struct weir_elf_table {
    uint64_t offset, count; /* count: as the file claims */
};

struct weir_elf_head {
    int fd; /* borrowed */
    bool is_64;
    uint16_t machine; /* EM_* */
    uint16_t names;   /* number of the section with the sections' names */
    struct weir_elf_table segments, sections;
};

/* A segment or section: the place of its bytes in the file. */
struct weir_elf_entry {
    uint32_t type;    /* PT_* or SHT_* */
    uint32_t name;    /* of a section: offset in the section of names */
    uint64_t flags;   /* PF_* or SHF_* */
    uint64_t address; /* in memory, before the file is moved to where it is mapped */
    uint64_t offset, bytes, align;
};

/* Reads the head of the file behind fd. 0; -ENODATA: not an ELF file, or of a big-endian machine; -errno of pread(2).
 * Does not allocate. */
int weir_elf_head_read(struct weir_elf_head *head, int fd);

/* Read the entry with that number. False: the file has no such entry. Do not allocate. */
bool weir_elf_segment(const struct weir_elf_head *head, uint64_t number, struct weir_elf_entry *entry);
bool weir_elf_section(const struct weir_elf_head *head, uint64_t number, struct weir_elf_entry *entry);

/* Returns whether a section of that head has the name. Does not allocate. */
bool weir_elf_section_is(const struct weir_elf_head *head, const struct weir_elf_entry *section, const char *name);

/*
 * Opens an ELF file with libelf, which does not map it: a mapped file that shrinks would raise SIGBUS. NULL: not an ELF
 * file as for weir_elf_head_read(), more sections or segments than the limit, or no memory. Pass the result to
 * elf_end(3) before closing fd. Allocates.
 */
Elf *weir_elf_begin(int fd);

#endif
