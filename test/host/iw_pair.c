/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/host/iw_pair.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

void iw_open(struct iw_end *e, const char *port, const struct nornic_iwarp_config *iwarp)
{
    struct nornic_error why;
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = port};
    if (iwarp)
        config.iwarp = *iwarp;
    *e = (struct iw_end){.memory = calloc(1, IW_BYTES)};
    cr_assert_eq(nornic_dev_open(&config, &e->dev, &why), 0, "%s", why.text);
    cr_assert_eq(nornic_cm_open(e->dev, NULL, &e->cm, &why), 0, "%s", why.text);
    cr_assert_eq(nornic_pd_create(e->dev, &e->pd), 0);
    cr_assert_eq(nornic_mr_reg(e->pd, e->memory, IW_BYTES, IW_RIGHTS, &e->mr), 0);
    struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 256};
    cr_assert_eq(nornic_cq_create(e->dev, &cq, &e->cq), 0);
}

void iw_make_qp(struct iw_end *e)
{
    struct nornic_qp_config qp = {
        NORNIC_INIT(qp),
        .type = NORNIC_QPT_RC,
        .pd = e->pd,
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .caps = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 2, .max_recv_sge = 2},
        .ctx = e};
    cr_assert_eq(nornic_qp_create(e->dev, &qp, &e->qp), 0);
}

void iw_close(struct iw_end *e)
{
    struct nornic_error why;
    if (e->id)
        nornic_cm_id_destroy(e->id);
    if (e->qp)
        cr_assert_eq(nornic_qp_destroy(e->qp), 0);
    cr_assert_eq(nornic_cq_destroy(e->cq), 0);
    cr_assert_eq(nornic_mr_dereg(e->mr), 0);
    cr_assert_eq(nornic_pd_destroy(e->pd), 0);
    cr_assert_eq(nornic_cm_close(e->cm), 0);
    cr_assert_eq(nornic_dev_close(e->dev, &why), 0, "%s", why.text);
    free(e->memory);
}

void iw_open_both(struct iw_end ends[2], const struct nornic_iwarp_config *first,
                  const struct nornic_iwarp_config *second)
{
    iw_open(&ends[0], "iwarp:127.0.0.1", first);
    iw_open(&ends[1], "iwarp:127.0.0.1", second);
}

void iw_close_both(struct iw_end ends[2])
{
    iw_close(&ends[0]);
    iw_close(&ends[1]);
}

uint16_t iw_listen(struct iw_end *e, struct nornic_cm_id **out, unsigned backlog)
{
    struct nornic_cm_endpoints ends;
    cr_assert_eq(nornic_cm_id_create(e->cm, NORNIC_PS_TCP, e, out), 0);
    cr_assert_eq(nornic_cm_id_listen(*out, NULL, 0, backlog), 0);
    nornic_cm_id_endpoints(*out, &ends);
    cr_assert_neq(ends.local_port, 0);
    return ends.local_port;
}

struct nornic_cm_event *iw_event(struct iw_end *e, enum nornic_cm_event_type type)
{
    struct nornic_cm_event *event;
    cr_assert_eq(nornic_cm_get_event(e->cm, &event, IW_WAIT_NS), 0, "%s does not come",
                 nornic_cm_event_name(type));
    cr_assert_eq(event->type, type, "%s instead of %s: %d %s", nornic_cm_event_name(event->type),
                 nornic_cm_event_name(type), event->status, event->why.text);
    return event;
}

int iw_hears(struct iw_end *e, enum nornic_cm_event_type type)
{
    struct nornic_cm_event *event = iw_event(e, type);
    int status = event->status;
    nornic_cm_ack_event(event);
    return status;
}

void iw_resolve(struct iw_end *e, const struct nornic_addr *from, const struct nornic_addr *to, uint16_t port)
{
    struct nornic_error why;
    cr_assert_eq(nornic_cm_id_create(e->cm, NORNIC_PS_TCP, e, &e->id), 0);
    cr_assert_eq(nornic_cm_id_resolve_addr(e->id, from, to, port, IW_WAIT_NS, &why), 0, "%s", why.text);
    iw_hears(e, NORNIC_CM_EVENT_ADDR_RESOLVED);
    cr_assert_eq(nornic_cm_id_resolve_route(e->id), 0);
    iw_hears(e, NORNIC_CM_EVENT_ROUTE_RESOLVED);
    iw_make_qp(e);
    cr_assert_eq(nornic_cm_id_prepare(e->id, e->qp), 0);
}

