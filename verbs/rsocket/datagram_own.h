/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two files of datagrams share. Internal to them. */
#ifndef NORNIC_VERBS_RSOCKET_DATAGRAM_OWN_H
#define NORNIC_VERBS_RSOCKET_DATAGRAM_OWN_H

#include "verbs/rsocket/datagram.h"

#define DS_DATAGRAM_MAX  2048 /* with its header: what the receives of either library have room for */
#define DS_HEADER_V4     8    /* ahead of a datagram to a queue pair */
#define DS_HEADER_V6     24
#define DS_UDP_HEADER_V4 16 /* and over UDP */
#define DS_UDP_HEADER_V6 28

/* A wr_id: a receive or a send, by the number of its slot. */
#define DS_ID_RECV (UINT64_C(1) << 32)

/* A queue pair: one for each own address that is sent from. */
struct ds_qp {
    struct sockaddr_storage own; /* with the port of the UDP socket */
    struct rdma_cm_id *id;
    struct ibv_comp_channel *comp;
    struct ibv_cq *cq;
    bool is_armed;
    uint32_t max_bytes;          /* of a datagram with its header */
    struct rs_buffer recv, send; /* slots */
    uint32_t *free_slots, num_free;
    LIST_ENTRY(ds_qp) entry;
};

/* One that was sent to or heard of. */
struct ds_peer {
    struct sockaddr_storage addr;
    struct ds_qp *qp;  /* the own one towards it */
    struct ibv_ah *ah; /* NULL: where its queue pair is is not known yet */
    uint32_t qpn;
    LIST_ENTRY(ds_peer) entry;
};

/* One that has come. */
struct ds_datagram {
    struct sockaddr_storage from;
    size_t len;
    STAILQ_ENTRY(ds_datagram) entry;
    uint8_t bytes[];
};

struct rs_datagrams {
    int udp;
    bool has_port;
    struct ds_peer *connected; /* rconnect() */
    LIST_HEAD(ds_qps, ds_qp) qps;
    LIST_HEAD(ds_peers, ds_peer) peers;
    STAILQ_HEAD(ds_kept, ds_datagram) kept;
    uint32_t num_kept; /* at most rq_size */
};

/* The peer of an address. 0 or an errno value. */
int ds_need_peer(struct rsock *s, const struct sockaddr_storage *addr, struct ds_peer **out);

/* Whether something has come; whether every queue pair has a place for one more. */
bool ds_has_kept(const struct rsock *s);
bool ds_can_send(const struct rsock *s);

/* The headers; how long they are. */
size_t ds_put_header(const struct sockaddr_storage *own, uint8_t *out);
size_t ds_put_udp_header(const struct ds_qp *qp, enum rs_op op, uint8_t *out);

#endif
