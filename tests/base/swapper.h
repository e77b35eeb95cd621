/*
 * A hostile owner of a directory, who exchanges two names in it between two system calls of the code under test. A test
 * runs that code again and again, with the exchange before its first call, its second call, and so on, until there are
 * no more calls. So no moment is left out, as it would be with a thread that exchanges names as fast as it can.
 *
 * Programs link this file by weir_swap_names() (tests/CMakeLists.txt). One thread.
 */
#ifndef WEIR_TESTS_BASE_SWAPPER_H
#define WEIR_TESTS_BASE_SWAPPER_H

#include <stdbool.h>

enum swapper_way {
    SWAPPER_STAYS,   /* the names stay exchanged */
    SWAPPER_RETURNS, /* they are as before from the next call on */
    SWAPPER_WAYS,
};

/* Exchanges the names before the call with that number, counted from 0 and from here. The call may make a name first;
 * an exchange that is not possible yet is made as soon as it is. Names are borrowed until disarm(). */
void swapper_arm(int directory_fd, const char *first, const char *second, unsigned call, enum swapper_way way);

/* Ends the attack. False: the code under test made fewer calls. Undoes an exchange that stays. */
bool swapper_disarm(void);

/* Returns the number of calls since arm(), also after disarm(). */
unsigned swapper_calls(void);

#endif
