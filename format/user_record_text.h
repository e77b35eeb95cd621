/* The text of the records that only user space writes. Appends to a buffer; allocates; one thread. */
#ifndef WEIR_FORMAT_USER_RECORD_TEXT_H
#define WEIR_FORMAT_USER_RECORD_TEXT_H

#include "base/buf.h"
#include "format/text_record.h"

/* Appends the text that follows PERF_RECORD_NAME, with a newline at its end. */
void weir_user_record_append(const struct weir_text_record *record, struct weir_buf *out);

/* Returns the length of the id in a PERF_RECORD_HEADER_BUILD_ID. The id starts at byte 12 of the record. */
size_t weir_build_id_record_bytes(const struct weir_text_record *record);

#endif
