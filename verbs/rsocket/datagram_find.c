/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams, below the calls: how a peer's queue pair is found, and what comes in. The first datagrams
 * to a peer go over UDP, behind a header with the number of the own queue pair; it answers with its
 * own. From then on they go from queue pair to queue pair, behind a header with the address of the
 * sender. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "net/bytes.h"
#include "verbs/rsocket/datagram_own.h"

#define TAG 0x55555555u /* a message over UDP is of an rsocket */

#define GRH_BYTES  40
#define SLOT_BYTES (GRH_BYTES + DS_DATAGRAM_MAX)
#define POLL_BATCH 16

/* --- addresses --- */

static const void *addr_of(const struct sockaddr_storage *from, size_t *bytes)
{
    bool is_v6 = from->ss_family == AF_INET6;
    *bytes = is_v6 ? 16 : 4;
    return is_v6 ? (const void *)&((const struct sockaddr_in6 *)from)->sin6_addr
                 : (const void *)&((const struct sockaddr_in *)from)->sin_addr;
}

static uint16_t port_of(const struct sockaddr_storage *from)
{
    return from->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)from)->sin6_port
                                       : ((const struct sockaddr_in *)from)->sin_port;
}

static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b, bool with_port)
{
    size_t bytes, other;
    const void *left = addr_of(a, &bytes), *right = addr_of(b, &other);
    return a->ss_family == b->ss_family && memcmp(left, right, bytes) == 0 &&
           (!with_port || port_of(a) == port_of(b));
}

static union ibv_gid gid_of(const struct sockaddr_storage *from)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};
    size_t bytes;
    const void *addr = addr_of(from, &bytes);
    memcpy(gid.raw + 16 - bytes, addr, bytes);
    return gid;
}

/* --- headers --- */

size_t ds_put_header(const struct sockaddr_storage *own, uint8_t *out)
{
    size_t bytes, header = own->ss_family == AF_INET6 ? DS_HEADER_V6 : DS_HEADER_V4;
    const void *addr = addr_of(own, &bytes);
    uint16_t port = port_of(own);
    memset(out, 0, header); /* the flow information of IPv6 with it */
    out[0] = own->ss_family == AF_INET6 ? 6 : 4;
    out[1] = (uint8_t)header;
    memcpy(out + 2, &port, sizeof port);
    memcpy(out + header - bytes, addr, bytes);
    return header;
}

/* How long it is; 0: it is none. */
static size_t get_header(const uint8_t *bytes, size_t len, struct sockaddr_storage *from)
{
    bool is_v6 = len && bytes[0] == 6;
    size_t header = is_v6 ? DS_HEADER_V6 : DS_HEADER_V4;
    if (len < header || bytes[1] != header || (!is_v6 && bytes[0] != 4))
        return 0;
    *from = (struct sockaddr_storage){.ss_family = is_v6 ? AF_INET6 : AF_INET};
    if (is_v6) {
        memcpy(&((struct sockaddr_in6 *)from)->sin6_port, bytes + 2, 2);
        memcpy(&((struct sockaddr_in6 *)from)->sin6_addr, bytes + header - 16, 16);
    } else {
        memcpy(&((struct sockaddr_in *)from)->sin_port, bytes + 2, 2);
        memcpy(&((struct sockaddr_in *)from)->sin_addr, bytes + header - 4, 4);
    }
    return header;
}

size_t ds_put_udp_header(const struct ds_qp *qp, enum rs_op op, uint8_t *out)
{
    size_t bytes, header = qp->own.ss_family == AF_INET6 ? DS_UDP_HEADER_V6 : DS_UDP_HEADER_V4;
    const void *addr = addr_of(&qp->own, &bytes);
    uint8_t *p = put_be32(out, TAG);
    p = put_u8(p, qp->own.ss_family == AF_INET6 ? 6 : 4);
    p = put_u8(p, (uint8_t)op);
    p = put_u8(p, (uint8_t)header);
    p = put_u8(p, 0);
    p = put_be32(p, qp->id->qp->qp_num);
    memcpy(p, addr, bytes);
    return header;
}

/* --- queue pairs --- */

static int post_receive(struct ds_qp *qp, uint32_t slot)
{
    struct ibv_sge sge = {(uintptr_t)qp->recv.bytes + (size_t)slot * SLOT_BYTES, SLOT_BYTES,
                          qp->recv.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = DS_ID_RECV | slot, .sg_list = &sge, .num_sge = 1}, *bad;
    return ibv_post_recv(qp->id->qp, &wr, &bad);
}

