/* Symbols of ELF files: of files that a task has mapped, which nobody has checked, and of the vDSO. Any thread;
 * allocates, blocks as reading does. */
#ifndef WEIR_FORMAT_ELF_SYMBOLS_H
#define WEIR_FORMAT_ELF_SYMBOLS_H

#include "format/symbols.h"

/* Adds the symbols of the ELF file behind fd, which is read by pread(2) only; path and debug_root are for its debug
 * file (format/debug_file.h). Addresses become offsets in the file. 0, -ENODATA (not an ELF file, or no symbols),
 * -ENOMEM or -errno of reading. Finishes the table. */
int weir_symbols_of_elf(struct weir_symbols *symbols, int fd, const char *path, const char *debug_root);

/* Adds the symbols of the debug file behind debug_fd, of the program behind fd (-1: the program is not here; then the
 * debug file's own segments have to do). Results as weir_symbols_of_elf(). */
int weir_symbols_of_debug_file(struct weir_symbols *symbols, int fd, int debug_fd);

/* Opens a copy of the vDSO of this process, an ELF file in memory; the caller closes it. -ENODATA: there is none, or it
 * is not of 64 bits; -errno of memfd_create(2) or write(2). */
int weir_vdso_open(void);

/* Adds the symbols of the vDSO of this process. 0, -ENODATA or -ENOMEM. Finishes the table. */
int weir_symbols_of_vdso(struct weir_symbols *symbols);

#endif
