/*
 * From a BPF program in C to an object file: `-e FILE.c`. Main thread, set-up; waits for the compiler, whose messages
 * go to standard error.
 */
#ifndef WEIR_ENGINE_EVENTS_BPF_COMPILE_H
#define WEIR_ENGINE_EVENTS_BPF_COMPILE_H

#include "base/error.h"
#include "engine/events/bpf_programs.h"

/*
 * Compiles for the kernel's virtual machine, with debugging information, because libbpf takes the types from there. The
 * descriptor of the object file, which has no name, is the caller's: >= 0. -errno with err and hint: -ENOENT (no such
 * compiler, or source), other errno of memfd_create(2) and posix_spawn(3); -EINVAL: it was not compiled.
 */
int weir_bpf_compile(const char *source, const struct weir_bpf_build *build, struct weir_error *err);

#endif
