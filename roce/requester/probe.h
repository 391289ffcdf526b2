/* SPDX-License-Identifier: BSD-2-Clause */
/* When a requester asks a silent peer what it has. What is lost at the end of a message shows no gap, and the
 * ack timer is made for the worst path: it waits 4.096 us * 2^timeout. A peer with selective retransmission
 * is asked after about two round trips instead, as measured; its answer tells what to send again. The ack
 * timer runs beside it as ever, and is what ends a dead connection. A peer that goes back N is never asked.
 * Inside roce/ only. */
#ifndef NORNIC_ROCE_PROBE_H
#define NORNIC_ROCE_PROBE_H

#include "roce/qp/inner.h"

/* All zero but the timer's function. */
void roce_probe_reset(struct roce_qp *qp);
void roce_probe_stop(struct roce_qp *qp);

/* The peer has answered, or acknowledged something: the wait begins anew, if anything is unacknowledged. */
void roce_probe_restart(struct roce_qp *qp, uint64_t now_ns);
/* A request packet was sent, for the first time or again. Starts the wait if it does not run. */
void roce_probe_sent(struct roce_qp *qp, uint32_t psn, bool again, uint64_t now_ns);
/* Sends the probe that is due. False: it does not continue the run. */
bool roce_probe_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns);

/* Everything before `una_psn` is acknowledged; a probe's answer brings that stamp. They end the round trip
 * that is measured. */
void roce_probe_acked(struct roce_qp *qp, uint32_t una_psn, uint64_t now_ns);
void roce_probe_answered(struct roce_qp *qp, uint32_t stamp, uint64_t now_ns);

#endif
