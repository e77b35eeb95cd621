/*
 * Build ids: the bytes by which a linker names what it has made, in the note GNU/3 of an ELF file (elf(5), "Notes").
 * Readers of the recording find the right symbols by them.
 *
 * Everything here may be called on any thread, allocates nothing (but for opendir(3) of a module's notes), and trusts
 * no byte of what it reads.
 */
#ifndef WEIR_FORMAT_BUILD_ID_H
#define WEIR_FORMAT_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_BUILD_ID_MAX_BYTES 20u /* SHA-1, the longest that perf.data holds */

struct weir_build_id {
    uint8_t bytes; /* 0: none known */
    uint8_t data[WEIR_BUILD_ID_MAX_BYTES];
};

/* The build id among notes of the given alignment (4, or 8 as in .note.gnu.property). 0, or -ENODATA. */
int weir_build_id_of_notes(const void *notes, size_t bytes, size_t align, struct weir_build_id *id);

/* The build id of the ELF file behind fd, which is only read, by pread(2). Blocks as that does. 0; -ENODATA: it is no
 * ELF file or has no build id; -errno of reading it. */
int weir_build_id_of_file(int fd, struct weir_build_id *id);

/* The running kernel's, from SYS_ROOT/kernel/notes (NULL: /sys). 0, -ENODATA or -errno of opening it. */
int weir_build_id_of_kernel(const char *sys_root, struct weir_build_id *id);

/* That of a loaded module, by its name as /proc/modules spells it, from SYS_ROOT/module/NAME/notes. As above. */
int weir_build_id_of_module(const char *sys_root, const char *name, struct weir_build_id *id);

/* That of the vDSO, which the kernel maps into this process as into all others of its kind. 0 or -ENODATA. */
int weir_build_id_of_vdso(struct weir_build_id *id);

#endif
