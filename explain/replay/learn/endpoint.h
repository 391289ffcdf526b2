/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about an endpoint in a capture. */
#ifndef NORNIC_EXPLAIN_REPLAY_LEARN_ENDPOINT_H
#define NORNIC_EXPLAIN_REPLAY_LEARN_ENDPOINT_H

#include "explain/replay/scenario.h"
#include "explain/replay/tape.h"
#include "nornic/wr.h"
#include "roce/roce.h"

/* The kind of a packet of the tape for the endpoint. */
enum explain_part {
    EXPLAIN_PART_NONE,          /* of others, no RoCE, bad, or for QP1 */
    EXPLAIN_PART_SENT_REQUEST,  /* by the endpoint */
    EXPLAIN_PART_SENT_RESPONSE, /* by the endpoint */
    EXPLAIN_PART_GOT_REQUEST,
    EXPLAIN_PART_GOT_RESPONSE, /* CNPs too */
};

/* A message that the endpoint sent: a work request. */
struct explain_message {
    struct nornic_send_wr wr; /* without data, address handle and links */
    struct nornic_av av;      /* UD */
    uint32_t first_psn, psn_count;
    uint32_t len_bytes;
    size_t data_offset; /* of SENDs and WRITEs, in explain_learned.data */
};

/* Memory that the peers reached by one R_Key, as far as requests were not refused: one range. */
struct explain_region {
    uint32_t rkey;
    uint64_t from, to; /* remote addresses, `to` exclusive */
    uint32_t access;   /* enum nornic_access: what they did there */
    bool is_revocable; /* a peer invalidated it: a window, or a fast region */
    uint8_t *bytes;    /* owned; to - from of them, aligned as `from` is to 8 */
    uint8_t *memory;   /* the allocated memory: `bytes` lies in it */
    uint8_t *known;    /* one a byte: came over the wire before */
};

/* The NAK of an endpoint that ends its connection. */
struct explain_refusal {
    bool is_there;
    uint32_t psn;
};

/* The receive that was too short for a message. */
struct explain_limit {
    bool is_there; /* the receive of the message with the refused PSN holds `bytes` */
    uint32_t psn;
    uint64_t bytes;
};

/* One queue pair of the endpoint. */
struct explain_learned {
    uint8_t service;        /* enum roce_service: RC, UC, UD */
    uint32_t flow;          /* RC, UC */
    uint32_t qpn, peer_qpn; /* qpn 0: nothing in the capture names it. UD has no peer */
    struct nornic_av av;    /* connected: towards the peer */
    struct nornic_mac mac;
    uint16_t vlan_id;
    uint32_t qkey; /* UD */
    uint32_t pmtu_bytes;

    bool is_requester; /* it sent some */
    uint32_t sq_psn, end_psn;
    struct explain_message *messages; /* by PSN */
    uint32_t message_count;
    uint8_t *data;
    size_t data_bytes;
    uint32_t scratch_bytes; /* room for the longest READ */

    bool is_responder; /* it got requests */
    bool is_silent;    /* and answered none of them */
    uint32_t rq_psn;
    uint64_t longest_bytes; /* of the SENDs that it got */
    uint8_t rnr_code;
    struct explain_refusal refusal;
    struct explain_limit limit;
    size_t *answers; /* indexes into the tape of the responses that it sent, ascending */
    size_t answer_count, answer_cap;
};

struct explain_endpoint {
    struct nornic_addr addr;
    struct explain_learned *qps;
    uint32_t qp_count;
    size_t qp_cap;
    uint32_t *qp_of_flow; /* a flow's index to a QP's index + 1; 0: none */
    struct explain_region *regions;
    uint32_t region_count;
    size_t region_cap;
    uint32_t *qp_of; /* a tape index to a QP's index + 1; 0: none */
    uint8_t *part;   /* a tape index to enum explain_part */
    uint64_t gsi_packets, bad_packets;
};

#define EXPLAIN_QPS_MAX          1024 /* each takes some 80 KiB: queues, in devices of their own */
#define EXPLAIN_REGION_MAX_BYTES (UINT64_C(1) << 28)
#define EXPLAIN_READ_MAX_BYTES   (UINT32_C(1) << 28)
#define EXPLAIN_PSNS_MAX         (UINT32_C(1) << 22)

#endif
