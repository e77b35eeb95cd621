/* What the files of the writer share: writer.c and writer_aux.c. Writer thread. */
#ifndef WEIR_ENGINE_DRAIN_WRITER_INTERNAL_H
#define WEIR_ENGINE_DRAIN_WRITER_INTERNAL_H

#include "engine/drain/writer.h"

/* ---- writer_aux.c ---- */

/* Appends one chunk of a train, which begins it or goes on with it. */
void weir_writer_append_aux(struct weir_writer *writer, struct weir_chunk *chunk, bool pressed);

/* One that was appended has completed. account: of its output. */
void weir_writer_account_aux(struct weir_writer *writer, struct weir_writer_account *account,
                             const struct weir_chunk *chunk, int result);

#endif
