/* SipHash-2-4, by the vectors of its authors: key 00 01 .. 0f, data 00 01 02 .. */
#include "base/hash.h"

#include <criterion/criterion.h>

static const struct weir_hash_key counting = {{0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull}};

Test(hash, keys_are_not_alike)
{
    struct weir_hash_key one = weir_hash_key_random(), other = weir_hash_key_random();
    cr_expect_neq(weir_hash(&one, "name", 4), weir_hash(&other, "name", 4));
    cr_expect_eq(weir_hash(&one, "name", 4), weir_hash(&one, "name", 4));
}

Test(hash, values_are_those_of_the_authors)
{
    uint8_t data[15];
    for (uint8_t i = 0; i < sizeof(data); i++)
        data[i] = i;
    cr_expect_eq(weir_hash(&counting, data, 0), 0x726fdb47dd0e0e31ull);
    cr_expect_eq(weir_hash(&counting, data, 1), 0x74f839c593dc67fdull);
    cr_expect_eq(weir_hash(&counting, data, 8), 0x93f5f5799a932462ull);
    cr_expect_eq(weir_hash(&counting, data, 15), 0xa129ca6149be45e5ull);
}
