/*
 * What a fuzz target is: one function over bytes that nobody has checked, which hands them to a parser and asserts what
 * must hold of any bytes. A property that does not hold aborts (weir_assert): never only "it did not crash".
 *
 * Each target is built twice from one source file: fuzz_NAME with libfuzzer.c, which searches for such bytes, and
 * replay_NAME with replay.c, which runs corpus/NAME as a test in every preset. A target never knows which of the two
 * it is in. One thread.
 */
#ifndef WEIR_TESTS_FUZZ_FUZZ_H
#define WEIR_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
    void *(*init)(void); /* makes what all runs share; NULL: nothing */
    /* data: a block of its exact size, so that AddressSanitizer sees a read behind it; borrowed until return. */
    void (*run)(void *fixture, const uint8_t *data, size_t bytes);
    void (*fini)(void *fixture); /* NULL when init is */
};

/* Defined once, by the program's target. */
extern const struct fuzz_target fuzz_target;

#endif
