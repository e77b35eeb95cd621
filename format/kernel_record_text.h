/* The text of the records that the kernel writes, but for samples. Appends to a buffer; allocates; one thread. */
#ifndef WEIR_FORMAT_KERNEL_RECORD_TEXT_H
#define WEIR_FORMAT_KERNEL_RECORD_TEXT_H

#include "base/buf.h"
#include "format/text_record.h"

/* Appends the text that follows PERF_RECORD_NAME, with a newline at its end. */
void weir_kernel_record_append(const struct weir_text_record *record, struct weir_buf *out);

/* Returns the name of the n-th namespace of PERF_RECORD_NAMESPACES, or "unknown". */
const char *weir_namespace_name(uint64_t n);

#endif
