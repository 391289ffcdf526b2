/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends, links and connections of a packet. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_WHO_H
#define NORNIC_EXPLAIN_REPLAY_SMC_WHO_H

#include "explain/replay/smc/types.h"

/* The endpoint with that address: its Peer ID, and whether it is there. */
void smcplay_find_endpoint(struct smcplay *s, struct nornic_addr addr);
/* The connection between these ends, newest first; NULL: none. `*is_own`: the endpoint sent the segment. */
struct smcplay_conn *smcplay_conn_of(struct smcplay *s, const struct explain_segment *segment, bool *is_own);
/* The link that a packet travels on; NULL: none. */
struct smcplay_link *smcplay_link_of(struct smcplay *s, const struct roce_pkt *pkt, bool *is_own);
/* The connection whose peer gave out that token; NULL: none. */
struct smcplay_conn *smcplay_conn_by_peer_token(struct smcplay *s, uint32_t token, size_t before);
const struct smcr_accept *smcplay_own(const struct smcplay_conn *c);
const struct smcr_accept *smcplay_peer(const struct smcplay_conn *c);
/* Whether it is one message of LLC or CDC, in a SEND of one packet. */
bool smcplay_is_message(const struct roce_pkt *pkt);
bool smcplay_has_message(const struct explain_packet *p);
/* The GID, QPN and number of a link in an ADD LINK of whichever layout. */
struct smcr_add_link smcplay_add_link(const uint8_t *message);
/* enum smcr_clc_type of the layer that a CLC message of either version is; 0: it is none. */
unsigned smcplay_clc_type(enum explain_layer_id id);

#endif
