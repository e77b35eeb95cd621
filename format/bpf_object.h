/*
 * Reads BPF programs and their types from the kernel by bpf(2), in the form of the features BPF_PROG_INFO and BPF_BTF.
 *
 * It makes raw system calls: reading takes five commands only, and the layouts are the kernel's own.
 *
 * Any thread; the functions block in bpf(2) only. Source: bpf(2), include/uapi/linux/bpf.h; struct perf_bpil in
 * tools/perf/util/bpf-utils.h, write_bpf_prog_info() and write_bpf_btf() in tools/perf/util/header.c of Linux 6.1.
 */
#ifndef WEIR_FORMAT_BPF_OBJECT_H
#define WEIR_FORMAT_BPF_OBJECT_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* Advances *id to the id of the next loaded program; start with 0. 0, -ENOENT behind the last one, -EPERM. */
int weir_bpf_next_program(uint32_t *id);

/* Opens a program. A descriptor, owned by the caller; -ENOENT (unloaded), -EPERM or another -errno. */
int weir_bpf_open_program(uint32_t id);

/* Fills info. Arrays that info points to are filled as far as its counts allow; the counts become those of the program.
 * 0 or -errno. */
int weir_bpf_program_info(int fd, struct bpf_prog_info *info);

#define WEIR_BPF_IMAGE_MAX_BYTES (16u << 20) /* of one program, or of one BTF */

struct weir_bpf_image { /* one entry of a feature, as in the file */
    uint32_t id;
    uint32_t btf_id; /* of a program: the id of its types; 0: none. Of a BTF: 0 */
    uint32_t bytes;
    _Alignas(uint64_t) uint8_t data[];
};

/*
 * Reads a program. The image holds: u32 bytes of info; u32 bytes of the arrays; u64 with a bit for each array that is
 * there; struct bpf_prog_info, with offsets into the arrays in place of addresses; the arrays, each a multiple of 8
 * bytes. weir cuts info at the size that perf 5.1 had, because consumers refuse an info that is longer than theirs.
 *
 * The caller frees *image. 0, -ENOENT, -EPERM, -EFBIG (larger than WEIR_BPF_IMAGE_MAX_BYTES), -ENOMEM.
 */
int weir_bpf_read_program(uint32_t id, struct weir_bpf_image **image);

/* Reads a BTF. The image holds: u32 id, u32 bytes, the BTF. Results as weir_bpf_read_program(). */
int weir_bpf_read_btf(uint32_t id, struct weir_bpf_image **image);

#endif
