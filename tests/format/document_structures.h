/* The structures of docs/format.md, each written by format/ with a value of its own in every field. */
#ifndef WEIR_TESTS_FORMAT_DOCUMENT_STRUCTURES_H
#define WEIR_TESTS_FORMAT_DOCUMENT_STRUCTURES_H

#include "tests/format/byte_tables.h"

/* Each ends with one without a title. */
extern const struct byte_structure document_records[];  /* and what stands before them in a file or a stream */
extern const struct byte_structure document_features[]; /* needs no privileges; programs of BPF are made up */

#endif
