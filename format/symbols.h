/*
 * Symbols of a file, of the kernel or of code that a task has generated: names by address. weir chooses names as perf
 * report does, so that both count a sample under the same name.
 *
 * Any thread; allocates, blocks as reading does, and trusts no byte of a file. A finished table does not change: any
 * number of threads may search it. Source: dso__load_sym(), symbols__fixup_end(), symbols__fixup_duplicate() and
 * dso__synthesize_plt_symbols() in tools/perf/util/symbol*.c of Linux 6.1.
 */
#ifndef WEIR_FORMAT_SYMBOLS_H
#define WEIR_FORMAT_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define WEIR_SYMBOL_NONE UINT32_MAX
#define WEIR_SYMBOLS_MAX_BYTES                                                             \
    (1ull << 30) /* of a symbol table, or of a text file of symbols, that are read at most \
                  */

enum weir_symbol_binding {
    WEIR_SYMBOL_LOCAL,
    WEIR_SYMBOL_GLOBAL,
    WEIR_SYMBOL_WEAK,
};

struct weir_symbol {
    uint64_t start, end; /* offsets in the file, or addresses; end is behind the last byte */
    uint32_t name;       /* offset in weir_symbols.names */
    uint32_t order;      /* of its adding */
    uint8_t binding;     /* enum weir_symbol_binding */
    uint8_t is_module;   /* of kallsyms: a module's */
};

struct weir_symbols {
    struct weir_symbol *items; /* owned; ascending by start once finished */
    size_t count, capacity;
    struct weir_buf names; /* owned; each ends in a zero */
    bool is_full;          /* of an ELF file: they come from the table that strip(1) removes */
    uint64_t text_start;   /* of kallsyms: the address of _text, or of _stext; 0: neither is there */
};

/* A symbol that is to be added. */
struct weir_symbol_text {
    const char *name;
    uint64_t start, bytes; /* bytes 0: unknown, up to the next symbol */
    enum weir_symbol_binding binding;
};

/* Adds a symbol. 0 or -ENOMEM. Only before weir_symbols_finish(). */
int weir_symbols_add(struct weir_symbols *symbols, const struct weir_symbol_text *symbol);

/* Keeps, of symbols that start at the same address, the one that was added last. Only before weir_symbols_finish(). */
void weir_symbols_keep_newest(struct weir_symbols *symbols);

/* Sorts the symbols, gives those without a length one, and keeps the best of each that start at the same address. */
void weir_symbols_finish(struct weir_symbols *symbols);

/* Returns the symbol at an address; WEIR_SYMBOL_NONE: there is none. Only after weir_symbols_finish(). */
uint32_t weir_symbols_find(const struct weir_symbols *symbols, uint64_t address);

const char *weir_symbol_name(const struct weir_symbols *symbols, uint32_t number);

/* Releases the symbols; all zeros and NULL are allowed. */
void weir_symbols_fini(struct weir_symbols *symbols);

#endif
