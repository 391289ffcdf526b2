/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a request packet comes that repeats a PSN. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_WEIGH_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_WEIGH_H

#include "explain/flow/again/verdict.h"

/* Tells the kind of a request packet that repeats a PSN, and why it came. `before`: its newest copy, or the
 * request of the READ of which it asks for the rest; NULL: none is in the capture. `end_psn` is one past the
 * PSNs that it takes. The half takes notice of it. */
enum explain_again explain_tell_again(struct explain_half *half, const struct explain_ids *ids,
                                      const struct explain_packet *packet, const struct explain_sent *before,
                                      uint32_t end_psn, struct explain_why *why);

#endif
