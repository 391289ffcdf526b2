/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 of what passes, by libcrypto. */
#ifndef NORNIC_CLI_SMC_SUM_H
#define NORNIC_CLI_SMC_SUM_H

#include <stddef.h>

#define SMC_SUM_TEXT 65 /* 64 digits and a NUL */

struct smc_sum;

/* NULL: no memory, or no SHA-256 in this library. */
struct smc_sum *smc_sum_create(void);
void smc_sum_destroy(struct smc_sum *sum); /* NULL is fine */

void smc_sum_add(struct smc_sum *sum, const void *bytes, size_t len_bytes);
/* What has been added so far, as sha256sum prints it; more may be added. `text` has SMC_SUM_TEXT; returns it.
 */
const char *smc_sum_text(const struct smc_sum *sum, char *text);

#endif
