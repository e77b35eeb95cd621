/* Numbers that look random and are the same for the same seed. Any thread. */
#ifndef WEIR_TESTS_BASE_RANDOM_H
#define WEIR_TESTS_BASE_RANDOM_H

#include <stdint.h>

/* splitmix64 (Vigna, 2015): the next of a sequence. *state: the seed at first, whichever. */
static inline uint64_t test_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

#endif
