/* Shared by the files that implement the beginning. */
#ifndef WEIR_ENGINE_FILES_BEGINNING_INTERNAL_H
#define WEIR_ENGINE_FILES_BEGINNING_INTERNAL_H

#include "engine/files/beginning.h"

/* Appends TIME_CONV, ID_INDEX, EVENT_UPDATE, THREAD_MAP and CPU_MAP records. 0 or -ENOMEM. The coordinator calls this
 * for the first file, the sideband thread for later files. */
int weir_beginning_append_index(const struct weir_beginning *beginning, struct weir_buf *out);

#endif
