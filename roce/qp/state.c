/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/qp/state.h"

#include <errno.h>

#include "roce/dev/path.h"
#include "roce/wire.h"

/* The attributes under the names of ROCE section 11.2. */
enum {
    CS = NORNIC_QP_CUR_STATE,
    SN = NORNIC_QP_EN_SQD_ASYNC_NOTIFY,
    AF = NORNIC_QP_ACCESS_FLAGS,
    PK = NORNIC_QP_PKEY_INDEX,
    PT = NORNIC_QP_PORT,
    QK = NORNIC_QP_QKEY,
    AV = NORNIC_QP_AV,
    MTU = NORNIC_QP_PATH_MTU,
    TO = NORNIC_QP_TIMEOUT,
    RC = NORNIC_QP_RETRY_CNT,
    RR = NORNIC_QP_RNR_RETRY,
    RP = NORNIC_QP_RQ_PSN,
    RD = NORNIC_QP_MAX_QP_RD_ATOMIC,
    ALT = NORNIC_QP_ALT_PATH,
    MR = NORNIC_QP_MIN_RNR_TIMER,
    SP = NORNIC_QP_SQ_PSN,
    DR = NORNIC_QP_MAX_DEST_RD_ATOMIC,
    PM = NORNIC_QP_PATH_MIG_STATE,
    DQ = NORNIC_QP_DEST_QPN,
};

struct qp_edge {
    bool legal;
    uint32_t required, optional;
};

enum { COLUMN_RC, COLUMN_UC, COLUMN_UD, COLUMN_GSI, COLUMN_XRC_INI, COLUMN_XRC_TGT, COLUMN_COUNT };

#define EDGE(req, opt) \
    {                  \
        true, req, opt \
    }
#define NO_EDGE     \
    {               \
        false, 0, 0 \
    }
/* UD and GSI differ on one edge only, as GSI has no port of its own to choose. */
#define DATAGRAM(opt) EDGE(0, opt), EDGE(0, opt)
#define ALL_SIX(opt)                                                                       \
    {                                                                                      \
        EDGE(0, opt), EDGE(0, opt), EDGE(0, opt), EDGE(0, opt), EDGE(0, opt), EDGE(0, opt) \
    }

/* [from][to]; ROCE-QP-29 and QP-30, which hold for every state, are in edge_of(). */
static const struct qp_edge edges[NORNIC_QPS_COUNT][NORNIC_QPS_COUNT][COLUMN_COUNT] = {
    [NORNIC_QPS_RESET][NORNIC_QPS_INIT] = /* ROCE-QP-20 */
    {EDGE(PK | PT | AF, 0), EDGE(PK | PT | AF, 0), EDGE(PK | PT | QK, 0), EDGE(PK | QK, 0),
     EDGE(PK | PT | AF, 0), EDGE(PK | PT | AF, 0)},
    [NORNIC_QPS_INIT][NORNIC_QPS_INIT] = /* ROCE-QP-21 */
    {EDGE(0, PK | PT | AF), EDGE(0, PK | PT | AF), EDGE(0, PK | PT | QK), EDGE(0, PK | QK),
     EDGE(0, PK | PT | AF), EDGE(0, PK | PT | AF)},
    [NORNIC_QPS_INIT][NORNIC_QPS_RTR] = /* ROCE-QP-22 */
    {EDGE(AV | MTU | DQ | RP | DR | MR, ALT | AF | PK), EDGE(AV | MTU | DQ | RP, ALT | AF | PK),
     DATAGRAM(PK | QK), EDGE(AV | MTU | DQ | RP, ALT | AF | PK),
     EDGE(AV | MTU | DQ | RP | DR | MR, ALT | AF | PK)},
    [NORNIC_QPS_RTR][NORNIC_QPS_RTS] = /* ROCE-QP-23 */
    {EDGE(TO | RC | RR | SP | RD, CS | ALT | AF | MR | PM), EDGE(SP, CS | ALT | AF | PM), EDGE(SP, CS | QK),
     EDGE(SP, CS | QK), EDGE(TO | RC | RR | SP | RD, CS | ALT | AF | PM),
     EDGE(TO | SP, CS | ALT | AF | MR | PM)},
    [NORNIC_QPS_RTS][NORNIC_QPS_RTS] = /* ROCE-QP-24 */
    {EDGE(0, CS | AF | ALT | PM | MR), EDGE(0, CS | AF | ALT | PM), DATAGRAM(CS | QK),
     EDGE(0, CS | AF | ALT | PM), EDGE(0, CS | AF | ALT | PM | MR)},
    [NORNIC_QPS_RTS][NORNIC_QPS_SQD] = ALL_SIX(SN), /* ROCE-QP-25 */
    [NORNIC_QPS_SQD][NORNIC_QPS_RTS] =              /* ROCE-QP-26 */
    {EDGE(0, CS | ALT | AF | MR | PM), EDGE(0, CS | ALT | AF | PM), DATAGRAM(CS | QK),
     EDGE(0, CS | ALT | AF | PM), EDGE(0, CS | ALT | AF | MR | PM)},
    [NORNIC_QPS_SQD][NORNIC_QPS_SQD] = /* ROCE-QP-27 */
    {EDGE(0, PT | AV | TO | RC | RR | RD | DR | ALT | AF | PK | MR | PM), EDGE(0, AV | ALT | AF | PK | PM),
     DATAGRAM(PK | QK), EDGE(0, PT | AV | TO | RC | RR | RD | ALT | AF | PK | PM),
     EDGE(0, PT | AV | TO | DR | ALT | AF | PK | MR | PM)},
    [NORNIC_QPS_SQE][NORNIC_QPS_RTS] = /* ROCE-QP-28 */
    {NO_EDGE, EDGE(0, CS | AF), DATAGRAM(CS | QK), NO_EDGE, NO_EDGE},
};

