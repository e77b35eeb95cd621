/* Shared by the files that implement the series. Coordinator. */
#ifndef WEIR_ENGINE_FILES_FILE_SERIES_INTERNAL_H
#define WEIR_ENGINE_FILES_FILE_SERIES_INTERNAL_H

#include "engine/files/file_series.h"

/* Makes the descriptors of rotations, and registers the trigger "switch". 0 or -errno. */
int weir_file_rotation_prepare(struct weir_file_series *series);

/* Watches for size, time and progress. 0 or -errno. */
int weir_file_rotation_watch(struct weir_file_series *series);

/* Hands the ended file to the finisher after the sideband thread and the writer have ended, even if the new file has no
 * complete beginning. Does nothing if no rotation is under way. Blocks. */
void weir_file_rotation_end(struct weir_file_series *series);

/* Frees the state of rotations, in any state. */
void weir_file_rotation_fini(struct weir_file_series *series);

#endif
