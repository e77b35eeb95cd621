/*
 * What the parts of synthesis share: synth.c (threads), synth_block.c and synth_proc.c (what all stand on),
 * synth_kernel.c, synth_tasks.c, synth_maps.c.
 *
 * weir_synth_all_tasks() makes one run and a worker per thread. Everything in the run is written before the workers
 * start, except `result`; everything in a worker belongs to its thread until that is joined.
 */
#ifndef WEIR_FORMAT_SYNTH_INTERNAL_H
#define WEIR_FORMAT_SYNTH_INTERNAL_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "format/build_id.h"
#include "format/proc_text.h"
#include "format/records.h"
#include "format/synth.h"

/* ---- records on their way to emit(): synth_block.c ---- */

struct weir_synth_block {
    const struct weir_synth_options *options; /* borrowed */
    struct weir_buf records;                  /* owned; WEIR_SYNTH_BLOCK_BYTES reserved, so that appends cannot fail */
};

/* 0 or -ENOMEM. fini may follow either way. */
int weir_synth_block_init(struct weir_synth_block *block, const struct weir_synth_options *options);
void weir_synth_block_fini(struct weir_synth_block *block);

/* Makes room for one record of the largest size (a name of PATH_MAX), by emitting the block when it is nearly full.
 * 0 or what emit returned. */
int weir_synth_block_reserve(struct weir_synth_block *block);

/* Emits what is there. 0 or what emit returned. */
int weir_synth_block_flush(struct weir_synth_block *block);

/* ---- /proc: synth_proc.c ---- */

/* The first line of the file at path, below proc_fd; false when there is none. */
bool weir_synth_knob_read(int proc_fd, const char *path, char *value, size_t bytes);

/* The number that the name of an entry spells, or 0 when it is no task's. */
pid_t weir_synth_entry_pid(const char *name);

/* Whether the -errno of an open or read means a task that is gone or not ours to see. */
bool weir_synth_is_gone(int code);

/* ---- the kernel ---- */

#define WEIR_SYNTH_MODULE_NAME_BYTES 64 /* MODULE_NAME_LEN of the kernel is less */

struct weir_synth_module {
    uint64_t start, bytes;
    char name[WEIR_SYNTH_MODULE_NAME_BYTES]; /* as /proc/modules spells it */
    char *path;                              /* owned; NULL while no file is known */
};

struct weir_synth_modules {
    struct weir_synth_module *all; /* owned; ascending by start */
    size_t count, room;
};

/* synth_modules.c: the modules that have an address. 0 or -ENOMEM; fini follows either way. Files that are not there
 * or cannot be read give no modules, or modules without a path. */
int weir_synth_modules_read(struct weir_synth_modules *modules, int proc_fd, const char *modules_root);
void weir_synth_modules_fini(struct weir_synth_modules *modules);

/* ---- one synthesis of tasks ---- */

#define WEIR_SYNTH_HUGE_MOUNTS 4 /* hugetlbfs is mounted once per page size at most */

/* How maps are read: the same for all tasks of a run. */
struct weir_synth_maps {
    uint64_t timeout_ns;
    char huge_mounts[WEIR_SYNTH_HUGE_MOUNTS][256]; /* mount points of hugetlbfs */
    unsigned huge_mount_count;
    bool has_gate;             /* the kernel adds a map of its own to every 64-bit task: [vsyscall] */
    struct weir_proc_map gate; /* its name is gate_name */
    char gate_name[32];
};

struct weir_synth_run {
    const struct weir_synth_options *options; /* borrowed */
    const char *proc_root;                    /* borrowed */
    int proc_fd;                              /* owned; its position is the list of tasks still to do */
    pthread_mutex_t proc_lock;                /* around getdents64 on proc_fd */
    struct weir_synth_maps maps;
    _Atomic int result; /* 0 while all goes well, then the first -errno; written by any worker */
};

/* Holds a line of maps with the longest name that a record keeps; a line that is cut has a name that is replaced. */
#define WEIR_SYNTH_TEXT_BYTES (2u * PATH_MAX)

struct weir_synth_worker {
    struct weir_synth_run *run; /* borrowed */
    struct weir_synth_block block;
    struct weir_synth_counts counts;
    pid_t first_timed_out; /* for the notice; 0: none */
    bool query_refused;    /* maps here do not know PROCMAP_QUERY */
    /* struct dirent64 of /proc (small, so that the last ones are shared evenly) and of /proc/PID/task */
    _Alignas(uint64_t) char pid_entries[2048];
    _Alignas(uint64_t) char tid_entries[8192];
    struct weir_build_id build_id; /* of the map in hand, when build ids are wanted; bytes 0: it has none */
    struct weir_namespace namespaces[WEIR_NAMESPACES]; /* of the process in hand, when they are wanted */
    char name[PATH_MAX + 1];                           /* one name from PROCMAP_QUERY */
    char text[WEIR_SYNTH_TEXT_BYTES];                  /* the file in hand */
};

/* synth_tasks.c: all records of the process pid. Tasks that are gone are counted. 0, what emit returned, or the -errno
 * of running out of descriptors or memory. */
int weir_synth_process(struct weir_synth_worker *worker, pid_t pid);

/* synth_tasks.c: the process of a thread, or -errno: -ESRCH and others of weir_synth_is_gone() when there is none. */
pid_t weir_synth_thread_group(struct weir_synth_worker *worker, pid_t tid);

/* synth_maps.c: fills maps from the mount table and this process's own maps below proc_fd. Cannot fail: what is not
 * there is left out. */
void weir_synth_maps_init(struct weir_synth_maps *maps, int proc_fd, unsigned timeout_ms);

/* synth_maps.c: MMAP2 records of the process pid from the maps file at path, below proc_fd. Unreadable ones give none.
 * 0, what emit returned, or the -errno of running out of descriptors or memory. */
int weir_synth_process_maps(struct weir_synth_worker *worker, pid_t pid, const char *path);

#endif
