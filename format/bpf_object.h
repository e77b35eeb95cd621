/*
 * BPF programs and their types, read from the kernel by bpf(2), in the form that the features BPF_PROG_INFO and BPF_BTF
 * keep them in.
 *
 * Raw system calls: five commands of them are all that reading takes, and the layouts are the kernel's own.
 *
 * Any thread; the functions block in bpf(2) only. Source: bpf(2), include/uapi/linux/bpf.h; struct perf_bpil in
 * tools/perf/util/bpf-utils.h, write_bpf_prog_info() and write_bpf_btf() in tools/perf/util/header.c of Linux 6.1.
 */
#ifndef WEIR_FORMAT_BPF_OBJECT_H
#define WEIR_FORMAT_BPF_OBJECT_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* The id behind *id of a program that is loaded; 0 before the first one. 0, -ENOENT behind the last, -EPERM. */
int weir_bpf_next_program(uint32_t *id);

/* A descriptor of the program, the caller's. -errno: -ENOENT (unloaded), -EPERM. */
int weir_bpf_open_program(uint32_t id);

/* What the kernel tells of the program. Arrays that info points to are filled as far as its counts allow; the counts
 * become those of the program. 0 or -errno. */
int weir_bpf_program_info(int fd, struct bpf_prog_info *info);

#define WEIR_BPF_IMAGE_MAX_BYTES (16u << 20) /* of one program, or of one BTF */

struct weir_bpf_image { /* one entry of a feature, as it stands there */
    uint32_t id;
    uint32_t btf_id; /* of a program: its types; 0: none, and of a BTF */
    uint32_t bytes;
    _Alignas(uint64_t) uint8_t data[];
};

/*
 * Reads the program. In the image: u32 bytes of info, u32 bytes of the arrays, u64 which arrays there are (a bit for
 * each), struct bpf_prog_info with offsets into the arrays in the place of addresses, the arrays, each a multiple of 8
 * bytes. info is cut where perf 5.1's ended: readers refuse one that is longer than theirs. *image is to be freed by
 * the caller. 0, -ENOENT, -EPERM, -EFBIG (larger than the above), -ENOMEM.
 */
int weir_bpf_read_program(uint32_t id, struct weir_bpf_image **image);

/* Reads a BTF; in the image: u32 id, u32 bytes, the BTF. As above. */
int weir_bpf_read_btf(uint32_t id, struct weir_bpf_image **image);

#endif
