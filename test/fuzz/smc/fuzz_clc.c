/* SPDX-License-Identifier: BSD-2-Clause */
/* The CLC stream of one instance, in any pieces, in both roles: honest messages, changed ones and any bytes,
 * with time, the program, RST and FIN, and the LLC that follows.
 * The input is that of test/fuzz/smc/smcr_world.h.
 *
 * covers: SMCR-SEC-07, SMCR-CLC-05, SMCR-CLC-06, SMCR-CLC-13 */
#include "test/fuzz/smc/smcr_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    smcr_fuzz(data, size, false);
    return 0;
}
