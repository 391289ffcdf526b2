/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages: cut out of the TCP stream, checked, and made. SMCR section 5; of version 2 as Linux has them
 * (smcr/wire/clc2.h). */
#ifndef NORNIC_SMCR_CLC_H
#define NORNIC_SMCR_CLC_H

#include "smcr/wire/clc2.h"
#include "smcr/instance.h"
#include "smcr/group/link.h"

#define SMCR_CLC_VERSION        1
#define SMCR_CLC2_VERSION       2
#define SMCR_CLC2_RELEASE       1   /* 2.1 */
#define SMCR_CLC_PROPOSAL_BYTES 396 /* of the longest that we send: SMCR-CLC-20, with four EIDs */
#define SMCR_CLC2_ACCEPT_BYTES  292 /* of the longest Confirm that we send */

/* What has come of the next CLC message; all zero: nothing. */
struct smcr_clc_reader {
    uint8_t small[SMCR_ACCEPT_BYTES]; /* whole, unless it is a Proposal */
    uint8_t *big;       /* else a Proposal, or one of version 2: allocated, as long as its header says */
    uint32_t len_bytes; /* that have come */
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

/* What both ends settle by CLC messages: of version 1 that is the version alone. */
struct smcr_clc_terms {
    uint8_t version;             /* 1 or 2 */
    uint8_t release;             /* of version 2: 0 or 1 */
    uint8_t eid[SMCR_EID_BYTES]; /* that both know */
    uint8_t max_conns;           /* of a link group, 16..255 (SMCR_MIN_GROUP_CONNS) */
    uint8_t max_links;           /* 1 or 2; 1: the group stays with its first link */
};

/* The extension of version 2 in a Proposal. */
struct smcr_clc_offer2 {
    unsigned num_eids;
    uint8_t eids[SMCR_CLC2_MAX_EIDS][SMCR_EID_BYTES];
    struct nornic_addr gid; /* of the client's RNIC on the network of the TCP connection */
    uint8_t release, max_conns, max_links;
};

struct smcr_clc_proposal {
    uint8_t version; /* of the message: 1, or a later one */
    bool offers_v2;  /* SMC-R of version 2, with `v2` */
    struct smcr_clc_offer2 v2;
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
    bool first_contact; /* F; in a Confirm of version 1 false */
    struct smcr_peer_id peer_id;
    struct smcr_link_end end;
    uint32_t rkey;
    uint64_t va; /* of the RMB */
    uint8_t rmbe_index;
    uint32_t alert_token;
    uint8_t bsize;
    struct smcr_clc_terms terms;
    /* Of version 2, on first contact: */
    bool is_direct;    /* the sender reaches us without a gateway */
    unsigned num_gids; /* Confirm: RNICs of the client's that links may use, the chosen one first */
    struct nornic_addr gids[SMCR_CLC2_MAX_GIDS];
    const char *host_name; /* to be sent; borrowed; NULL: none */
};

struct smcr_clc_decline {
    uint8_t version;  /* 1 or 2: two layouts */
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

/* Room for SMCR_CLC_PROPOSAL_BYTES. Of version 2 with `offers_v2`, then `offers_v1` is looked at; else of
 * version 1. */
size_t smcr_clc_build_proposal(uint8_t *out, const struct smcr_clc_proposal *proposal);
/* `type`: SMCR_CLC_ACCEPT or SMCR_CLC_CONFIRM, of the version of its terms; room for SMCR_CLC2_ACCEPT_BYTES.
 */
size_t smcr_clc_build_accept(uint8_t *out, enum smcr_clc_type type, const struct smcr_clc_accept *accept);
/* Room for SMCR_DECLINE2_BYTES. */
size_t smcr_clc_build_decline(uint8_t *out, const struct smcr_clc_decline *decline);

/* --- smcr/clc/subnet.c --- */

/* Subnet and prefixes, as version 1 wants them and a Proposal of version 2 may have them too. Room for
 * SMCR_SUBNET_BYTES and SMCR_PREFIX_BYTES each. Returns the end. */
uint8_t *smcr_clc_put_subnet(uint8_t *out, const struct smcr_clc_proposal *proposal);

/* --- smcr/clc/v2.c: the parts of version 2, for build.c and parse.c --- */

size_t smcr_clc2_build_proposal(uint8_t *out, const struct smcr_clc_proposal *proposal);
size_t smcr_clc2_build_accept(uint8_t *out, enum smcr_clc_type type, const struct smcr_clc_accept *accept);
size_t smcr_clc2_build_decline(uint8_t *out, const struct smcr_clc_decline *decline);
/* The offer of version 2 in a Proposal of that version; without one, or where its extension is not inside the
 * message, `offers_v2` stays false. */
void smcr_clc2_parse_offer(const uint8_t *message, size_t len_bytes, struct smcr_clc_proposal *out);
/* What an Accept or a Confirm of version 2 has more than one of version 1. */
bool smcr_clc2_parse_accept(const uint8_t *message, struct smcr_clc_accept *out);

#endif
