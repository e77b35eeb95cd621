/* What the files of rows share. */
#ifndef WEIR_CLI_RECORD_ROWS_INTERNAL_H
#define WEIR_CLI_RECORD_ROWS_INTERNAL_H

#include "base/bits.h"
#include "cli/record_arguments.h"
#include "cli/record_rows.h"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_record_arguments, name, type)

#endif
