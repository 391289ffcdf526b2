/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the analysis: link groups, links, RMBs and connections of SMC-R, as CLC and LLC messages name
 * them. Of two sides, [0] is the client and [1] the server. Memory is bounded: the oldest goes first. Only
 * explain/smc/ includes this. */
#ifndef NORNIC_EXPLAIN_SMC_TYPES_H
#define NORNIC_EXPLAIN_SMC_TYPES_H

#include "explain/flow/pair/types.h"
#include "smcr/clc_wire.h"
#include "smcr/wire/llc.h"

#define SMC_GROUPS_MAX     32
#define SMC_LINKS_MAX      9 /* of a group: 8, and an asymmetric one */
#define SMC_RMBS_MAX       255
#define SMC_CONNS_MAX      4096 /* a power of two */
#define SMC_BUCKETS        4096
#define SMC_HANDSHAKES_MAX 128
#define SMC_WRITES_MAX     64 /* messages of a link and direction of which later packets may come */
#define SMC_LLC_TYPES      16
#define SMC_DOUBTS_MAX     8

struct smc_rtoken {
    bool is_known;
    uint32_t rkey;
    uint64_t va;
};

/* A buffer of one side: its place, by link, and the owners of its elements. */
struct smc_rmb {
    bool is_used;
    uint32_t elem_bytes; /* 0: no connection uses it yet */
    struct smc_rtoken on[SMC_LINKS_MAX];
    uint32_t conns[256]; /* by index; 0: none */
};

/* An RDMA WRITE of which the first packet was seen. */
struct smc_write {
    uint64_t message; /* of the flow; 0: the slot is free */
    uint32_t conn;
    uint64_t from; /* stream position of its first byte */
};

enum smc_link_state {
    SMC_LINK_FREE,
    SMC_LINK_ANNOUNCED,
    SMC_LINK_CONFIRMING,
    SMC_LINK_ACTIVE,
    SMC_LINK_GONE
};

struct smc_link {
    enum smc_link_state state;
    uint8_t number;     /* 0: not known yet */
    bool has_both_ends; /* both ends are known */
    uint32_t flow;      /* that travels on it; 0: none was seen yet */
    struct nornic_addr gid[2];
    struct nornic_mac mac[2];
    uint32_t qpn[2], starting_psn[2];
    /* by sender: RC takes packets in the order of their PSNs (ROCE-RS-10), and so does this */
    bool is_psn_known[2];
    uint32_t next_psn[2];
    bool has_gap[2];                            /* the next packet is behind one that did not come yet */
    uint8_t open[2][SMC_LLC_TYPES];             /* by sender and type: requests without a response so far */
    struct smc_write writes[2][SMC_WRITES_MAX]; /* by sender, in the slot of their message */
};

/* A request of LLC that waits for its answer. */
struct smc_request {
    uint64_t number, time_ns; /* number 0: none */
    unsigned link;            /* slot */
    bool is_due;              /* it must be answered */
    uint32_t lost;      /* of the sender, when it asked: how often packets arrived that the capture lacks */
    uint32_t rkey;      /* of CONFIRM RKEY: which RMB its continuations are about */
    bool has_user_data; /* of TEST LINK, as far as the capture holds it: */
    uint8_t user_data[16];
};

/* A finding that a message of the other side would explain: doubt.c. */
struct smc_doubt {
    uint64_t number, related; /* number 0: none */
    unsigned link, sender;    /* slot; the side that may have sent a missing message */
    uint32_t next_psn;        /* of its next request, if none is */
    uint32_t lost[2];         /* of the group, when the finding was made */
    enum explain_finding_kind kind;
    const char *rule;
    char words[96];
};

