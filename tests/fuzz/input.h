/*
 * What targets make of their bytes, and what must hold of every error that they provoke. Running out of memory ends the
 * program. Any thread.
 */
#ifndef WEIR_TESTS_FUZZ_INPUT_H
#define WEIR_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A part of the input; borrowed from it. */
struct fuzz_part {
    const uint8_t *data;
    size_t bytes;
};

/* Between the parts of inputs that stand for several files: a line of its own in a hand-made one, though any place
 * will do. */
#define FUZZ_SEPARATOR "%%\n"

/* Cuts the input at each separator into count parts; the last one has all that is left, those that the input does not
 * have are empty. */
void fuzz_split(const uint8_t *data, size_t bytes, const char *separator, struct fuzz_part *parts, size_t count);

/* The bytes as a string up to the first zero, in a block of its exact size, to be freed by the caller. */
char *fuzz_text(const uint8_t *data, size_t bytes);

/* The part as a string, likewise. */
char *fuzz_part_text(struct fuzz_part part);

/* Asserts that err has this code, one line that says what failed and at most one line of hint. */
void fuzz_check_error(const struct weir_error *err, int code);

/* Asserts that text is one line that any terminal can show: no control characters. */
void fuzz_check_line(const char *text);

#endif
