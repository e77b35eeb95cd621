/*
 * perf's build-id cache: copies of the mapped files by build id, so that a recording can be read after the files were
 * replaced (perf-buildid-cache(1)).
 *
 *     DIR/PATH/ID/elf                  a file; "[kernel.kallsyms]" has ID/kallsyms there, and "[vdso]" ID/vdso
 *     DIR/.build-id/ID[0..1]/ID[2..]   a symbolic link to DIR/PATH/ID
 *
 * Written only when an option asks for it, after the recording. Coordinator; blocks as file systems do.
 */
#ifndef WEIR_ENGINE_TASKS_BUILD_ID_CACHE_H
#define WEIR_ENGINE_TASKS_BUILD_ID_CACHE_H

#include <stddef.h>

#include "base/error.h"
#include "engine/tasks/mapped_file_id.h"
#include "engine/tasks/mapped_files.h"

struct weir_build_id_cache_counts {
    size_t added;
    size_t present;  /* the cache had them */
    size_t left_out; /* files that are gone, were replaced, or cannot be copied; a vDSO of 32 bits */
};

/*
 * Adds every object with a known build id. roots: those with which the ids were read. 0; -errno with err: dir cannot be
 * made or written to, is a symbolic link (-ELOOP) or another user's (-EPERM).
 */
int weir_build_id_cache_fill(const char *dir, const struct weir_mapped_files *files,
                             const struct weir_mapped_file_roots *roots, struct weir_build_id_cache_counts *counts,
                             struct weir_error *err);

/* The default folder of the cache, $HOME/.debug. False: HOME is not set or too long. */
bool weir_build_id_cache_default(char *dir, size_t bytes);

#endif
