/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 6.2: what is dropped without an answer, under its own counter, with the QP as it was. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "test/support/script.h"

static struct script *s;
static uint32_t next; /* how many requests were taken */

static void setup(void)
{
    struct script_config config = script_defaults();
    s = script_new(&config);
    for (uint64_t i = 0; i < 64; i++)
        script_recv(s, i, 4096 * i, 4096);
}

static void teardown(void)
{
    script_free(s);
}

TestSuite(responder_drop, .init = setup, .fini = teardown);

static struct script_pkt good(void)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, next), script_data(), 4);
    p.bth.ack_req = 1;
    return p;
}

/* The packet is dropped under `verdict`, and the same PSN is still the expected one. */
static void is_dropped(struct script_pkt p, enum roce_rx_verdict verdict, int line)
{
    uint64_t before = roce_dev_counters(s->dev)->verdicts[verdict];
    script_send(s, &p);
    script_expect_nothing(s, line);
    script_expect_verdict(s, verdict, before + 1, line);
    script_expect_state(s, NORNIC_QPS_RTS, line);
    script_expect_no_event(s, line);
    p = good();
    script_send(s, &p);
    script_expect_ack(s, script_rq(s, next), next + 1, line);
    next++;
}
#define expect_dropped(p, verdict) is_dropped(p, verdict, __LINE__)

Test(responder_drop, ROCE_ICRC_7_bad_icrc)
{
    struct script_pkt p = good();
    p.bad_icrc = true;
    expect_dropped(p, ROCE_RX_DROP_ICRC);
}

/* covers: ROCE-RX-10, ROCE-HDR-1, ROCE-INT-56 */
Test(responder_drop, ROCE_RX_10_tver)
{
    for (uint8_t tver = 1; tver < 16; tver++) {
        struct script_pkt p = good();
        p.bth.tver = tver;
        expect_dropped(p, ROCE_RX_DROP_TVER);
    }
}

Test(responder_drop, ROCE_RX_11_qp0)
{
    struct script_pkt p = good();
    p.bth.dest_qpn = 0;
    expect_dropped(p, ROCE_RX_DROP_QP0);
}

Test(responder_drop, ROCE_RX_12_no_such_qp)
{
    const uint32_t qpns[] = {roce_qp_num(s->qp) + 1, roce_qp_num(s->qp) ^ 0x800000, 2, 0xfffffe, 0xffffff};
    for (unsigned i = 0; i < 5; i++) {
        struct script_pkt p = good();
        p.bth.dest_qpn = qpns[i];
        expect_dropped(p, ROCE_RX_DROP_NO_QP);
    }
}

Test(responder_drop, ROCE_RX_13_service_of_another_qp_type)
{
    static const uint8_t opcodes[] = {0x24, 0x2a, 0x44, 0x64, 0x65, 0xa4, 0xc4, 0xe4};
    for (unsigned i = 0; i < sizeof opcodes; i++) {
        struct script_pkt p = good();
        p.bth.opcode = opcodes[i];
        expect_dropped(p, ROCE_RX_DROP_TYPE);
    }
}

Test(responder_drop, ROCE_RX_13_cnp_is_taken_and_not_answered)
{
    static const uint8_t zero[16];
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, 0, zero, 16);
    p.bth.opcode = ROCE_OPCODE_CNP;
    p.bth.becn = 1;
    p.bth.mig_req = 0;
    script_send(s, &p);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    p = good();
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
}

Test(responder_drop, ROCE_RX_14_requests_before_rtr_and_in_err)
{
    struct script_pkt p = good();
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_STATE, 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_STATE, 2);
    cr_assert_eq(
        script_modify(s, NORNIC_QPS_INIT, NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS), 0);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_STATE, 3);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_INIT);
}

Test(responder_drop, ROCE_RX_14_responses_in_rtr)
{
    teardown();
    struct script_config config = script_defaults();
    config.state = NORNIC_QPS_RTR;
    s = script_new(&config);
    script_ack(s, 0, ROCE_SYNDROME_ACK_UNLIMITED, 1);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_STATE, 1);
    expect_state(s, NORNIC_QPS_RTR);
    expect_no_event(s);
}

