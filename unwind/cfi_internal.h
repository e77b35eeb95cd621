/*
 * The entries of a section of call frame information: CIE, which describe what several functions have in common, and
 * FDE, one per function; and their programs. Pure; any thread.
 */
#ifndef WEIR_UNWIND_CFI_INTERNAL_H
#define WEIR_UNWIND_CFI_INTERNAL_H

#include "format/bytes.h"
#include "unwind/cfi.h"

struct weir_cfi_head {       /* of either */
    struct weir_cursor body; /* what follows length and id */
    size_t next;             /* offset of the next entry */
    size_t cie;              /* of a FDE: offset of its CIE; SIZE_MAX: this is a CIE */
    bool is_empty;           /* a length of 0, which ends a table */
};

struct weir_cfi_cie {
    uint64_t code_align;
    int64_t data_align;
    uint8_t return_reg, encoding; /* encoding: of the addresses in its FDE, DW_EH_PE_* */
    bool has_augmentation;        /* its FDE have data for it, too */
    bool is_signal;
    struct weir_cursor program;
};

struct weir_cfi_fde {
    uint64_t start, bytes;
    struct weir_cursor program;
};

/* Reads the entry at an offset. False: no whole entry is there. */
bool weir_cfi_head_read(const struct weir_cfi_section *section, size_t offset, struct weir_cfi_head *head);

/* Reads the CIE at an offset. False: none is there, or one that weir does not understand. */
bool weir_cfi_cie_read(const struct weir_cfi_section *section, size_t offset, struct weir_cfi_cie *cie);

/* Reads the FDE with that head, of that CIE. */
bool weir_cfi_fde_read(const struct weir_cfi_section *section, const struct weir_cfi_head *head,
                       const struct weir_cfi_cie *cie, struct weir_cfi_fde *fde);

/* Takes an address in an encoding. is_absolute: nothing is added to it, as it is a length. */
uint64_t weir_cfi_address(const struct weir_cfi_section *section, struct weir_cursor *cursor, uint8_t encoding,
                          bool is_absolute);

/* Runs the programs of cie and fde. False: malformed, or beyond WEIR_CFI_STEPS_MAX. */
bool weir_cfi_program_run(const struct weir_cfi_section *section, const struct weir_unwind_machine *machine,
                          const struct weir_cfi_cie *cie, const struct weir_cfi_fde *fde, uint64_t address,
                          struct weir_cfi_rule *rule);

#endif
