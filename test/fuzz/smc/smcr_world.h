/* SPDX-License-Identifier: BSD-2-Clause */
/* One SMC-R instance against a peer that the fuzzer plays: it says what an honest peer would say, or
 * something else, over TCP and over its queue pairs; its program and its ports do what they like, and memory
 * runs out.
 *
 * The input: a byte that says how it begins (SMCR_FUZZ_*), then steps: a byte (its lower four bits: enum
 * smcr_step), a byte that says which connection or link, then what the step reads. */
#ifndef NORNIC_TEST_FUZZ_SMCR_WORLD_H
#define NORNIC_TEST_FUZZ_SMCR_WORLD_H

#include "test/fuzz/input.h"
#include "test/smcr_pair/peer.h"

/* How it begins. */
#define SMCR_FUZZ_SERVER    0x01 /* the fuzzer plays the server */
#define SMCR_FUZZ_TWO_LINKS 0x02
#define SMCR_FUZZ_IPV6      0x04
#define SMCR_FUZZ_CHUNKS    0x08 /* TCP comes byte by byte */
#define SMCR_FUZZ_SECOND    0x10 /* a second connection of the group is up too */
#define SMCR_FUZZ_SHIFTED   0x20 /* ADD LINK in the other layout (A5) */
#define SMCR_FUZZ_EID       0x40 /* the instance knows the enterprise id NORNIC.LAB: version 2 */

enum smcr_step {
    SMCR_STEP_TCP = 0,     /* length, bytes */
    SMCR_STEP_CLC = 1,     /* kind, patches: an honest message, changed */
    SMCR_STEP_TCP_END = 2, /* 0: FIN, else RST */
    SMCR_STEP_OPEN = 3,
    SMCR_STEP_WAIT = 4, /* 2 to the n ns */
    SMCR_STEP_LLC = 5,  /* kind, patches */
    SMCR_STEP_CDC = 6,  /* link, patches */
    SMCR_STEP_RAW = 7,  /* length, bytes: a SEND on a link */
    SMCR_STEP_WRITE = 8,
    SMCR_STEP_APP = 9,
    SMCR_STEP_PORT = 10,
    SMCR_STEP_FAIL = 11,
    SMCR_STEP_ANSWER = 12, /* what the instance asked on a link, as an honest peer does */
    SMCR_STEP_BREAK = 13,  /* a queue pair of the peer's dies */
    SMCR_STEP_RETIRE = 14,
    SMCR_STEP_CONTACT = 15, /* a whole honest first contact */
};

/* Plays the input; from a group with live links if `with_group`. */
void smcr_fuzz(const uint8_t *data, size_t size, bool with_group);

#endif