Test(responder_drop, ROCE_RX_15_addresses_of_another_pair)
{
    struct script_pkt p = good();
    p.path.src.b[15] ^= 1;
    expect_dropped(p, ROCE_RX_DROP_GID);
    p = good();
    p.path.dst.b[15] = 77;
    expect_dropped(p, ROCE_RX_DROP_GID);
    /* an address that is the device's, and not this QP's */
    struct nornic_addr other = s->from_peer.dst;
    other.b[15] = 78;
    cr_assert_gt(roce_dev_gid_add(s->dev, &(struct nornic_gid){.addr = other, .mac = s->from_peer.dst_mac}),
                 0);
    expect_event(s, NORNIC_EVENT_GID_CHANGE);
    p = good();
    p.path.dst = other;
    expect_dropped(p, ROCE_RX_DROP_GID);
}

Test(responder_drop, ROCE_RX_15_the_other_family)
{
    struct script_pkt p = good();
    p.path.src = (struct nornic_addr){{0x20, 1, 0x0d, 0xb8, [15] = 2}};
    p.path.dst = (struct nornic_addr){{0x20, 1, 0x0d, 0xb8, [15] = 1}};
    expect_dropped(p, ROCE_RX_DROP_GID);
}

/* covers: ROCE-RX-17, ROCE-HDR-5, ROCE-INT-56 */
Test(responder_drop, ROCE_RX_17_pkey)
{
    static const uint16_t pkeys[] = {0x1234, 0x8001, 0x0000, 0x8000, 0xfffe, 0x7ffe, 0x0001};
    for (unsigned i = 0; i < array_len(pkeys); i++) {
        struct script_pkt p = good();
        p.bth.pkey = pkeys[i];
        expect_dropped(p, ROCE_RX_DROP_PKEY);
    }
}

/* A response that fails a check is dropped like a request. */
Test(responder_drop, ROCE_RX_20_responses_too)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 4);
    script_forget(s);
    const struct script_pkt ok = script_ack_pkt(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    struct script_pkt p = ok;
    p.path.src.b[15] ^= 1;
    expect_dropped(p, ROCE_RX_DROP_GID);
    p = ok;
    p.bth.pkey = 0x8001;
    expect_dropped(p, ROCE_RX_DROP_PKEY);
    p = ok;
    p.bad_icrc = true;
    expect_dropped(p, ROCE_RX_DROP_ICRC);
    expect_no_wc(s, send_cq);
}

/* covers: ROCE-RX-20, ROCE-OPC-6, ROCE-GEN-7 */
Test(responder_drop, ROCE_RX_20_damaged_reserved_opcodes_are_not_answered)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 32);
        p.bth.opcode = (uint8_t)opcode;
        p.bad_icrc = true;
        script_send(s, &p);
    }
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_ICRC, 256);
    expect_state(s, NORNIC_QPS_RTS);
}

#define RESERVED(op)                                                                                    \
    Test(responder_drop, ROCE_RX_23_reserved_opcode_##op##_is_a_request)                                \
    {                                                                                                   \
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4); \
        p.bth.opcode = op;                                                                              \
        script_send(s, &p);                                                                             \
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);                                   \
        expect_state(s, NORNIC_QPS_ERR);                                                                \
    }
RESERVED(0x15)
RESERVED(0x18)
RESERVED(0x1b)
RESERVED(0x1c)
RESERVED(0x1d)
RESERVED(0x1f)

/* covers: ROCE-RX-15, ROCE-GEN-2 */
Test(responder_drop, ipv6_is_taken_alike)
{
    teardown();
    struct script_config config = script_defaults();
    config.ipv6 = true;
    s = script_new(&config);
    for (uint64_t i = 0; i < 8; i++)
        script_recv(s, i, 0, 64);
    struct script_pkt p = good();
    p.path.src.b[15] ^= 1;
    expect_dropped(p, ROCE_RX_DROP_GID);
    p = good();
    p.bad_icrc = true;
    expect_dropped(p, ROCE_RX_DROP_ICRC);
}

/* covers: ROCE-FRM-4, ROCE-RX-1 */
Test(responder_drop, ROCE_FRM_4_vlan_tags)
{
    struct script_pkt p = good();
    p.path.vlan_tci = 5;
    expect_dropped(p, ROCE_RX_DROP_L2);
    p = good();
    p.path.vlan_tci = 3 << 13; /* a priority, and no VLAN */
    script_send(s, &p);
    expect_ack(s, script_rq(s, next), next + 1);
    next++;
}
