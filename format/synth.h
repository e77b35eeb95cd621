/*
 * Synthesized records: the state before the recording began (kernel map, modules, tasks, maps), read from /proc.
 *
 * Layout and order are those of tools/perf/util/synthetic-events.c of Linux 6.12. All records carry a zeroed sample_id
 * trailer (time 0), so that consumers sort them before everything else. The records of one process are in order and
 * come from one thread; with several threads, blocks of different processes follow each other in any order.
 *
 * The functions block (they read files of /proc), and allocate and free a few hundred KiB per thread. They are
 * independent of each other: weir_synth_kernel(), which may take long in kallsyms, may run on one thread while
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
    const char *modules_root; /* NULL: "/lib/modules"; the folder of modules.dep and of the modules' files */
    size_t sample_id_bytes;   /* trailer size, weir_attr_sample_id_bytes() */
    bool build_ids; /* MMAP2 records have the file's build id, if it has one (--buildid-mmap), instead of device and
                       inode */
    const char *sys_root; /* NULL: "/sys"; has the build ids of kernel and modules */
    bool data_maps;       /* also adds maps that are not executable (-d) */
    bool no_maps;         /* leaves out the maps of tasks */
    pid_t execs_next;     /* a process that waits to execute another program: its maps are left out, as consumers keep
                             maps beyond exec(2). 0: none */
    bool modules_only;    /* for weir_synth_kernel: leaves out the kernel's own map, which does not change */
    bool namespaces;      /* adds the namespaces of tasks */
    unsigned threads;     /* for weir_synth_all_tasks, at most 256; 0 and 1: the caller's thread only */
    unsigned map_timeout_ms; /* per task, as --proc-map-timeout; 0: 500 */
    /*
     * Takes whole records, at most WEIR_SYNTH_BLOCK_BYTES in one call; records is borrowed until return. Several
     * synthesis threads may call it at once. 0 goes on; -errno ends the synthesis with that result.
     */
    int (*emit)(void *ctx, const void *records, size_t bytes);
    void *emit_ctx;
    const struct weir_notice_sink *notices; /* kptr_restrict, time-outs; called on the caller's thread */
};

#define WEIR_SYNTH_BLOCK_BYTES (128u * 1024)

struct weir_synth_counts {
    uint64_t tasks;     /* threads that got a COMM */
    uint64_t maps;      /* MMAP2 records */
    uint64_t vanished;  /* tasks that exited meanwhile, or that we may not see; not an error */
    uint64_t timed_out; /* processes whose list of maps map_timeout_ms has cut; the list's last record says so */
};

/*
 * Emits the kernel's own map ("[kernel.kallsyms]_text" or _stext, from kallsyms) and one map per module. If the kernel
 * hides its addresses (kernel.kptr_restrict), or kallsyms cannot be read, notices gets one warning and no map of the
 * kernel is emitted. 0, -ENOMEM, -errno of opening proc_root, or the result of emit.
 */
int weir_synth_kernel(const struct weir_synth_options *options, struct weir_error *err);

/* Virtual machines whose kernels the user has made readable; all pointers are borrowed. */
struct weir_guests {
    const char *kallsyms; /* --guestkallsyms: a copy of /proc/kallsyms of a guest; NULL: none */
    const char *modules;  /* --guestmodules: a copy of /proc/modules of the same guest; NULL: none */
    const char *mount;    /* --guestmount: a directory in which DIR/PID has proc and lib/modules of the guest whose
                             hypervisor is process PID; NULL: none */
};

bool weir_guests_are_given(const struct weir_guests *guests);

/* Checks that the files can be opened. 0; -EINVAL (not a regular file); or -errno of open(2), with err. */
int weir_guests_check(const struct weir_guests *guests, struct weir_error *err);

/*
 * Emits a map for each module of each guest, and a map for its kernel. The kernel's map is
 * "[guest.kernel.kallsyms]_text" with pid 0 for the guest of kallsyms and modules. It is
 * "[guest.kernel.kallsyms.PID]_text" with pid PID for the guests of mount. A guest whose kallsyms hides its addresses
 * or cannot be read gets a warning and no map of its kernel. 0, -ENOMEM, -errno of opening modules or listing mount, or
 * the result of emit. Blocks as these file systems do.
 */
int weir_synth_guests(const struct weir_synth_options *options, const struct weir_guests *guests,
                      struct weir_error *err);

/*
 * Emits KSYMBOL and BPF_EVENT of the loaded BPF programs; none, without an error, if bpf(2) refuses to list them.
 * *programs: their number. 0, -ENOMEM or the result of emit. Blocks in bpf(2) only.
 */
int weir_synth_bpf(const struct weir_synth_options *options, uint64_t *programs, struct weir_error *err);

/*
 * Emits FORK, COMM and MMAP2 for every task on the machine, with kernel threads. options->threads threads share /proc;
 * they are created and joined inside (fewer if they cannot be created). counts may be NULL; it is filled on errors too.
 *
 * 0, -ENOMEM, -EMFILE, -ENFILE, -errno of opening or listing proc_root, or the result of emit. On an error, each thread
 * still finishes its present process.
 */
int weir_synth_all_tasks(const struct weir_synth_options *options, struct weir_synth_counts *counts,
                         struct weir_error *err);

/*
 * Emits a CGROUP record for each control group, parents first. The groups are those of the mounted hierarchy that perf
 * events use: cgroup version 1 with the controller perf_event, otherwise version 2. No hierarchy: no records. Runs on
 * the caller's thread. Skips a group that vanishes meanwhile. 0, -ENOMEM, -EMFILE or the result of emit.
 */
int weir_synth_cgroups(const struct weir_synth_options *options, struct weir_error *err);

/*
 * Emits FORK, COMM and MMAP2 for all threads of the processes in pids, in that order, on the caller's thread. Any
 * thread's id names its process (-p). Vanished tasks are counted. Results as weir_synth_all_tasks().
 */
int weir_synth_processes(const struct weir_synth_options *options, const pid_t *pids, size_t pid_count,
                         struct weir_synth_counts *counts, struct weir_error *err);

#endif
