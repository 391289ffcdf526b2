/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/smc/sum.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

struct smc_sum {
    EVP_MD_CTX *ctx;
};

struct smc_sum *smc_sum_create(void)
{
    struct smc_sum *sum = calloc(1, sizeof *sum);
    if (!sum)
        return NULL;
    sum->ctx = EVP_MD_CTX_new();
    if (sum->ctx && EVP_DigestInit_ex(sum->ctx, EVP_sha256(), NULL) == 1)
        return sum;
    smc_sum_destroy(sum);
    return NULL;
}

void smc_sum_destroy(struct smc_sum *sum)
{
    if (sum)
        EVP_MD_CTX_free(sum->ctx);
    free(sum);
}

void smc_sum_add(struct smc_sum *sum, const void *bytes, size_t len_bytes)
{
    EVP_DigestUpdate(sum->ctx, bytes, len_bytes);
}

const char *smc_sum_text(const struct smc_sum *sum, char *text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    if (!copy || EVP_MD_CTX_copy_ex(copy, sum->ctx) != 1 || EVP_DigestFinal_ex(copy, digest, &len) != 1)
        len = 0;
    EVP_MD_CTX_free(copy);
    text[0] = 0;
    for (unsigned i = 0; i < len && i < (SMC_SUM_TEXT - 1) / 2; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", digest[i]);
    return text;
}
