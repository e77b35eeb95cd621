/*
 * Makes the kernel refuse a system call to this process from now on (a seccomp filter), as containers do.
 * Criterion runs each test in a process of its own, so the filter ends with the test. Filters add up.
 */
#ifndef WEIR_TESTS_IO_REFUSE_CALL_H
#define WEIR_TESTS_IO_REFUSE_CALL_H

#include <stdint.h>

/* Calls of that number fail with errno `error`. Skips the test where filters cannot be set. */
void refuse_call(long number, int error);

/* The same, only where (argument & mask) == mask for the argument of that index. */
void refuse_call_with(long number, unsigned argument_index, uint32_t mask, int error);

#endif
