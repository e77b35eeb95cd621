/* Call frame information made by hand, and an ELF file around it. One thread. */
#ifndef WEIR_TESTS_UNWIND_TABLES_H
#define WEIR_TESTS_UNWIND_TABLES_H

#include <stdint.h>

#include "base/buf.h"
#include "unwind/cfi.h"

#define TABLE_ADDRESS 0x2000u /* of .eh_frame in the file's own numbering */
#define CODE_ADDRESS  0x1000u /* of the executable segment, which begins at the same offset */
#define CODE_BYTES    0x1000u

/* Appends the CIE of x86_64 with those letters: CFA = rsp + 8, return address at CFA - 8. */
void table_add_cie(struct weir_buf *table, const char *letters);

/* Appends a FDE of the CIE at offset cie. */
void table_add_fde(struct weir_buf *table, uint32_t cie, uint64_t start, uint32_t bytes, const void *program,
                   size_t program_bytes);

/* Makes the section of a table; it is owned by the caller. */
struct weir_cfi_section table_section(const struct weir_buf *table);

/* Returns a descriptor of an ELF file with that .eh_frame. */
int table_elf(const struct weir_buf *table);

#endif
