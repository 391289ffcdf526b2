/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NORNIC_TEST_SUPPORT_SMCR_EXAMPLES_H
#define NORNIC_TEST_SUPPORT_SMCR_EXAMPLES_H

#include <stdint.h>

#define SMCR_EXAMPLE_MAX_BYTES 256

/* The bytes of a worked example of SMCR section 22 ("ACC_F"), into room for SMCR_EXAMPLE_MAX_BYTES. Returns
 * how many; fails the running Criterion test when there is no such example. */
unsigned smcr_example(const char *name, uint8_t *bytes);

#endif
