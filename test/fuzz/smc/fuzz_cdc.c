/* SPDX-License-Identifier: BSD-2-Clause */
/* CDC messages and RDMA writes to a connection with live links: cursors, tokens, sequence numbers, flags.
 * The input is that of test/fuzz/smc/smcr_world.h.
 *
 * covers: SMCR-SEC-07, SMCR-CDC-12, SMCR-CDC-06 */
#include "test/fuzz/smc/smcr_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    smcr_fuzz(data, size, true);
    return 0;
}
