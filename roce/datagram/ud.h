/* SPDX-License-Identifier: BSD-2-Clause */
/* Unreliable Datagram, and the General Service Interface, which is a UD QP with rules of its own. Inside
 * roce/ only. */
#ifndef NORNIC_ROCE_UD_H
#define NORNIC_ROCE_UD_H

#include "roce/qp/inner.h"

#define ROCE_GSI_QKEY  0x80010000u /* ROCE-GSI-1 */
#define ROCE_MAD_BYTES 256

/* What the QP asks of a packet's Q_Key, and sends when the work request's is controlled (ROCE-UD-3). */
static inline uint32_t roce_ud_qkey(const struct roce_qp *qp)
{
    return qp->type == NORNIC_QPT_GSI ? ROCE_GSI_QKEY : qp->attr.qkey;
}

/* --- tx.c --- */
bool roce_ud_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns);

/* --- rx.c --- */
enum roce_rx_verdict roce_ud_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns);

#endif
