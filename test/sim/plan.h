/* SPDX-License-Identifier: BSD-2-Clause */
/* A workload, wholly decided before it runs: who sends what, from and to which memory, over which wire, and
 * what must come of it. */
#ifndef NORNIC_TEST_SIM_PLAN_H
#define NORNIC_TEST_SIM_PLAN_H

#include "test/sim/region.h"
#include "test/sim/sim.h"

#define SIM_PAIRS_MAX    64
#define SIM_PAIRS_USUAL  4
#define SIM_MESSAGES_MAX 96 /* of one QP */
#define SIM_SGE_MAX      6
#define SIM_SRQS         2 /* of an XRC target */
#define SIM_WORDS_MAX    (1 + 2 * SIM_PAIRS_MAX)

enum sim_region_id {
    SIM_SOURCE, /* what SENDs and WRITEs gather from */
    SIM_SINK,   /* what receives, READs and atomics scatter to */
    SIM_TARGET, /* what the peer WRITEs, and READs back */
    SIM_EXPORT, /* what the peer READs */
    SIM_ATOMIC, /* what the peer adds to and swaps */
    SIM_REGION_COUNT
};

/* Local memory of a work request, in SGE order. */
struct sim_gather {
    enum sim_region_id region;
    unsigned count;
    struct sim_area pieces[SIM_SGE_MAX];
};

/* One work request of a send queue. */
struct sim_message {
    enum nornic_wr_opcode opcode;
    uint32_t flags; /* enum nornic_send_flags */
    uint32_t imm;
    uint32_t len_bytes;
    uint64_t key; /* the content, sim_pattern() */
    struct sim_gather local;
    enum sim_region_id remote_region;
    struct sim_area remote;
    bool keep_local;  /* a later message reads the local memory: do not scribble on it */
    bool keep_remote; /* a later message reads the remote memory */
    bool overwritten; /* a later message writes the same remote memory */
    bool takes_receive;
    unsigned srq;  /* XRC: which of the target's */
    unsigned word; /* atomics: of sim_plan.words */
    uint64_t compare_add, swap;
    uint64_t compare_mask, swap_mask;
    uint64_t original;  /* atomics on a private word: what must come back */
    uint32_t bad_rkey;  /* xored into the R_Key */
    int64_t bad_offset; /* added to the remote address */
    uint32_t bad_lkey;  /* xored into the L_Keys */
};

/* One receive, for the next message of the peer that takes one. */
struct sim_receive {
    struct sim_gather local;
    unsigned message; /* of the peer */
    unsigned srq;     /* XRC */
};

/* When work is posted: nothing before start_ns, then at most `batch` requests every gap_ns (0: no limit). */
struct sim_pace {
    uint64_t start_ns, gap_ns;
    unsigned batch;
};

/* One QP and its application. */
struct sim_end_plan {
    struct sim_message messages[SIM_MESSAGES_MAX];
    unsigned message_count;
    struct sim_receive receives[SIM_MESSAGES_MAX];
    unsigned receive_count;
    struct sim_pace send_pace, receive_pace;
    unsigned chain_max; /* work requests of one post */
    struct nornic_qp_caps caps;
    bool sq_sig_all;
    uint32_t reorder_pkts;      /* selective retransmission */
    struct nornic_qp_attr attr; /* what differs between workloads: PSNs, timers, retries, depths */
    uint32_t may_fail;          /* bits 1 << enum nornic_wc_status that may end the send queue; 0: none */
    uint32_t receive_may_fail;
    bool
        hold_last; /* UC: the last message is a probe: sent when all is over, over a calm wire; must arrive */
};

/* A 64-bit word that atomics work on. */
struct sim_word {
    struct sim_area area; /* in SIM_ATOMIC */
    bool shared;          /* several QPs add to it: only a serial order must exist */
    uint64_t initial;
    uint64_t value; /* after every atomic planned so far */
};

