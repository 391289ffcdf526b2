/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages, version 1: cut out of the TCP stream, checked, and made. SMCR section 5. */
#ifndef NORNIC_SMCR_CLC_H
#define NORNIC_SMCR_CLC_H

#include "smcr/instance.h"
#include "smcr/link.h"

#define SMCR_CLC_VERSION        1
#define SMCR_CLC_PROPOSAL_BYTES 188 /* of the longest that we send: SMCR-CLC-20 */

/* What has come of the next CLC message; all zero: nothing. */
struct smcr_clc_reader {
    uint8_t small[SMCR_ACCEPT_BYTES]; /* whole, unless it is a Proposal */
    uint8_t *big;                     /* else the Proposal: allocated, as long as its header says */
    uint32_t len_bytes;               /* that have come */
};

enum smcr_clc_read {
    SMCR_CLC_READ_MORE,
    SMCR_CLC_READ_DONE,
    SMCR_CLC_READ_BROKEN, /* not a CLC message: SMCR-CLC-06 */
    SMCR_CLC_READ_NO_MEMORY,
};

/* Takes bytes of the stream up to the end of one message, never beyond (SMCR-CLC-05). `*taken`: how many. The
 * eye catchers, type, version and length of the message are checked as soon as they are there. */
enum smcr_clc_read smcr_clc_read(struct smcr_clc_reader *reader, const struct rdma_mem *mem,
                                 const uint8_t *bytes, size_t len_bytes, size_t *taken);
/* Frees what it has; ready for the next message. */
void smcr_clc_reader_clear(struct smcr_clc_reader *reader, const struct rdma_mem *mem);
/* The bytes of a message that is DONE, `len_bytes` of them. */
static inline const uint8_t *smcr_clc_message(const struct smcr_clc_reader *reader)
{
    return reader->big ? reader->big : reader->small;
}
static inline enum smcr_clc_type smcr_clc_type(const struct smcr_clc_reader *reader)
{
    return (enum smcr_clc_type)reader->small[4];
}

struct smcr_clc_proposal {
    bool offers_v1; /* false: of a later version, without what follows (SMCR section 23 b, A25) */
    struct smcr_peer_id peer_id;
    struct nornic_addr gid; /* of the RNIC that the client prefers: a hint (SMCR-CLC-24) */
    struct nornic_mac mac;
    uint8_t subnet[4]; /* of an IPv4 flow: number, or mask (A1) */
    uint8_t mask_len;
    unsigned num_prefixes; /* of an IPv6 flow */
    struct {
        struct nornic_addr addr;
        uint8_t len;
    } prefixes[SMCR_CLC_MAX_PREFIX];
};

/* An Accept or a Confirm. */
struct smcr_clc_accept {
    bool first_contact; /* F; in a Confirm false */
    struct smcr_peer_id peer_id;
    struct smcr_link_end end;
    uint32_t rkey;
    uint64_t va; /* of the RMB */
    uint8_t rmbe_index;
    uint32_t alert_token;
    uint8_t bsize;
};

struct smcr_clc_decline {
    bool out_of_sync; /* S */
    struct smcr_peer_id peer_id;
    uint32_t diagnosis;
};

/* Of a message that is DONE. False: a defect of format (SMCR-CLC-06). */
bool smcr_clc_parse_proposal(const uint8_t *message, size_t len_bytes, struct smcr_clc_proposal *out);
bool smcr_clc_parse_accept(const uint8_t *message, struct smcr_clc_accept *out);
void smcr_clc_parse_decline(const uint8_t *message, struct smcr_clc_decline *out);

/* No value of an enumeration is a reserved one, which is answered with a Decline (SMCR-CLC-07, CLC-31); the
 * MTU counts on first contact only (SMCR-CLC-33). */
bool smcr_clc_is_defined(const struct smcr_clc_accept *accept, bool is_first_contact);

/* Each returns the length of the message made in `out`, which has room for it. */

/* Room for SMCR_CLC_PROPOSAL_BYTES. */
size_t smcr_clc_build_proposal(uint8_t *out, const struct smcr_clc_proposal *proposal);
/* `type`: SMCR_CLC_ACCEPT or SMCR_CLC_CONFIRM; room for SMCR_ACCEPT_BYTES. */
size_t smcr_clc_build_accept(uint8_t *out, enum smcr_clc_type type, const struct smcr_clc_accept *accept);
/* Room for SMCR_DECLINE_BYTES. */
size_t smcr_clc_build_decline(uint8_t *out, const struct smcr_clc_decline *decline);

#endif
