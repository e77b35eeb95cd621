/*
 * A hostile owner of a directory: a thread that exchanges two names in it as fast as it can, until it is stopped. For
 * tests of code that must not be led astray by names.
 */
#ifndef WEIR_TESTS_BASE_SWAPPER_H
#define WEIR_TESTS_BASE_SWAPPER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct swapper {
    int directory_fd; /* borrowed */
    const char *first, *second;
    atomic_bool stop;
    atomic_ulong swaps; /* relaxed: a count for the test alone */
    uint64_t ends_ns;   /* of weir_clock_monotonic */
    pthread_t thread;
};

/* Names in the directory that need not exist yet. The names are borrowed until stop(). */
void swapper_start(struct swapper *swapper, int directory_fd, const char *first, const char *second);

/* Whether the attack has lasted less than 0.3 s, in which there are thousands of exchanges: tests loop so long. */
bool swapper_is_wanted(const struct swapper *swapper);

/* Returns the number of exchanges. */
unsigned long swapper_stop(struct swapper *swapper);

#endif
