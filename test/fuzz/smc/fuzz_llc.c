/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages in every state of a group with one or two live links.
 * The input is that of test/fuzz/smc/smcr_world.h.
 *
 * covers: SMCR-SEC-07, SMCR-REC-29, SMCR-SER-06 */
#include "test/fuzz/smc/smcr_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    smcr_fuzz(data, size, true);
    return 0;
}
