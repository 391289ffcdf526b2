/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the analysis: what is remembered of each direction of a flow. Only explain/ includes this. */
#ifndef NORNIC_EXPLAIN_FLOW_H
#define NORNIC_EXPLAIN_FLOW_H

#include "explain/analysis.h"

#define EXPLAIN_READS_MAX 64 /* READs and atomics remembered per direction */

/* A request packet that was seen. */
struct explain_sent {
    uint64_t number; /* 0: the slot is free */
    uint64_t time_ns;
    uint64_t message;
    uint64_t bytes_done;
    uint32_t psn, piece;
    uint16_t ip_id;
    uint8_t opcode;
    bool ack_req, answered;
};

/* A READ or an atomic, which takes the PSNs of its answers. */
struct explain_read {
    uint64_t number; /* 0: the slot is free */
    uint64_t message;
    uint32_t psn, span;
    uint32_t bytes;
    uint8_t opcode;
    bool answered;
};

/* What went wrong last, to tell why a packet is sent again. */
struct explain_trouble {
    uint64_t number; /* 0: nothing */
    uint32_t psn;
    bool is_rnr;
};

/* One direction: the requests that one end sends. The packet at PSN p lies in slot p mod `size`. */
struct explain_half {
    bool seen;         /* a request was seen; the members below mean nothing before */
    uint32_t next_psn; /* one past the newest */
    bool guessed; /* that, as the newest is a READ of more than one packet, and the path MTU is not known */
    uint32_t una_psn;  /* everything before it is acknowledged */
    bool una_known;    /* an acknowledgement was seen */
    uint64_t messages; /* begun so far */
    /* the message in progress */
    bool open;
    uint8_t open_opcode;
    uint32_t open_psn;
    uint64_t open_bytes, open_total;
    struct explain_sent *sent;
    uint32_t size;
    struct explain_read reads[EXPLAIN_READS_MAX];
    unsigned next_read;
    struct explain_trouble trouble;
    uint64_t last_response;
    uint32_t last_ack_psn;
};

/* A place in a chain of the hash table. */
struct explain_link {
    struct explain_link *next;
    struct explain_pair *pair;
    unsigned direction;
};

/* A QP pair; `shown` is what the public sees. half[d] are the requests of direction d. */
struct explain_pair {
    struct explain_flow shown;
    struct explain_half half[2];
    uint16_t src_port[2]; /* UDP, of the newest packet of each direction */
    uint32_t index;
    struct explain_link link[2];        /* by addresses and destination QPN of each direction */
    struct explain_pair *older, *newer; /* by last packet */
};

struct explain_analysis {
    struct explain_analysis_config config;
    struct explain_link **buckets; /* `bucket_count` chains, a power of two */
    uint32_t bucket_count;
    struct explain_pair **by_index; /* from 1 */
    uint32_t index_cap, flow_count, live_count;
    struct explain_pair *oldest, *newest;
    bool ended;                  /* explain_analysis_end() was called */
    struct explain_pair *ending; /* where it stands */
    uint32_t ending_slot;
    unsigned ending_direction;
};

/* --- flow.c --- */
/* The pair that a packet belongs to, and its direction; made when it is new. Responses and CNPs find the pair
 * whose other end they are for. NULL: no memory. */
struct explain_pair *explain_pair_of(struct explain_analysis *a, const struct explain_packet *packet,
                                     unsigned *direction);
void explain_pairs_free(struct explain_analysis *a);
/* The slot of a PSN, grown so that the packets between the oldest unanswered one and this one have slots.
 * NULL: no memory. */
struct explain_sent *explain_sent_slot(struct explain_half *half, uint32_t psn);
/* The packet seen at that PSN, or NULL. */
struct explain_sent *explain_sent_find(const struct explain_half *half, uint32_t psn);
struct explain_read *explain_read_find(struct explain_half *half, uint32_t psn);

/* --- request.c, response.c, datagram.c: fill the meaning --- */
void explain_request(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m);
void explain_response(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      struct explain_meaning *m);
void explain_datagram(const struct explain_packet *packet, struct explain_meaning *m);
/* Adds what the messages of SMC-R in the packet say. */
void explain_smc(const struct explain_packet *packet, struct explain_meaning *m);

/* Adds a remark; beyond EXPLAIN_REMARKS_MAX it is dropped. */
void explain_remark(struct explain_meaning *m, enum explain_finding_kind kind, const char *rule,
                    uint64_t number, uint64_t related, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
