/* Symbols of files with formats of their own: kallsyms, perf-PID.map, jitdump. Any thread; allocates, blocks as reading
 * does, and trusts no byte. */
#ifndef WEIR_FORMAT_TEXT_SYMBOLS_H
#define WEIR_FORMAT_TEXT_SYMBOLS_H

#include "format/symbols.h"

/* Adds the symbols of a text in the form of /proc/kallsyms. 0, -EACCES (all addresses are hidden), -ENODATA, -ENOMEM or
 * -errno of reading. Finishes the table. */
int weir_symbols_of_kallsyms(struct weir_symbols *symbols, int fd);

/* Adds the symbols of a perf-PID.map: lines of start, length and name, numbers in hex. 0, -ENODATA, -ENOMEM or -errno
 * of reading. Finishes the table. */
int weir_symbols_of_perf_map(struct weir_symbols *symbols, int fd);

/* Adds the symbols of a jitdump file (tools/perf/Documentation/jitdump-specification.txt): of code that was generated
 * twice for the same address, the later one. 0, -ENODATA, -ENOMEM or -errno of reading. Finishes the table. */
int weir_symbols_of_jitdump(struct weir_symbols *symbols, int fd);

#endif
