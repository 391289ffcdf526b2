/* SPDX-License-Identifier: BSD-2-Clause */
/* The area of a Proposal, of either version, that tells the networks of the client: SMCR section 5.1. */
#include <string.h>

#include "smcr/clc/clc.h"

uint8_t *smcr_clc_put_subnet(uint8_t *out, const struct smcr_clc_proposal *proposal)
{
    unsigned n = proposal->num_prefixes;
    struct smcr_subnet s = {.mask_len = proposal->mask_len, .prefix_count = (uint8_t)n};
    memcpy(s.subnet, proposal->subnet, sizeof s.subnet);
    uint8_t *at = smcr_subnet_put(out, &s);
    for (unsigned i = 0; i < n; i++) {
        struct smcr_prefix prefix = {.prefix_len = proposal->prefixes[i].len};
        memcpy(prefix.prefix, proposal->prefixes[i].addr.b, sizeof prefix.prefix);
        at = smcr_prefix_put(at, &prefix);
    }
    return at;
}
