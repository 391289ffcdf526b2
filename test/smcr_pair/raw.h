/* SPDX-License-Identifier: BSD-2-Clause */
/* A bare RC queue pair on a port of a pair: the end of a link that the test plays by hand. */
#ifndef NORNIC_TEST_SMCR_PAIR_RAW_H
#define NORNIC_TEST_SMCR_PAIR_RAW_H

#include "smcr/group/link.h"
#include "test/smcr_pair/pair.h"

#define RAW_RECVS    128
#define RAW_LONGEST  128 /* bytes of a message that is taken */
#define RAW_MESSAGES 512 /* kept until they are asked for; the newest */

struct raw_message {
    uint32_t len_bytes;
    uint8_t bytes[RAW_LONGEST];
};

struct raw_link {
    struct pair *pair;
    struct pair_port *port;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct roce_qp *qp;
    struct smcr_link_end local;
    uint8_t *recv_bytes, *out_bytes;
    struct rdma_mr *recv_mr, *out_mr, *rmb_mr;
    unsigned next_out;
    struct raw_message message[RAW_MESSAGES];
    unsigned first, count;
    unsigned sent, failed; /* posts that ended well, and badly */
};

/* A QP in INIT with receives posted; `rmb` (borrowed, may be NULL) is registered for remote writes. */
struct raw_link *raw_new(struct pair_port *port, uint8_t *rmb, size_t rmb_bytes);
void raw_free(struct raw_link *link);

/* To RTS, towards what the instance told. 0 or -errno. */
int raw_ready(struct raw_link *link, const struct smcr_link_end *peer);
/* Its QP goes to ERR: whatever the instance sends from now on is not answered. */
void raw_break(struct raw_link *link);

/* Posts a SEND of at most RAW_LONGEST bytes, or an RDMA write of at most 4096. */
void raw_send(struct raw_link *link, const uint8_t *bytes, uint32_t len_bytes);
void raw_write(struct raw_link *link, const uint8_t *bytes, uint32_t len_bytes, uint64_t va, uint32_t rkey);

/* The oldest message that came and was not asked for; false: none. */
bool raw_take(struct raw_link *link, struct raw_message *out);
/* The same, waiting for one that begins with `type`, with or without R; those before it are dropped. */
bool raw_wait(struct raw_link *link, uint8_t type, bool response, struct raw_message *out, uint64_t max_ns);

#endif
