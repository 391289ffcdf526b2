/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remembered of each direction of a flow. Only explain/flow/, explain/smc/ and explain/analysis.c
 * include this. */
#ifndef NORNIC_EXPLAIN_FLOW_FLOW_H
#define NORNIC_EXPLAIN_FLOW_FLOW_H

#include "base/base.h"
#include "explain/flow/meaning.h"
#include "explain/packet/packet.h"

#define EXPLAIN_READS_MAX   64  /* READs and atomics remembered per direction */
#define EXPLAIN_ANSWERS_MAX 32  /* answers remembered per direction, to know their copies */
#define EXPLAIN_CM_MAX      512 /* connections that are being made or closed */
#define EXPLAIN_CM_KINDS    16  /* attribute ids of the CM from ROCE_CM_ATTR_FIRST */

/* An answer takes its time: what was asked so shortly before the end of the capture is not missing. */
#define EXPLAIN_ANSWER_NS (10 * NS_PER_MS)

/* A request packet that was seen. */
struct explain_sent {
    uint64_t number;            /* 0: the slot is free */
    uint64_t first_ns, time_ns; /* of the first and the newest copy */
    uint64_t message;
    uint64_t bytes_done;
    uint32_t psn, piece;
    uint16_t ip_id;
    uint8_t opcode;
    bool ack_req, is_answered;
};

/* A READ or an atomic, which takes the PSNs of its answers. */
struct explain_read {
    uint64_t number; /* 0: the slot is free */
    uint64_t message;
    uint32_t psn, span;
    uint32_t bytes;
    uint8_t opcode;
    bool is_answered;
    uint32_t next;      /* index of the answer that is expected, from 0 */
    uint64_t seen_mask; /* bit i: the answer `next` - 1 - i was seen */
};

/* An answer that was seen. */
struct explain_answer {
    uint64_t number; /* 0: the slot is free */
    uint64_t time_ns;
    uint32_t psn;
    uint16_t ip_id;
    uint8_t opcode;
};

enum explain_trouble_kind { EXPLAIN_TROUBLE_NAK, EXPLAIN_TROUBLE_RNR, EXPLAIN_TROUBLE_SKIPPED };
/* What went wrong last, to tell why a packet is sent again. */
struct explain_trouble {
    uint64_t number; /* of the packet that told it; 0: nothing */
    uint64_t time_ns;
    uint32_t psn;                   /* what is sent again from here on is sent for it */
    enum explain_trouble_kind kind; /* SKIPPED: an answer is missing before this one (ROCE-RC-34) */
};

/* The newest packet that left PSNs out. */
struct explain_gap {
    uint64_t number; /* 0: none */
    uint64_t time_ns;
    uint16_t ip_id;
};

/* One direction: the requests that one end sends. The packet at PSN p lies in slot p mod `size`. */
struct explain_half {
    bool has_requests; /* a request was seen; the members below mean nothing before */
    uint32_t next_psn; /* one past the newest */
    bool
        is_guessed; /* that, as the newest is a READ of more than one packet, and the path MTU is not known */
    uint32_t una_psn;  /* everything before it is acknowledged */
    bool is_una_known; /* an acknowledgement was seen */
    uint64_t messages; /* begun so far */
    /* the message in progress */
    bool is_open;
    uint8_t open_opcode;
    uint32_t open_psn;
    uint64_t open_bytes, open_total;
    struct explain_sent *sent;
    uint32_t size;
    struct explain_read reads[EXPLAIN_READS_MAX];
    unsigned next_read;
    struct explain_answer answers[EXPLAIN_ANSWERS_MAX]; /* to these requests */
    unsigned next_answer;
    struct explain_trouble trouble;
    struct explain_gap gap;
    bool is_msn_known; /* strict: */
    uint32_t msn_base; /* the MSN before the first message that was seen */
    bool is_dead;      /* a NAK ended it: nothing more is answered (ROCE-RS-12) */
};

/* A connection of the CM, from its REQ on. [0]: who asked for it, [1]: who was asked. */
struct explain_cm {
    uint64_t number; /* of the REQ or SIDR_REQ; 0: the slot is free */
    uint64_t id;     /* counts from 1 */
    struct nornic_addr addr[2];
    uint32_t comm_id[2], qpn[2], starting_psn[2];
    bool is_answered; /* [1] is known */
    uint8_t service;  /* enum roce_service */
    uint32_t pmtu_bytes;
    uint32_t flow; /* 0: none */
    /* by sender and kind: the newest message, 0: none, and its transaction */
    uint64_t message[2][EXPLAIN_CM_KINDS], tid[2][EXPLAIN_CM_KINDS];
};

