/* SipHash-2-4, see hash.h. Words are little endian, as this program's are (base/buf.c). Source: getrandom(2). */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

#define WORD_BYTES    sizeof(uint64_t)
#define BLOCK_ROUNDS  2
#define FINAL_ROUNDS  4
#define FINAL_MARK    0xff
#define LENGTH_SHIFT  56
#define INITIAL_WORDS 0x736f6d6570736575ull, 0x646f72616e646f6dull, 0x6c7967656e657261ull, 0x7465646279746573ull

struct weir_hash_key weir_hash_key_random(void)
{
    struct weir_hash_key key = {{weir_clock_now_ns(&weir_clock_monotonic), (uintptr_t)&key}};
    struct weir_hash_key random;
    return getrandom(&random, sizeof(random), GRND_NONBLOCK) == (ssize_t)sizeof(random) ? random : key;
}

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

static void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, BLOCK_ROUNDS);
    v[0] ^= word;
}

uint64_t weir_hash(const struct weir_hash_key *key, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint64_t v[4] = {INITIAL_WORDS}, word;
    for (size_t i = 0; i < 4; i++)
        v[i] ^= key->words[i % 2];
    for (size_t left = bytes; left >= WORD_BYTES; left -= WORD_BYTES, at += WORD_BYTES) {
        memcpy(&word, at, WORD_BYTES);
        take(v, word);
    }
    word = (uint64_t)bytes << LENGTH_SHIFT;
    for (size_t i = 0; i < bytes % WORD_BYTES; i++)
        word |= (uint64_t)at[i] << 8 * i;
    take(v, word);
    v[2] ^= FINAL_MARK;
    mix(v, FINAL_ROUNDS);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
