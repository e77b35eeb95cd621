/* What commands that read a recording twice need before they enter the sandbox. Main thread. */
#ifndef WEIR_CLI_REPORT_INPUT_H
#define WEIR_CLI_REPORT_INPUT_H

#include <limits.h>

#include "base/error.h"
#include "report/objects.h"

/* Replaces a stream's path by that of a copy, which is a file. copy: holds the new path. *fd: of the copy, the
 * caller's; -1: none was made. 0, or -errno with err. */
int weir_report_input_spool(const char **path, char copy[PATH_MAX], int *fd, struct weir_error *err);

/* Sets places->build_id_cache to perf's cache of the user, if HOME names one. path: holds it. */
void weir_report_input_find_cache(char path[PATH_MAX], struct weir_object_places *places);

#define WEIR_VDSO_PATH_BYTES 64u

/* Makes a file of this process' vDSO, as the sandbox makes none, and sets places->vdso to its path. path: holds it.
 * Returns the file, for the caller to close; -1: there is none. */
int weir_report_input_open_vdso(char path[WEIR_VDSO_PATH_BYTES], struct weir_object_places *places);

#endif
