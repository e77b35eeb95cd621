/*
 * From a BPF program in C to an object file: `-e FILE.c`. Main thread, set-up; waits for the compiler, whose messages
 * go to standard error.
 */
#ifndef WEIR_ENGINE_EVENTS_BPF_COMPILE_H
#define WEIR_ENGINE_EVENTS_BPF_COMPILE_H

#include "base/error.h"

/* How a file is made ready to be loaded; texts are borrowed, NULL where nobody named anything. */
struct weir_bpf_build {
    const char *clang;   /* the compiler of FILE.c; NULL: clang, by PATH */
    const char *options; /* more arguments for it, parted by blanks */
    const char *vmlinux; /* whose BTF the types of the kernel are taken from; NULL: that of the running kernel */
};

/*
 * Compiles for the kernel's virtual machine, with debugging information, because libbpf takes the types from there. The
 * descriptor of the object file, which has no name, is the caller's: >= 0. -errno with err and hint: -ENOENT (no such
 * compiler, or source), other errno of memfd_create(2) and posix_spawn(3); -EINVAL: it was not compiled.
 */
int weir_bpf_compile(const char *source, const struct weir_bpf_build *build, struct weir_error *err);

#endif
