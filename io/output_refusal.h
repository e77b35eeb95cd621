/* Refusals that outputs have in common, files and folders. Pure but for the user's id; any thread. */
#ifndef WEIR_IO_OUTPUT_REFUSAL_H
#define WEIR_IO_OUTPUT_REFUSAL_H

#include <sys/types.h>

#include "base/error.h"

/* Returns -ELOOP with err: path is a symbolic link. */
int weir_output_refuse_link(const char *path, struct weir_error *err);

/* Whether a file of that owner may be replaced: it is ours, or we are root. 0, or -EPERM with err. */
int weir_output_check_owner(const char *path, uid_t owner, struct weir_error *err);

/* Fills err for a system call that failed to look path up with that code, and returns the code. */
int weir_output_fail_lookup(const char *path, int code, struct weir_error *err);

/* Adds the hint for such a code, if there is one. */
void weir_output_hint_lookup(int code, struct weir_error *err);

#endif
