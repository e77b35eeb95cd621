/*
 * Makes a chosen allocation of the code under test fail. Linked with ld's --wrap for malloc, calloc and realloc (the
 * compiler may turn one into another): calls from weir's own objects come here, those inside shared libraries do not.
 * One thread only.
 */
#ifndef WEIR_TESTS_BASE_FAILING_ALLOC_H
#define WEIR_TESTS_BASE_FAILING_ALLOC_H

/* The allocation after `successes` more of them fails, once, with ENOMEM. */
void failing_alloc_after(unsigned successes);

#endif
