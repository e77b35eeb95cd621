/*
 * Small files of proc/ and sys/ below a root folder, so that recorded machines can be read as the present one is.
 *
 * A file that is not there, cannot be read or does not hold what was asked for is "not told": no error. Only a failed
 * allocation is one; it sticks, like struct weir_buf's, and is asked for once at the end. One thread per struct.
 */
#ifndef WEIR_TOPOLOGY_SYSROOT_H
#define WEIR_TOPOLOGY_SYSROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cpuset.h"

/* Bytes of a file that are looked at: a page of sysfs, a long CPU list, the first CPUs of /proc/cpuinfo. */
#define WEIR_SYSROOT_FILE_BYTES 65536

struct weir_sysroot {
    const char *path;     /* borrowed; "" for this machine */
    struct weir_buf text; /* the file that was read last */
    int error;            /* 0 or -ENOMEM */
};

/* path: "" or a folder without trailing slash; borrowed until fini. Does not fail. */
void weir_sysroot_init(struct weir_sysroot *root, const char *path);
void weir_sysroot_fini(struct weir_sysroot *root);

/* True for path "": what only a system call tells may then be asked of the kernel. */
bool weir_sysroot_is_this_machine(const struct weir_sysroot *root);

/*
 * All below take a path relative to the root, formatted: "sys/devices/system/cpu/cpu%u/topology/core_id".
 * They block on open(2) and read(2), and allocate.
 */

/* The file's first WEIR_SYSROOT_FILE_BYTES without white space at the end, borrowed until the next read.
 * NULL: not told. */
const char *weir_sysroot_read(struct weir_sysroot *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A copy of the file's text, owned by the caller; "" when not told. NULL only with root->error set. */
char *weir_sysroot_read_copy(struct weir_sysroot *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True and *value when the file is one number in that base, else *value is unchanged. */
bool weir_sysroot_read_number(struct weir_sysroot *root, int base, int64_t *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* True when the file is a CPU list (or node list), which then replaces set, else set is unchanged. */
bool weir_sysroot_read_list(struct weir_sysroot *root, struct weir_cpuset *set, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* NULL: not told. To be given back with closedir(3). */
DIR *weir_sysroot_opendir(struct weir_sysroot *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A string of the first length bytes of text, owned by the caller. NULL only with root->error set. */
char *weir_sysroot_copy(struct weir_sysroot *root, const char *text, size_t length);

/* count elements of bytes each, zeroed, owned by the caller. NULL only with root->error set, or count 0. */
void *weir_sysroot_alloc(struct weir_sysroot *root, size_t count, size_t bytes);

#endif
