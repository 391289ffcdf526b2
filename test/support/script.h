/* SPDX-License-Identifier: BSD-2-Clause */
/* A scripted peer: one device with one connected QP, and a test that plays the other side packet by packet.
 * Time is virtual, randomness is seeded, every frame of the device is parsed and its ICRC checked. */
#ifndef NORNIC_TEST_SUPPORT_SCRIPT_H
#define NORNIC_TEST_SUPPORT_SCRIPT_H

#include "rdma/srq.h"
#include "rdma/xrc.h"
#include "roce/wire/frame.h"
#include "roce/packet.h"
#include "roce/psn.h"
#include "roce/roce.h"
#include "roce/wire.h"
#include "test/support/random.h"
#include "test/support/reach.h"

#define SCRIPT_PEER_QPN   0x000abcu
#define SCRIPT_QKEY       0x11111111u
#define SCRIPT_PSN        0xfffffeu /* where both directions begin by default: they wrap soon */
#define SCRIPT_MEM_BYTES  (1u << 20)
#define SCRIPT_MAX_OUT    8192u
#define SCRIPT_EVENTS     64u
#define SCRIPT_TRAIN_PKTS 16u /* of a drawn train at the most */
#define SCRIPT_US         UINT64_C(1000)
#define SCRIPT_MS         UINT64_C(1000000)
#define SCRIPT_S          UINT64_C(1000000000)

struct script_config {
    enum nornic_qp_type type;   /* 0: RC */
    struct nornic_qp_attr attr; /* what the QP gets on its way */
    struct nornic_qp_caps caps;
    enum nornic_qp_state state; /* how far: INIT, RTR or RTS */
    uint32_t send_cq_capacity, recv_cq_capacity;
    uint32_t window_pkts;
    uint32_t answer_bytes; /* as of struct roce_dev_config */
    bool masked_atomics;
    bool selective;        /* roce_dev_config.selective */
    uint32_t reorder_pkts; /* selective retransmission */
    bool path_migration;
    bool sq_sig_all;
    bool ipv6;
    uint16_t vlan_id; /* 0: untagged */
    struct roce_cc_config cc;
    bool roce_v1; /* the GID that the QP uses is of RoCEv1, and so is what the peer sends */
    bool also_v1; /* the device speaks RoCEv1, though its GID is of RoCEv2 */
    uint16_t num_pkeys;
    const uint16_t *pkeys;
    uint32_t srq_wr; /* not 0: the QP takes receives from an SRQ of so many, of another PD */
    bool e2e_credits;
    bool udp_socket;         /* the port is one: net_port_limits.is_udp_socket */
    uint16_t src_port_count; /* then: its source ports */
    enum roce_labels labels;
    bool any_dest; /* the device may send to others than the peer */
    /* Of a train, either way, at the most; 1: none. 0: drawn anew for each buffer and burst, so that
     * every test of the engine runs over trains. */
    uint32_t train_pkts;
};

/* PMTU 1024, timeout 14, retry_cnt 7, rnr_retry 7, min_rnr_timer 12, 4 READs/atomics each way, all remote
 * rights, RTS. */
struct script_config script_defaults(void);

struct script_frame {
    uint8_t *bytes;
    uint32_t len_bytes;
    uint64_t time_ns;
    struct roce_pkt pkt;
};

struct script {
    struct script_config config;
    enum roce_service service; /* of the QP: of what the peer sends, and of what is expected */
    struct test_random rnd, train_rnd;
    uint64_t now_ns;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *send_cq, *recv_cq;
    unsigned wakeups;       /* how often an armed recv_cq fired */
    struct rdma_mr *mr;     /* the whole of mem, all rights */
    struct rdma_srq *srq;   /* or NULL; its PD, and a region of it, which is the whole of mem too */
    struct rdma_xrcd *xrcd; /* XRC_TGT: then srq is of it, and of `pd` */
    struct rdma_pd *srq_pd;
    struct rdma_mr *srq_mr;
    struct roce_qp *qp;
    uint8_t *mem;               /* SCRIPT_MEM_BYTES of the device's application, byte i = i mod 251 */
    struct roce_path from_peer; /* what the peer's frames carry */
    struct script_frame out[SCRIPT_MAX_OUT];
    unsigned out_count, out_read;
    struct roce_event events[SCRIPT_EVENTS];
    unsigned event_count, event_read;
    struct reach reach; /* what the device has said of whose packets it takes */
};

