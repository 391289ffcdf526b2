/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of READs and atomics that came while one before them is missing. The standard has the requester
 * throw them away and ask for all of it again from the gap on (ROCE-RC-44). A peer with selective
 * retransmission (sack.h) is asked for the gap alone, and what came behind it is kept: whole packets, each
 * taken in its turn, as if it had come then. Of two READs into the same memory the later one so wins, and
 * completions come in order.
 *
 * What is missing, the board says (board.h): the PSNs of a READ's answer get their stamps in the order in
 * which they will be sent, so one that has arrived shows that those before it are lost. What an answer or an
 * acknowledgement says besides, that the peer has executed all requests before it, is remembered until the
 * gap is filled. Inside roce/ only. */
#ifndef NORNIC_ROCE_ANSWERS_H
#define NORNIC_ROCE_ANSWERS_H

#include "roce/qp/inner.h"

/* An answer is there, but not the one before it. Keeps it. False: the peer may not be one with selective
 * retransmission, or there is no room; then nothing has changed. */
bool roce_answers_keep(struct roce_qp *qp, const struct roce_pkt *pkt);
/* The peer has executed everything before `end_psn` and sent its answers, of which some are missing. The same
 * result. */
bool roce_answers_note_acked(struct roce_qp *qp, uint32_t end_psn);
/* Asks again for what shows to be lost. */
void roce_answers_ask(struct roce_qp *qp, uint64_t now_ns);

/* --- answers_store.c --- */
/* Puts a copy into the store. False: there is no room. Fine when it is there. */
bool roce_answers_put(struct roce_qp *qp, const struct roce_pkt *pkt);
/* Takes out the answer that is waited for, whose pointers hold until the next one is kept. False: it is not
 * there. */
bool roce_answers_take(struct roce_qp *qp, struct roce_pkt *pkt);
/* All is sent again, or nothing more: forgets what is known to have arrived, the board as well. */
void roce_answers_clear(struct roce_qp *qp);

#endif
