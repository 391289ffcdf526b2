/* SPDX-License-Identifier: BSD-2-Clause */
/* The QP pairs that are followed, and the connections of the CM. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_TYPES_H
#define NORNIC_EXPLAIN_FLOW_PAIR_TYPES_H

#include "base/base.h"
#include "explain/flow/half/half.h"
#include "explain/flow/half/ids.h"
#include "explain/meaning/meaning.h"
#include "roce/cm/mad.h"

#define EXPLAIN_CM_MAX     512 /* connections that are being made or closed */
#define EXPLAIN_CLOCKS_MAX 32  /* pairs of hosts whose clocks are told apart */
#define EXPLAIN_CM_KINDS   16  /* attribute ids of the CM from ROCE_CM_ATTR_FIRST */

/* An answer takes its time: a request so shortly before the end of the capture does not miss its answer. */
#define EXPLAIN_ANSWER_NS (10 * NS_PER_MS)

/* A connection of the CM, from its REQ on. [0]: the end that asked for it, [1]: the other. */
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

/* Whether the two directions of a pair belong together, as answers show it. */
struct explain_pairing {
    bool is_shown;   /* an answer has shown it */
    uint8_t tries;   /* answers that did not */
    uint8_t hits;    /* answers that fit */
    uint8_t misfits; /* answers to something else since one did fit */
};

/* A pair that showed to be another. */
struct explain_sameness {
    uint32_t as;    /* that pair, which has all of it; 0: no */
    bool is_turned; /* its direction 0 is direction 1 of that */
};

/* A QP pair; `shown` is the public view. half[d] are the requests of direction d. */
struct explain_pair {
    struct explain_flow shown;
    struct explain_half half[2];
    /* of all packets of each direction; shown.first_... and last_... are of both */
    struct explain_span span[2];
    uint16_t src_port[2];  /* UDP, of the newest packet of each direction */
    uint64_t newest_ns[2]; /* the time of that packet */
    struct explain_ids ids[2];
    uint16_t first_port[2], other_port[2]; /* strict: of the first one, and another that was told of */
    struct explain_pairing pairing;
    uint64_t closed_number, closed_ns; /* of the first DREQ (ROCE-CM-16); 0: none was seen */
    bool is_not_at[2];                 /* the capture was not taken at that end */
    bool is_pmtu_guessed;              /* shown.pmtu_bytes: no piece has shown it */
    uint32_t later;                    /* the pair that uses a QPN of this one again; 0: none */
    struct explain_sameness same;
    uint32_t index;
    struct explain_link link[2];        /* by addresses and destination QPN of each direction */
    struct explain_pair *next_by_index; /* in a chain of by_index */
    struct explain_pair *older, *newer; /* by last packet */
    size_t bytes;                       /* of memory, as explain_flows_settle() last counted them */
    struct explain_smc_place smc;
};

/* The QP pairs that are followed, and the connections of the CM. Pairs take `max_bytes` of memory at the
 * most: beyond that the pair that was silent longest goes first. */
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

/* Returns whether all requests of direction `way` came behind all of the other direction. These may be two
 * connections with the same QPNs, each with the requests of one end. */
static inline bool explain_is_behind_other(const struct explain_pair *pair, unsigned way)
{
    return pair->half[way].asks.first_ns && pair->half[!way].asks.first_ns &&
           pair->half[way].asks.first_ns > pair->half[!way].asks.newest_ns;
}

#endif
