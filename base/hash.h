/*
 * A hash of bytes that others choose: names and numbers of files, which whoever is recorded may pick so that all of
 * them fall into one bucket of a table. With a key that nobody else knows they cannot be picked.
 *
 * SipHash-2-4: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012. Pure but for the key; any thread; no
 * allocation.
 */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct weir_hash_key {
    uint64_t words[2];
};

/* A key of the kernel's random bytes; where it has none yet, of the time and of where things lie in memory. */
struct weir_hash_key weir_hash_key_random(void);

uint64_t weir_hash(const struct weir_hash_key *key, const void *data, size_t bytes);

#endif
