/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends of SMC-R version 1 as a capture that is made while it is explained: the worked examples of SMCR
 * section 22, and what follows from them. Side 0 is the client, 1 the server; link 1 has QPs 0x40 and 0x12,
 * link 2 has 0x41 and 0x13. */
#ifndef NORNIC_TEST_EXPLAIN_SMC_FILM_H
#define NORNIC_TEST_EXPLAIN_SMC_FILM_H

#include "explain/analysis.h"
#include "smcr/wire/cdc.h"

#define FILM_SERVER_TOKEN 0xa1b20001u
#define FILM_CLIENT_TOKEN 0xc3d40001u
#define FILM_SERVER_RKEY  0x4f0u /* on link 1; 64 KiB */
#define FILM_SERVER_VA    0x7f5c6d5d2000u
#define FILM_CLIENT_RKEY  0x40bu /* on link 1; 32 KiB */
#define FILM_CLIENT_VA    0x7fe9af841000u

struct film {
    struct explain_analysis *analysis;
    uint64_t number, time_ns;
    uint32_t psn[3][2];   /* next, by link and sender */
    uint32_t tcp_ack_seq; /* of the next CLC messages */
    uint32_t snap_bytes;  /* of a frame are captured; 0: all */
    uint64_t counts[EXPLAIN_FINDING_COUNT];
    struct explain_meaning m; /* of the last packet */
};

void film_begin(struct film *f);
void film_end(struct film *f); /* counts what only the end tells; frees */

/* A CLC message of that side, by the example's name or as bytes. */
void film_clc(struct film *f, unsigned side, const char *example);
void film_clc_bytes(struct film *f, unsigned side, const uint8_t *bytes, unsigned n);
/* A SEND over a link. */
void film_send(struct film *f, unsigned link, unsigned side, const uint8_t message[44]);
void film_send_of(struct film *f, unsigned link, unsigned side, const uint8_t *bytes, uint32_t n);
void film_llc(struct film *f, unsigned link, unsigned side, const char *example);
/* A CDC message; length and type are filled in, and the token of the connection if it is 0. */
void film_cdc(struct film *f, unsigned link, unsigned side, struct smcr_cdc cdc);
/* An RDMA WRITE of one packet. */
void film_write(struct film *f, unsigned link, unsigned side, uint32_t rkey, uint64_t va, uint32_t bytes);
/* An ACK from that side of all up to `psn`. */
void film_ack(struct film *f, unsigned link, unsigned side, uint32_t psn);
/* The next request of that side, which shows that the film lacks none of it: a TEST LINK. */
void film_next(struct film *f, unsigned link, unsigned side);
/* The last packet once more: as the network doubles it, or RC sends it again. */
void film_again(struct film *f);

/* First contact with a refused second link: link 1 is there, connection 1. */
void film_first_contact(struct film *f);
/* The same with a second link. */
void film_two_links(struct film *f);

/* Whether the last packet has a remark of that kind with that rule. */
bool film_remarks(const struct film *f, enum explain_finding_kind kind, const char *rule);
/* Findings of severity 2 so far. */
uint64_t film_violations(const struct film *f);

/* The line of the last packet has that part. */
void film_expect_words(struct film *f, const char *part);
/* The client sends `bytes` from stream position `at` on, in its first turn of the buffer, and says so. */
void film_client_sends(struct film *f, unsigned link, uint32_t at, uint32_t bytes, uint16_t seq);

#endif
