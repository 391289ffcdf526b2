/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs over a stream in memory, with random work both ways. A seed decides everything: what they
 * agree on, what they do, where TCP cuts. A model says what each octet must be. */
#ifndef NORNIC_TEST_IWARP_PAIR_H
#define NORNIC_TEST_IWARP_PAIR_H

#include "test/iwarp/world.h"

#define PAIR_WORK 24 /* requests a side */

/* What is to go wrong. */
enum pair_trouble {
    PAIR_FINE,
    PAIR_FLIP, /* a bit of the FPDUs is flipped, under way */
    PAIR_CUT,  /* TCP ends somewhere, by a FIN or at once */
};

struct work {
    struct nornic_send_wr wr;
    struct nornic_sge sges[3];
    uint32_t slot;   /* of the target: a Write's at the peer, a READ's here, a Send's receive at the peer */
    uint32_t source; /* offset of the data, at the side that it comes from */
    uint32_t len_bytes;
    bool takes_recv;
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
    struct work work[PAIR_WORK];
    uint32_t posted, completed; /* of `work` */
    uint32_t received;          /* receives complete, in order */
    uint64_t last_original;     /* of its atomics: each finds a greater one */
    struct wire out;
    bool has_ended; /* its FIN or its end was handed on */
};

struct pair {
    struct test_random rnd;
    uint64_t seed;
    struct pair_side sides[2]; /* the initiator, the responder */
    enum pair_trouble trouble;
    uint64_t trouble_at; /* octets from side `trouble_side` on */
    int trouble_side;
};

/* Runs it to its end; fails the test, with the seed, if anything is not as the model has it. */
void pair_run(uint64_t seed, enum pair_trouble trouble);

#endif
