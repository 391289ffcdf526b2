/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remembered of each direction of a flow. Only explain/flow/, explain/smc/ and explain/analysis.c
 * include this. */
#ifndef NORNIC_EXPLAIN_FLOW_FLOW_H
#define NORNIC_EXPLAIN_FLOW_FLOW_H

#include "base/base.h"
#include "explain/flow/carried.h"
#include "explain/flow/cause.h"
#include "explain/flow/ids.h"
#include "explain/flow/meaning.h"
#include "explain/flow/selective.h"
#include "explain/packet/packet.h"
#include "roce/cm/mad.h"

#define EXPLAIN_ANSWERS_MAX 32         /* answers remembered per direction, to know their copies */
#define EXPLAIN_CM_MAX      512        /* connections that are being made or closed */
#define EXPLAIN_PSN_UNKNOWN UINT32_MAX /* a first PSN that nothing in the capture tells */
#define EXPLAIN_CLOCKS_MAX  32         /* pairs of hosts whose clocks are told apart */
#define EXPLAIN_CM_KINDS    16         /* attribute ids of the CM from ROCE_CM_ATTR_FIRST */

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
    bool is_unchecked; /* cut before its ICRC: what it says may be damaged */
    uint16_t link;     /* history.c's own: the next entry of its chain, from 1 */
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

#define EXPLAIN_EARLY_KEPT 64 /* answers that came before what they answer */

/* An answer to what was not sent when it came. */
struct explain_early_answer {
    uint64_t number; /* 0: the slot is free */
    uint64_t time_ns;
    uint32_t psn;
    uint32_t next_psn; /* that the sender was about to use then */
    uint32_t bytes;    /* of payload */
    uint8_t opcode;
    bool is_nak;
    bool
        is_ours; /* it answers this half, as far as ports and others tell: worth a word if that never comes */
};

struct explain_early {
    struct explain_early_answer kept[EXPLAIN_EARLY_KEPT]; /* a ring */
    uint32_t next;
    uint32_t leads;   /* that were met */
    uint64_t most_ns; /* the longest time between one of these and its request */
};

/* The newest packet that left PSNs out. */
struct explain_gap {
    uint64_t number;       /* 0: none */
    uint32_t psn, end_psn; /* of what is missing: the first, and one past the last */
    bool is_covered;       /* an answer has acknowledged it */
    bool is_uncounted;     /* how many messages are in it is not known */
};

/* The PSNs that one end used. */
struct explain_asks {
    bool has_any; /* a request was seen; the members below mean nothing before */
    bool
        is_guessed; /* `next_psn`: the newest is a READ of more than one packet, and the path MTU is not known */
    uint32_t first_psn, next_psn; /* of all that were seen; one past the newest */
    uint64_t first_ns, newest_ns; /* of the first request and the newest; 0: none was seen */
    uint32_t rounds;              /* new requests that came when everything before them was answered */
};
struct explain_acks {
    bool is_known;                     /* an acknowledgement was seen */
    bool is_dead;                      /* a NAK ended it: nothing more is answered (ROCE-RS-12) */
    uint32_t una_psn;                  /* everything before it is acknowledged */
    uint64_t newest_number, newest_ns; /* of the newest answer; 0: none came */
    struct explain_progress *progress; /* a ring: NULL, or EXPLAIN_PROGRESS_KEPT of them */
    uint32_t next_progress;
};
struct explain_open {
    uint64_t count; /* begun so far */
    bool is_open;
    bool is_headless;
    bool is_begun_before;
    uint8_t opcode;
    uint32_t psn;
    uint64_t bytes, total;
};
struct explain_horizon {
    bool is_there;
    uint32_t psn;
};
struct explain_history {
    struct explain_sent *sent;
    uint16_t *chains;
    uint32_t size, next;
    struct explain_horizon horizon;
};
struct explain_reads {
    struct explain_read *list;
    uint32_t size, next;
    bool is_in_parts;
};
struct explain_answers {
    struct explain_answer *kept;
    uint32_t next;
};
struct explain_clock {
    uint64_t skew_ns, rtt_ns, react_ns;
    uint32_t timely;
    bool is_at_once;
    struct explain_clocks *hosts;
};
struct explain_capture {
    struct explain_gap gap;
    bool is_holey, has_ghosts, is_headers_cut, is_unseen;
};
struct explain_msn {
    bool is_known;
    uint32_t newest, base;
};
struct explain_strict_msn {
    bool is_begun;
    uint32_t msn, room, proofs;
};
struct explain_half {
    struct explain_asks asks;
    struct explain_acks acks;
    struct explain_open message;
    struct explain_history history;
    struct explain_reads reads;
    struct explain_answers answers;
    struct explain_clock clock;
    struct explain_capture capture;
    struct explain_msn msn;
    struct explain_strict_msn strict;
    struct explain_early *early;
    struct explain_timer_terms timer;
    struct explain_timers *timers;
    struct explain_recovery *recovery;
    struct explain_selective *selective;
    struct explain_carried carried;
    struct explain_weather *weather;
    uint32_t seen_pmtu_bytes;
};

