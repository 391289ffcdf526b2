/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages of version 2, of link groups of that version. Most of them are those of version 1 behind
 * another head, and so the rest of smcr/llc/ sees them as such; ADD LINK brings all its RTokens at once. */
#ifndef NORNIC_SMCR_LLC_MESSAGES2_H
#define NORNIC_SMCR_LLC_MESSAGES2_H

#include "nornic/addr.h"
#include "smcr/llc/messages.h"
#include "smcr/wire/llc2.h"

/* The first SMCR_MSG_BYTES of a message that came, as version 1 has it, into `out`. False: it is none of
 * version 2, or not as long as it says. */
bool smcr_llc2_to_v1(const uint8_t *message, size_t len_bytes, uint8_t out[SMCR_MSG_BYTES]);
/* A message of SMCR_MSG_BYTES from version 1 to `out`, as the group sends it. */
void smcr_llc2_from_v1(const struct smcr_group *group, const uint8_t *message, uint8_t out[SMCR_MSG_BYTES]);

/* What CONFIRM LINK and ADD LINK have more than version 1. False: it cannot be. */
bool smcr_llc2_get_more(const uint8_t *message, size_t len_bytes, struct smcr_llc_msg *out);

/* ADD LINK with the RTokens of our RMBs that the peer knows, as the links `via` and `about` know them.
 * Returns its length, at most SMCR_ADD_LINK2_MAX_BYTES. */
size_t smcr_llc2_build_add_link(uint8_t *message, const struct smcr_group *group, const struct smcr_link *via,
                                const struct smcr_link *about, bool is_response);
/* Our refusal: the first SMCR_MSG_BYTES of what came, with R and Z. */
void smcr_llc2_build_reject(uint8_t *message, const struct smcr_llc_msg *request);
/* The client asks for a link to the RNIC of ours with that GID. */
void smcr_llc2_build_request(uint8_t *message, const struct nornic_addr *gid);

#endif