void iw_start(struct iw_end *e, uint16_t port, const struct nornic_conn_param *param)
{
    const uint8_t v4[4] = {127, 0, 0, 1};
    const struct nornic_addr to = nornic_addr_from_v4(v4);
    iw_resolve(e, NULL, &to, port);
    cr_assert_eq(nornic_cm_id_connect(e->id, e->qp, param), 0);
}

void iw_take(struct iw_end *e, const struct nornic_conn_param *param)
{
    struct nornic_cm_event *event = iw_event(e, NORNIC_CM_EVENT_CONNECT_REQUEST);
    e->id = event->id;
    nornic_cm_ack_event(event);
    iw_make_qp(e);
    cr_assert_eq(nornic_cm_id_accept(e->id, e->qp, param), 0);
}

void iw_connect(struct iw_end ends[2], const struct nornic_iwarp_config *first,
                const struct nornic_iwarp_config *second)
{
    static const struct nornic_conn_param param = {.responder_resources = 4, .initiator_depth = 4};
    struct nornic_cm_id *listener;
    iw_open_both(ends, first, second);
    iw_start(&ends[0], iw_listen(&ends[1], &listener, 4), &param);
    iw_take(&ends[1], &param);
    cr_assert_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_assert_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_ESTABLISHED), 0);
    nornic_cm_id_destroy(listener);
}

void iw_disconnect(struct iw_end ends[2])
{
    cr_assert_eq(nornic_cm_id_disconnect(ends[0].id), 0);
    cr_assert_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_DISCONNECTED), 0);
    cr_assert_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_DISCONNECTED), 0);
    iw_close_both(ends);
}

struct nornic_send_wr iw_wr(enum nornic_wr_opcode opcode, const struct iw_end *e, const struct iw_end *peer,
                            struct nornic_sge *sge, size_t from, size_t to, uint32_t len_bytes)
{
    *sge = (struct nornic_sge){(uintptr_t)e->memory + from, len_bytes, nornic_mr_lkey(e->mr)};
    return (struct nornic_send_wr){.opcode = opcode,
                                   .sg_list = sge,
                                   .num_sge = 1,
                                   .send_flags = NORNIC_SEND_SIGNALED,
                                   .remote_addr = nornic_mr_remote_addr(peer->mr) + to,
                                   .rkey = nornic_mr_rkey(peer->mr)};
}

void iw_post(struct iw_end *e, const struct nornic_send_wr *wr)
{
    cr_assert_eq(nornic_qp_post_send(e->qp, wr, NULL), 0);
}

void iw_post_recv(struct iw_end *e, size_t at, uint32_t len_bytes)
{
    const struct nornic_sge sge = {(uintptr_t)e->memory + at, len_bytes, nornic_mr_lkey(e->mr)};
    const struct nornic_recv_wr wr = {.wr_id = 77, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(nornic_qp_post_recv(e->qp, &wr, NULL), 0);
}

struct nornic_wc iw_wait(struct iw_end *e)
{
    struct nornic_wc wc = {0};
    cr_assert_eq(nornic_cq_wait(e->cq, &wc, 1, IW_WAIT_NS), 1, "no completion");
    return wc;
}

void iw_fill(struct iw_end *e, size_t at, size_t len_bytes)
{
    for (size_t i = 0; i < len_bytes; i++)
        e->memory[at + i] = (uint8_t)(i * 7 + i / 251 + at);
}

void iw_agree_with(const struct iw_end *e)
{
    struct nornic_port_attr attr;
    nornic_dev_query_port(e->dev, &attr, sizeof attr); /* takes the device's lock */
}

int iw_tcp(uint16_t port)
{
    const struct timeval limit = {.tv_sec = IW_WAIT_NS / NS_PER_S};
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

void iw_tcp_say(int fd, const void *bytes, size_t len_bytes)
{
    cr_assert_eq(send(fd, bytes, len_bytes, MSG_NOSIGNAL), (ssize_t)len_bytes);
}

bool iw_tcp_ended(int fd)
{
    uint8_t bytes[4096];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        ;
    return n == 0 || errno == ECONNRESET;
}

void iw_tcp_reset(int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}