/* A connection of the CM, from its REQ on. [0]: who asked for it, [1]: who was asked. */
/* A MAD. What the capture cut off is 0 in `bytes`: only the fields that `message` holds are to be used. */
struct explain_mad {
    uint8_t bytes[ROCE_MAD_BYTES];
    const struct explain_layer
        *message;       /* of the CM, as far as it is there; NULL: of none, or nothing is there */
    bool is_head_whole; /* the envelope is */
};

struct explain_cm {
    uint64_t number; /* of the REQ or SIDR_REQ; 0: the slot is free */
    uint64_t id;     /* counts from 1 */
    struct explain_network network;
    struct nornic_addr addr[2];
    uint32_t comm_id[2], qpn[2], starting_psn[2];
    bool is_answered; /* [1] is known */
    uint8_t service;  /* enum roce_service */
    uint32_t pmtu_bytes;
    uint64_t ack_timeout_ns; /* that the REQ names; 0: none, or not known */
    uint32_t flow;           /* 0: none */
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

/* The first packet of a direction and the newest; numbers from 1. All 0: none came. */
struct explain_span {
    uint64_t first_number, last_number, first_ns, last_ns;
};

/* A QP pair; `shown` is what the public sees. half[d] are the requests of direction d. */
struct explain_pair {
    struct explain_flow shown;
    struct explain_half half[2];
    struct explain_span
        span[2];           /* of all packets of each direction; shown.first_... and last_... are of both */
    uint16_t src_port[2];  /* UDP, of the newest packet of each direction */
    uint64_t newest_ns[2]; /* when that was */
    struct explain_ids ids[2];
    uint16_t first_port[2], other_port[2]; /* strict: of the first one, and another that was told of */
    bool is_paired;                        /* an answer has shown that its two ends belong together */
    uint8_t pair_tries;                    /* answers that did not */
    uint8_t pair_hits;                     /* answers that fit */
    uint8_t pair_misfits;                  /* answers to something else since one did fit */
    uint64_t closed_number, closed_ns;     /* of the first DREQ (ROCE-CM-16); 0: none was seen */
    bool is_not_at[2];                     /* the capture was not taken at that end */
    bool is_pmtu_guessed;                  /* shown.pmtu_bytes: no piece has shown it */
    uint32_t later;                        /* the pair that uses a QPN of this one again; 0: none */
    uint32_t same_as;                      /* it showed to be that pair, which has all of it; 0: no */
    bool is_same_turned;                   /* its direction 0 is direction 1 of that */
    uint32_t index;
    struct explain_link link[2];        /* by addresses and destination QPN of each direction */
    struct explain_pair *next_by_index; /* in a chain of by_index */
    struct explain_pair *older, *newer; /* by last packet */
    size_t bytes;                       /* of memory, as explain_flows_settle() last counted them */
    struct explain_smc_place smc;
};

/* Whether all that was asked in direction `way` came behind all that was asked in the other one: these may be
 * two connections with the same QPNs of which each was asked from one end only. */
static inline bool explain_is_behind_other(const struct explain_pair *pair, unsigned way)
{
    return pair->half[way].asks.first_ns && pair->half[!way].asks.first_ns &&
           pair->half[way].asks.first_ns > pair->half[!way].asks.newest_ns;
}

/* Whether a sender chose that UDP source port for a queue pair (ROCE-FRM-44): an ordinary socket sends all
 * from the port of RoCE. */
static inline bool explain_is_own_port(uint16_t port)
{
    return port != ROCE_UDP_PORT;
}

/* The QP pairs that are followed, and the connections of the CM. Pairs take `max_bytes` of memory at the
 * most: beyond that the one that was silent longest goes first. */
struct explain_flows {
    size_t max_bytes, bytes;
    struct explain_weather weather;
    struct explain_timers timers;
    struct explain_clocks clocks[EXPLAIN_CLOCKS_MAX]; /* the last one is that of all further hosts */
    unsigned clock_count;
    struct explain_link **buckets; /* `bucket_count` chains each, a power of two */
    struct explain_pair **by_index;
    uint32_t bucket_count;
    uint32_t flow_count;               /* so many were begun, */
    uint32_t same_count;               /* of which so many showed to be others */
    struct explain_exchange exchanged; /* by the newest packet */
    struct explain_forgotten forgotten;
    struct explain_pair *oldest, *newest;
    struct explain_cm *cms; /* EXPLAIN_CM_MAX, in a ring */
    unsigned next_cm;
    uint64_t cm_count;
};

/* --- flow.c --- */
/* Makes the tables; false: no memory. explain_flows_deinit() after either. */
bool explain_flows_init(struct explain_flows *flows, size_t max_bytes);
void explain_flows_deinit(struct explain_flows *flows);
/* The packet of this pair is dealt with (NULL: of none): counts what the pair takes now, and forgets others
 * where that is too much. */
void explain_flows_settle(struct explain_flows *flows, struct explain_pair *pair);
/* The pair of that index; NULL: there is none, or it was forgotten. */
struct explain_pair *explain_pair_by_index(const struct explain_flows *flows, uint32_t index);
/* The pair that a packet belongs to, and its direction; made when it is new. Responses and CNPs find the pair
 * whose other end they are for. NULL: no memory. */
struct explain_pair *explain_pair_of(struct explain_flows *flows, const struct explain_packet *packet,
                                     unsigned *direction);
/* The pair that a datagram belongs to: both QPNs are in it. NULL: no memory. */
struct explain_pair *explain_pair_of_datagram(struct explain_flows *flows,
                                              const struct explain_packet *packet, unsigned *direction);
/* The pair of that service to which the packet's destination QP belongs, the newest of several that use it
 * one after the other; NULL: none is known. */
struct explain_pair *explain_pair_find(struct explain_flows *flows, const struct explain_packet *packet,
                                       uint8_t service, unsigned *direction);
/* A new pair of which both ends are known; [0] is the end that speaks first. NULL: no memory. */
struct explain_pair *explain_pair_know(struct explain_flows *flows, const struct explain_network *network,
                                       const struct nornic_addr addr[2], const uint32_t qpn[2],
                                       uint8_t service);

/* --- history.c --- */
/* The entry of a PSN, to be filled: `psn` is set, all else is as it was, or 0 where the PSN is new. In the
 * place of a new one the oldest is forgotten: of 64 kept at the least, of 512 once packets were sent again,
 * and up to 8192 where that one has no answer. NULL: no memory. */
struct explain_sent *explain_sent_slot(struct explain_half *half, uint32_t psn);
/* The packet seen at that PSN, or NULL. */
struct explain_sent *explain_sent_find(const struct explain_half *half, uint32_t psn);
/* Everything that is remembered from PSN `from` to before `end` is answered. */
void explain_sent_answered(struct explain_half *half, uint32_t from, uint32_t end);
/* A new READ or atomic, all 0; the oldest of 64 is forgotten for it. NULL: no memory. */
struct explain_read *explain_read_add(struct explain_half *half);
/* The READ or atomic that takes that PSN, the newest first; NULL: none does. */
struct explain_read *explain_read_find(const struct explain_half *half, uint32_t psn);
/* Whether answer `index`, from 0, may end what was asked for again, and not the READ: ends that have sent
 * selective acknowledgements, or were seen to do so, ask for a gap alone
 * (docs/selective-retransmission.md). */
bool explain_read_may_end_early(const struct explain_pair *pair, const struct explain_read *read,
                                uint32_t index);
/* Whether a request for that PSN is remembered. */
bool explain_is_asked(const struct explain_half *half, uint32_t psn);
/* Whether a request for that PSN was not seen: none is remembered, and it would be. */
bool explain_was_not_asked(const struct explain_half *half, uint32_t psn);
/* By age: 1 is the newest; NULL: none is so old. */
struct explain_read *explain_read_aged(const struct explain_half *half, uint32_t age);
/* The READ or atomic right before the next PSN; NULL: it is another request, or forgotten. */
struct explain_read *explain_read_last(const struct explain_half *half);
/* A new answer, all 0; the oldest of EXPLAIN_ANSWERS_MAX is forgotten for it. NULL: no memory. */
struct explain_answer *explain_answer_add(struct explain_half *half);
/* Memory that the half holds besides itself, and giving it back. */
size_t explain_half_bytes(const struct explain_half *half);
void explain_half_free(struct explain_half *half);

/* --- pairs.c --- */
/* enum roce_service of a packet; the masked atomics are RC's (docs/masked-atomics.md). */
uint8_t explain_service(const struct roce_pkt *pkt);
/* Of an IPv4 packet; 0 where there is none. */
uint16_t explain_ip_id(const struct explain_packet *packet);
/* The flow begins and ends with the first packet of its two directions and the newest. */
void explain_pair_span(struct explain_pair *pair);
/* Counts the packet into what the public sees of the pair. */
void explain_pair_count(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet);

/* --- request.c, response.c, datagram.c: fill the meaning --- */
void explain_request(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m);
void explain_response(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      struct explain_meaning *m);
void explain_datagram(struct explain_flows *flows, const struct explain_packet *packet,
                      struct explain_meaning *m);
/* connection.c: a pair whose ends said so, with the PSN that each begins with. NULL: no memory. */
struct explain_pair *explain_pair_begin(struct explain_flows *flows, const struct explain_network *network,
                                        const struct nornic_addr addr[2], const uint32_t qpn[2],
                                        const uint32_t starting_psn[2], uint8_t service);
/* connection.c: the connection that a CM message belongs to, with the message counted in; a message that was
 * sent before is remarked. NULL: its REQ was not seen. `mad` is the envelope, the message follows it. */
struct explain_cm *explain_connection(struct explain_flows *flows, const struct explain_packet *packet,
                                      const struct explain_mad *mad, struct explain_meaning *m);

#endif
