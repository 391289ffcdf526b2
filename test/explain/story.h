/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture that is told packet by packet: A (10.0.0.1, QP 0x22) sends requests of RC to B (10.0.0.2, QP
 * 0x11), which answers. Each packet comes 10 us after the one before and is explained at once. */
#ifndef NORNIC_TEST_EXPLAIN_STORY_H
#define NORNIC_TEST_EXPLAIN_STORY_H

#include "base/base.h"
#include "explain/analysis.h"
#include "explain/replay/tape.h"

#define STORY_A_QPN         0x22u
#define STORY_B_QPN         0x11u
#define STORY_FRAME_BYTES   4400
#define STORY_IP_ID(number) (uint16_t)(128 + (number)) /* of a packet: none that trains are numbered with */
#define STORY_TIMEOUT_NS    (67 * NS_PER_MS)           /* of a sender whose timer runs out */

struct story {
    struct explain_analysis *analysis;
    struct explain_tape *tape; /* where the packets go instead, if it is not NULL */
    uint64_t number, time_ns;
    uint32_t snap_bytes; /* of a frame are captured; 0: all */
    bool is_b_asking;    /* the requests are B's, and the answers A's */
    uint32_t shape;      /* payload bytes are (shape + i) & 0xff */
    bool has_id;         /* the IPv4 identification is `ip_id`; else STORY_IP_ID() of the packet */
    uint16_t ip_id;
    uint8_t net;       /* the second byte of the addresses */
    uint32_t more_qpn; /* the queue pairs are those with numbers so much greater */
    uint16_t src_port; /* UDP, of all; 0: 0xc000 */
    bool is_tunnelled; /* the packets come in IP in IP: another network, with the same addresses */
    uint8_t frame[STORY_FRAME_BYTES];
    uint32_t len_bytes;
    struct explain_packet p;  /* the last one, */
    struct explain_meaning m; /* and what it means */
};

void story_begin(struct story *s);
void story_begin_strict(struct story *s); /* the analysis judges by every rule */
/* The same with PSNs 6 to 9, each sent and answered: it is known then that both ends count
 * identifications. */
void story_begin_calm(struct story *s);
/* How many findings of that kind the end of the capture tells. */
unsigned story_count_at_end(struct story *s, enum explain_finding_kind kind);
void story_end(struct story *s);

/* A request of A: operation (ROCE_OP_...), PSN, bytes of payload. RETH and AtomicETH, if it has one: R_Key
 * 0x77, VA 0x1000, `dma_len` bytes. */
void story_request(struct story *s, uint8_t op, uint32_t psn, uint32_t bytes, uint32_t dma_len);
/* An answer of B: operation, PSN, AETH, bytes of payload. */
void story_answer(struct story *s, uint8_t op, uint32_t psn, uint8_t syndrome, uint32_t msn, uint32_t bytes);

/* A SEND only of 8 bytes, and an ACK with unlimited credits. */
void story_send(struct story *s, uint32_t psn);
void story_ack(struct story *s, uint32_t psn, uint32_t msn);

/* A selective acknowledgement of B (a probe: of A) that expects that PSN. `bitmap`: bit 31 - i is set if PSN
 * + 1 + i is there; 0: there is none. */
void story_sack(struct story *s, uint32_t psn, uint32_t bitmap, struct roce_sacketh sacketh);

/* Whether the last packet has a remark of that kind. */
bool story_has(const struct story *s, enum explain_finding_kind kind);
/* That remark; one without kind, cause and words, if there is none. */
const struct explain_finding *story_finding(const struct story *s, enum explain_finding_kind kind);

#endif
