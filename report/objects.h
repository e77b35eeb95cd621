/*
 * Objects: what can be mapped and has symbols. Files, the kernel and its modules, the vDSO, generated code.
 *
 * One thread adds objects. Then any number of threads may resolve addresses: the first that needs an object's symbols
 * loads them, once, while others that need the same object wait. The loading thread opens regular files only, by names
 * from the recording, for reading. It uses no file whose build id differs from the recorded one.
 */
#ifndef WEIR_REPORT_OBJECTS_H
#define WEIR_REPORT_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/build_id.h"
#include "format/symbols.h"
#include "report/row_table.h"
#include "report/string_table.h"

enum weir_object_kind {
    WEIR_OBJECT_UNKNOWN, /* nothing is known: number 0 */
    WEIR_OBJECT_KERNEL,  /* number 1 */
    WEIR_OBJECT_MODULE,
    WEIR_OBJECT_KSYMBOL, /* code in the kernel with a name of its own, such as a BPF program */
    WEIR_OBJECT_FILE,
    WEIR_OBJECT_VDSO,
    WEIR_OBJECT_PERF_MAP, /* generated code of a process */
    WEIR_OBJECT_NAMELESS, /* [heap], [stack]: no symbols */
};

#define WEIR_OBJECT_NUMBER_UNKNOWN 0u
#define WEIR_OBJECT_NUMBER_KERNEL  1u

/* What of an object could not be read; counted for the notes. */
enum weir_object_failure {
    WEIR_OBJECT_LOADED,
    WEIR_OBJECT_MISSING,  /* no such file, or it may not be read */
    WEIR_OBJECT_MISMATCH, /* another build id */
    WEIR_OBJECT_STRIPPED, /* no symbols */
};

struct weir_object {
    enum weir_object_kind kind;
    uint32_t path;           /* number of a string: as shown */
    uint32_t pid;            /* of PERF_MAP */
    struct weir_build_id id; /* bytes 0: unknown */
    uint32_t same;           /* number of the first object of the same path and build id; else its own */
    uint32_t jitdump;        /* of PERF_MAP: number of the string of its jitdump's path; 0: none */
    uint64_t bytes;          /* of KSYMBOL */
    pthread_mutex_t lock;    /* held while symbols are loaded */
    atomic_bool is_loaded;   /* released after symbols and failure are set, which do not change afterwards */
    struct weir_symbols symbols;
    enum weir_object_failure failure;
};

/* Where symbols are looked for. */
struct weir_object_places {
    const char *debug_root;     /* NULL: /usr/lib/debug */
    const char *build_id_cache; /* perf's: ~/.debug; NULL: none */
    const char *kallsyms;       /* NULL: /proc/kallsyms, if the kernel runs that was recorded */
    const char *root;           /* in front of paths of files; NULL: none */
    const char *vdso;           /* a file with the vDSO of this process, for weir_objects_open(); NULL: none */
    struct weir_build_id running_kernel;
    int (*fetch)(void *ctx, const struct weir_build_id *id); /* finds the debug file of a build id elsewhere: a
                                                                descriptor, or -errno. NULL: nobody is asked. Any
                                                                thread, one at a time; may block for long */
    void *fetch_ctx;                                         /* borrowed */
};

struct weir_objects {
    struct weir_string_table *strings; /* borrowed */
    struct weir_object_places places;  /* its texts are borrowed */
    struct weir_object **list;         /* owned, as what it points to */
    size_t count, capacity;
    pthread_mutex_t fetching;      /* held while places.fetch runs */
    struct weir_row_table numbers; /* path, kind and pid, build id; number */
    uint64_t text_start;           /* of the recorded kernel: where _text or _stext was; 0: unknown */
};

/* Makes the two objects with fixed numbers. 0 or -ENOMEM. Release with weir_objects_fini() in any case. */
int weir_objects_init(struct weir_objects *objects, struct weir_string_table *strings, uint64_t seed);
void weir_objects_fini(struct weir_objects *objects);

/* An object that is mapped somewhere. */
struct weir_object_name {
    const char *path;
    uint32_t pid;                   /* of the process that mapped it; WEIR_TASK_KERNEL: the kernel */
    const struct weir_build_id *id; /* NULL: unknown */
    uint64_t inode;                 /* with the device tells files of one path apart; 0: unknown */
    uint32_t major, minor;
};

/* An entry of the recording's table of build ids. */
struct weir_object_id {
    uint32_t path; /* number of a string */
    struct weir_build_id id;
};

/* Returns the number of the object that a mapping's name means; WEIR_ROW_NONE: no memory. */
uint32_t weir_objects_add(struct weir_objects *objects, const struct weir_object_name *name);

/* Returns the number of the kernel's code of that name and length; WEIR_ROW_NONE: no memory. */
uint32_t weir_objects_add_ksymbol(struct weir_objects *objects, const char *name, uint64_t bytes);

/* Gives the process' generated code the jitdump at path (number of a string). 0 or -ENOMEM. */
int weir_objects_set_jitdump(struct weir_objects *objects, uint32_t pid, uint32_t path);

/*
 * Gives objects without a build id that of their path in the table. A path has several objects if its file was replaced
 * while recording. The last entry of the path is then that of the first object, the last but one that of the second,
 * and so on. weir writes the entries in this order (engine/tasks/mapped_files.h). Objects left over get the first
 * entry. Then objects with the same path and build id become one object.
 *
 * 0 or -ENOMEM. ids: borrowed.
 */
int weir_objects_identify(struct weir_objects *objects, const struct weir_object_id *ids, size_t count);

/* Whether addresses in an object are those of memory, rather than offsets. */
static inline bool weir_object_is_absolute(const struct weir_object *object)
{
    return object->kind == WEIR_OBJECT_KERNEL || object->kind == WEIR_OBJECT_MODULE ||
           object->kind == WEIR_OBJECT_PERF_MAP;
}

/* Opens the file of a FILE or a VDSO, with the recorded build id: a descriptor for the caller, or -errno. Any thread.
 */
int weir_objects_open(const struct weir_objects *objects, uint32_t number);

/* Returns the symbol at an address (or offset) in an object; WEIR_SYMBOL_NONE: none. Any thread; may load. */
uint32_t weir_objects_resolve(struct weir_objects *objects, uint32_t number, uint64_t address);

/* Returns the name of a symbol that weir_objects_resolve() has returned; "" for WEIR_SYMBOL_NONE. */
const char *weir_objects_symbol(const struct weir_objects *objects, uint32_t number, uint32_t symbol);

#endif
