/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of datagrams. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/rsocket/datagram_own.h"

/* --- addresses --- */

static int get_addr(const struct rsock *s, const struct sockaddr *addr, socklen_t len,
                    struct sockaddr_storage *out)
{
    if (!addr || addr->sa_family != s->family || len > sizeof *out ||
        len < (s->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)))
        return verbs_fail(EINVAL, "an address that is none of the rsocket's family");
    *out = (struct sockaddr_storage){0};
    memcpy(out, addr, len);
    return 0;
}

int ds_bind(struct rsock *s, const struct sockaddr *addr, socklen_t addrlen)
{
    int flags = s->options[0] ? 1 : 0; /* SO_REUSEADDR is the first of verbs/rsocket/options.c */
    if (flags)
        (void)setsockopt(s->datagrams->udp, SOL_SOCKET, SO_REUSEADDR, &flags, sizeof flags);
    return bind(s->datagrams->udp, addr, addrlen) ? errno : 0;
}

/* A port for who has none, before the own address is written into headers. */
static int need_port(const struct rsock *s)
{
    if (s->datagrams->has_port)
        return 0;
    struct sockaddr_storage own;
    memset(&own, 0, sizeof own);
    own.ss_family = (sa_family_t)s->family;
    socklen_t len = sizeof own;
    if (getsockname(s->datagrams->udp, (struct sockaddr *)&own, &len))
        return errno;
    in_port_t port = s->family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                           : ((struct sockaddr_in *)&own)->sin_port;
    if (port == 0 && bind(s->datagrams->udp, (struct sockaddr *)&own, len))
        return errno;
    s->datagrams->has_port = true;
    return 0;
}

static int find(struct rsock *s, const struct sockaddr *addr, socklen_t len, struct ds_peer **out)
{
    struct sockaddr_storage to;
    int err = get_addr(s, addr, len, &to);
    if (!err)
        err = need_port(s);
    return err ? err : ds_need_peer(s, &to, DS_SENT_TO, out);
}

int ds_connect(struct rsock *s, const struct sockaddr *addr, socklen_t addrlen)
{
    return find(s, addr, addrlen, &s->datagrams->connected);
}

int ds_name(struct rsock *s, bool is_peer, struct sockaddr *addr, socklen_t *addrlen)
{
    const struct ds_peer *peer = s->datagrams->connected;
    if (!is_peer)
        return getsockname(s->datagrams->udp, addr, addrlen) ? errno : 0;
    if (!peer)
        return ENOTCONN;
    socklen_t len = s->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    memcpy(addr, &peer->addr, min_u32(*addrlen, len));
    *addrlen = len;
    return 0;
}

/* --- in --- */

static size_t copy_out(const struct rs_parts *to, const uint8_t *bytes, size_t len)
{
    size_t done = 0;
    for (size_t i = 0; i < to->count && done < len; i++) {
        size_t now = min_u64(to->parts[i].iov_len, len - done);
        memcpy(to->parts[i].iov_base, bytes + done, now);
        done += now;
    }
    return done;
}

ssize_t ds_recv(struct rsock *s, struct rs_parts to, int flags, struct sockaddr *name, socklen_t *namelen)
{
    struct rs_datagrams *d = s->datagrams;
    int err = need_port(s);
    if (!err)
        err = rs_wait(s, RS_TO_READ, flags, ds_has_kept);
    if (err)
        return rs_ended(s, "rrecvfrom", err);
    struct ds_datagram *first = STAILQ_FIRST(&d->kept);
    size_t done = copy_out(&to, first->bytes, first->len);
    if (name) {
        socklen_t len = s->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
        memcpy(name, &first->from, min_u32(*namelen, len));
        *namelen = len;
    }
    if (!(flags & MSG_PEEK)) {
        STAILQ_REMOVE_HEAD(&d->kept, entry);
        d->num_kept--;
        free(first);
    }
    return (ssize_t)done;
}

/* --- out --- */

static size_t gather(struct rs_parts from, uint8_t *out, size_t room)
{
    size_t all = 0;
    for (size_t i = 0; i < from.count; i++) {
        if (from.parts[i].iov_len > room - all)
            return SIZE_MAX;
        memcpy(out + all, from.parts[i].iov_base, from.parts[i].iov_len);
        all += from.parts[i].iov_len;
    }
    return all;
}

static int send_udp(const struct rsock *s, const struct ds_peer *peer, const uint8_t *bytes, size_t len)
{
    uint8_t message[DS_UDP_HEADER_V6 + DS_DATAGRAM_MAX];
    size_t header = ds_put_udp_header(peer->qp, RS_OP_DATA, message);
    memcpy(message + header, bytes, len);
    ssize_t sent = sendto(s->datagrams->udp, message, header + len, 0, (const struct sockaddr *)&peer->addr,
                          s->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    return sent < 0 ? errno : 0;
}

static int send_qp(struct ds_peer *peer, const uint8_t *bytes, size_t len)
{
    struct ds_qp *qp = peer->qp;
    uint32_t slot = qp->free_slots[qp->num_free - 1];
    uint8_t *at = qp->send.bytes + (size_t)slot * DS_DATAGRAM_MAX;
    size_t header = ds_put_header(&qp->own, at);
    memcpy(at + header, bytes, len);
    struct ibv_sge sge = {(uintptr_t)at, (uint32_t)(header + len), qp->send.mr->lkey};
    struct ibv_send_wr wr = {.wr_id = slot,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .wr.ud = {peer->ah, peer->qpn, RDMA_UDP_QKEY}};
    struct ibv_send_wr *bad;
    int err = ibv_post_send(qp->id->qp, &wr, &bad);
    if (err)
        return err;
    qp->num_free--;
    qp->sent_to[slot] = peer;
    peer->sends++;
    return 0;
}

/* Sends one datagram. 0 or an errno value; *len: its bytes. */
static int send_to(struct rsock *s, struct ds_peer *peer, struct rs_parts from, int flags, size_t *len)
{
    uint8_t bytes[DS_DATAGRAM_MAX];
    size_t room = peer->qp->max_bytes - (s->family == AF_INET6 ? DS_HEADER_V6 : DS_HEADER_V4);
    *len = gather(from, bytes, room);
    if (*len == SIZE_MAX)
        return verbs_fail(EMSGSIZE, "a datagram may have %zu bytes here", room);
    int err = rs_wait(s, RS_TO_WRITE, flags, ds_can_send);
    if (err)
        return err;
    if (!peer->qpn)
        rs_progress(s); /* its answer may have come */
    return ds_need_ah(peer) ? send_qp(peer, bytes, *len) : send_udp(s, peer, bytes, *len);
}

ssize_t ds_send(struct rsock *s, struct rs_parts from, int flags, const struct sockaddr *to, socklen_t tolen)
{
    struct ds_peer *peer = s->datagrams->connected;
    size_t len;
    int err = to ? find(s, to, tolen, &peer) : peer ? 0 : EDESTADDRREQ;
    if (err)
        return rs_ended(s, "rsendto", err);
    peer->sends++; /* it is not forgotten while this thread waits */
    err = send_to(s, peer, from, flags, &len);
    peer->sends--;
    return err ? rs_ended(s, "rsendto", err) : (ssize_t)len;
}
