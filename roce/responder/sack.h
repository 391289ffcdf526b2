/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective acknowledgements, and how two ends come to use them. The format and the reasons are in
 * docs/selective-retransmission.md.
 *
 * There is one packet, opcode 0xf1: of a service that the standard leaves to manufacturers, so that a peer
 * which does not know it has to drop it silently (ROCE-RX-13). Whoever sends one shows by it that he
 * understands them; nothing else is agreed on, and nobody sends one before a packet was lost:
 *
 *  - a responder that sees a gap, and a requester whose ack timer fires, sends one beside what the standard
 *    asks for (the NAK, the repetition). That is an offer. Three stay unanswered, and the peer is left alone;
 *  - who gets one whose sender does not know of it yet answers with one;
 *  - from then on a responder keeps what comes behind a gap, and tells of gaps by these packets instead of
 *    NAKs, again and again while they are there; and a requester that hears nothing asks by one, instead of
 *    waiting for its ack timer.
 *
 * Everything in it is true at its place among the other answers: it goes through the queue of responses, so
 * that behind it no answer to a READ before its PSN is still to come (ROCE-RC-34). Inside roce/ only. */
#ifndef NORNIC_ROCE_SACK_H
#define NORNIC_ROCE_SACK_H

#include "roce/qp/inner.h"

#define ROCE_SACK_BITMAP_BYTES 256 /* at the most: the least path MTU */

/* The QP may have to do with such packets: those of RC, where the device has selective retransmission on. */
bool roce_sack_is_for(const struct roce_qp *qp);

/* The responder sees a gap. True: the peer is told by a selective acknowledgement. False: it may be one that
 * goes back N, and gets a NAK; an offer precedes it if it has not had enough of them. */
bool roce_sack_gap(struct roce_qp *qp);
/* The ack timer has fired: the requester makes an offer with its next packet, if one may be made. */
void roce_sack_offer(struct roce_qp *qp);
/* One came that the peer may have sent: what it says of the peer, and the answer that it asks for. */
void roce_sack_note(struct roce_qp *qp, const struct roce_pkt *pkt);

/* Builds the one that is at the head of the queue of responses. False: it does not continue the run. And
 * whether there is still something to tell by it. */
bool roce_sack_build(struct roce_qp *qp, const struct roce_response *r, struct roce_run *run);
bool roce_sack_is_wanted(const struct roce_qp *qp, const struct roce_response *r);
/* Builds a probe with that stamp. */
bool roce_sack_build_probe(struct roce_qp *qp, uint32_t stamp, struct roce_run *run);

#endif