static int column_of(enum nornic_qp_type type)
{
    switch (type) {
    case NORNIC_QPT_RC:
        return COLUMN_RC;
    case NORNIC_QPT_UC:
        return COLUMN_UC;
    case NORNIC_QPT_UD:
        return COLUMN_UD;
    case NORNIC_QPT_GSI:
        return COLUMN_GSI;
    case NORNIC_QPT_XRC_INI:
        return COLUMN_XRC_INI;
    case NORNIC_QPT_XRC_TGT:
        return COLUMN_XRC_TGT;
    }
    return -1;
}

static struct qp_edge edge_of(enum nornic_qp_type type, enum nornic_qp_state from, enum nornic_qp_state to)
{
    int column = column_of(type);
    if (column < 0 || (unsigned)from >= NORNIC_QPS_COUNT || (unsigned)to >= NORNIC_QPS_COUNT)
        return (struct qp_edge)NO_EDGE;
    bool to_reset = to == NORNIC_QPS_RESET;                         /* ROCE-QP-30 */
    bool to_err = to == NORNIC_QPS_ERR && from != NORNIC_QPS_RESET; /* ROCE-QP-29 */
    return to_reset || to_err ? (struct qp_edge)EDGE(0, 0) : edges[from][to][column];
}

/* ROCE-QP-32 for what names the peer and the path; SL: ROCE-VB-5. */
static bool path_values_are_valid(const struct nornic_qp_attr *attr, uint32_t mask)
{
    if ((mask & NORNIC_QP_PORT) && attr->port != 1)
        return false;
    if (((mask & NORNIC_QP_AV) && attr->av.sl > 7) || ((mask & NORNIC_QP_ALT_PATH) && attr->alt_av.sl > 7))
        return false;
    if ((mask & NORNIC_QP_PATH_MTU) && nornic_mtu_bytes(attr->path_mtu) == 0)
        return false;
    if ((mask & NORNIC_QP_DEST_QPN) && (attr->dest_qpn <= 1 || attr->dest_qpn >= ROCE_MULTICAST_QPN))
        return false;
    /* ROCE-QP-33 */
    return !((mask & NORNIC_QP_PATH_MIG_STATE) && attr->path_mig_state > ROCE_PATH_REARM);
}

/* ROCE-QP-32 for limits and rights. PSNs are not judged: the QP takes their low 24 bits. */
static bool limit_values_are_valid(const struct nornic_qp_attr *attr, uint32_t mask)
{
    const uint32_t rights =
        NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC;
    if ((mask & NORNIC_QP_ACCESS_FLAGS) && (attr->access_flags & ~rights))
        return false;
    if ((mask & NORNIC_QP_TIMEOUT) && attr->timeout > 31)
        return false;
    if ((mask & NORNIC_QP_RETRY_CNT) && attr->retry_cnt > 7)
        return false;
    if ((mask & NORNIC_QP_RNR_RETRY) && attr->rnr_retry > 7)
        return false;
    if ((mask & NORNIC_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
        return false;
    if ((mask & NORNIC_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > NORNIC_MAX_RD_ATOMIC)
        return false;
    return !((mask & NORNIC_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > NORNIC_MAX_RD_ATOMIC);
}

int roce_qp_check_modify(enum nornic_qp_type type, enum nornic_qp_state cur,
                         const struct nornic_qp_attr *attr, uint32_t mask, enum nornic_qp_state *next)
{
    enum nornic_qp_state to = mask & NORNIC_QP_STATE ? attr->state : cur;
    struct qp_edge edge = edge_of(type, cur, to);
    uint32_t given = mask & ~(uint32_t)NORNIC_QP_STATE;
    if (!edge.legal || (given & edge.required) != edge.required || (given & ~(edge.required | edge.optional)))
        return -EINVAL;
    /* ROCE-QP-31: the edges that take it begin in RTR, RTS, SQD or SQE. A caller that is wrong about the
     * state must not have its change. */
    if ((mask & NORNIC_QP_CUR_STATE) && attr->cur_state != cur)
        return -EINVAL;
    if (!path_values_are_valid(attr, mask) || !limit_values_are_valid(attr, mask))
        return -EINVAL;
    *next = to;
    return 0;
}

const char *nornic_qp_state_name(enum nornic_qp_state state)
{
    static const char *const names[NORNIC_QPS_COUNT] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return (unsigned)state < NORNIC_QPS_COUNT ? names[state] : "unknown state";
}
