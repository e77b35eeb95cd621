/*
 * The rows of `weir record`'s option table, a file for each section of help; cli/record_options.c puts them
 * together.
 * Names, arguments and meanings are those of perf record (perf-record(1), Linux 6.12). A new option is a new row in the
 * file of its section. Constant data.
 */
#ifndef WEIR_CLI_RECORD_ROWS_H
#define WEIR_CLI_RECORD_ROWS_H

#include "cli/option.h"

extern const struct weir_option_rows weir_record_target_rows;
extern const struct weir_option_rows weir_record_sampling_rows;
extern const struct weir_option_rows weir_record_sample_rows;
extern const struct weir_option_rows weir_record_ring_rows;
extern const struct weir_option_rows weir_record_output_rows;
extern const struct weir_option_rows weir_record_switch_rows;
extern const struct weir_option_rows weir_record_trigger_rows;
extern const struct weir_option_rows weir_record_other_rows;

#endif
