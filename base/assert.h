/* Assertions detect our own bugs, in every build type. They never judge kernel replies, file bytes or user input. */
#ifndef WEIR_BASE_ASSERT_H
#define WEIR_BASE_ASSERT_H

#define weir_assert(condition) ((condition) ? (void)0 : weir_assert_failed(#condition, __FILE__, __LINE__, __func__))

/* Writes one line to stderr and aborts. */
_Noreturn void weir_assert_failed(const char *condition, const char *file, int line, const char *function);

#endif
