/*
 * The functions of an ELF file, or of the running kernel, by name: where each begins and how long it is.
 *
 * Any thread; allocates, blocks as reading does, and trusts no byte of a file. Which symbols are functions, and that
 * the full table goes before the dynamic one, is as in tools/perf/util/symbol-elf.c, Linux 6.1; elf(5).
 */
#ifndef WEIR_FORMAT_FUNCTIONS_H
#define WEIR_FORMAT_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct weir_function {
    size_t name;    /* offset in weir_functions.names */
    uint64_t start; /* offset in the file; address in the kernel */
    uint64_t bytes; /* 0: not known */
    char binding;   /* 'g' global, 'l' local, 'w' weak */
};

struct weir_functions {
    struct weir_function *items; /* owned; by start, then as in the file */
    size_t count;
    size_t capacity;
    struct weir_buf names; /* owned; each ends in a zero */
};

#define WEIR_FUNCTIONS_INIT       \
    {                             \
        NULL, 0, 0, WEIR_BUF_INIT \
    }

/* Adds those of the file behind fd, which is only read, by pread(2): of its own full table or, when that was stripped,
 * of its debug file (format/debug_file.h; path and debug_root are as there, without a path none is looked for), or of
 * its dynamic table. A function without a size reaches to the next one. 0, -ENODATA (no ELF file, or without names of
 * functions), -ENOMEM or -errno of reading. */
int weir_functions_of_file(struct weir_functions *functions, int fd, const char *path, const char *debug_root);

/* Adds those of PROC_ROOT/kallsyms (NULL: /proc) without those of modules' data; each reaches to the next symbol.
 * 0, -EACCES (the kernel hides its addresses), -ENODATA (nothing in it), -ENOMEM or -errno of opening and reading. */
int weir_functions_of_kernel(struct weir_functions *functions, const char *proc_root);

/* NULL is allowed. */
void weir_functions_fini(struct weir_functions *functions);

const char *weir_function_name(const struct weir_functions *functions, size_t index);

#endif