/* Ends the test when anything fails. */
struct script *script_new(const struct script_config *config);
/* Also checks that everything can be destroyed. */
void script_free(struct script *s);

/* One more QP like the first. The test destroys it. */
struct roce_qp *script_more_qp(struct script *s);

/* Modifies the QP; 0 or -errno. */
int script_modify(struct script *s, enum nornic_qp_state state, uint32_t mask);
/* Takes the QP through RESET to where it was, with the attributes that it had at first. */
void script_restart(struct script *s);

/* --- the peer --- */

/* A packet that the peer sends. What the opcode has no header for is not sent. */
struct script_pkt {
    struct roce_path path;
    struct roce_bth bth;
    struct roce_deth deth;
    struct roce_xrceth xrceth;
    struct roce_reth reth;
    struct roce_atomiceth atomiceth;
    struct roce_masketh masketh;
    struct roce_sacketh sacketh;
    struct roce_aeth aeth;
    struct roce_atomicacketh atomicacketh;
    uint32_t imm_data; /* network order */
    uint32_t ieth_rkey;
    const uint8_t *payload;
    uint32_t payload_bytes;
    bool keep_pad_count; /* bth.pad_count as it is; else what the payload needs */
    bool bad_icrc;
};

/* How many packets the next buffer lent to the device may take. */
uint32_t script_train_pkts(struct script *s);

/* A packet of its service to the QP with nothing special. `psn` is cut to 24 bits. */
struct script_pkt script_pkt(const struct script *s, enum roce_op op, uint32_t psn);

/* Lets the device receive `n` packets in one burst and collects nothing: the device cannot send meanwhile. */
void script_give(struct script *s, const struct script_pkt *pkts, unsigned n);
/* The same, then collects what it sends. */
void script_burst(struct script *s, const struct script_pkt *pkts, unsigned n);
void script_send(struct script *s, const struct script_pkt *pkt);

/* A CNP for the QP. */
struct script_pkt script_cnp_pkt(const struct script *s);

/* The usual packets: everything right, AckReq 0 but for READs and atomics. Payloads are borrowed until they
 * are sent. */
struct script_pkt script_send_pkt(const struct script *s, enum roce_op op, uint32_t psn, const void *payload,
                                  uint32_t payload_bytes);
struct script_pkt script_write_pkt(const struct script *s, enum roce_op op, uint32_t psn, uint64_t mem_offset,
                                   uint32_t dma_len, const void *payload, uint32_t payload_bytes);
struct script_pkt script_read_pkt(const struct script *s, uint32_t psn, uint64_t mem_offset,
                                  uint32_t dma_len);
struct script_pkt script_atomic_pkt(const struct script *s, enum roce_op op, uint32_t psn,
                                    uint64_t mem_offset, uint64_t swap_add, uint64_t compare);
struct script_pkt script_ack_pkt(const struct script *s, uint32_t psn, uint8_t syndrome, uint32_t msn);
struct script_pkt script_read_resp_pkt(const struct script *s, enum roce_op op, uint32_t psn, uint32_t msn,
                                       const void *payload, uint32_t payload_bytes);
struct script_pkt script_atomic_ack_pkt(const struct script *s, uint32_t psn, uint32_t msn,
                                        uint64_t original);
/* 64 KiB that the peer sends from: byte i = 7 i + 3 mod 256. */
const uint8_t *script_data(void);
/* Sends script_ack_pkt() at once. */
void script_ack(struct script *s, uint32_t psn, uint8_t syndrome, uint32_t msn);