struct sim_plan {
    struct sim_config config;
    struct test_random random; /* where the plan is drawn from */
    unsigned pairs;
    enum nornic_qp_type
        service[SIM_PAIRS_MAX]; /* RC, UC, or XRC_INI: node pair % 2 asks, the other answers */
    bool shared_cq;
    uint32_t cq_short;                         /* so many completions too few fit a CQ */
    struct sim_end_plan end[SIM_PAIRS_MAX][2]; /* [pair][node] */
    struct sim_region region[2][SIM_REGION_COUNT];
    struct sim_word words[2][SIM_WORDS_MAX];
    unsigned word_count[2];
    uint64_t rtt_ns;   /* the longest that a frame and its answer can take */
    uint64_t quiet_ns; /* the longest that it may take on this wire without trouble */
    uint64_t probe_ns; /* when messages that are held go; 0: there is none */
};

static inline bool sim_is_write(enum nornic_wr_opcode opcode)
{
    return opcode == NORNIC_WR_RDMA_WRITE || opcode == NORNIC_WR_RDMA_WRITE_WITH_IMM;
}

static inline bool sim_is_send(enum nornic_wr_opcode opcode)
{
    return opcode == NORNIC_WR_SEND || opcode == NORNIC_WR_SEND_WITH_IMM;
}

static inline bool sim_is_atomic(enum nornic_wr_opcode opcode)
{
    return opcode == NORNIC_WR_ATOMIC_CMP_AND_SWP || opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD ||
           opcode == NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP || opcode == NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD;
}

/* What the QP of a node is. */
enum nornic_qp_type sim_plan_type(const struct sim_plan *plan, unsigned pair, unsigned node);

/* An empty plan: clean wire, IPv4, one pair without messages, generous attributes. */
struct sim_plan *sim_plan_create(uint64_t seed);
void sim_plan_free(struct sim_plan *plan);

/* Lays out `len_bytes` in up to `sge_max` pieces. */
struct sim_gather sim_plan_gather(struct sim_plan *plan, unsigned node, enum sim_region_id region,
                                  uint32_t len_bytes, unsigned sge_max);

/* One more word for atomics in the memory of `node`; returns its index. */
unsigned sim_plan_word(struct sim_plan *plan, unsigned node, bool shared);

/* Appends a message that `node` of the pair sends, with its memory on both sides and, where it takes one, a
 * receive with enough room at the peer. Atomics: on a private word of their own. */
struct sim_message *sim_plan_message(struct sim_plan *plan, unsigned pair, unsigned node,
                                     enum nornic_wr_opcode opcode, uint32_t len_bytes);

/* Likewise an atomic on a word of the peer: what it returns is known from the plan unless the word is shared.
 */
struct sim_message *sim_plan_atomic(struct sim_plan *plan, unsigned pair, unsigned node,
                                    enum nornic_wr_opcode opcode, unsigned word);

/* Fills in rtt_ns, quiet_ns and the timeouts, so that no timer fires on a clean wire. Call it last. */
void sim_plan_time(struct sim_plan *plan);

/* One more receive, for whatever comes. */
void sim_plan_spare_receive(struct sim_plan *plan, unsigned pair, unsigned node, uint32_t room_bytes);

/* Bytes of the path MTU of a pair. */
uint32_t sim_plan_mtu(const struct sim_plan *plan, unsigned pair);

/* What a family of workloads has in common. Rates are the most that a seed draws. */
struct sim_profile {
    uint32_t loss_ppm, duplicate_ppm, reorder_ppm, corrupt_ppm, ecn_ppm;
    uint32_t opcodes;     /* bits 1 << enum nornic_wr_opcode; 0: all */
    uint32_t services;    /* bits 1 << enum nornic_qp_type, drawn for each pair; 0: RC */
    enum nornic_mtu pmtu; /* 0: any */
    unsigned pairs_min;   /* 0: 1 */
    unsigned pairs_max;   /* 0: SIM_PAIRS_USUAL */
    bool prompt;          /* receives are always posted in time */
    bool cc;              /* both devices have congestion management on, with parameters of their own */
    bool selective;       /* both ends have selective retransmission; else each by chance */
    bool far;             /* windows and messages longer than a scoreboard (roce/requester/board.h) */
};

/* Draws a workload. */
struct sim_plan *sim_plan_draw(uint64_t seed, const struct sim_profile *profile);

#endif
