/* What outputs that are files and those that are folders are both refused for. Pure but for the user's id; any thread.
 */
#ifndef WEIR_IO_OUTPUT_REFUSAL_H
#define WEIR_IO_OUTPUT_REFUSAL_H

#include <sys/types.h>

#include "base/error.h"

/* -ELOOP with err. */
int weir_output_refuse_link(const char *path, struct weir_error *err);

/* 0 when what belongs to owner may be replaced: it is ours, or we are root. Else -EPERM with err. */
int weir_output_check_owner(const char *path, uid_t owner, struct weir_error *err);

/* code: of a system call that looked path up; returned, with err. */
int weir_output_fail_lookup(const char *path, int code, struct weir_error *err);

/* Adds the hint that goes with such a code; nothing for others. */
void weir_output_hint_lookup(int code, struct weir_error *err);

#endif
