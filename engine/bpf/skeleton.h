/*
 * Loads weir's own BPF programs, its skeletons: NAME.bpf.c of this room, which clang and bpftool compile at build time
 * (weir_bpf_skeleton() of cmake/weir.cmake) into an array of bytes. The programs name types of the kernel by vmlinux.h,
 * and libbpf fits them to the running kernel by its BTF ("compile once, run everywhere", CO-RE).
 *
 *     open ──► config ──► load ──► maps, variables ──► attach ──► (programs run) ──► detach ──► free
 *
 * A weir that was built without clang or bpftool has arrays of 0 bytes. An empty array, a kernel without BTF, missing
 * rights and a refusal by the kernel each become one message with a hint. It names the option that wants the programs.
 *
 * Main thread, then the coordinator. Set-up only. Source: libbpf.h 1.1.
 */
#ifndef WEIR_ENGINE_BPF_SKELETON_H
#define WEIR_ENGINE_BPF_SKELETON_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"

struct weir_skeleton_setup {
    const char *user;                       /* the option that wants the programs, "--off-cpu"; static */
    const uint8_t *image;                   /* an object file; static */
    size_t image_bytes;                     /* 0: built without skeletons */
    const char *btf;                        /* the kernel's types; NULL: /sys/kernel/btf/vmlinux */
    const struct weir_notice_sink *notices; /* borrowed: libbpf's messages, verbose; NULL: none */
};

struct weir_skeleton; /* opaque */

/* Reads the object. Needs no privileges. *made is the caller's. 0; -EOPNOTSUPP: this weir has no skeletons, or the
 * kernel no BTF; -ENOMEM; or what libbpf says. Each with err and hint. */
int weir_skeleton_open(struct weir_skeleton **made, const struct weir_skeleton_setup *setup, struct weir_error *err);

/* Detaches and unloads the programs, and frees all. NULL-safe. */
void weir_skeleton_free(struct weir_skeleton *skeleton);

/*
 * The variables of a section, ".rodata.NAME" or ".data.NAME", as memory. Before load() they are the values with which
 * the programs will begin. After load() they are the values of the running programs, and ".rodata" is const. Borrowed
 * until free(). bytes: the size that the caller knows; the object must have the same.
 */
void *weir_skeleton_variables(const struct weir_skeleton *skeleton, const char *section, size_t bytes);

/* Sets the number of entries of a map. Before load(). */
void weir_skeleton_size_map(const struct weir_skeleton *skeleton, const char *map, uint32_t entries);

/* Leaves a program out: the kernel neither verifies nor runs it. Before load(). */
void weir_skeleton_omit(const struct weir_skeleton *skeleton, const char *program);

/* Loads programs and maps into the kernel, which verifies the programs. Once. 0 or -errno (-EPERM: CAP_BPF and
 * CAP_PERFMON are needed) with err and hint. */
int weir_skeleton_load(struct weir_skeleton *skeleton, struct weir_error *err);

/* The descriptor of a map, borrowed. After load(). */
int weir_skeleton_map(const struct weir_skeleton *skeleton, const char *map);

/* The descriptor of a program, borrowed. After load(). */
int weir_skeleton_program(const struct weir_skeleton *skeleton, const char *program);

/* Attaches all programs where their sections say: they run from now on. Once. 0 or -errno with err and hint; then none
 * is attached. */
int weir_skeleton_attach(struct weir_skeleton *skeleton, struct weir_error *err);

/* Detaches all programs, if they are attached: once this returns, none runs any more. NULL-safe. */
void weir_skeleton_detach(struct weir_skeleton *skeleton);

#endif
