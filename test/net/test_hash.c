/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hash.h"

#include <criterion/criterion.h>

static uint64_t of(const char *text)
{
    static const uint64_t key[2];
    return hash_siphash13(key, (const uint8_t *)text, strlen(text));
}

/* The values are those of hash(b"...") in CPython 3.11 with PYTHONHASHSEED=0: SipHash-1-3 with key 0. */
Test(hash, siphash13_is_that_of_another_implementation)
{
    cr_assert_eq(of("a"), UINT64_C(0x407448d2b89b1813));
    cr_assert_eq(of("1234567"), UINT64_C(0xa33d651594fdae81));
    cr_assert_eq(of("12345678"), UINT64_C(0x3489982430560a87));
    cr_assert_eq(of("123456789"), UINT64_C(0x0fbc0f0007965fcf));
    cr_assert_eq(of("0123456789abcdef"), UINT64_C(0x1d42b30f7e060c24));
    cr_assert_eq(of("the quick brown fox"), UINT64_C(0x5a17575ad3449cba));
}

Test(hash, keyed_hashes_tell_input_and_what_came_before_apart)
{
    const uint8_t bytes[16] = {1, 2, 3};
    cr_assert_eq(hash_keyed_bytes(7, bytes, 16), hash_keyed_bytes(7, bytes, 16));
    cr_assert_neq(hash_keyed_bytes(7, bytes, 16), hash_keyed_bytes(8, bytes, 16));
    cr_assert_neq(hash_keyed_bytes(7, bytes, 16), hash_keyed_bytes(7, bytes, 15));
    cr_assert_neq(hash_keyed_word(7, 1), hash_keyed_word(1, 7));
}
