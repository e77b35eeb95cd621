/*
 * A keyed hash for bytes that a recorded program may choose, such as file names and inode numbers. Without the key,
 * nobody can choose bytes that all fall into one bucket of a table.
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

/* Returns a key of random bytes from the kernel. Before the kernel has any, the key is made from the time and from
 * addresses. */
struct weir_hash_key weir_hash_key_random(void);

uint64_t weir_hash(const struct weir_hash_key *key, const void *data, size_t bytes);

#endif
