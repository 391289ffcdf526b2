/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of libibverbs that makes many objects and prints their numbers in hexadecimal, one a line, in the
 * order of their birth: "KIND DEVICE NUMBER". It knows nothing of nornic.
 *
 *     numbers objects COUNT            of two devices in turn: qpn, rkey, mw (type 1), mw2,
 *                                      and again (rkeys of a region that is made and freed each time)
 *     numbers serve ADDRESS COUNT      accepts so many connections
 *     numbers connect ADDRESS COUNT    makes them, one after the other
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 20000
#define PORT    7900
#define DEVICES 2

static uint8_t memory[4096];

static void die(const char *call)
{
    perror(call);
    exit(2);
}

/* --- objects --- */

struct device {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
};

static struct device open_device(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct device d = {.context = list && list[0] ? ibv_open_device(list[0]) : NULL};
    if (!d.context)
        die("device");
    ibv_free_device_list(list);
    d.pd = ibv_alloc_pd(d.context);
    d.cq = ibv_create_cq(d.context, 16, NULL, NULL, 0);
    if (!d.pd || !d.cq)
        die("device");
    return d;
}

static struct ibv_qp *make_qp(const struct device *d)
{
    struct ibv_qp_init_attr attr = {.send_cq = d->cq,
                                    .recv_cq = d->cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(d->pd, &attr);
    if (!qp)
        die("queue pair");
    return qp;
}

static struct ibv_mr *make_mr(const struct device *d)
{
    struct ibv_mr *mr = ibv_reg_mr(d->pd, memory, sizeof memory, IBV_ACCESS_REMOTE_READ);
    if (!mr)
        die("region");
    return mr;
}

static uint32_t key_of_window(const struct device *d, enum ibv_mw_type type)
{
    struct ibv_mw *mw = ibv_alloc_mw(d->pd, type);
    if (!mw)
        die("window");
    return mw->rkey;
}

static int print_objects(unsigned count)
{
    struct device device[DEVICES];
    struct ibv_mr *again[DEVICES];
    for (unsigned i = 0; i < DEVICES; i++) {
        device[i] = open_device();
        again[i] = make_mr(&device[i]);
    }
    for (unsigned n = 0; n < count; n++)
        for (unsigned i = 0; i < DEVICES; i++) {
            struct ibv_qp *qp = make_qp(&device[i]);
            printf("qpn %u %x\n", i, qp->qp_num);
            if (n % 2)
                ibv_destroy_qp(qp);
            printf("rkey %u %x\n", i, make_mr(&device[i])->rkey);
            printf("mw %u %x\n", i, key_of_window(&device[i], IBV_MW_TYPE_1));
            printf("mw2 %u %x\n", i, key_of_window(&device[i], IBV_MW_TYPE_2));
            ibv_dereg_mr(again[i]);
            again[i] = make_mr(&device[i]);
            printf("again %u %x\n", i, again[i]->rkey);
        }
    return 0;
}

/* --- connections --- */

static struct rdma_cm_id *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type wanted)
{
    struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    for (;;) {
        if (poll(&ready, 1, WAIT_MS) != 1 || rdma_get_cm_event(channel, &event))
            die("no event");
        struct rdma_cm_id *id = event->id;
        enum rdma_cm_event_type type = event->event;
        rdma_ack_cm_event(event);
        if (type == wanted)
            return id;
        if (type == RDMA_CM_EVENT_DISCONNECTED)
            rdma_disconnect(id);
        else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT && type != RDMA_CM_EVENT_ESTABLISHED) {
            fprintf(stderr, "%s instead of %s\n", rdma_event_str(type), rdma_event_str(wanted));
            exit(2);
        }
    }
}

static void make_cm_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    if (rdma_create_qp(id, NULL, &attr))
        die("queue pair");
}

static int run_connections(struct sockaddr_in addr, unsigned count, int is_server)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_conn_param param = {.retry_count = 7};
    struct rdma_cm_id *listener = NULL;
    if (!channel ||
        (is_server && (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
                       rdma_bind_addr(listener, (struct sockaddr *)&addr) || rdma_listen(listener, 64))))
        die("listen");
    if (is_server)
        printf("listening\n"), fflush(stdout);
    for (unsigned n = 0; n < count && is_server; n++) {
        struct rdma_cm_id *id = next_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        make_cm_qp(id);
        if (rdma_accept(id, &param))
            die("accept");
    }
    for (unsigned n = 0; n < count && !is_server; n++) {
        struct rdma_cm_id *id;
        if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
            rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, WAIT_MS))
            die("address");
        next_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
        if (rdma_resolve_route(id, WAIT_MS))
            die("route");
        next_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
        make_cm_qp(id);
        if (rdma_connect(id, &param))
            die("connect");
        next_event(channel, RDMA_CM_EVENT_ESTABLISHED);
    }
    if (!is_server)
        printf("%u connections\n", count);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "objects") == 0)
        return print_objects((unsigned)atoi(argv[2]));
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (argc != 4 || inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
        return 2;
    return run_connections(addr, (unsigned)atoi(argv[3]), strcmp(argv[1], "serve") == 0);
}