/* The i-th PSN of the peer's requests, and of the QP's own. */
uint32_t script_rq(const struct script *s, uint32_t i);
uint32_t script_sq(const struct script *s, uint32_t i);

/* --- the device --- */

/* Collects what the device sends now. */
void script_pump(struct script *s);
/* Lets time pass, timer by timer, collecting after each. */
void script_advance(struct script *s, uint64_t ns);
/* The same, but stops with the first packet that leaves. False: none did. */
bool script_until_sent(struct script *s, uint64_t max_ns);
/* The next packet that the device sent, or NULL. Stays valid. */
const struct roce_pkt *script_next(struct script *s);
/* When the packet last returned left. */
uint64_t script_last_ns(const struct script *s);
void script_forget(struct script *s); /* what was not read yet */

/* Posts one receive of one SGE into s->mem, to the QP, or to its SRQ. */
void script_recv(struct script *s, uint64_t wr_id, uint64_t mem_offset, uint32_t len_bytes);
/* A signalled work request of one SGE (none when `len_bytes` is 0) of s->mem; its remote address is
 * 0x10000, its R_Key 0x5678. */
struct nornic_send_wr script_wr(struct script *s, uint64_t wr_id, enum nornic_wr_opcode opcode,
                                struct nornic_sge *sge, uint64_t mem_offset, uint32_t len_bytes);
#define SCRIPT_PEER_VA   UINT64_C(0x10000)
#define SCRIPT_PEER_RKEY 0x5678u
#define SCRIPT_PEER_SRQN 0x9abcu
/* Posts it and collects what leaves. */
void script_post(struct script *s, uint64_t wr_id, enum nornic_wr_opcode opcode, uint64_t mem_offset,
                 uint32_t len_bytes);

/* --- expectations; they end the test, naming the line --- */

#define expect_nothing(s)               script_expect_nothing(s, __LINE__)
#define expect_ack(s, psn, msn)         script_expect_ack(s, psn, msn, __LINE__)
#define expect_nak(s, psn, syn, msn)    script_expect_nak(s, psn, syn, msn, __LINE__)
#define expect_op(s, op, psn)           script_expect_op(s, op, psn, __LINE__)
#define expect_wc(s, cq, wr_id, status) script_expect_wc((s)->cq, wr_id, status, __LINE__)
#define expect_no_wc(s, cq)             script_expect_no_wc((s)->cq, __LINE__)
#define expect_event(s, type)           script_expect_event(s, type, __LINE__)
#define expect_no_event(s)              script_expect_no_event(s, __LINE__)
#define expect_state(s, state)          script_expect_state(s, state, __LINE__)
#define expect_verdict(s, verdict, n)   script_expect_verdict(s, verdict, n, __LINE__)

void script_expect_nothing(struct script *s, int line);
/* An ACK with a syndrome of ACK type. */
const struct roce_pkt *script_expect_ack(struct script *s, uint32_t psn, uint32_t msn, int line);
const struct roce_pkt *script_expect_nak(struct script *s, uint32_t psn, uint8_t syndrome, uint32_t msn,
                                         int line);
const struct roce_pkt *script_expect_op(struct script *s, enum roce_op op, uint32_t psn, int line);
struct nornic_wc script_expect_wc(struct rdma_cq *cq, uint64_t wr_id, enum nornic_wc_status status, int line);
void script_expect_no_wc(struct rdma_cq *cq, int line);
void script_expect_event(struct script *s, enum nornic_event_type type, int line);
void script_expect_no_event(struct script *s, int line);
void script_expect_state(const struct script *s, enum nornic_qp_state state, int line);
/* How many frames had this verdict since the device was made. */
void script_expect_verdict(const struct script *s, enum roce_rx_verdict verdict, uint64_t n, int line);

#endif