/* A place in a chain of the hash table. */
struct explain_link {
    struct explain_link *next;
    struct explain_pair *pair;
    unsigned direction;
};

/* The link of SMC-R that a pair is, as it was looked up last. */
struct explain_smc_place {
    uint32_t version; /* of what is known of links then; 0: never */
    uint32_t group;   /* id; 0: it is none */
    uint8_t link;     /* slot */
    uint8_t side;     /* of the end that sends in direction 0 */
};

/* A QP pair; `shown` is what the public sees. half[d] are the requests of direction d. */
struct explain_pair {
    struct explain_flow shown;
    struct explain_half half[2];
    uint16_t src_port[2]; /* UDP, of the newest packet of each direction */
    uint32_t index;
    struct explain_link link[2];        /* by addresses and destination QPN of each direction */
    struct explain_pair *older, *newer; /* by last packet */
    struct explain_smc_place smc;
};

/* The QP pairs that are followed, and the connections of the CM. At most `max_flows` pairs are kept: the one
 * that was silent longest goes first. */
struct explain_flows {
    uint32_t max_flows;
    struct explain_link **buckets; /* `bucket_count` chains, a power of two */
    uint32_t bucket_count;
    struct explain_pair **by_index; /* from 1; NULL: dropped */
    uint32_t index_cap, flow_count, live_count;
    struct explain_pair *oldest, *newest;
    struct explain_cm *cms; /* EXPLAIN_CM_MAX, in a ring */
    unsigned next_cm;
    uint64_t cm_count;
};

/* --- flow.c --- */
/* Makes the tables; false: no memory. explain_flows_deinit() after either. */
bool explain_flows_init(struct explain_flows *flows, uint32_t max_flows);
void explain_flows_deinit(struct explain_flows *flows);
/* The pair that a packet belongs to, and its direction; made when it is new. Responses and CNPs find the pair
 * whose other end they are for. NULL: no memory. */
struct explain_pair *explain_pair_of(struct explain_flows *flows, const struct explain_packet *packet,
                                     unsigned *direction);
/* The pair that a datagram belongs to: both QPNs are in it. NULL: no memory. */
struct explain_pair *explain_pair_of_datagram(struct explain_flows *flows,
                                              const struct explain_packet *packet, unsigned *direction);
/* The pair whose packets in `*direction` go to that QP; NULL: none is known. */
struct explain_pair *explain_pair_find(const struct explain_flows *flows, const struct nornic_addr *src,
                                       const struct nornic_addr *dst, uint32_t dest_qpn, uint8_t service,
                                       unsigned *direction);
/* A new pair of which both ends are known; [0] is the end that speaks first. NULL: no memory. */
struct explain_pair *explain_pair_know(struct explain_flows *flows, const struct nornic_addr addr[2],
                                       const uint32_t qpn[2], uint8_t service);
/* enum roce_service of a packet; the masked atomics are RC's (docs/masked-atomics.md). */
uint8_t explain_service(const struct roce_pkt *pkt);
/* Of an IPv4 packet; 0 where there is none. */
uint16_t explain_ip_id(const struct explain_packet *packet);
/* The slot of a PSN, grown so that the packets between the oldest unanswered one and this one have slots.
 * NULL: no memory. */
struct explain_sent *explain_sent_slot(struct explain_half *half, uint32_t psn);
/* The packet seen at that PSN, or NULL. */
struct explain_sent *explain_sent_find(const struct explain_half *half, uint32_t psn);
struct explain_read *explain_read_find(struct explain_half *half, uint32_t psn);

/* Counts the packet into what the public sees of the pair. */
void explain_pair_count(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet);

/* --- request.c, response.c, datagram.c: fill the meaning --- */
void explain_request(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m);
void explain_response(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      struct explain_meaning *m);
void explain_datagram(struct explain_flows *flows, const struct explain_packet *packet,
                      struct explain_meaning *m);
/* connection.c: the connection that a CM message belongs to, with the message counted in; a message that was
 * sent before is remarked. NULL: its REQ was not seen. `mad` is the envelope, the message follows it. */
struct explain_cm *explain_connection(struct explain_flows *flows, const struct explain_packet *packet,
                                      const uint8_t *mad, struct explain_meaning *m);

#endif
