/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue pairs of an rsocket of datagrams, one for each own address. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/rsocket/datagram_own.h"

/* --- queue pairs --- */

int ds_post_receive(struct ds_qp *qp, uint32_t slot)
{
    struct ibv_sge sge = {(uintptr_t)qp->recv.bytes + (size_t)slot * DS_SLOT_BYTES, DS_SLOT_BYTES,
                          qp->recv.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = DS_ID_RECV | slot, .sg_list = &sge, .num_sge = 1}, *bad;
    return ibv_post_recv(qp->id->qp, &wr, &bad);
}

void ds_close_qp(struct ds_qp *qp)
{
    if (qp->id && qp->id->qp)
        rdma_destroy_qp(qp->id);
    if (qp->cq)
        ibv_destroy_cq(qp->cq);
    if (qp->comp)
        ibv_destroy_comp_channel(qp->comp);
    rs_close_buffer(&qp->recv);
    rs_close_buffer(&qp->send);
    if (qp->id)
        rdma_destroy_id(qp->id);
    free(qp->free_slots);
    free(qp->sent_to);
    free(qp);
}

static int create_qp(struct rsock *s, struct ds_qp *qp)
{
    struct ibv_qp_init_attr init = {
        .cap = {.max_send_wr = s->sq_size, .max_recv_wr = s->rq_size, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_UD,
        .sq_sig_all = 1,
    };
    int err = rs_open_cq(s, qp->id->verbs, s->rq_size + s->sq_size, &qp->comp, &qp->cq);
    if (err)
        return err;
    init.send_cq = init.recv_cq = qp->cq;
    return rdma_create_qp(qp->id, NULL, &init) ? errno : 0;
}

static int fill_qp(struct rsock *s, struct ds_qp *qp)
{
    int err = rs_open_buffer(qp->id->pd, &qp->recv, (size_t)s->rq_size * DS_SLOT_BYTES, 0);
    if (!err)
        err = rs_open_buffer(qp->id->pd, &qp->send, (size_t)s->sq_size * DS_DATAGRAM_MAX, 0);
    qp->free_slots = err ? NULL : calloc(s->sq_size, sizeof *qp->free_slots);
    qp->sent_to = err ? NULL : calloc(s->sq_size, sizeof(struct ds_peer *));
    if (!err && (!qp->free_slots || !qp->sent_to))
        err = ENOMEM;
    for (uint32_t i = 0; i < s->sq_size && !err; i++)
        qp->free_slots[qp->num_free++] = i;
    for (uint32_t i = 0; i < s->rq_size && !err; i++)
        err = ds_post_receive(qp, i);
    return err;
}

static int open_qp(struct rsock *s, const struct sockaddr_storage *own, struct ds_qp **out)
{
    struct sockaddr_storage any_port = *own;
    struct ibv_port_attr port;
    struct ds_qp *qp = calloc(1, sizeof *qp);
    if (!qp)
        return ENOMEM;
    qp->own = *own;
    /* The port is the UDP socket's; the queue pair has none. */
    if (own->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&any_port)->sin_port = 0;
    int err = rdma_create_id(NULL, &qp->id, NULL, RDMA_PS_UDP) ? errno : 0;
    if (!err && rdma_bind_addr(qp->id, (struct sockaddr *)&any_port))
        err = errno;
    /* A loopback address is bound without a device, too. */
    if (!err && !qp->id->verbs)
        err = verbs_fail(ENODEV, "no device has the own address towards this peer");
    if (!err)
        err = create_qp(s, qp);
    if (!err)
        err = fill_qp(s, qp);
    if (!err)
        err = ibv_query_port(qp->id->verbs, VERBS_PORT_NUM, (struct _compat_ibv_port_attr *)&port);
    if (err) {
        ds_close_qp(qp);
        return err;
    }
    qp->max_bytes = min_u32(128u << port.active_mtu, DS_DATAGRAM_MAX);
    LIST_INSERT_HEAD(&s->datagrams->qps, qp, entry);
    *out = qp;
    return 0;
}

/* The own address towards a peer: that of the socket, or by the kernel's routes. */
static int own_towards(const struct rsock *s, const struct sockaddr_storage *peer,
                       struct sockaddr_storage *own)
{
    socklen_t len = sizeof *own;
    if (getsockname(s->datagrams->udp, (struct sockaddr *)own, &len))
        return errno;
    size_t bytes;
    static const uint8_t none[16];
    const uint8_t *addr = ds_addr_of(own, &bytes);
    if (memcmp(addr, none, bytes) != 0)
        return 0;
    const uint16_t port = ds_port_of(own);
    /* Past librspreload, which would make an rsocket of it. */
    int probe = (int)syscall(SYS_socket, s->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return errno;
    len = sizeof *own;
    int err =
        connect(probe, (const struct sockaddr *)peer, len) || getsockname(probe, (struct sockaddr *)own, &len)
            ? errno
            : 0;
    close(probe);
    if (own->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)own)->sin6_port = port;
    else
        ((struct sockaddr_in *)own)->sin_port = port;
    return err;
}

int ds_need_qp(struct rsock *s, const struct sockaddr_storage *peer, struct ds_qp **out)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    int err = own_towards(s, peer, &own);
    for (*out = LIST_FIRST(&s->datagrams->qps); !err && *out; *out = LIST_NEXT(*out, entry))
        if (ds_is_same(&(*out)->own, &own))
            return 0;
    return err ? err : open_qp(s, &own, out);
}
