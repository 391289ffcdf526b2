/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose packets a QP takes, said to whoever steers them: after each change of its state, its path, or what
 * alternate path it has. Packets are judged by roce/dev/rx.c all the same. */
#include "roce/dev/inner.h"
#include "roce/qp/transport.h"

static void tell(struct roce_qp *qp, enum roce_reach reach, const struct nornic_addr *peer)
{
    const struct roce_dev_config *config = &qp->dev->config;
    if (!config->reach || (qp->reach == reach && nornic_addr_equal(&qp->reach_peer, peer)))
        return;
    qp->reach = reach;
    qp->reach_peer = *peer;
    config->reach(config->ctx, qp->base.qpn, reach, peer);
}

/* Of a connected service that has one path only. On an alternate one the peer may have another address, and
 * from there it may come at any time once both ends are armed. */
static bool has_one_peer(const struct roce_qp *qp)
{
    return qp->transport->is_connected && !qp->has_alt;
}

void roce_qp_tell_reach(struct roce_qp *qp)
{
    static const struct nornic_addr nobody = {{0}};
    switch (roce_qp_state_now(qp)) {
    case NORNIC_QPS_RTR:
    case NORNIC_QPS_RTS:
    case NORNIC_QPS_SQD:
    case NORNIC_QPS_SQE:
        if (has_one_peer(qp))
            tell(qp, ROCE_REACH_PEER, &qp->attr.av.dgid);
        else
            tell(qp, ROCE_REACH_ANYBODY, &nobody);
        break;
    case NORNIC_QPS_RESET:
    case NORNIC_QPS_INIT:
    case NORNIC_QPS_ERR:
    case NORNIC_QPS_COUNT:
        tell(qp, ROCE_REACH_NOBODY, &nobody);
        break;
    }
}

void roce_qp_end_reach(struct roce_qp *qp)
{
    static const struct nornic_addr nobody = {{0}};
    tell(qp, ROCE_REACH_NOBODY, &nobody);
}
