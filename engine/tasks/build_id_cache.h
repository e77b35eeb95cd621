/*
 * perf's build-id cache: copies of what was mapped, found by build id, so that a recording can be read when the files
 * have been replaced since (perf-buildid-cache(1)).
 *
 *     DIR/PATH/ID/elf                  a file; "[kernel.kallsyms]" has ID/kallsyms there
 *     DIR/.build-id/ID[0..1]/ID[2..]   a symbolic link to DIR/PATH/ID
 *
 * Written only when asked for, when the recording is whole. Coordinator; blocks as the file systems do.
 */
#ifndef WEIR_ENGINE_TASKS_BUILD_ID_CACHE_H
#define WEIR_ENGINE_TASKS_BUILD_ID_CACHE_H

#include <stddef.h>

#include "base/error.h"
#include "engine/tasks/mapped_file_id.h"
#include "engine/tasks/mapped_files.h"

struct weir_build_id_cache_counts {
    size_t added;
    size_t present;  /* already there */
    size_t left_out; /* the vDSO, which is no file, and whose file is gone, or is another one by now, or cannot be
                        copied */
};

/*
 * Adds every object with a known build id. roots as for reading the ids. 0; -errno with err when dir cannot be made or
 * nothing can be written there.
 */
int weir_build_id_cache_fill(const char *dir, const struct weir_mapped_files *files,
                             const struct weir_mapped_file_roots *roots, struct weir_build_id_cache_counts *counts,
                             struct weir_error *err);

/* Where the cache is without an option: $HOME/.debug. false: HOME is not set or too long. */
bool weir_build_id_cache_default(char *dir, size_t bytes);

#endif
