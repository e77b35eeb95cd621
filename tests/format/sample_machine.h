/* A small made-up machine with an offline CPU, two packages and two nodes, of which one has no known memory blocks. */
#ifndef WEIR_TESTS_FORMAT_SAMPLE_MACHINE_H
#define WEIR_TESTS_FORMAT_SAMPLE_MACHINE_H

#include "base/machine.h"

/* Static storage; the caller may change the copy it gets, not what it points to. */
struct weir_machine sample_machine(void);

#endif
