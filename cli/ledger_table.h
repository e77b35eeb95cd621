/*
 * The ledger of a recording as a table for people: a row for each CPU or task and event, and the sum of the samples.
 * Columns in which nothing was counted are left out. Pure; any thread.
 */
#ifndef WEIR_CLI_LEDGER_TABLE_H
#define WEIR_CLI_LEDGER_TABLE_H

#include <stddef.h>

#include "base/buf.h"
#include "engine/plan/record_result.h"

/* Appends the table. Returns how many rows of zeros were left out. */
size_t weir_ledger_table_append(struct weir_buf *text, const struct weir_record_result *result);

#endif
