/*
 * Makes a chosen allocation of the code under test fail. weir_fail_allocations() in tests/CMakeLists.txt links it with
 * ld's --wrap for malloc, its relatives, strdup, strndup and asprintf: calls from weir's own objects come here, those
 * inside shared libraries do not. One thread only.
 */
#ifndef WEIR_TESTS_BASE_FAILING_ALLOC_H
#define WEIR_TESTS_BASE_FAILING_ALLOC_H

#include <stdbool.h>

/* The allocation after `successes` more of them fails, once, with ENOMEM. */
void failing_alloc_after(unsigned successes);

/* *failed becomes true when one fails; borrowed for good, and may be shared with other processes. NULL: not told. */
void failing_alloc_tell(bool *failed);

/* No allocation fails any more. */
void failing_alloc_never(void);

#endif
