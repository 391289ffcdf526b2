/* SPDX-License-Identifier: BSD-2-Clause */
/* pcaps/uc.pcap: what an unmodified Linux sends over UC completes here, message by message; and what nornic
 * sends of the same messages is the same, bit for bit, from the BTH to the padding. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/pcap_file.h"
#include "roce/roce.h"
#include "test/support/random.h"

#define MAX_FRAMES 64u
#define ROOM       4096u
#define QPN        0x11u /* of both sides */

static struct test_random rnd = {.state = 3};
static struct roce_dev *dev;
static struct rdma_pd *pd;
static struct rdma_cq *cq;
static struct rdma_mr *mr;
static struct roce_qp *qp;
static uint8_t memory[2 * ROOM];

static uint8_t frames[MAX_FRAMES][2048];
static struct roce_pkt pkts[MAX_FRAMES];
static unsigned count;

/* The packets that `from` sent. */
static void load(const char *from)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct nornic_addr source;
    cr_assert_eq(nornic_addr_parse(from, &source), 0);
    cr_assert_eq(net_capture_open("pcaps/uc.pcap", &capture, &why), 0, "%s", why.text);
    while (net_capture_next(capture, &record, &why) > 0) {
        cr_assert(count < MAX_FRAMES && record.len_bytes <= sizeof frames[0]);
        memcpy(frames[count], record.data, record.len_bytes);
        cr_assert_eq(roce_pkt_parse(&pkts[count], frames[count], record.len_bytes, 0), ROCE_RX_TAKEN);
        count += nornic_addr_equal(&pkts[count].src, &source);
    }
    net_capture_close(capture);
    cr_assert_gt(count, 10);
}

/* The side `own` of the captured pair, in RTS. */
static void connect_as(const struct nornic_addr *own, const struct nornic_addr *peer)
{
    struct roce_dev_config config = {.random = test_random_source(&rnd), .port_mtu_bytes = 1500};
    const struct nornic_mac mac = {{2, 0, 0, 0, 0, 1}};
    struct roce_qp_config qp_config = {.type = NORNIC_QPT_UC, .caps = {64, 64, 1, 1, 0}};
    struct nornic_qp_attr attr = {.port = 1, .access_flags = NORNIC_ACCESS_REMOTE_WRITE};
    cr_assert_eq(roce_dev_create(&config, &dev), 0);
    cr_assert_eq(roce_dev_gid_add(dev, &(struct nornic_gid){.addr = *own, .mac = mac}), 0);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(dev), &pd), 0);
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 128}, &cq), 0);
    cr_assert_eq(rdma_mr_reg(pd, memory, sizeof memory, NORNIC_ACCESS_LOCAL_WRITE, &mr), 0);
    qp_config.pd = pd;
    qp_config.send_cq = qp_config.recv_cq = cq;
    cr_assert_eq(roce_qp_create(dev, &qp_config, &qp), 0);
    cr_assert_eq(roce_qp_num(qp), QPN);
    attr.av = (struct nornic_av){.dgid = *peer, .hop_limit = 64, .dst_mac = mac};
    attr.path_mtu = NORNIC_MTU_1024;
    attr.dest_qpn = QPN;
    attr.sq_psn = attr.rq_psn = pkts[0].bth.psn;
    attr.state = NORNIC_QPS_INIT;
    cr_assert_eq(
        roce_qp_modify(qp, &attr,
                       NORNIC_QP_STATE | NORNIC_QP_PORT | NORNIC_QP_PKEY_INDEX | NORNIC_QP_ACCESS_FLAGS, 0),
        0);
    attr.state = NORNIC_QPS_RTR;
    cr_assert_eq(roce_qp_modify(qp, &attr,
                                NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN |
                                    NORNIC_QP_RQ_PSN,
                                0),
                 0);
    attr.state = NORNIC_QPS_RTS;
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE | NORNIC_QP_SQ_PSN, 0), 0);
}

static void end(void)
{
    cr_assert_eq(roce_qp_destroy(qp), 0);
    cr_assert_eq(rdma_mr_dereg(mr), 0);
    cr_assert_eq(rdma_cq_destroy(cq), 0);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(roce_dev_destroy(dev), 0);
}

/* The last packet of the message that begins with packet i. */
static unsigned last_of(unsigned i)
{
    while (!(pkts[i].op->flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY)))
        i++;
    return i;
}

