/*
 * Compiles a BPF program in C (`-e FILE.c`) to an object file. Main thread, set-up; waits for the compiler, whose
 * messages go to standard error.
 */
#ifndef WEIR_ENGINE_EVENTS_BPF_COMPILE_H
#define WEIR_ENGINE_EVENTS_BPF_COMPILE_H

#include "base/error.h"

/* How a BPF file is compiled and loaded. Texts are borrowed; NULL: the default. */
struct weir_bpf_build {
    const char *clang;   /* the compiler; NULL: clang, by PATH */
    const char *options; /* more arguments for the compiler, separated by blanks */
    const char *vmlinux; /* the kernel image whose BTF has the kernel's types; NULL: the running kernel */
};

/*
 * Compiles a source file for the BPF machine, with debugging information: libbpf needs the types. Returns the
 * descriptor of the object file, which has no name and is the caller's; or -errno with err and hint: -ENOENT (no such
 * compiler, or no such source), -EINVAL (the compiler failed), other errno of memfd_create(2) and posix_spawn(3).
 */
int weir_bpf_compile(const char *source, const struct weir_bpf_build *build, struct weir_error *err);

#endif
