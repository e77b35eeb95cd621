/*
 * Names of files that have ended: PREFIX + name of the output + ".STAMP", and "-001" and so on behind it while such a
 * name is taken. The plan checks that the longest of them has room. Any thread.
 */
#ifndef WEIR_ENGINE_PLAN_STAMPED_NAME_H
#define WEIR_ENGINE_PLAN_STAMPED_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define WEIR_HIDING_PREFIX  "."  /* first in the name of a file that has ended and is not finished yet */
#define WEIR_STAMP_BYTES    17   /* "2026112118000012": UTC, hundredths of seconds last, as perf record writes it */
#define WEIR_SAME_STAMP_MAX 999u /* names with the same stamp, beyond the first */

/* Writes the stamp of a time of day (weir_clock_day). */
void weir_stamp_write(char stamp[WEIR_STAMP_BYTES], uint64_t day_ns);

/* Writes the name for the output at `path`, without its folder. n: 0 for the first name with this stamp, then 1 ..
 * WEIR_SAME_STAMP_MAX. Returns 0, or -ENAMETOOLONG where `bytes` are too few. */
int weir_stamped_name_write(char *name, size_t bytes, const char *path, const char *prefix, const char *stamp,
                            unsigned n);

/* Checks that the file system has room for each name of the output at `path`. Returns 0, or -ENAMETOOLONG with err. */
int weir_stamped_name_check(const char *path, const char *prefix, struct weir_error *err);

#endif
