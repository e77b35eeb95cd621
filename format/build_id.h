/*
 * Build ids: bytes by which a linker identifies its output, in the note GNU/3 of an ELF file (elf(5), "Notes").
 * Consumers of the recording find the matching symbols by them.
 *
 * Any thread. Nothing here allocates but opendir(3) of a module's notes, and nothing trusts the bytes that it reads.
 */
#ifndef WEIR_FORMAT_BUILD_ID_H
#define WEIR_FORMAT_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_BUILD_ID_MAX_BYTES 20u /* SHA-1, the longest that perf.data holds */

struct weir_build_id {
    uint8_t bytes; /* 0: unknown */
    uint8_t data[WEIR_BUILD_ID_MAX_BYTES];
};

/* Whether two build ids are of the same length and bytes. */
bool weir_build_id_is_same(const struct weir_build_id *a, const struct weir_build_id *b);

/* Finds the build id among notes of the given alignment (4, or 8 as in .note.gnu.property). 0, or -ENODATA. */
int weir_build_id_of_notes(const void *notes, size_t bytes, size_t align, struct weir_build_id *id);

/* Reads the build id of the ELF file behind fd, by pread(2) only. Blocks as pread(2) does. 0; -ENODATA: not an ELF
 * file, or without a build id; -errno of reading. */
int weir_build_id_of_file(int fd, struct weir_build_id *id);

/* Reads the running kernel's build id from SYS_ROOT/kernel/notes (NULL: /sys). 0, -ENODATA or -errno of opening. */
int weir_build_id_of_kernel(const char *sys_root, struct weir_build_id *id);

/* Reads the build id of a loaded module from SYS_ROOT/module/NAME/notes. name: as /proc/modules spells it. Results as
 * weir_build_id_of_kernel(). */
int weir_build_id_of_module(const char *sys_root, const char *name, struct weir_build_id *id);

/* Reads the build id of the vDSO that the kernel maps into this process; all processes of its kind have the same. 0 or
 * -ENODATA. */
int weir_build_id_of_vdso(struct weir_build_id *id);

#endif
