/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "cli/smc/sum.h"

/* FIPS 180-2, appendix B, in one piece and byte by byte; asking for it changes nothing. */
Test(smc_sum, is_sha256)
{
    static const char words[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char text[SMC_SUM_TEXT];
    struct smc_sum *sum = smc_sum_create();
    smc_sum_add(sum, "abc", 3);
    cr_assert_str_eq(smc_sum_text(sum, text),
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    smc_sum_destroy(sum);
    sum = smc_sum_create();
    for (size_t i = 0; i < sizeof words - 1; i++) {
        smc_sum_text(sum, text);
        smc_sum_add(sum, words + i, 1);
    }
    cr_assert_str_eq(smc_sum_text(sum, text),
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    smc_sum_destroy(sum);
}
