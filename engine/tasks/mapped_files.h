/*
 * The files, and the parts of the kernel, that are mapped to be executed: each once, with its build id when it is
 * known.
 *
 * An object is a name together with the file behind it: device, inode and, if the record has it, generation. A file
 * with two names is read once. A name whose file was replaced while recording is two objects. Synthesized records have
 * no generation (0), which matches any.
 *
 * Bounds: WEIR_MAPPED_FILES_MAX objects and WEIR_MAPPED_NAMES_BYTES_MAX bytes of names. Further objects are counted,
 * and get no build id.
 *
 * A recording with rotation may go on for weeks, while programs come and go. So each object knows the first and last
 * output in which it was seen; outputs are numbered from 0. An object that no task maps any more is freed when all
 * outputs that could list it are finished, and its index is reused. It is kept while its build id waits to be read,
 * while other objects have its id, and if it is the kernel's.
 *
 * One thread at a time; the owner serializes.
 */
#ifndef WEIR_ENGINE_TASKS_MAPPED_FILES_H
#define WEIR_ENGINE_TASKS_MAPPED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "format/build_id.h"
#include "format/features.h"
#include "format/side_record.h"

#define WEIR_MAPPED_FILES_MAX       65536u
#define WEIR_MAPPED_NAMES_BYTES_MAX (16u << 20)
#define WEIR_MAPPED_NONE            UINT32_MAX
#define WEIR_MAPPED_OUTPUTS_KEPT    16u /* outputs before the present one that may still ask for their list */

enum weir_mapped_kind {
    WEIR_MAPPED_FILE,    /* a path */
    WEIR_MAPPED_VDSO,    /* "[vdso]" */
    WEIR_MAPPED_KERNEL,  /* "[kernel.kallsyms]_text"; kept as "[kernel.kallsyms]" */
    WEIR_MAPPED_MODULE,  /* path of a module, or "[name]" */
    WEIR_MAPPED_NOTHING, /* anonymous memory and the like, which has no file */
    WEIR_MAPPED_FREE,    /* the place is free */
};

struct weir_mapped_file {
    uint32_t major, minor;
    uint64_t inode, generation; /* 0: unknown */
    uint32_t name;              /* offset in names */
    uint32_t same_file;         /* an earlier object of the same file, which has the id; or WEIR_MAPPED_NONE */
    uint32_t name_hash;         /* of name, device, inode and the record's build id */
    uint32_t file_hash;         /* of device and inode */
    uint32_t next;              /* in its bucket by name and file, or in the list of free places */
    uint32_t next_same;         /* in its bucket by file */
    uint32_t next_new;          /* in the list of files still to be read */
    enum weir_mapped_kind kind;
    uint16_t cpumode;
    bool awaits_id;                /* its id is still to be read, or being read */
    bool unreadable;               /* reading failed: another name of the same file is worth a try */
    struct weir_build_id build_id; /* bytes 0: none, or not read yet */
    /* A mapping of the file, to open it by when its name no longer leads to it. */
    pid_t pid;
    uint64_t start, end;
    uint32_t first_output, last_output; /* first and last output in which it was seen */
    uint64_t first_ns;                  /* time of the mapping with which it was seen first; 0: synthesized */
    uint64_t number;                    /* of objects seen before it */
};

struct weir_mapped_files {
    struct weir_mapped_file *all; /* owned */
    uint32_t count, room;         /* places used so far, and allocated */
    uint32_t first_free;          /* free place below count; WEIR_MAPPED_NONE: none */
    uint32_t output;              /* the present one */
    uint64_t seen;                /* objects, also those that were freed since */
    struct weir_buf names;        /* zero-terminated, one after another */
    uint32_t *by_name;            /* owned; buckets, bucket_count each */
    uint32_t *by_file;            /* owned */
    uint32_t bucket_count;        /* a power of two; 0: none yet */
    struct weir_hash_key key;     /* secret: the tasks that map files choose names, on some file systems also inodes */
    uint32_t first_new;           /* oldest object still to be read; WEIR_MAPPED_NONE: none */
    uint32_t last_new;
    uint64_t left_out;       /* records whose object found no room */
    uint64_t without_memory; /* of these: for want of memory, not by the bound */
};

void weir_mapped_files_init(struct weir_mapped_files *files);
void weir_mapped_files_fini(struct weir_mapped_files *files);

/*
 * Finds or adds the object of an MMAP or MMAP2 record, with the build id that the record may have. Returns its index;
 * -ENOSPC or -ENOMEM: no room, counted in left_out. The average time does not depend on the number of objects.
 */
int64_t weir_mapped_files_add(struct weir_mapped_files *files, const struct weir_side_record *record);

/* Takes the next object whose build id is to be read; WEIR_MAPPED_NONE: none. It gives out each object once, and keeps
 * the object until weir_mapped_files_note_id(). */
uint32_t weir_mapped_files_next_new(struct weir_mapped_files *files);

/* Stores the build id that was read; bytes 0: the file has none. unreadable: the file could not be read. */
void weir_mapped_files_note_id(struct weir_mapped_files *files, uint32_t index, const struct weir_build_id *id,
                               bool unreadable);

/* Begins the next output: objects that are added or touched from here on are seen in it. */
void weir_mapped_files_begin_output(struct weir_mapped_files *files);

/* Counts an object as seen in the present output: a task maps it. */
void weir_mapped_files_touch(struct weir_mapped_files *files, uint32_t index);

/* Frees the objects that were seen neither in the present output nor in the WEIR_MAPPED_OUTPUTS_KEPT before. Nothing
 * may refer to them by index any more. The time grows with the number of objects. */
void weir_mapped_files_free_unmapped(struct weir_mapped_files *files);

/* The name of an object; borrowed until the next add or free_unmapped. */
const char *weir_mapped_files_name(const struct weir_mapped_files *files, uint32_t index);

/* The build id of an object; bytes 0: none known. */
struct weir_build_id weir_mapped_files_build_id(const struct weir_mapped_files *files, uint32_t index);

/*
 * Makes the entries of an output's BUILD_ID feature. The kernel comes first, then the objects with a build id that were
 * seen in this output or in the previous one, the newest first. (The thread may take in records from around the
 * rotation with either output.) Where a file was replaced under its name, the last entry is that of the first file.
 * perf gives the last entry to the first mapping of the name, and gives no entry to files of later mappings, which have
 * another inode. The caller frees *entries; the names in it are borrowed until the next add or free_unmapped. 0 or
 * -ENOMEM.
 */
int weir_mapped_files_list(const struct weir_mapped_files *files, uint32_t output, struct weir_build_id_entry **entries,
                           size_t *count);

#endif
