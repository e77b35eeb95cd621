/* The texts of status lines (status_line.h), cut to the columns that there are. Pure; any thread. */
#ifndef WEIR_CLI_STATUS_TEXT_H
#define WEIR_CLI_STATUS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/plan/record_watch.h"

#define WEIR_STATUS_TEXT_BYTES 512 /* holds a line of WEIR_STATUS_LINE_COLUMNS_MAX columns and its colors */

/* Writes a number of at most four digits and a letter: "17", "9.87k", "1234M". Returns text. */
const char *weir_status_text_number(char text[16], double number);

/* Writes a duration: "0:07", "12:34", "1:02:03". Returns text. */
const char *weir_status_text_duration(char text[16], uint64_t ns);

/* Writes the line of a recording. before: earlier figures, for the rates. If columns are few, the line leaves out the
 * least important figures. Time, losses, rates and the size stay longest. colors: losses are red. */
void weir_status_text_recording(char text[WEIR_STATUS_TEXT_BYTES], const struct weir_record_figures *now,
                                const struct weir_record_figures *before, unsigned columns, bool colors);

/* Writes the line of the end of a recording, which has taken so long. */
void weir_status_text_ending(char text[WEIR_STATUS_TEXT_BYTES], enum weir_ending_step step, uint64_t taken_ns,
                             unsigned columns);

/* Writes the line of a long work: "weir verify: 0:03  41 %  123 MB of 300 MB". total: 0: unknown. */
void weir_status_text_progress(char text[WEIR_STATUS_TEXT_BYTES], const char *work, uint64_t done_bytes,
                               uint64_t total_bytes, uint64_t taken_ns, unsigned columns);

#endif
