/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/rc.h"

#include <string.h>
#include <sys/random.h>

#include "cli/cli.h"

#define ACK_TIMEOUT   14
#define RETRIES       7
#define MIN_RNR_TIMER 12
#define HOP_LIMIT     64

uint32_t cli_rc_random_psn(void)
{
    uint32_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value)
        value = (uint32_t)host_now_ns();
    return value & 0xffffff;
}

int cli_qp_modify(struct nornic_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask)
{
    int err = nornic_qp_modify(qp, attr, mask | NORNIC_QP_STATE);
    return !err ? CLI_OK
                : cli_fail("cannot move queue pair 0x%06x to %s: %s", nornic_qp_num(qp),
                           nornic_qp_state_name(attr->state), strerror(-err));
}

int cli_rc_init(struct nornic_qp *qp, uint32_t access)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1, .access_flags = access};
    return cli_qp_modify(qp, &attr, NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS);
}

struct nornic_av cli_path_av(const struct cli_path *path)
{
    return (struct nornic_av){.dgid = path->dgid,
                              .sgid_index = (uint8_t)path->sgid_index,
                              .sl = path->sl,
                              .hop_limit = HOP_LIMIT,
                              .dst_mac = path->dst_mac};
}

int cli_rc_connect(struct nornic_qp *qp, const struct cli_path *path)
{
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_RTR,
        .path_mtu = nornic_mtu_from_bytes(path->pmtu_bytes),
        .dest_qpn = path->dest_qpn,
        .rq_psn = path->rq_psn,
        .max_dest_rd_atomic = path->rd_atomic,
        .min_rnr_timer = MIN_RNR_TIMER,
        .av = cli_path_av(path),
    };
    int err = cli_qp_modify(qp, &attr,
                            NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN |
                                NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER);
    if (err != CLI_OK)
        return err;
    attr.state = NORNIC_QPS_RTS;
    attr.timeout = ACK_TIMEOUT;
    attr.retry_cnt = RETRIES;
    attr.rnr_retry = RETRIES;
    attr.sq_psn = path->sq_psn;
    attr.max_rd_atomic = path->rd_atomic;
    return cli_qp_modify(qp, &attr,
                         NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_SQ_PSN |
                             NORNIC_QP_MAX_QP_RD_ATOMIC);
}

const char *cli_rc_status_words(enum nornic_wc_status status)
{
    if (status == NORNIC_WC_RETRY_EXC_ERR)
        return "the peer no longer answers";
    if (status == NORNIC_WC_LOC_LEN_ERR || status == NORNIC_WC_REM_INV_REQ_ERR)
        return "the two sides disagree: do both use the same size and path MTU?";
    if (status == NORNIC_WC_REM_OP_ERR)
        return "the peer failed";
    return "the connection broke";
}
