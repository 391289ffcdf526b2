/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "test/support/script.h"

static const char *op_name(const struct roce_pkt *pkt)
{
    return pkt->op->name ? pkt->op->name : "undefined opcode";
}

void script_expect_nothing(struct script *s, int line)
{
    const struct roce_pkt *pkt = script_next(s);
    if (pkt)
        cr_assert_fail("line %d: nothing expected, the device sent %s PSN %06x syndrome %02x MSN %u", line,
                       op_name(pkt), pkt->bth.psn, pkt->aeth.syndrome, pkt->aeth.msn);
}

const struct roce_pkt *script_expect_op(struct script *s, enum roce_op op, uint32_t psn, int line)
{
    const struct roce_pkt *pkt = script_next(s);
    const struct roce_opcode *wanted = &roce_opcodes[ROCE_OPCODE(s->service, op)];
    cr_assert_not_null(pkt, "line %d: %s PSN %06x expected, the device sent nothing", line, wanted->name,
                       psn);
    cr_assert(pkt->op == wanted && pkt->bth.psn == psn,
              "line %d: %s PSN %06x expected, the device sent %s PSN %06x syndrome %02x MSN %u", line,
              wanted->name, psn, op_name(pkt), pkt->bth.psn, pkt->aeth.syndrome, pkt->aeth.msn);
    return pkt;
}

const struct roce_pkt *script_expect_ack(struct script *s, uint32_t psn, uint32_t msn, int line)
{
    const struct roce_pkt *pkt = script_expect_op(s, ROCE_OP_ACK, psn, line);
    cr_assert(roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK,
              "line %d: an ACK expected, syndrome is %02x", line, pkt->aeth.syndrome);
    cr_assert_eq(pkt->aeth.msn, msn, "line %d: MSN %u expected, it is %u", line, msn, pkt->aeth.msn);
    return pkt;
}

const struct roce_pkt *script_expect_nak(struct script *s, uint32_t psn, uint8_t syndrome, uint32_t msn,
                                         int line)
{
    const struct roce_pkt *pkt = script_expect_op(s, ROCE_OP_ACK, psn, line);
    cr_assert_eq(pkt->aeth.syndrome, syndrome, "line %d: syndrome %02x expected, it is %02x", line, syndrome,
                 pkt->aeth.syndrome);
    cr_assert_eq(pkt->aeth.msn, msn, "line %d: MSN %u expected, it is %u", line, msn, pkt->aeth.msn);
    return pkt;
}

struct nornic_wc script_expect_wc(struct rdma_cq *cq, uint64_t wr_id, enum nornic_wc_status status, int line)
{
    struct nornic_wc wc = {0};
    int got = rdma_cq_poll(cq, &wc, 1);
    cr_assert_eq(got, 1, "line %d: %s of WR %d expected, poll returned %d", line,
                 nornic_wc_status_name(status), (int)wr_id, got);
    cr_assert(wc.wr_id == wr_id && wc.status == status, "line %d: %s of WR %d expected, got %s of WR %d",
              line, nornic_wc_status_name(status), (int)wr_id, nornic_wc_status_name(wc.status),
              (int)wc.wr_id);
    return wc;
}

void script_expect_no_wc(struct rdma_cq *cq, int line)
{
    struct nornic_wc wc;
    int got = rdma_cq_poll(cq, &wc, 1);
    if (got > 0)
        cr_assert_fail("line %d: no completion expected, got %s of WR %d", line,
                       nornic_wc_status_name(wc.status), (int)wc.wr_id);
    cr_assert_eq(got, 0, "line %d: poll returned %d", line, got);
}

void script_expect_event(struct script *s, enum nornic_event_type type, int line)
{
    cr_assert_lt(s->event_read, s->event_count, "line %d: event %d expected", line, type);
    const struct roce_event *e = &s->events[s->event_read++];
    cr_assert_eq(e->type, type, "line %d: event %d expected, got %d", line, type, e->type);
    bool of_srq = type == NORNIC_EVENT_SRQ_ERR || type == NORNIC_EVENT_SRQ_LIMIT_REACHED;
    bool of_qp = type != NORNIC_EVENT_CQ_ERR && type != NORNIC_EVENT_GID_CHANGE &&
                 type != NORNIC_EVENT_PKEY_CHANGE && type != NORNIC_EVENT_PORT_ACTIVE &&
                 type != NORNIC_EVENT_PORT_ERR && !of_srq;
    cr_assert_eq(e->srq, of_srq ? s->srq : NULL, "line %d: the event names another SRQ", line);
    cr_assert_eq(e->qp, of_qp ? s->qp : NULL, "line %d: the event names another QP", line);
}

void script_expect_no_event(struct script *s, int line)
{
    if (s->event_read < s->event_count)
        cr_assert_fail("line %d: no event expected, got %d", line, s->events[s->event_read].type);
}

void script_expect_state(const struct script *s, enum nornic_qp_state state, int line)
{
    cr_assert_eq(roce_qp_state(s->qp), state, "line %d: state %s expected, it is %s", line,
                 nornic_qp_state_name(state), nornic_qp_state_name(roce_qp_state(s->qp)));
}

void script_expect_verdict(const struct script *s, enum roce_rx_verdict verdict, uint64_t n, int line)
{
    uint64_t found = roce_dev_counters(s->dev)->verdicts[verdict];
    cr_assert_eq(found, n, "line %d: %s is %d, %d expected", line, roce_verdict_counter_name(verdict),
                 (int)found, (int)n);
}
