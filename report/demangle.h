/*
 * Names of functions as their languages write them, of C++ and Rust: by libiberty, as perf has them. Without libiberty
 * names stay as they are. Any thread.
 */
#ifndef WEIR_REPORT_DEMANGLE_H
#define WEIR_REPORT_DEMANGLE_H

#include <stdbool.h>

#include "base/buf.h"

#define WEIR_DEMANGLED_MAX_BYTES 4096u /* a short name can stand for one of any length: beyond, it is left as it is */

/* Appends the name that a symbol stands for, with the suffix "@plt" if it has one. False, and nothing is appended: the
 * symbol is no mangled name, or stands for one beyond the limit. */
bool weir_demangle(struct weir_buf *out, const char *symbol);

#endif
