/*
 * Reads small files of proc/ and sys/ below a root folder, so that recorded machines can be read like this machine.
 *
 * A file that is missing, unreadable or without the wanted value makes the value "unknown", which is not an error. Only
 * a failed allocation is an error: it stays in the struct, as in struct weir_buf, and the caller checks it once at the
 * end. One thread per struct.
 */
#ifndef WEIR_TOPOLOGY_SYSROOT_H
#define WEIR_TOPOLOGY_SYSROOT_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cpuset.h"

/* Bytes that are read of a file: enough for a page of sysfs, a long CPU list, the first CPUs of /proc/cpuinfo. */
#define WEIR_SYSROOT_FILE_BYTES 65536

struct weir_sysroot {
    const char *path;     /* borrowed; "" for this machine */
    struct weir_buf text; /* the text of the last file read */
    int error;            /* 0 or -ENOMEM */
};

/* Prepares root. path: "" or a folder without trailing slash; borrowed until fini. Does not fail. */
void weir_sysroot_init(struct weir_sysroot *root, const char *path);
void weir_sysroot_fini(struct weir_sysroot *root);

/* Returns true for path "": system calls may then supply values that no file has. */
bool weir_sysroot_is_this_machine(const struct weir_sysroot *root);

/*
 * All functions below take a formatted path relative to the root: "sys/devices/system/cpu/cpu%u/topology/core_id". They
 * block on open(2) and read(2), and allocate.
 */

/* Returns the file's first WEIR_SYSROOT_FILE_BYTES without white space at the end, borrowed until the next read. NULL:
 * unknown. */
const char *weir_sysroot_read(struct weir_sysroot *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns a copy of the file's text, owned by the caller; "" when unknown. NULL only with root->error set. */
char *weir_sysroot_read_copy(struct weir_sysroot *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns true and sets *value when the file is one number in that base; otherwise *value is unchanged. */
bool weir_sysroot_read_number(struct weir_sysroot *root, int base, int64_t *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns true and replaces set when the file is a CPU list (or node list); otherwise set is unchanged. */
bool weir_sysroot_read_list(struct weir_sysroot *root, struct weir_cpuset *set, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens a folder, to be closed with closedir(3). NULL: unknown. */
DIR *weir_sysroot_opendir(struct weir_sysroot *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns a string of the first length bytes of text, owned by the caller. NULL only with root->error set. */
char *weir_sysroot_copy(struct weir_sysroot *root, const char *text, size_t length);

/* Returns `count` zeroed elements of `bytes` each, owned by the caller. NULL only with root->error set, or with count
 * 0. */
void *weir_sysroot_alloc(struct weir_sysroot *root, size_t count, size_t bytes);

#endif
