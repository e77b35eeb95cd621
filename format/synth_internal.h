/*
 * The shared parts of synthesis: synth.c (threads), synth_block.c and synth_proc.c (below all others), synth_kernel.c,
 * synth_tasks.c, synth_maps.c.
 *
 * weir_synth_all_tasks() makes one run, and a worker for each thread. Everything in the run but `result` is written
 * before the workers start. Everything in a worker belongs to its thread until that thread is joined.
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

/* Prepares a block. 0 or -ENOMEM; weir_synth_block_fini() may follow in both cases. */
int weir_synth_block_init(struct weir_synth_block *block, const struct weir_synth_options *options);
void weir_synth_block_fini(struct weir_synth_block *block);

/* Makes room for one record of the largest size (a name of PATH_MAX): emits the block if it is nearly full. 0 or the
 * result of emit. */
int weir_synth_block_reserve(struct weir_synth_block *block);

/* Emits the records of the block. 0 or the result of emit. */
int weir_synth_block_flush(struct weir_synth_block *block);

/* ---- /proc: synth_proc.c ---- */

/* Reads the first line of the file at path, below proc_fd; false: no such file. */
bool weir_synth_knob_read(int proc_fd, const char *path, char *value, size_t bytes);

/* Returns the task id that the name of an entry spells; 0: the entry is no task. */
pid_t weir_synth_entry_pid(const char *name);

/* Returns whether the -errno of an open or read means that a task has gone or that we may not see it. */
bool weir_synth_is_gone(int code);

/* ---- the kernel ---- */

#define WEIR_SYNTH_MODULE_NAME_BYTES 64 /* MODULE_NAME_LEN of the kernel is less */

struct weir_synth_module {
    uint64_t start, bytes;
    char name[WEIR_SYNTH_MODULE_NAME_BYTES]; /* as /proc/modules spells it */
    char *path;                              /* owned; NULL: no file is known */
};

struct weir_synth_modules {
    struct weir_synth_module *all; /* owned; ascending by start */
    size_t count, room;
};

/* synth_modules.c: reads the modules that have an address. 0 or -ENOMEM; weir_synth_modules_fini() follows in both
 * cases. Files that are missing or unreadable give no modules, or modules without a path. */
int weir_synth_modules_read(struct weir_synth_modules *modules, int proc_fd, const char *modules_root);
void weir_synth_modules_fini(struct weir_synth_modules *modules);

/* synth_modules.c: reads a copy of /proc/modules, whose modules get no path. 0 or -ENOMEM; fini() as above. */
int weir_synth_modules_read_file(struct weir_synth_modules *modules, int fd);

enum weir_kernel_symbol {
    WEIR_SYMBOL_TEXT,
    WEIR_SYMBOL_STEXT,
    WEIR_SYMBOL_EDATA,
    WEIR_SYMBOL_ETEXT,
    WEIR_SYMBOL_COUNT,
};

extern const char *const weir_kernel_symbol_names[WEIR_SYMBOL_COUNT];

struct weir_kernel_symbols { /* the bounds of a kernel, as its kallsyms says */
    uint64_t address[WEIR_SYMBOL_COUNT];
    bool is_found[WEIR_SYMBOL_COUNT];
    uint64_t image_bytes; /* from _text to _edata by iomem; 0: not known */
};

/* synth_kernel.c: notes the symbol of a line of kallsyms. */
void weir_kernel_symbols_note(struct weir_kernel_symbols *symbols, const char *line);

/* synth_kernel.c: returns the end of the kernel that starts at `start`; UINT64_MAX: nobody knows. */
uint64_t weir_kernel_symbols_end(const struct weir_kernel_symbols *symbols, const struct weir_synth_modules *modules,
                                 uint64_t start);

/* ---- one synthesis of tasks ---- */

#define WEIR_SYNTH_HUGE_MOUNTS 4 /* hugetlbfs is mounted once per page size at most */

/* Settings for reading maps, the same for all tasks of a run. */
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
    int proc_fd;                              /* owned; its file position marks the tasks still to do */
    pthread_mutex_t proc_lock;                /* held for getdents64(2) on proc_fd */
    struct weir_synth_maps maps;
    _Atomic int result; /* 0, or the first -errno; written by any worker */
};

/* Room for a line of maps with the longest name that a record keeps. A longer line is cut, and its name replaced. */
#define WEIR_SYNTH_TEXT_BYTES (2u * PATH_MAX)

struct weir_synth_worker {
    struct weir_synth_run *run; /* borrowed */
    struct weir_synth_block block;
    struct weir_synth_counts counts;
    pid_t first_timed_out; /* for the notice; 0: none */
    bool query_refused;    /* the kernel does not know PROCMAP_QUERY */
    /* Entries of struct dirent64: of /proc (a small buffer, so that the threads share the last tasks evenly), and of
     * /proc/PID/task. */
    _Alignas(uint64_t) char pid_entries[2048];
    _Alignas(uint64_t) char tid_entries[8192];
    struct weir_build_id build_id; /* of the present map, if build ids are wanted; bytes 0: it has none */
    struct weir_namespace namespaces[WEIR_NAMESPACES]; /* of the present process, if wanted */
    char name[PATH_MAX + 1];                           /* one name from PROCMAP_QUERY */
    char text[WEIR_SYNTH_TEXT_BYTES];                  /* text of the present file */
};

/* synth_tasks.c: emits all records of process pid, and counts tasks that have gone. 0, the result of emit, or the
 * -errno for a lack of descriptors or memory. */
int weir_synth_process(struct weir_synth_worker *worker, pid_t pid);

/* synth_tasks.c: returns the process of a thread, or -errno; for a thread that has gone, one for which
 * weir_synth_is_gone() is true. */
pid_t weir_synth_thread_group(struct weir_synth_worker *worker, pid_t tid);

/* synth_maps.c: fills maps from the mount table and this process's own maps below proc_fd. Cannot fail: unreadable
 * settings are left out. */
void weir_synth_maps_init(struct weir_synth_maps *maps, int proc_fd, unsigned timeout_ms);

/* synth_maps.c: emits MMAP2 records of process pid from the maps file at path, below proc_fd; an unreadable file gives
 * none. 0, the result of emit, or the -errno of running out of descriptors or memory. */
int weir_synth_process_maps(struct weir_synth_worker *worker, pid_t pid, const char *path);

#endif
