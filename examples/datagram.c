/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams (UD): no connection, no acknowledgement. One end asks, the other answers to whoever asked,
 * which the completion of the receive tells. Both ends are in this process, joined in memory.
 *
 *     cc datagram.c $(pkg-config --cflags --libs nornic) && ./a.out */
#include <nornic/nornic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS  UINT64_C(1000000000)
#define QKEY       0x11111111 /* both ends agree on it: a datagram with another one is dropped */
#define TEXT_BYTES 64

/* One end, and what it has. A receive gets the L3 header of the datagram in front of its bytes. */
struct end {
    struct nornic_dev *dev;
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_mr *mr;
    struct nornic_qp *qp;
    struct {
        char sent[TEXT_BYTES];
        uint8_t l3[NORNIC_L3_AREA_BYTES];
        char received[TEXT_BYTES];
    } memory;
};
static struct nornic_error why;

static void check(int err, const char *what)
{
    if (err) {
        fprintf(stderr, "%s: %s\n", what, why.text[0] ? why.text : strerror(-err));
        exit(1);
    }
}

/* RESET to RTS: without a peer there is little to say (ROCE section 11.2). */
static void start(struct nornic_qp *qp)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1, .qkey = QKEY};
    check(
        nornic_qp_modify(qp, &attr, NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_QKEY),
        "INIT");
    attr.state = NORNIC_QPS_RTR;
    check(nornic_qp_modify(qp, &attr, NORNIC_QP_STATE), "RTR");
    attr.state = NORNIC_QPS_RTS;
    check(nornic_qp_modify(qp, &attr, NORNIC_QP_STATE | NORNIC_QP_SQ_PSN), "RTS");
}

static void create(struct end *e, struct nornic_dev *dev)
{
    e->dev = dev;
    check(nornic_pd_create(dev, &e->pd), "protection domain");
    check(nornic_mr_reg(e->pd, &e->memory, sizeof e->memory, NORNIC_ACCESS_LOCAL_WRITE, &e->mr), "region");
    struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 16};
    check(nornic_cq_create(dev, &cq, &e->cq), "completion queue");
    struct nornic_qp_config qp = {
        NORNIC_INIT(qp),  .type = NORNIC_QPT_UD,
        .pd = e->pd,      .send_cq = e->cq,
        .recv_cq = e->cq, .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    check(nornic_qp_create(dev, &qp, &e->qp), "queue pair");
    start(e->qp);
    struct nornic_sge piece = {(uintptr_t)e->memory.l3, sizeof e->memory.l3 + TEXT_BYTES,
                               nornic_mr_lkey(e->mr)};
    struct nornic_recv_wr recv = {.sg_list = &piece, .num_sge = 1};
    check(nornic_qp_post_recv(e->qp, &recv, NULL), "post a receive");
}

static void destroy(struct end *e)
{
    check(nornic_qp_destroy(e->qp), "queue pair");
    check(nornic_cq_destroy(e->cq), "completion queue");
    check(nornic_mr_dereg(e->mr), "memory region");
    check(nornic_pd_destroy(e->pd), "protection domain");
    check(nornic_dev_close(e->dev, &why), "device");
}

static struct nornic_wc complete(struct end *e, enum nornic_wc_opcode wanted)
{
    struct nornic_wc wc = {.status = NORNIC_WC_GENERAL_ERR};
    const int n = nornic_cq_wait(e->cq, &wc, 1, 5 * SECOND_NS);
    check(n == 1 && wc.status == NORNIC_WC_SUCCESS && wc.opcode == wanted ? 0 : -5,
          nornic_wc_opcode_name(wanted));
    return wc;
}

/* Sends a text along `av`; the address handle is needed until the send is complete. */
static void send_to(struct end *e, const struct nornic_av *av, uint32_t qpn, const char *text)
{
    struct nornic_ah *ah;
    snprintf(e->memory.sent, TEXT_BYTES, "%s", text);
    check(nornic_ah_create(e->pd, av, &ah), "address handle");
    struct nornic_sge piece = {(uintptr_t)e->memory.sent, TEXT_BYTES, nornic_mr_lkey(e->mr)};
    struct nornic_send_wr wr = {.sg_list = &piece,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY}};
    check(nornic_qp_post_send(e->qp, &wr, NULL), "post");
    complete(e, NORNIC_WC_SEND);
    check(nornic_ah_destroy(e->pd, ah), "address handle");
}

int main(void)
{
    struct end a = {.memory = {.sent = ""}}, b = {.memory = {.sent = ""}};
    struct nornic_dev_config config = {NORNIC_INIT(config)};
    struct nornic_dev *devices[2];
    struct nornic_gid gid;
    check(nornic_dev_open_pair(&config, devices, &why), "devices");
    create(&a, devices[0]);
    create(&b, devices[1]);

    /* a knows b's address and QPN by other means */
    check(nornic_dev_query_gid(b.dev, 0, &gid), "address");
    struct nornic_av to_b = {.dgid = gid.addr, .hop_limit = 64};
    check(nornic_dev_resolve(a.dev, to_b.sgid_index, &to_b.dgid, SECOND_NS, &to_b.dst_mac, &why), "resolve");
    send_to(&a, &to_b, nornic_qp_num(b.qp), "who is there?");

    /* b learns all it needs from what came */
    struct nornic_wc wc = complete(&b, NORNIC_WC_RECV);
    char text[NORNIC_ADDR_STR_SIZE];
    struct nornic_av to_a;
    check(nornic_av_from_wc(b.dev, &wc, b.memory.l3, &to_a), "way back");
    printf("b has from %s, QPN 0x%06x: %s\n", nornic_addr_str(&to_a.dgid, text), wc.src_qpn,
           b.memory.received);
    send_to(&b, &to_a, wc.src_qpn, "a queue pair of nornic");

    wc = complete(&a, NORNIC_WC_RECV);
    printf("a has %u bytes: %s\n", wc.byte_len - NORNIC_L3_AREA_BYTES, a.memory.received);
    const int differs = strcmp(a.memory.received, b.memory.sent);
    destroy(&a);
    destroy(&b);
    return differs != 0;
}
