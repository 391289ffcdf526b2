/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer of rsockets that is made of verbs, and says what a test wants: true or not. */
#ifndef TEST_VERBS_RS_PEER_H
#define TEST_VERBS_RS_PEER_H

#include <rdma/rdma_cma.h>

#include "verbs/rsocket/rsocket.h"

#define RS_PEER_RECVS 64
#define RS_PEER_BYTES 8192

/* Synchronous; connected to an rsocket that listens. */
struct rs_peer {
    struct rdma_cm_id *id;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    uint8_t memory[RS_PEER_BYTES]; /* at 0 its list of halves and mappings, at 4096 the half that it lends */
    uint32_t words[RS_PEER_RECVS]; /* iWARP: a message is a SEND */
    struct ibv_mr *words_mr;
    struct rs_conn_data own, other;
};

/* What an honest peer says of itself, with its memory registered and its queue pair made: to be changed. */
void rs_peer_open(struct rs_peer *p, uint16_t port);
/* Asks with these bytes of private data. 0; or the errno value of the refusal. */
int rs_peer_ask(struct rs_peer *p, const uint8_t *data, uint8_t len_bytes);
/* The same with `own`, which has to succeed. */
void rs_peer_connect(struct rs_peer *p);
void rs_peer_close(struct rs_peer *p);

/* An RDMA WRITE of `len_bytes` of the memory from 4096 on with an immediate, or with a SEND behind it, which
 * is waited for. Its status. */
enum ibv_wc_status rs_peer_send(struct rs_peer *p, uint32_t msg, uint64_t addr, uint32_t key,
                                uint32_t len_bytes);
/* A SEND of so many bytes of it alone. Its status. */
enum ibv_wc_status rs_peer_say(struct rs_peer *p, const void *bytes, uint32_t len_bytes);
/* The next message that comes, within 10 seconds. */
uint32_t rs_peer_next(struct rs_peer *p);

#endif
