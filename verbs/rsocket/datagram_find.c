/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams, below the calls: how a peer's queue pair is found, and how datagrams come in. The first
 * datagrams to a peer go over UDP, behind a header with the number of the own queue pair; it answers with its
 * own. From then on they go from queue pair to queue pair, behind a header with the address of the
 * sender. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/bytes.h"
#include "verbs/rsocket/datagram_own.h"

#define POLL_BATCH 16
#define POLL_ROUND 64 /* of each kind, before the caller looks at its time: peers may send without end */

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
    if (len < header || get_be32(bytes) != DS_UDP_TAG || bytes[4] != (is_v6 ? 6 : 4) || bytes[6] != header)
        return;
    if (ds_need_peer(s, from, DS_HEARD, &peer))
        return;
    ds_learn(peer, get_be32(bytes + 8) & 0xffffff);
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
    unsigned count = 0;
    for (; count < POLL_ROUND; count++) {
        socklen_t from_bytes = sizeof from;
        ssize_t len = recvfrom(s->datagrams->udp, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from,
                               &from_bytes);
        if (len < 0)
            break;
        take_udp(s, &from, bytes, (size_t)len);
    }
    return count;
}

static void take_receive(struct rsock *s, struct ds_qp *qp, const struct ibv_wc *wc)
{
    struct sockaddr_storage from = {.ss_family = AF_UNSPEC};
    uint32_t slot = (uint32_t)wc->wr_id;
    const uint8_t *bytes = qp->recv.bytes + (size_t)slot * DS_SLOT_BYTES + DS_GRH_BYTES;
    if (wc->status != IBV_WC_SUCCESS)
        return;
    size_t len = wc->byte_len - DS_GRH_BYTES, header = ds_get_header(bytes, len, &from);
    if (header)
        keep(s, &from, bytes + header, len - header);
    (void)ds_post_receive(qp, slot);
}

static void take_send(struct ds_qp *qp, uint32_t slot)
{
    qp->free_slots[qp->num_free++] = slot;
    qp->sent_to[slot]->sends--;
}

static bool poll_qp(struct rsock *s, struct ds_qp *qp)
{
    struct ibv_wc wcs[POLL_BATCH];
    int count = POLL_BATCH;
    bool has_any = false;
    for (unsigned all = 0; all < POLL_ROUND && count == POLL_BATCH; all += POLL_BATCH) {
        count = ibv_poll_cq(qp->cq, POLL_BATCH, wcs);
        for (int i = 0; i < count; i++)
            if (wcs[i].wr_id & DS_ID_RECV)
                take_receive(s, qp, &wcs[i]);
            else
                take_send(qp, (uint32_t)wcs[i].wr_id);
        has_any |= count > 0;
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

/* --- conditions --- */

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
    ds_peers_init(&d->peers);
    STAILQ_INIT(&d->kept);
    s->datagrams = d;
    d->udp = socket(s->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return d->udp < 0 ? verbs_fail(errno, "no UDP socket for an rsocket of datagrams") : rs_join(s, d->udp);
}

void ds_close(struct rsock *s)
{
    struct rs_datagrams *d = s->datagrams;
    struct ds_qp *qp;
    struct ds_datagram *kept;
    if (!d)
        return;
    for (qp = LIST_FIRST(&d->qps); qp; qp = LIST_NEXT(qp, entry))
        rdma_destroy_qp(qp->id); /* before the handles that its sends name */
    ds_peers_free(&d->peers);
    while ((qp = LIST_FIRST(&d->qps))) {
        LIST_REMOVE(qp, entry);
        ds_close_qp(qp);
    }
    while ((kept = STAILQ_FIRST(&d->kept))) {
        STAILQ_REMOVE_HEAD(&d->kept, entry);
        free(kept);
    }
    if (d->udp >= 0)
        close(d->udp);
    free(d);
}
