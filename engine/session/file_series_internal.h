/* Between the files of the series. Coordinator. */
#ifndef WEIR_ENGINE_SESSION_FILE_SERIES_INTERNAL_H
#define WEIR_ENGINE_SESSION_FILE_SERIES_INTERNAL_H

#include "engine/session/file_series.h"

/* Makes the descriptors of rotations, and takes the trigger. 0 or -errno. */
int weir_file_rotation_prepare(struct weir_file_series *series);

/* Watches for size, time and progress. 0 or -errno. */
int weir_file_rotation_watch(struct weir_file_series *series);

/* After the sideband thread and the writer have ended: hands the file that ended over to the finisher, whatever the
 * next one begins with. Does nothing when settle() has seen the rotation through. Blocks. */
void weir_file_rotation_end(struct weir_file_series *series);

/* In any state. */
void weir_file_rotation_fini(struct weir_file_series *series);

#endif
