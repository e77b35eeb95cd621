/*
 * What unwinding needs of one ELF file: where its segments lie, and its call frame information. Read by pread(2) into
 * memory of its own, as nobody has checked the file and it may shrink meanwhile.
 *
 * Loading blocks and allocates; searching is pure. Any thread, one at a time for loading.
 */
#ifndef WEIR_UNWIND_TABLE_H
#define WEIR_UNWIND_TABLE_H

#include "unwind/cfi.h"

#define WEIR_UNWIND_SEGMENTS_MAX 16u /* executable ones; linkers make one */

struct weir_unwind_segment {
    uint64_t offset, bytes, address; /* in the file; in the file's own numbering */
};

struct weir_unwind_table {
    struct weir_unwind_segment segments[WEIR_UNWIND_SEGMENTS_MAX];
    unsigned segment_count;
    struct weir_cfi_section eh_frame, debug_frame;
};

/*
 * Loads the table of the ELF file behind fd, which stays the caller's. 0; -ENODATA: not an ELF file of the machine, or
 * one without call frame information; -EFBIG: more than WEIR_CFI_SECTION_MAX_BYTES; -ENOMEM or -errno of pread(2).
 * After a failure *table needs no weir_unwind_table_fini().
 */
int weir_unwind_table_load(struct weir_unwind_table *table, int fd, const struct weir_unwind_machine *machine);
void weir_unwind_table_fini(struct weir_unwind_table *table);

/* Returns the bytes of memory that the table takes. */
size_t weir_unwind_table_bytes(const struct weir_unwind_table *table);

/* Converts an offset in the file to an address in its own numbering. False: no executable segment has it. */
bool weir_unwind_table_address(const struct weir_unwind_table *table, uint64_t offset, uint64_t *address);

/* Finds the rule of such an address in .eh_frame, then in .debug_frame. False: neither has it. */
bool weir_unwind_table_find(const struct weir_unwind_table *table, const struct weir_unwind_machine *machine,
                            uint64_t address, struct weir_cfi_rule *rule);

#endif