/* SENDs arrive whole; the WRITEs are for memory that is not here, and are dropped without a trace. */
static void replay(const char *from)
{
    load(from);
    connect_as(&pkts[0].dst, &pkts[0].src);
    uint64_t refused = 0, abandoned = 0;
    for (unsigned i = 0; i < count; i = last_of(i) + 1) {
        struct nornic_sge sge = {(uintptr_t)memory, ROOM, mr->lkey};
        struct nornic_recv_wr recv = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        struct nornic_wc wc;
        uint8_t sent[ROOM];
        uint32_t len = 0;
        cr_assert_eq(roce_post_recv(qp, &recv, NULL), 0);
        for (unsigned k = i; k <= last_of(i); k++) {
            struct net_frame frame = {.data = frames[k], .len_bytes = pkts[k].frame_bytes};
            roce_dev_rx(dev, &frame, 1, 0);
            memcpy(sent + len, pkts[k].payload, pkts[k].payload_bytes);
            len += pkts[k].payload_bytes;
        }
        if (pkts[i].op->flags & ROCE_PKT_WRITE) {
            refused++;
            abandoned += last_of(i) - i;
            cr_assert_eq(rdma_cq_poll(cq, &wc, 1), 0);
            continue;
        }
        cr_assert_eq(rdma_cq_poll(cq, &wc, 1), 1, "packet %u", i);
        cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.byte_len, len);
        cr_assert_eq(memcmp(memory, sent, len), 0);
        const struct roce_pkt *last = &pkts[last_of(i)];
        cr_assert_eq(!!(wc.wc_flags & NORNIC_WC_WITH_IMM), !!(last->op->flags & ROCE_PKT_IMMDT));
        cr_assert_eq(memcmp(&wc.imm_data, last->immdt.imm_data, 4), 0);
    }
    const struct roce_dev_counters *c = roce_dev_counters(dev);
    cr_assert_eq(c->verdicts[ROCE_RX_DROP_KEY], refused);
    cr_assert_eq(c->verdicts[ROCE_RX_DROP_ORDER], abandoned);
    cr_assert_eq(c->verdicts[ROCE_RX_TAKEN] + refused + abandoned, count);
    cr_assert_eq(c->qps.out_of_sequence, 0);
    end();
}

/* covers: ROCE-UC-1, ROCE-UC-2, ROCE-RS-41 */
Test(uc_golden, ROCE_UC_2_what_linux_sends_completes)
{
    replay("10.77.0.1");
}

/* The other direction wraps its PSNs. */
Test(uc_golden, ROCE_UC_2_what_linux_sends_completes_across_the_wrap)
{
    replay("10.77.0.2");
}

static struct nornic_send_wr request_of(unsigned first, struct nornic_sge *sge)
{
    const struct roce_pkt *p = &pkts[first], *last = &pkts[last_of(first)];
    bool imm = last->op->flags & ROCE_PKT_IMMDT, write = p->op->flags & ROCE_PKT_WRITE;
    uint32_t len = 0;
    for (unsigned k = first; k <= last_of(first); k++) {
        memcpy(memory + len, pkts[k].payload, pkts[k].payload_bytes);
        len += pkts[k].payload_bytes;
    }
    *sge = (struct nornic_sge){(uintptr_t)memory, len, mr->lkey};
    struct nornic_send_wr wr = {.sg_list = sge,
                                .num_sge = len != 0,
                                .opcode = write ? imm ? NORNIC_WR_RDMA_WRITE_WITH_IMM : NORNIC_WR_RDMA_WRITE
                                          : imm ? NORNIC_WR_SEND_WITH_IMM
                                                : NORNIC_WR_SEND,
                                .send_flags =
                                    NORNIC_SEND_SIGNALED | (last->bth.se ? NORNIC_SEND_SOLICITED : 0),
                                .remote_addr = p->reth.va,
                                .rkey = p->reth.rkey};
    memcpy(&wr.imm_data, last->immdt.imm_data, 4);
    return wr;
}

/* From the BTH to the padding; rxe sends M = 0 (ROCE-INT-6). */
static void expect_same(const uint8_t *frame, uint32_t len_bytes, unsigned k)
{
    struct roce_pkt own;
    cr_assert_eq(roce_pkt_parse(&own, frame, len_bytes, 0), ROCE_RX_TAKEN);
    uint32_t head = ROCE_BTH_BYTES + pkts[k].op->ext_bytes;
    uint32_t bytes = head + pkts[k].payload_bytes + pkts[k].bth.pad_count;
    uint8_t built[ROOM], captured[ROOM];
    cr_assert_eq(own.payload_bytes, pkts[k].payload_bytes, "packet %u", k);
    memcpy(built, own.payload - head, bytes);
    memcpy(captured, pkts[k].payload - head, bytes);
    built[1] &= 0xbf;
    captured[1] &= 0xbf;
    cr_assert_arr_eq(built, captured, bytes, "packet %u", k);
}

/* covers: ROCE-UC-1, ROCE-OPC-3, ROCE-HDR-3 */
Test(uc_golden, ROCE_UC_1_the_same_messages_make_the_same_packets)
{
    load("10.77.0.1");
    connect_as(&pkts[0].src, &pkts[0].dst);
    for (unsigned i = 0; i < count; i = last_of(i) + 1) {
        struct nornic_sge sge;
        struct nornic_send_wr wr = request_of(i, &sge);
        static uint8_t bytes[8][2048];
        struct net_frame bufs[8];
        struct nornic_wc wc;
        for (unsigned k = 0; k < 8; k++)
            bufs[k] = (struct net_frame){.data = bytes[k], .cap_bytes = sizeof bytes[k]};
        cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
        cr_assert_eq(roce_dev_tx(dev, bufs, 8, 0), last_of(i) - i + 1);
        for (unsigned k = i; k <= last_of(i); k++)
            expect_same(bufs[k - i].data, bufs[k - i].len_bytes, k);
        cr_assert_eq(rdma_cq_poll(cq, &wc, 1), 1);
        cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
    }
    end();
}
