/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams (UD): no connection, no acknowledgement. One end asks, the other answers to whoever asked,
 * which the completion of the receive tells.
 *
 * Both ends in this process, joined in memory:
 *
 *     datagram
 *
 * or each in a process of its own; the server says its QPN, and the client is told it:
 *
 *     datagram server packet:eth0
 *
 *     datagram client packet:eth0 192.0.2.1 QPN
 *
 * or one that asks a group, whose members answer; all of them have the QPN of multicast:
 *
 *     datagram server packet:eth0 239.1.2.3
 *
 *     datagram client packet:eth0 239.1.2.3 0xffffff
 *
 *     cc datagram.c $(pkg-config --cflags --libs nornic) && ./a.out */
#include <errno.h>
#include <nornic/nornic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS  UINT64_C(1000000000)
#define TRIES      5          /* a datagram, or the answer, may get lost */
#define QKEY       0x11111111 /* both ends agree on it: a datagram with another one is dropped */
#define TEXT_BYTES 64

/* One end, and what it has. A receive gets the L3 header of the datagram in front of its bytes. */
struct end {
    struct nornic_dev *dev;
    struct nornic_pd *pd;
    struct nornic_cq *sent, *came; /* completions of sends and of receives */
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

static void post_receive(struct end *e)
{
    struct nornic_sge piece = {(uintptr_t)e->memory.l3, sizeof e->memory.l3 + TEXT_BYTES,
                               nornic_mr_lkey(e->mr)};
    struct nornic_recv_wr recv = {.sg_list = &piece, .num_sge = 1};
    check(nornic_qp_post_recv(e->qp, &recv, NULL), "post a receive");
}

static void create(struct end *e, struct nornic_dev *dev)
{
    e->dev = dev;
    check(nornic_pd_create(dev, &e->pd), "protection domain");
    check(nornic_mr_reg(e->pd, &e->memory, sizeof e->memory, NORNIC_ACCESS_LOCAL_WRITE, &e->mr), "region");
    struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 16};
    check(nornic_cq_create(dev, &cq, &e->sent), "completion queue");
    check(nornic_cq_create(dev, &cq, &e->came), "completion queue");
    struct nornic_qp_config qp = {
        NORNIC_INIT(qp),
        .type = NORNIC_QPT_UD,
        .pd = e->pd,
        .send_cq = e->sent,
        .recv_cq = e->came,
        .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    check(nornic_qp_create(dev, &qp, &e->qp), "queue pair");
    start(e->qp);
    post_receive(e);
}

static void destroy(struct end *e)
{
    check(nornic_qp_destroy(e->qp), "queue pair");
    check(nornic_cq_destroy(e->sent), "completion queue");
    check(nornic_cq_destroy(e->came), "completion queue");
    check(nornic_mr_dereg(e->mr), "memory region");
    check(nornic_pd_destroy(e->pd), "protection domain");
    check(nornic_dev_close(e->dev, &why), "device");
}

/* False: none in that time. */
static int complete(struct nornic_cq *cq, struct nornic_wc *wc, uint64_t timeout_ns)
{
    const int n = nornic_cq_wait(cq, wc, 1, timeout_ns);
    check(n > 0 && wc->status != NORNIC_WC_SUCCESS ? -EIO : 0, "completion");
    return n > 0;
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
    struct nornic_wc wc;
    check(complete(e->sent, &wc, 5 * SECOND_NS) ? 0 : -ETIMEDOUT, "send");
    check(nornic_ah_destroy(e->pd, ah), "address handle");
}

/* Answers the next question: all that this needs came with it. False: none came in that time. */
static int answer(struct end *e, uint64_t timeout_ns)
{
    char text[NORNIC_ADDR_STR_SIZE];
    struct nornic_av back;
    struct nornic_wc wc;
    if (!complete(e->came, &wc, timeout_ns))
        return 0;
    check(nornic_av_from_wc(e->dev, &wc, e->memory.l3, &back), "way back");
    printf("b has from %s, QPN 0x%06x: %s\n", nornic_addr_str(&back.dgid, text), wc.src_qpn,
           e->memory.received);
    post_receive(e);
    send_to(e, &back, wc.src_qpn, "a queue pair of nornic");
    return 1;
}

static int hear(struct end *e, uint64_t timeout_ns)
{
    struct nornic_wc wc;
    if (!complete(e->came, &wc, timeout_ns))
        return 0;
    printf("a has %u bytes: %s\n", wc.byte_len - NORNIC_L3_AREA_BYTES, e->memory.received);
    return 1;
}

/* The way to `addr`, from the first address of ours that is of its kind. */
static void find_way(struct nornic_dev *dev, const struct nornic_addr *addr, struct nornic_av *out)
{
    struct nornic_gid gid = {.vlan_id = 0};
    unsigned i = 0;
    while (i < NORNIC_GID_MAX &&
           (nornic_dev_query_gid(dev, i, &gid) || nornic_addr_is_v4(&gid.addr) != nornic_addr_is_v4(addr) ||
            nornic_addr_is_link_local(&gid.addr) != nornic_addr_is_link_local(addr)))
        i++;
    check(i < NORNIC_GID_MAX ? 0 : -EADDRNOTAVAIL, "no address of that kind");
    *out = (struct nornic_av){.dgid = *addr, .sgid_index = (uint8_t)i, .hop_limit = 64};
    check(nornic_dev_resolve(dev, i, addr, 5 * SECOND_NS, &out->dst_mac, &why), "resolve");
}

static int run_both(void)
{
    struct end a = {.dev = NULL}, b = {.dev = NULL};
    struct nornic_dev_config config = {NORNIC_INIT(config)};
    struct nornic_dev *devices[2];
    struct nornic_gid gid;
    struct nornic_av to_b;
    check(nornic_dev_open_pair(&config, devices, &why), "devices");
    create(&a, devices[0]);
    create(&b, devices[1]);
    check(nornic_dev_query_gid(b.dev, 0, &gid), "address");
    find_way(a.dev, &gid.addr, &to_b);
    send_to(&a, &to_b, nornic_qp_num(b.qp), "who is there?");
    const int is_heard = answer(&b, 5 * SECOND_NS) && hear(&a, 5 * SECOND_NS);
    destroy(&a);
    destroy(&b);
    return !is_heard;
}

/* Once it was asked it stays as long as the asker may try, since its answer may get lost. Datagrams to
 * `group`, unless it is NULL, arrive at the queue pair as well (ROCE section 10.5). */
static int serve(struct end *b, const struct nornic_addr *group)
{
    check(group ? nornic_qp_attach_mcast(b->qp, group) : 0, "join the group");
    printf("listening: QPN 0x%06x\n", nornic_qp_num(b->qp));
    fflush(stdout);
    const int is_asked = answer(b, 30 * SECOND_NS);
    while (is_asked && answer(b, TRIES * SECOND_NS))
        ;
    check(group ? nornic_qp_detach_mcast(b->qp, group) : 0, "leave the group");
    destroy(b);
    return !is_asked;
}

static int ask(struct end *a, const struct nornic_addr *addr, uint32_t qpn)
{
    struct nornic_av to_b;
    int is_heard = 0;
    find_way(a->dev, addr, &to_b);
    for (int i = 0; i < TRIES && !is_heard; i++) {
        send_to(a, &to_b, qpn, "who is there?");
        is_heard = hear(a, SECOND_NS);
    }
    destroy(a);
    return !is_heard;
}

int main(int argc, char **argv)
{
    struct end e = {.dev = NULL};
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = argc > 2 ? argv[2] : NULL};
    struct nornic_dev *dev;
    struct nornic_addr server, group;
    const int is_member = argc == 4 && !strcmp(argv[1], "server") && !nornic_addr_parse(argv[3], &group);
    const int is_server = is_member || (argc == 3 && !strcmp(argv[1], "server"));
    const int is_client = argc == 5 && !strcmp(argv[1], "client") && !nornic_addr_parse(argv[3], &server);
    if (argc == 1)
        return run_both();
    if (!is_server && !is_client) {
        fprintf(stderr,
                "usage: datagram, datagram server PORT [GROUP], or datagram client PORT ADDRESS QPN\n");
        return 1;
    }
    check(nornic_dev_open(&config, &dev, &why), "device");
    create(&e, dev);
    return is_server ? serve(&e, is_member ? &group : NULL)
                     : ask(&e, &server, (uint32_t)strtoul(argv[4], NULL, 0));
}
