/* SPDX-License-Identifier: BSD-2-Clause */
/* The peers of an rsocket of datagrams, by address. Memory is bounded, whatever strangers send. */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "verbs/rsocket/datagram_own.h"

/* --- the table --- */

void ds_peers_init(struct ds_peers *peers)
{
    for (unsigned i = 0; i < DS_PEER_BUCKETS; i++)
        LIST_INIT(&peers->buckets[i]);
    for (unsigned kind = 0; kind < DS_KINDS; kind++)
        TAILQ_INIT(&peers->ages[kind]);
}

static struct ds_bucket *bucket_of(struct ds_peers *peers, const struct sockaddr_storage *addr)
{
    size_t bytes;
    const void *at = ds_addr_of(addr, &bytes);
    return &peers->buckets[hash_keyed_bytes(ds_port_of(addr), at, bytes) % DS_PEER_BUCKETS];
}

static struct ds_peer *find(struct ds_peers *peers, const struct sockaddr_storage *addr)
{
    struct ds_peer *peer;
    for (peer = LIST_FIRST(bucket_of(peers, addr)); peer; peer = LIST_NEXT(peer, by_addr))
        if (ds_is_same(&peer->addr, addr))
            break;
    return peer;
}

static void leave_ages(struct ds_peers *peers, struct ds_peer *peer)
{
    TAILQ_REMOVE(&peers->ages[peer->kind], peer, by_age);
    peers->count[peer->kind]--;
}

static void enter_ages(struct ds_peers *peers, struct ds_peer *peer, enum ds_kind kind)
{
    peer->kind = kind;
    TAILQ_INSERT_TAIL(&peers->ages[kind], peer, by_age);
    peers->count[kind]++;
}

static void forget(struct ds_peers *peers, struct ds_peer *peer)
{
    leave_ages(peers, peer);
    LIST_REMOVE(peer, by_addr);
    if (peer->ah)
        ibv_destroy_ah(peer->ah);
    free(peer);
}

void ds_peers_free(struct ds_peers *peers)
{
    struct ds_peer *peer, *next;
    for (unsigned kind = 0; kind < DS_KINDS; kind++)
        for (peer = TAILQ_FIRST(&peers->ages[kind]); peer; peer = next) {
            next = TAILQ_NEXT(peer, by_age);
            forget(peers, peer);
        }
}

/* Forgets peers until there is room for one more of that kind. 0 or an errno value. */
static int make_room(struct rs_datagrams *d, enum ds_kind kind)
{
    const uint32_t most = kind == DS_HEARD ? DS_HEARD_MAX : DS_SENT_MAX;
    struct ds_peer *peer = TAILQ_FIRST(&d->peers.ages[kind]), *next;
    for (; peer && d->peers.count[kind] >= most; peer = next) {
        next = TAILQ_NEXT(peer, by_age);
        if (peer != d->connected && !peer->sends)
            forget(&d->peers, peer);
    }
    return d->peers.count[kind] < most ? 0 : ENOBUFS;
}

static int add(struct rsock *s, const struct sockaddr_storage *addr, enum ds_kind kind, struct ds_peer **out)
{
    struct ds_peers *peers = &s->datagrams->peers;
    struct ds_qp *qp;
    int err = make_room(s->datagrams, kind);
    if (!err)
        err = ds_need_qp(s, addr, &qp);
    struct ds_peer *peer = err ? NULL : calloc(1, sizeof *peer);
    if (!peer)
        return err ? err : ENOMEM;
    peer->addr = *addr;
    peer->qp = qp;
    LIST_INSERT_HEAD(bucket_of(peers, addr), peer, by_addr);
    enter_ages(peers, peer, kind);
    *out = peer;
    return 0;
}

int ds_need_peer(struct rsock *s, const struct sockaddr_storage *addr, enum ds_kind kind,
                 struct ds_peer **out)
{
    struct ds_peers *peers = &s->datagrams->peers;
    struct ds_peer *peer = find(peers, addr);
    if (!peer)
        return add(s, addr, kind, out);
    bool is_more = kind > peer->kind;
    int err = is_more ? make_room(s->datagrams, kind) : 0;
    if (err)
        return err;
    leave_ages(peers, peer);
    enter_ages(peers, peer, is_more ? kind : peer->kind);
    *out = peer;
    return 0;
}

/* --- the way to a peer --- */

static union ibv_gid gid_of(const struct sockaddr_storage *from)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};
    size_t bytes;
    const void *addr = ds_addr_of(from, &bytes);
    memcpy(gid.raw + 16 - bytes, addr, bytes);
    return gid;
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

void ds_learn(struct ds_peer *peer, uint32_t qpn)
{
    peer->qpn = qpn;
}

struct ibv_ah *ds_need_ah(struct ds_peer *peer)
{
    if (peer->ah || !peer->qpn) {
        errno = 0;
        return peer->ah;
    }
    struct ibv_ah_attr attr = {
        .grh = {.dgid = gid_of(&peer->addr), .sgid_index = (uint8_t)own_gid_index(peer->qp), .hop_limit = 64},
        .is_global = 1,
        .port_num = VERBS_PORT_NUM,
    };
    peer->ah = ibv_create_ah(peer->qp->id->pd, &attr);
    return peer->ah;
}
