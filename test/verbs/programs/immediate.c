/* SPDX-License-Identifier: BSD-2-Clause */
/* immediate ADDR PORT: takes one connection by rdma_listen() with three receives posted. Prints a line a
 * completion: status, opcode, wc_flags, byte_len, imm_data and vendor_err as octets. Answers each with a
 * Write of nothing with immediate data. Ends when the connection does. test/e2e/iwarp_imm.sh is the peer. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECEIVES 3

static void need(int is_good, const char *what)
{
    if (is_good)
        return;
    perror(what);
    exit(1);
}

static struct rdma_cm_id *take(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;
    struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
    need(poll(&fd, 1, 20000) == 1, "poll");
    need(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
    struct rdma_cm_id *id = event->id;
    need(event->event == type, rdma_event_str(event->event));
    rdma_ack_cm_event(event);
    return id;
}

static struct rdma_cm_id *listen_at(struct rdma_event_channel *channel, const char *addr, const char *port)
{
    struct rdma_cm_id *listener;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    inet_pton(AF_INET, addr, &at.sin_addr);
    need(!rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
    need(!rdma_bind_addr(listener, (struct sockaddr *)&at), "rdma_bind_addr");
    need(!rdma_listen(listener, 1), "rdma_listen");
    return listener;
}

static void make_qp(struct rdma_cm_id *id)
{
    static char memory[RECEIVES][64];
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
    need(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
    struct ibv_mr *mr = ibv_reg_mr(id->pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    need(mr != NULL, "ibv_reg_mr");
    for (int i = 0; i < RECEIVES; i++) {
        struct ibv_sge sge = {(uintptr_t)memory[i], sizeof memory[i], mr->lkey};
        struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;
        need(!ibv_post_recv(id->qp, &wr, &bad), "ibv_post_recv");
    }
}

static void report(struct rdma_cm_id *id)
{
    struct ibv_wc wc;
    for (int i = 0; i < RECEIVES; i++) {
        while (ibv_poll_cq(id->recv_cq, 1, &wc) == 0)
            ;
        printf("%s %d %x %u %08x %08x\n", ibv_wc_status_str(wc.status), wc.opcode, wc.wc_flags, wc.byte_len,
               ntohl(wc.imm_data), ntohl(wc.vendor_err));
        struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(0xfeed0000 + i)},
                           *bad;
        if (wc.status == IBV_WC_SUCCESS)
            need(!ibv_post_send(id->qp, &wr, &bad), "ibv_post_send");
    }
    for (int i = 0; i < RECEIVES; i++)
        while (ibv_poll_cq(id->send_cq, 1, &wc) == 0)
            ;
}

int main(int argc, char **argv)
{
    need(argc == 3, "arguments");
    struct rdma_event_channel *channel = rdma_create_event_channel();
    need(channel != NULL, "rdma_create_event_channel");
    alarm(30);
    listen_at(channel, argv[1], argv[2]);
    puts("listening");
    fflush(stdout);
    struct rdma_cm_id *id = take(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    make_qp(id);
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
    need(!rdma_accept(id, &param), "rdma_accept");
    take(channel, RDMA_CM_EVENT_ESTABLISHED);
    report(id);
    rdma_disconnect(id);
    return 0;
}
