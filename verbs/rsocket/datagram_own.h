/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of datagrams. Internal to them. */
#ifndef NORNIC_VERBS_RSOCKET_DATAGRAM_OWN_H
#define NORNIC_VERBS_RSOCKET_DATAGRAM_OWN_H

#include "verbs/rsocket/datagram.h"

#define DS_DATAGRAM_MAX  2048 /* with its header: the receives of either library have room for it */
#define DS_GRH_BYTES     40
#define DS_SLOT_BYTES    (DS_GRH_BYTES + DS_DATAGRAM_MAX) /* of a receive */
#define DS_UDP_TAG       0x55555555u                      /* a message over UDP is of an rsocket */
#define DS_HEADER_V4     8                                /* ahead of a datagram to a queue pair */
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
    struct ds_peer **sent_to; /* by slot: the peer of a send that is under way */
    LIST_ENTRY(ds_qp) entry;
};

/* Anybody may send to the UDP socket, so peers are forgotten. Those that the program sends to have room of
 * their own, which those that were only heard of cannot take. Of each kind the peer that was silent longest
 * goes first. */
#define DS_HEARD_MAX    256
#define DS_SENT_MAX     4096
#define DS_PEER_BUCKETS 4096

enum ds_kind { DS_HEARD, DS_SENT_TO, DS_KINDS };

struct ds_peer {
    struct sockaddr_storage addr;
    struct ds_qp *qp; /* the own one towards it */
    enum ds_kind kind;
    uint32_t qpn;      /* 0: its queue pair is not known yet */
    struct ibv_ah *ah; /* NULL until something is sent to the queue pair */
    uint32_t sends;    /* under way, which need `ah` */
    LIST_ENTRY(ds_peer) by_addr;
    TAILQ_ENTRY(ds_peer) by_age;
};

struct ds_peers {
    LIST_HEAD(ds_bucket, ds_peer) buckets[DS_PEER_BUCKETS];
    TAILQ_HEAD(ds_ages, ds_peer) ages[DS_KINDS]; /* the one that was silent longest first */
    uint32_t count[DS_KINDS];
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
    struct ds_peer *connected; /* rconnect(): it is never forgotten */
    LIST_HEAD(ds_qps, ds_qp) qps;
    struct ds_peers peers;
    STAILQ_HEAD(ds_kept, ds_datagram) kept;
    uint32_t num_kept; /* at most rq_size */
};

/* --- verbs/rsocket/datagram_peers.c --- */

void ds_peers_init(struct ds_peers *peers);
/* Forgets all. No send is under way. */
void ds_peers_free(struct ds_peers *peers);
/* The peer of an address, which is known from now on. It is valid until the next call. 0 or an errno value:
 * ENOBUFS, if sends to all of so many are under way. */
int ds_need_peer(struct rsock *s, const struct sockaddr_storage *addr, enum ds_kind kind,
                 struct ds_peer **out);
/* The number of the peer's queue pair, which it has told. */
void ds_learn(struct ds_peer *peer, uint32_t qpn);
/* The way to its queue pair. NULL with errno, which is 0 if the queue pair is not known. */
struct ibv_ah *ds_need_ah(struct ds_peer *peer);

/* --- verbs/rsocket/datagram_qp.c --- */

/* The own queue pair towards that address. 0 or an errno value. */
int ds_need_qp(struct rsock *s, const struct sockaddr_storage *peer, struct ds_qp **out);
void ds_close_qp(struct ds_qp *qp);
/* Posts the receive of that slot. 0 or an errno value. */
int ds_post_receive(struct ds_qp *qp, uint32_t slot);

/* --- verbs/rsocket/datagram_wire.c --- */

/* The bytes of an address, 4 or 16, and its port in network order. */
const void *ds_addr_of(const struct sockaddr_storage *from, size_t *bytes);
uint16_t ds_port_of(const struct sockaddr_storage *from);
bool ds_is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Write the headers; how long they are. */
size_t ds_put_header(const struct sockaddr_storage *own, uint8_t *out);
size_t ds_put_udp_header(const struct ds_qp *qp, enum rs_op op, uint8_t *out);
/* Reads the header ahead of a datagram, and returns its length; 0: there is none. */
size_t ds_get_header(const uint8_t *bytes, size_t len, struct sockaddr_storage *from);

/* --- verbs/rsocket/datagram_find.c --- */

/* Whether something has come; whether every queue pair has a place for one more. */
bool ds_has_kept(const struct rsock *s);
bool ds_can_send(const struct rsock *s);

#endif
