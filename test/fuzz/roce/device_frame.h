/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that get past the first checks: the input chooses what they say, addresses, lengths and ICRC are
 * made right. */
#ifndef NORNIC_TEST_FUZZ_DEVICE_FRAME_H
#define NORNIC_TEST_FUZZ_DEVICE_FRAME_H

#include "test/fuzz/roce/device_world.h"

/* Gives device `dev` one packet. From the input: a byte of flags (enum fuzz_frame_flags), the opcode, the
 * distance of the PSN from the one that is due (requests) or from the newest request (responses), the
 * payload's length, and a few bytes for each extended header. */
void fuzz_frame(struct fuzz_world *world, unsigned dev, struct fuzz_input *in);

enum fuzz_frame_flags {
    FUZZ_FRAME_QP1 = 1 << 0, /* to QP 1, which only the fuzzer talks to */
    FUZZ_FRAME_ACK_REQ = 1 << 1,
    FUZZ_FRAME_SOLICITED = 1 << 2,
    FUZZ_FRAME_ODD = 1 << 3,          /* one more byte says what is wrong: enum fuzz_frame_oddities */
    FUZZ_FRAME_FULL = 1 << 4,         /* the payload is one PMTU long, no length follows */
    FUZZ_FRAME_OUT_OF_ORDER = 1 << 5, /* a signed byte is added to the PSN */
    FUZZ_FRAME_BAD_KEY = 1 << 6,
    FUZZ_FRAME_WHOLE = 1 << 7, /* RETH.DMALen is what follows; else as long as the payload */
};

enum fuzz_frame_oddities {
    FUZZ_ODD_PKEY = 1 << 0,
    FUZZ_ODD_ADDRESS = 1 << 1,
    FUZZ_ODD_QPN = 1 << 2,
    FUZZ_ODD_TVER = 1 << 3,
    FUZZ_ODD_ICRC = 1 << 4,
    FUZZ_ODD_VLAN = 1 << 5,
    FUZZ_ODD_PAD = 1 << 6,
    FUZZ_ODD_ECN = 1 << 7,
};

#endif
