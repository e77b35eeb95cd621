/*
 * Files and environment variables that commands read or write, for FILES and ENVIRONMENT of their man pages. Constant
 * data; any thread.
 */
#ifndef WEIR_CLI_SURROUNDINGS_H
#define WEIR_CLI_SURROUNDINGS_H

#include "cli/command.h"

/* Each list ends with a NULL name. */
extern const struct weir_surrounding weir_files_of_recording[];
extern const struct weir_surrounding weir_files_of_reading[];
extern const struct weir_surrounding weir_files_of_symbols[]; /* of readers that look for symbols or unwind tables */
extern const struct weir_surrounding weir_files_of_running[]; /* of commands that look for running recordings */
extern const struct weir_surrounding weir_files_of_events[];
extern const struct weir_surrounding weir_files_of_limits[];
extern const struct weir_surrounding weir_files_of_weir[]; /* of the overview */

extern const struct weir_surrounding weir_environment_of_all[]; /* on each page, after the command's own */
extern const struct weir_surrounding weir_environment_of_recording[];
extern const struct weir_surrounding weir_environment_of_reports[];
extern const struct weir_surrounding weir_environment_of_running[];
extern const struct weir_surrounding weir_environment_of_top[];
extern const struct weir_surrounding weir_environment_of_programs[];

#endif
