/*
 * Synthesised records: what was there before recording began (kernel map, modules, tasks, maps), read from /proc.
 *
 * Layout and order are those of tools/perf/util/synthetic-events.c of Linux 6.12. All carry a zeroed sample_id trailer
 * (time 0), so that readers sort them before everything else. Records of one process come in order and from one thread;
 * with several threads, blocks of different processes follow each other in any order.
 *
 * The functions block (they read files of /proc), allocate a few hundred KiB per thread and free it, and are
 * independent of each other: weir_synth_kernel(), which may spend its time in kallsyms, may run on one thread while
 * weir_synth_all_tasks() runs on another.
 */
#ifndef WEIR_FORMAT_SYNTH_H
#define WEIR_FORMAT_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/notice.h"

struct weir_synth_options {
    const char *proc_root;    /* NULL: "/proc"; tests give a copy */
    const char *modules_root; /* NULL: "/lib/modules"; where modules.dep names module files */
    size_t sample_id_bytes;   /* trailer size, weir_attr_sample_id_bytes() */
    bool build_ids;           /* in MMAP2 records, where a file has one (--buildid-mmap), instead of device and inode */
    const char *sys_root;     /* NULL: "/sys"; where the ids of kernel and modules are */
    bool data_maps;           /* also maps that are not executable (-d) */
    bool no_maps;             /* tasks without their maps */
    bool modules_only;        /* for weir_synth_kernel: without the kernel's own map, which does not change */
    bool namespaces;          /* and the namespaces that they are in */
    unsigned threads;         /* for weir_synth_all_tasks: 0 and 1: the caller's thread only; at most 256 are made */
    unsigned map_timeout_ms;  /* per task, as --proc-map-timeout; 0: 500 */
    /*
     * Takes whole records, at most WEIR_SYNTH_BLOCK_BYTES in one call; data is borrowed until return. Called by the
     * synthesis threads, by several at once: it must be thread-safe. 0 goes on; -errno ends the synthesis with it.
     */
    int (*emit)(void *ctx, const void *records, size_t bytes);
    void *emit_ctx;
    const struct weir_notice_sink *notices; /* kptr_restrict, time-outs; called on the caller's thread */
};

#define WEIR_SYNTH_BLOCK_BYTES (128u * 1024)

struct weir_synth_counts {
    uint64_t tasks;     /* threads that got a COMM */
    uint64_t maps;      /* MMAP2 records */
    uint64_t vanished;  /* tasks that exited while they were read, or that we may not see: not an error */
    uint64_t timed_out; /* processes whose list of maps was cut by map_timeout_ms; its last record says so */
};

/*
 * The kernel's own map ("[kernel.kallsyms]_text" or _stext, from kallsyms) and one map per module. Where the kernel
 * hides its addresses (kernel.kptr_restrict), or kallsyms cannot be read, nothing is emitted for it and one warning
 * goes to notices. 0, -ENOMEM, -errno of opening proc_root, or what emit returned.
 */
int weir_synth_kernel(const struct weir_synth_options *options, struct weir_error *err);

/*
 * KSYMBOL and BPF_EVENT of the BPF programs that are loaded; none, without an error, where bpf(2) does not tell them.
 * *programs: how many. 0, -ENOMEM or what emit returned. Blocks in bpf(2) only.
 */
int weir_synth_bpf(const struct weir_synth_options *options, uint64_t *programs, struct weir_error *err);

/*
 * FORK, COMM and MMAP2 for every task on the machine, kernel threads included, /proc shared by options->threads threads
 * (created and joined inside; fewer where they cannot be had). counts may be NULL; it is filled on errors too.
 * 0, -ENOMEM, -EMFILE, -ENFILE, -errno of opening or listing proc_root, or what emit returned: then as soon as every
 * thread is done with the process that it has in hand.
 */
int weir_synth_all_tasks(const struct weir_synth_options *options, struct weir_synth_counts *counts,
                         struct weir_error *err);

/*
 * A CGROUP record for each control group there is, parents first, from the file system that perf_event's are mounted
 * on: those of cgroup version 1 with the controller perf_event, else version 2. None mounted: no records. On the
 * caller's thread. A group that vanishes meanwhile is passed over. 0, -ENOMEM, -EMFILE or what emit returned.
 */
int weir_synth_cgroups(const struct weir_synth_options *options, struct weir_error *err);

/*
 * FORK, COMM and MMAP2 for all threads of the processes in pids (-p; the number of any of its threads names a process),
 * in their order, on the caller's thread. Vanished ones are counted.
 */
int weir_synth_processes(const struct weir_synth_options *options, const pid_t *pids, size_t pid_count,
                         struct weir_synth_counts *counts, struct weir_error *err);

#endif
