/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of librdmacm one after the other in one process, each with an echo of messages, until the time
 * is over. It knows nothing of nornic.
 *
 *   soak server ADDR PORT SECONDS
 *   soak client ADDR PORT SECONDS
 *
 * The server's first line is "listening". The last line of both is the number of connections that were whole.
 * Ends with 1 and a sentence if a call fails. */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS  20
#define BYTES   20000
#define WAIT_MS 200

static uint8_t out[BYTES], in[BYTES];

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static int fail(const char *call)
{
    fprintf(stderr, "soak: %s: %s\n", call, strerror(errno));
    return 1;
}

/* The queues of a connection. */
static struct ibv_qp_init_attr queues(void)
{
    return (struct ibv_qp_init_attr){
        .cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}, .sq_sig_all = 1};
}

static int receive(struct rdma_cm_id *id)
{
    struct ibv_wc wc;
    int got = rdma_get_recv_comp(id, &wc);
    return got == 1 && wc.status == IBV_WC_SUCCESS && wc.byte_len == BYTES ? 0 : fail("receive");
}

static int send_message(struct rdma_cm_id *id, struct ibv_mr *mr)
{
    struct ibv_wc wc;
    if (rdma_post_send(id, NULL, out, BYTES, mr, 0) != 0)
        return fail("rdma_post_send");
    int got = rdma_get_send_comp(id, &wc);
    return got == 1 && wc.status == IBV_WC_SUCCESS ? 0 : fail("send");
}

/* Moves the messages of a connection, whose first receive is posted. */
static int echo(struct rdma_cm_id *id, bool is_first, struct ibv_mr *out_mr, struct ibv_mr *in_mr)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (is_first && send_message(id, out_mr) != 0)
            return 1;
        if (receive(id) != 0 || (i + 1 < ROUNDS && rdma_post_recv(id, NULL, in, BYTES, in_mr) != 0))
            return 1;
        if (!is_first && send_message(id, out_mr) != 0)
            return 1;
    }
    return 0;
}

/* Sets up, uses and ends the connection of `id`: `begin` is rdma_connect() or rdma_accept(). */
static int use(struct rdma_cm_id *id, bool is_client)
{
    struct ibv_mr *out_mr = rdma_reg_msgs(id, out, BYTES), *in_mr = rdma_reg_msgs(id, in, BYTES);
    int err = !out_mr || !in_mr ? fail("rdma_reg_msgs") : 0;
    if (!err && rdma_post_recv(id, NULL, in, BYTES, in_mr) != 0)
        err = fail("rdma_post_recv");
    if (!err && (is_client ? rdma_connect(id, NULL) : rdma_accept(id, NULL)) != 0)
        err = fail(is_client ? "rdma_connect" : "rdma_accept");
    if (!err)
        err = echo(id, is_client, out_mr, in_mr);
    rdma_disconnect(id);
    if (out_mr)
        rdma_dereg_mr(out_mr);
    if (in_mr)
        rdma_dereg_mr(in_mr);
    return err;
}

static int connect_once(const char *addr, const char *port)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *to = NULL;
    struct ibv_qp_init_attr attr = queues();
    struct rdma_cm_id *id = NULL;
    if (rdma_getaddrinfo(addr, port, &hints, &to) != 0)
        return fail("rdma_getaddrinfo");
    int err = rdma_create_ep(&id, to, NULL, &attr) != 0 ? fail("rdma_create_ep") : use(id, true);
    if (id)
        rdma_destroy_ep(id);
    rdma_freeaddrinfo(to);
    return err;
}

/* Takes the next connection, if one comes within WAIT_MS. */
static int accept_once(struct rdma_cm_id *listener, unsigned long *whole)
{
    struct pollfd wait = {.fd = listener->channel->fd, .events = POLLIN};
    struct rdma_cm_id *id;
    if (poll(&wait, 1, WAIT_MS) <= 0)
        return 0;
    if (rdma_get_request(listener, &id) != 0)
        return fail("rdma_get_request");
    int err = use(id, false);
    rdma_destroy_ep(id);
    *whole += !err;
    return err;
}

static int serve(const char *addr, const char *port, time_t end_s, unsigned long *whole)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE}, *at = NULL;
    struct ibv_qp_init_attr attr = queues();
    struct rdma_cm_id *listener = NULL;
    if (rdma_getaddrinfo(addr, port, &hints, &at) != 0)
        return fail("rdma_getaddrinfo");
    int err = rdma_create_ep(&listener, at, NULL, &attr) != 0 || rdma_listen(listener, 8) != 0
                  ? fail("rdma_listen")
                  : 0;
    printf("listening\n");
    fflush(stdout);
    while (!err && now_s() < end_s)
        err = accept_once(listener, whole);
    if (listener)
        rdma_destroy_ep(listener);
    rdma_freeaddrinfo(at);
    return err;
}

int main(int argc, char **argv)
{
    unsigned long whole = 0;
    if (argc != 5) {
        fprintf(stderr, "soak server|client ADDR PORT SECONDS\n");
        return 2;
    }
    const time_t end_s = now_s() + atol(argv[4]);
    int err = 0;
    if (strcmp(argv[1], "server") == 0)
        err = serve(argv[2], argv[3], end_s, &whole);
    for (; strcmp(argv[1], "client") == 0 && !err && now_s() < end_s; whole += !err)
        err = connect_once(argv[2], argv[3]);
    if (!err)
        printf("%lu\n", whole);
    return err;
}