static void close_qp(struct ds_qp *qp)
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
    int err = rs_open_buffer(qp->id->pd, &qp->recv, (size_t)s->rq_size * SLOT_BYTES, 0);
    if (!err)
        err = rs_open_buffer(qp->id->pd, &qp->send, (size_t)s->sq_size * DS_DATAGRAM_MAX, 0);
    qp->free_slots = err ? NULL : calloc(s->sq_size, sizeof *qp->free_slots);
    if (!err && !qp->free_slots)
        err = ENOMEM;
    for (uint32_t i = 0; i < s->sq_size && !err; i++)
        qp->free_slots[qp->num_free++] = i;
    for (uint32_t i = 0; i < s->rq_size && !err; i++)
        err = post_receive(qp, i);
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
    if (!err)
        err = create_qp(s, qp);
    if (!err)
        err = fill_qp(s, qp);
    if (!err)
        err = ibv_query_port(qp->id->verbs, VERBS_PORT_NUM, (struct _compat_ibv_port_attr *)&port);
    if (err) {
        close_qp(qp);
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
    const uint8_t *addr = addr_of(own, &bytes);
    if (memcmp(addr, none, bytes) != 0)
        return 0;
    const uint16_t port = port_of(own);
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

static int need_qp(struct rsock *s, const struct sockaddr_storage *peer, struct ds_qp **out)
{
    struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
    int err = own_towards(s, peer, &own);
    for (*out = LIST_FIRST(&s->datagrams->qps); !err && *out; *out = LIST_NEXT(*out, entry))
        if (is_same(&(*out)->own, &own, true))
            return 0;
    return err ? err : open_qp(s, &own, out);
}

/* --- peers --- */

int ds_need_peer(struct rsock *s, const struct sockaddr_storage *addr, struct ds_peer **out)
{
    struct ds_peer *peer;
    for (peer = LIST_FIRST(&s->datagrams->peers); peer; peer = LIST_NEXT(peer, entry))
        if (is_same(&peer->addr, addr, true))
            break;
    *out = peer;
    if (peer)
        return 0;
    peer = calloc(1, sizeof *peer);
    if (!peer)
        return ENOMEM;
    peer->addr = *addr;
    int err = need_qp(s, addr, &peer->qp);
    if (err) {
        free(peer);
        return err;
    }
    LIST_INSERT_HEAD(&s->datagrams->peers, peer, entry);
    *out = peer;
    return 0;
}

static int own_gid_index(const struct ds_qp *qp)
{
    const union ibv_gid wanted = gid_of(&qp->own);
    union ibv_gid found;
    for (int i = 0; ibv_query_gid(qp->id->verbs, VERBS_PORT_NUM, i, &found) == 0; i++)
        if (memcmp(&found, &wanted, sizeof found) == 0)
            return i;
    return 0;
}

/* Where its queue pair is, now that it has told. */
static void learn(struct ds_peer *peer, uint32_t qpn)
{
    struct ibv_ah_attr attr = {
        .grh = {.dgid = gid_of(&peer->addr), .sgid_index = (uint8_t)own_gid_index(peer->qp), .hop_limit = 64},
        .is_global = 1,
        .port_num = VERBS_PORT_NUM,
    };
    if (peer->ah && peer->qpn == qpn)
        return;
    if (peer->ah)
        ibv_destroy_ah(peer->ah);
    peer->qpn = qpn;
    peer->ah = ibv_create_ah(peer->qp->id->pd, &attr);
}

/* --- in --- */

static void keep(struct rsock *s, const struct sockaddr_storage *from, const uint8_t *bytes, size_t len)
{
    struct rs_datagrams *d = s->datagrams;
    struct ds_datagram *kept = d->num_kept < s->rq_size ? malloc(sizeof *kept + len) : NULL;
    if (!kept)
        return; /* lost, as datagrams may be */
    kept->from = *from;
    kept->len = len;
    memcpy(kept->bytes, bytes, len);
    STAILQ_INSERT_TAIL(&d->kept, kept, entry);
    d->num_kept++;
}

static void take_udp(struct rsock *s, const struct sockaddr_storage *from, const uint8_t *bytes, size_t len)
{
    uint8_t reply[DS_UDP_HEADER_V6];
    struct ds_peer *peer;
    bool is_v6 = from->ss_family == AF_INET6;
    size_t header = is_v6 ? DS_UDP_HEADER_V6 : DS_UDP_HEADER_V4;
    if (len < header || get_be32(bytes) != TAG || bytes[4] != (is_v6 ? 6 : 4) || bytes[6] != header)
        return;
    if (ds_need_peer(s, from, &peer))
        return;
    learn(peer, get_be32(bytes + 8) & 0xffffff);
    if (bytes[5] != RS_OP_DATA)
        return;
    size_t reply_bytes = ds_put_udp_header(peer->qp, RS_OP_CTRL, reply);
    (void)sendto(s->datagrams->udp, reply, reply_bytes, 0, (const struct sockaddr *)from,
                 is_v6 ? sizeof(struct sockaddr_in6)
                       : sizeof(struct sockaddr_in)); /* lost: the next one asks again */
    keep(s, from, bytes + header, len - header);
}

static bool poll_udp(struct rsock *s)
{
    uint8_t bytes[DS_UDP_HEADER_V6 + DS_DATAGRAM_MAX];
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    bool has_any = false;
    for (;;) {
        socklen_t from_bytes = sizeof from;
        ssize_t len = recvfrom(s->datagrams->udp, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from,
                               &from_bytes);
        if (len < 0)
            return has_any;
        take_udp(s, &from, bytes, (size_t)len);
        has_any = true;
    }
}

static void take_receive(struct rsock *s, struct ds_qp *qp, const struct ibv_wc *wc)
{
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    uint32_t slot = (uint32_t)wc->wr_id;
    const uint8_t *bytes = qp->recv.bytes + (size_t)slot * SLOT_BYTES + GRH_BYTES;
    if (wc->status != IBV_WC_SUCCESS)
        return;
    size_t len = wc->byte_len - GRH_BYTES, header = get_header(bytes, len, &from);
    if (header)
        keep(s, &from, bytes + header, len - header);
    (void)post_receive(qp, slot);
}

static bool poll_qp(struct rsock *s, struct ds_qp *qp)
{
    struct ibv_wc wcs[POLL_BATCH];
    int count;
    bool has_any = false;
    while ((count = ibv_poll_cq(qp->cq, POLL_BATCH, wcs)) > 0) {
        for (int i = 0; i < count; i++)
            if (wcs[i].wr_id & DS_ID_RECV)
                take_receive(s, qp, &wcs[i]);
            else
                qp->free_slots[qp->num_free++] = (uint32_t)wcs[i].wr_id;
        has_any = true;
    }
    return has_any;
}

bool ds_poll(struct rsock *s)
{
    struct ds_qp *qp;
    struct ibv_cq *cq;
    void *context;
    bool has_any = poll_udp(s);
    for (qp = LIST_FIRST(&s->datagrams->qps); qp; qp = LIST_NEXT(qp, entry)) {
        while (ibv_get_cq_event(qp->comp, &cq, &context) == 0) {
            ibv_ack_cq_events(cq, 1);
            qp->is_armed = false;
        }
        has_any |= poll_qp(s, qp);
    }
    return has_any;
}

bool ds_arm(struct rsock *s)
{
    struct ds_qp *qp;
    bool has_any = false;
    for (qp = LIST_FIRST(&s->datagrams->qps); qp; qp = LIST_NEXT(qp, entry)) {
        if (qp->is_armed)
            continue;
        qp->is_armed = ibv_req_notify_cq(qp->cq, 0) == 0;
        has_any |= poll_qp(s, qp);
    }
    return !has_any;
}

/* --- what is so --- */

bool ds_has_kept(const struct rsock *s)
{
    return !STAILQ_EMPTY(&s->datagrams->kept);
}

bool ds_can_send(const struct rsock *s)
{
    const struct ds_qp *qp;
    for (qp = LIST_FIRST(&s->datagrams->qps); qp; qp = LIST_NEXT(qp, entry))
        if (!qp->num_free)
            return false;
    return true;
}

short ds_events(const struct rsock *s, short asked)
{
    return (short)((ds_has_kept(s) ? asked & (POLLIN | POLLRDNORM) : 0) |
                   (ds_can_send(s) ? asked & (POLLOUT | POLLWRNORM) : 0));
}

/* --- beginning and end --- */

int ds_open(struct rsock *s)
{
    struct rs_datagrams *d = calloc(1, sizeof *d);
    if (!d)
        return verbs_fail(ENOMEM, "no memory for an rsocket of datagrams");
    LIST_INIT(&d->qps);
    LIST_INIT(&d->peers);
    STAILQ_INIT(&d->kept);
    s->datagrams = d;
    d->udp = socket(s->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return d->udp < 0 ? verbs_fail(errno, "no UDP socket for an rsocket of datagrams") : rs_join(s, d->udp);
}

void ds_close(struct rsock *s)
{
    struct rs_datagrams *d = s->datagrams;
    struct ds_qp *qp;
    struct ds_peer *peer;
    struct ds_datagram *kept;
    if (!d)
        return;
    for (qp = LIST_FIRST(&d->qps); qp; qp = LIST_NEXT(qp, entry))
        rdma_destroy_qp(qp->id); /* before the handles that its sends name */
    while ((peer = LIST_FIRST(&d->peers))) {
        LIST_REMOVE(peer, entry);
        if (peer->ah)
            ibv_destroy_ah(peer->ah);
        free(peer);
    }
    while ((qp = LIST_FIRST(&d->qps))) {
        LIST_REMOVE(qp, entry);
        close_qp(qp);
    }
    while ((kept = STAILQ_FIRST(&d->kept))) {
        STAILQ_REMOVE_HEAD(&d->kept, entry);
        free(kept);
    }
    if (d->udp >= 0)
        close(d->udp);
    free(d);
}
