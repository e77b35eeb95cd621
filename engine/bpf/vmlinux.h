/*
 * The kernel's types that the BPF programs of this room use: of each struct only the fields that a program names.
 * preserve_access_index makes libbpf look each field up in the running kernel's BTF, so that neither order nor size
 * here matters ("BPF CO-RE"). A name after "___" marks another form of a struct, of older or newer kernels.
 *
 * For BPF programs only. Source: include/linux/sched.h, cred.h, uidgid.h and uapi/linux/bpf.h of Linux 6.12.
 */
#ifndef WEIR_ENGINE_BPF_VMLINUX_H
#define WEIR_ENGINE_BPF_VMLINUX_H

#include <linux/bpf.h>
#include <stdbool.h>

#define PF_KTHREAD 0x00200000 /* of task_struct.flags: a kernel thread */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cred {
    struct {
        unsigned int val;
    } uid;
};

struct task_struct {
    unsigned int flags;
    unsigned int __state; /* before Linux 5.14: state */
    int pid;              /* of the thread, in the first PID namespace */
    int tgid;
    __u64 start_time; /* ns, of the monotonic clock */
    const struct cred *cred;
};

struct task_struct___old {
    long state;
};

#pragma clang attribute pop

#endif
