/*
 * The files (and pieces of the kernel) that are mapped to be executed: each once, with its build id when that is known.
 *
 * An object is a name together with the file that it named: device, inode and, where it is told, generation. One file
 * under two names is read once; one name whose file was replaced while recording is two objects. Synthesised records do
 * not tell generations (0): an unknown one agrees with any.
 *
 * Bounded: WEIR_MAPPED_FILES_MAX objects and WEIR_MAPPED_NAMES_BYTES_MAX bytes of names; what comes beyond is counted
 * and gets no build id.
 *
 * A recording that switches its output may go on for weeks, on a machine where programs come and go: each object knows
 * in which outputs it was seen, which are numbered from 0, and one that no task has mapped any more is forgotten when
 * all outputs that could list it are finished. Its index is then used again. One that waits for its build id to be read
 * is not forgotten; nor is the kernel's, or one whose id others have.
 *
 * One thread at a time; the owner serialises.
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
    WEIR_MAPPED_KERNEL,  /* "[kernel.kallsyms]_text": the name is kept without what follows the bracket */
    WEIR_MAPPED_MODULE,  /* path of a module, or "[name]" */
    WEIR_MAPPED_NOTHING, /* anonymous memory and its like: there is no file to read */
    WEIR_MAPPED_FREE,    /* forgotten: the place is free */
};

struct weir_mapped_file {
    uint32_t major, minor;
    uint64_t inode, generation; /* 0: not told */
    uint32_t name;              /* offset in names */
    uint32_t same_file;         /* an earlier object of the same file, whose id is this one's; or WEIR_MAPPED_NONE */
    uint32_t name_hash;         /* of name, device, inode and the record's build id */
    uint32_t file_hash;         /* of device and inode */
    uint32_t next;              /* in its bucket by name and file, or of the free places */
    uint32_t next_same;         /* in its bucket by file */
    uint32_t next_new;          /* among those still to be read */
    enum weir_mapped_kind kind;
    uint16_t cpumode;
    bool awaits_id;                /* it is still to be read, or being read */
    bool unreadable;               /* it was tried: another name of the same file is to be tried again */
    struct weir_build_id build_id; /* bytes 0: none, or not read yet */
    /* A mapping of it, by which the file may be opened when its name no longer leads there. */
    pid_t pid;
    uint64_t start, end;
    uint32_t first_output, last_output; /* in which it was seen */
};

struct weir_mapped_files {
    struct weir_mapped_file *all; /* owned */
    uint32_t count, room;         /* places touched so far, and had */
    uint32_t first_free;          /* of the places below count; WEIR_MAPPED_NONE */
    uint32_t output;              /* the present one */
    uint64_t seen;                /* objects, also those that were forgotten */
    struct weir_buf names;        /* zero-terminated, one after another */
    uint32_t *by_name;            /* owned; buckets, bucket_count each */
    uint32_t *by_file;            /* owned */
    uint32_t bucket_count;        /* a power of two; 0: none yet */
    struct weir_hash_key key;     /* of its own: whoever maps files chooses their names and, with some, their numbers */
    uint32_t first_new;           /* oldest object that wants to be read; WEIR_MAPPED_NONE */
    uint32_t last_new;
    uint64_t left_out; /* records whose object did not find room */
};

void weir_mapped_files_init(struct weir_mapped_files *files);
void weir_mapped_files_fini(struct weir_mapped_files *files);

/*
 * The object that an MMAP or MMAP2 record maps: found, or added. A build id in the record is taken over. Returns its
 * index; -ENOSPC or -ENOMEM when it found no room (counted). Average time does not depend on how many there are.
 */
int64_t weir_mapped_files_add(struct weir_mapped_files *files, const struct weir_side_record *record);

/* Takes the next object whose build id is to be read; WEIR_MAPPED_NONE: none. Each is given out once, and stays until
 * it was told what was found. */
uint32_t weir_mapped_files_next_new(struct weir_mapped_files *files);

/* What reading it gave; bytes 0: none. unreadable: the file could not be read. */
void weir_mapped_files_note_id(struct weir_mapped_files *files, uint32_t index, const struct weir_build_id *id,
                               bool unreadable);

/* What comes from here on is in the next output. */
void weir_mapped_files_begin_output(struct weir_mapped_files *files);

/* A task has it mapped, as the present output begins. */
void weir_mapped_files_touch(struct weir_mapped_files *files, uint32_t index);

/* Forgets what was seen in none of the last WEIR_MAPPED_OUTPUTS_KEPT outputs nor in the present one. Nothing may refer
 * to these by index any more. Its time grows with the number of objects. */
void weir_mapped_files_forget(struct weir_mapped_files *files);

/* The name of an object; borrowed until the next add or forget. */
const char *weir_mapped_files_name(const struct weir_mapped_files *files, uint32_t index);

/* The build id of an object; bytes 0: none known. */
struct weir_build_id weir_mapped_files_build_id(const struct weir_mapped_files *files, uint32_t index);

/*
 * Makes the entries of an output's BUILD_ID feature: the kernel first, then what has a build id and was seen in this
 * output or in the one before (records from around the switch are taken in with either), in the order of their places.
 * *entries is to be freed by the caller; the names in it are borrowed until the next add or forget. 0 or -ENOMEM.
 */
int weir_mapped_files_list(const struct weir_mapped_files *files, uint32_t output, struct weir_build_id_entry **entries,
                           size_t *count);

#endif
