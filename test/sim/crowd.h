/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices with several UD queue pairs each, that send datagrams to each other, to their neighbours on the
 * same device, to themselves and to groups. Everything is drawn from a seed, and every completion is held
 * against what was sent. */
#ifndef NORNIC_TEST_SIM_CROWD_H
#define NORNIC_TEST_SIM_CROWD_H

#include "test/sim/region.h"
#include "test/sim/sim.h"

#define CROWD_QPS    8u /* of a node at the most */
#define CROWD_GROUPS 3u
#define CROWD_SENDS  300u
#define CROWD_RECVS  128u /* posted on a QP */
#define CROWD_ROUND  24u  /* datagrams sent at once */

/* What a family of crowds has in common; rates are the most that a seed draws. */
struct crowd_profile {
    struct sim_link_config link;
    bool late; /* receives are missing or too small now and then */
};

/* Where a datagram goes. */
enum crowd_dest { CROWD_ACROSS, CROWD_HERE, CROWD_GROUP, CROWD_DEST_COUNT };

struct crowd_datagram {
    unsigned node, qp; /* the sender */
    enum crowd_dest dest;
    unsigned target; /* QP of the other or the same node, or a group */
    uint32_t qkey;   /* that goes out */
    uint32_t len_bytes;
    bool imm, solicited;
    bool too_long; /* nothing goes out */
    uint64_t key;  /* of sim_pattern() */
    uint8_t got[2][CROWD_QPS];
};

struct crowd_qp {
    struct roce_qp *qp;
    uint32_t qkey;
    bool member[CROWD_GROUPS];
    bool blocks_own;
    unsigned sent, completed;         /* sends */
    uint16_t sends[CROWD_SENDS];      /* which datagrams, in order */
    uint32_t room[CROWD_RECVS];       /* bytes of each receive buffer */
    uint32_t last_from[2][CROWD_QPS]; /* newest datagram received from each QP, plus 1 */
};

struct crowd {
    struct sim sim;
    struct crowd_profile profile;
    struct test_random random; /* what is drawn */
    bool calm;                 /* the wire does no harm */
    bool orderly;              /* nor does it change the order, or duplicate */
    uint32_t mtu_bytes;        /* the longest payload */
    unsigned qps[2];
    struct crowd_qp qp[2][CROWD_QPS];
    struct nornic_ah *ah[2][CROWD_DEST_COUNT + CROWD_GROUPS]; /* by destination; groups from CROWD_GROUP on */
    struct nornic_addr group[CROWD_GROUPS];
    struct rdma_cq *cq[2];
    struct rdma_mr *mr[2];
    uint8_t *mem[2];
    unsigned count;
    struct crowd_datagram datagram[CROWD_SENDS];
};

/* Draws and runs one. crowd->sim.failure says what was wrong. */
void crowd_run(struct crowd *crowd, const struct crowd_profile *profile, uint64_t seed, bool ladder);

/* --- crowd_judge.c --- */
/* One completion of `node`; a receive is looked at, and may be posted again. */
void crowd_complete(struct crowd *crowd, unsigned node, const struct nornic_wc *wc);
/* After the run. */
void crowd_judge(struct crowd *crowd);

/* --- crowd.c --- */
void crowd_post_recv(struct crowd *crowd, unsigned node, unsigned qp, unsigned slot);
uint8_t *crowd_recv_at(const struct crowd *crowd, unsigned node, unsigned qp, unsigned slot);
/* Bytes that a receive buffer may have, and the distance of two. */
uint32_t crowd_recv_bytes(const struct crowd *crowd);

#endif
