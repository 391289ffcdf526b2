/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs over a stream in memory, with random work both ways. A seed decides everything: what they
 * agree on, what they do, where TCP cuts, what goes wrong and when. A model says what each octet must be. */
#ifndef NORNIC_TEST_IWARP_PAIR_H
#define NORNIC_TEST_IWARP_PAIR_H

#include "test/iwarp/world.h"

#define PAIR_WORK          24 /* requests a side */
#define PAIR_PRIVATE_BYTES 500u
#define PAIR_STEP_NS       UINT64_C(100000) /* what a step takes */

/* A side's memory: data that nobody writes, the slots of the peer's Writes, those of its own READs and
 * atomics, those of its receives, and the word of the peer's atomics. */
#define PAIR_SLOT_BYTES   4096u
#define PAIR_SOURCE_BYTES (64u << 10)
#define PAIR_WRITES_AT    PAIR_SOURCE_BYTES
#define PAIR_READS_AT     (PAIR_WRITES_AT + PAIR_WORK * PAIR_SLOT_BYTES)
#define PAIR_RECVS_AT     (PAIR_READS_AT + PAIR_WORK * PAIR_SLOT_BYTES)
#define PAIR_WORD_AT      (PAIR_RECVS_AT + PAIR_WORK * PAIR_SLOT_BYTES)

/* What is to go wrong. */
enum pair_trouble {
    PAIR_FINE,
    PAIR_FLIP,    /* a bit of the FPDUs is flipped, under way */
    PAIR_CUT,     /* TCP ends somewhere, by a FIN or at once */
    PAIR_CLOSE,   /* a program disconnects at some time */
    PAIR_RESET,   /* a program resets the stream at some time */
    PAIR_REFUSED, /* one request names memory that the peer does not give */
};

struct work {
    struct nornic_send_wr wr;
    struct nornic_sge sges[3];
    struct rdma_mr *fast; /* of the peer: what a Send with Invalidate takes back; or NULL */
    uint32_t slot;   /* of the target: a Write's at the peer, a READ's here, a Send's receive at the peer */
    uint32_t source; /* offset of the data, at the side that it comes from */
    uint32_t len_bytes;
    bool takes_recv, is_refused;
    enum nornic_wc_status status;
    bool is_complete;
};

struct wire {
    uint8_t *bytes;
    size_t from, to;
    uint64_t carried;
};

struct pair_side {
    struct side s;
    struct iwarp_setup_config config;
    uint8_t private_data[PAIR_PRIVATE_BYTES];
    uint32_t private_bytes;
    struct work work[PAIR_WORK];
    uint32_t posted, completed; /* of `work` */
    uint32_t received;          /* receives complete, in order */
    uint64_t word;              /* what its word must be after the peer's atomics that have completed */
    struct wire out;
    struct iwarp_fpdu_rx watcher; /* of what it says behind the set-up */
    uint8_t watched[IWARP_BOUNCE_BYTES];
    bool is_watched, is_amid_message;
    uint8_t amid_opcode;
    bool has_ended; /* its FIN or its end was handed on */
    bool has_met;   /* it was looked at when the set-up was done */
};

struct pair {
    struct test_random rnd;
    uint64_t seed, now_ns, steps;
    struct pair_side sides[2]; /* the initiator, the responder */
    enum pair_trouble trouble;
    uint64_t trouble_at; /* FLIP, CUT: octets from side `trouble_side` on; CLOSE, RESET: steps */
    int trouble_side;
};

/* Runs it to its end; fails the test, with the seed, if anything is not as the model has it. */
void pair_run(uint64_t seed, enum pair_trouble trouble);

/* --- what both do: pair_draw.c --- */

/* The octet at `at` of what side `side` has to send, never 0. */
uint8_t pair_source_octet(int side, uint32_t at);
/* What the sides want of the set-up, and their queue pairs. */
void pair_draw_sides(struct pair *p);
/* All work of both sides; nothing is posted but receives. */
void pair_draw_work(struct pair *p);

/* --- what must come of it: pair_judge.c --- */

/* A side has come to RTS: what was agreed on follows from what both wanted. */
void pair_check_session(const struct pair *p, int i);
/* A side in RTS says these octets of FPDUs: no message begins while another is half out (IWARP-DDP-09). */
void pair_watch(struct pair *p, int i, const uint8_t *bytes, size_t len_bytes);
/* Takes all completions of a side. */
void pair_poll(struct pair *p, int i);
/* No side asks for or serves more at once than was agreed (IWARP-FLOW-01, -02). */
void pair_check_depths(const struct pair *p, int i);
/* At the end; `has_struck`: what was to go wrong did. */
void pair_judge(struct pair *p, bool has_struck);

#endif
