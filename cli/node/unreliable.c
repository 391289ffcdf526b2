/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/unreliable.h"

#include <string.h>

/* Where the addresses stand in the area of an IPv4 and an IPv6 datagram: ROCE-UD-4. */
#define V4_SRC_AT 32
#define V4_DST_AT 36
#define V6_SRC_AT 8
#define V6_DST_AT 24

int cli_uc_connect(struct nornic_qp *qp, const struct cli_path *path)
{
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_RTR,
        .path_mtu = nornic_mtu_from_bytes(path->pmtu_bytes),
        .dest_qpn = path->dest_qpn,
        .rq_psn = path->rq_psn,
        .av = cli_path_av(path),
    };
    int err =
        cli_qp_modify(qp, &attr, NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN);
    if (err)
        return err;
    attr.state = NORNIC_QPS_RTS;
    attr.sq_psn = path->sq_psn;
    return cli_qp_modify(qp, &attr, NORNIC_QP_SQ_PSN);
}

int cli_ud_init(struct nornic_qp *qp, uint32_t qkey)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1, .qkey = qkey};
    return cli_qp_modify(qp, &attr, NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_QKEY);
}

int cli_ud_start(struct nornic_qp *qp, uint32_t sq_psn)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_RTR, .sq_psn = sq_psn};
    int err = cli_qp_modify(qp, &attr, 0);
    attr.state = NORNIC_QPS_RTS;
    return !err ? cli_qp_modify(qp, &attr, NORNIC_QP_SQ_PSN) : err;
}

bool cli_ud_area_names(const uint8_t *area, const struct nornic_addr *src, const struct nornic_addr *dst)
{
    if (!nornic_addr_is_v4(src))
        return memcmp(area + V6_SRC_AT, src->b, sizeof src->b) == 0 &&
               memcmp(area + V6_DST_AT, dst->b, sizeof dst->b) == 0;
    return memcmp(area + V4_SRC_AT, src->b + 12, 4) == 0 && memcmp(area + V4_DST_AT, dst->b + 12, 4) == 0;
}
