/*
 * The functions of an ELF file or of the running kernel: names, starts and lengths.
 *
 * Any thread; allocates, blocks as reading does, and trusts no byte of a file. As in tools/perf/util/symbol-elf.c,
 * Linux 6.1, for the choice of symbols and for preferring the full table to the dynamic one; elf(5).
 */
#ifndef WEIR_FORMAT_FUNCTIONS_H
#define WEIR_FORMAT_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct weir_function {
    size_t name;    /* offset in weir_functions.names */
    uint64_t start; /* offset in the file; address in the kernel */
    uint64_t bytes; /* 0: unknown */
    char binding;   /* 'g' global, 'l' local, 'w' weak */
};

struct weir_functions {
    struct weir_function *items; /* owned; sorted by start, then in the file's order */
    size_t count;
    size_t capacity;
    struct weir_buf names; /* owned; each ends in a zero */
};

#define WEIR_FUNCTIONS_INIT       \
    {                             \
        NULL, 0, 0, WEIR_BUF_INIT \
    }

/* Adds the functions of the ELF file behind fd, which is read by pread(2) only. They come from the file's full symbol
 * table. If the full table is stripped, they come from its debug file (format/debug_file.h takes path and debug_root;
 * path NULL: no debug file), otherwise from its dynamic table. A function without a size extends to the next one. 0,
 * -ENODATA (not an ELF file, or no function names), -ENOMEM or -errno of reading. */
int weir_functions_of_file(struct weir_functions *functions, int fd, const char *path, const char *debug_root);

/* Adds the functions of PROC_ROOT/kallsyms (NULL: /proc), without symbols of modules' data. Each extends to the next
 * symbol. 0, -EACCES (the kernel hides its addresses), -ENODATA (no functions), -ENOMEM or -errno of opening and
 * reading. */
int weir_functions_of_kernel(struct weir_functions *functions, const char *proc_root);

/* Releases the functions. NULL is allowed. */
void weir_functions_fini(struct weir_functions *functions);

const char *weir_function_name(const struct weir_functions *functions, size_t index);

#endif
