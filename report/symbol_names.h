/*
 * Names of symbols as they are shown: demangled, each once. One thread; allocates.
 */
#ifndef WEIR_REPORT_SYMBOL_NAMES_H
#define WEIR_REPORT_SYMBOL_NAMES_H

#include "report/row_table.h"
#include "report/string_table.h"

struct weir_symbol_names {
    struct weir_row_table shown; /* a caller's key; number of a string, 0: as in its file */
    struct weir_string_table strings;
};

/* Makes an empty table. 0 or -ENOMEM. Release with weir_symbol_names_fini() in any case. */
int weir_symbol_names_init(struct weir_symbol_names *names);
void weir_symbol_names_fini(struct weir_symbol_names *names);

/* Returns what a symbol is called that has that name in its file; key: of the symbol, always the same. Valid up to the
 * next call. Without memory, the name. */
const char *weir_symbol_names_get(struct weir_symbol_names *names, uint64_t key, const char *name);

#endif