struct smc_group {
    uint32_t id; /* 0: the slot is free */
    struct explain_smc_group shown;
    bool is_partial; /* it is older than the capture: not all of it is known */
    bool has_ended;
    uint32_t start;   /* of the cursors: 4, or 0 without eye catchers */
    uint32_t lost[2]; /* by sender: how often packets arrived that the capture lacks */
    struct smc_link links[SMC_LINKS_MAX];
    struct smc_rmb *rmbs[2];                       /* SMC_RMBS_MAX each, */
    unsigned rmb_top[2];                           /* of which those before this one were used */
    struct smc_request requests[2][SMC_LLC_TYPES]; /* by sender and type: the newest */
    struct smc_doubt doubts[SMC_DOUBTS_MAX];       /* a ring */
    unsigned next_doubt;
};

/* The state of one side of a connection. */

/* The newest CDC message of a side. */
struct smc_newest {
    bool is_there;
    uint16_t seq;
    bool is_blocked, is_urgent;
};

/* How a side ended a connection. */
struct smc_end {
    bool is_done, is_closed, is_aborted;
};

struct smc_half {
    uint32_t token; /* of its element: the name in the other side's CDC messages */
    uint32_t rmb;   /* slot of the group */
    uint8_t index;
    uint32_t elem_bytes;
    struct smc_newest newest;
    struct smc_end end;
    struct smc_place {
        uint32_t offset;
        uint16_t wrap;
    } producer, consumer;        /* cursors of the newest */
    uint64_t produced, consumed; /* stream positions */
    uint64_t written;            /* writes reached so far */
    bool is_producer_cut;        /* a message was cut before its producer cursor: it is not known any more */
    uint32_t link;               /* number of the link that it used last; 0: none */
    bool is_replaying;           /* after a failover validation, until a new message */
    uint32_t lost;               /* of the group, when it sent last: packets in between may be missing */
};

struct smc_conn {
    uint32_t id;    /* from 1; 0: the slot is free */
    uint32_t group; /* id */
    struct explain_smc_conn shown;
    struct smc_half half[2];
    struct smc_conn *next[2]; /* in the chain of each side */
};

/* The fields of an Accept or Confirm up to which a capture may hold one, in their order. */
enum smc_reach {
    SMC_REACH_NOTHING,
    SMC_REACH_QPN,
    SMC_REACH_RKEY,
    SMC_REACH_BSIZE,
    SMC_REACH_VA,
    SMC_REACH_PSN,
    SMC_REACH_TRAILER
};

/* An Accept or Confirm, as far as the capture holds it. */
struct smc_accepted {
    struct smcr_accept message; /* 0 behind the last field that is held */
    enum smc_reach reach;       /* that field */
};

/* A handshake of CLC that is not finished. */
struct smc_handshake {
    uint64_t number; /* of its SYN or Proposal; 0: the slot is free */
    struct nornic_addr addr[2];
    uint16_t port[2];
    uint8_t last; /* enum smcr_clc_type of the newest message; 0: only the SYN was seen */
    /* TCP's, of the newest Proposal or Confirm: so much of the server the client had then */
    uint32_t ack_seq;
    struct smc_accepted accepted;
};

struct explain_smc {
    struct smc_group groups[SMC_GROUPS_MAX];
    uint32_t group_count;                     /* ever seen */
    struct smc_conn *conns;                   /* SMC_CONNS_MAX */
    uint32_t conn_count;                      /* ever seen */
    struct smc_conn *buckets[2][SMC_BUCKETS]; /* by side and token */
    struct smc_handshake handshakes[SMC_HANDSHAKES_MAX];
    unsigned next_handshake;
    bool is_clc_holey;      /* handshakes were seen of which the capture lacks messages */
    uint32_t links_version; /* grows with each change of the ends of a link */
    unsigned ending[3];     /* group, side, type: the place of the end */
};

/* The view of one packet. */
struct smc_view {
    struct explain_smc *w;
    struct explain_pair *pair; /* NULL: the packet is of none */
    const struct explain_packet *packet;
    struct explain_meaning *m;
    struct smc_group *group;      /* of a RoCE packet: the link that it travels on, */
    unsigned link;                /* its slot, */
    unsigned side;                /* and its sender */
    bool is_repeat;               /* it was taken before, or is not taken yet: nothing new */
    const struct smc_link *begun; /* the link that gets its second end from it; NULL: it names none */
};

#endif
