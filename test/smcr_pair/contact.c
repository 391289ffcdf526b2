/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole flows of test/smcr_pair/peer.h: first and subsequent contact, from both sides. */
#include <string.h>

#include "test/smcr_pair/peer.h"

void peer_make_link(struct peer *peer, unsigned link, unsigned port)
{
    peer->link[link].raw =
        raw_new(&peer->pair->node[peer->node].port[port], peer->rmb, PEER_ELEMS * PEER_ELEM_BYTES);
    peer->num_links = link + 1;
}

void peer_conn_begin(struct peer *peer, struct peer_conn *conn)
{
    unsigned client = peer->role == SMCR_CLIENT ? peer->node : !peer->node;
    unsigned n = peer->conns++;
    *conn = (struct peer_conn){.peer = peer,
                               .end = &pair_open(peer->pair, client)->end[peer->node],
                               .index = (uint8_t)(n % PEER_ELEMS + 1),
                               .token = 0x0bad0001 + n,
                               .producer = {SMCR_CURSOR_START, 0},
                               .consumer = {SMCR_CURSOR_START, 0}};
}

void peer_learn(struct peer_conn *conn, const uint8_t *message, bool with_link)
{
    struct peer_link *l = &conn->peer->link[0];
    smcr_accept_get(&conn->theirs, message);
    if (!with_link)
        return;
    memcpy(l->theirs.mac.b, conn->theirs.mac, sizeof l->theirs.mac.b);
    memcpy(l->theirs.gid.b, conn->theirs.gid, sizeof l->theirs.gid.b);
    l->theirs.qpn = conn->theirs.qpn;
    l->theirs.psn = conn->theirs.psn;
    l->theirs.mtu = conn->theirs.mtu;
    l->rkey = conn->theirs.rkey;
    l->va = conn->theirs.va;
}

static bool clc_as_client(struct peer *peer, struct peer_conn *conn, bool first)
{
    uint8_t m[SMCR_CLC_MAX_BYTES];
    pair_tcp_send(conn->end, m, peer_proposal(peer, m));
    if (peer_clc_wait(conn->end, m, sizeof m, PEER_WAIT_NS) != SMCR_ACCEPT_BYTES || m[4] != SMCR_CLC_ACCEPT)
        return false;
    peer_learn(conn, m, first);
    if (conn->theirs.flag != first || (first && raw_ready(peer->link[0].raw, &peer->link[0].theirs) != 0))
        return false;
    pair_tcp_send(conn->end, m, peer_accept(conn, SMCR_CLC_CONFIRM, false, 0, m));
    return true;
}

static bool clc_as_server(struct peer *peer, struct peer_conn *conn, bool first)
{
    uint8_t m[SMCR_CLC_MAX_BYTES];
    if (peer_clc_wait(conn->end, m, sizeof m, PEER_WAIT_NS) == 0 || m[4] != SMCR_CLC_PROPOSAL)
        return false;
    pair_tcp_send(conn->end, m, peer_accept(conn, SMCR_CLC_ACCEPT, first, 0, m));
    if (peer_clc_wait(conn->end, m, sizeof m, PEER_WAIT_NS) != SMCR_ACCEPT_BYTES || m[4] != SMCR_CLC_CONFIRM)
        return false;
    peer_learn(conn, m, first);
    return !first || raw_ready(peer->link[0].raw, &peer->link[0].theirs) == 0;
}

static bool clc(struct peer *peer, struct peer_conn *conn, bool first)
{
    return peer->role == SMCR_CLIENT ? clc_as_client(peer, conn, first) : clc_as_server(peer, conn, first);
}

bool peer_contact_clc(struct peer *peer, struct peer_conn *conn)
{
    peer_make_link(peer, 0, 0);
    peer->link[0].number = 1;
    peer_conn_begin(peer, conn);
    return clc(peer, conn, true);
}

/* CONFIRM LINK of a link, from the side that the peer plays. */
static bool confirm_link(struct peer *peer, unsigned link)
{
    struct raw_link *raw = peer->link[link].raw;
    struct raw_message m;
    uint8_t out[SMCR_MSG_BYTES];
    if (peer->role == SMCR_SERVER) {
        peer_confirm_link(peer, link, false, out);
        raw_send(raw, out, sizeof out);
        return raw_wait(raw, SMCR_LLC_CONFIRM_LINK, true, &m, PEER_WAIT_NS);
    }
    if (!raw_wait(raw, SMCR_LLC_CONFIRM_LINK, false, &m, PEER_WAIT_NS))
        return false;
    struct smcr_confirm_link theirs;
    smcr_confirm_link_get(&theirs, m.bytes);
    peer->link[link].number = theirs.link;
    peer_confirm_link(peer, link, true, out);
    raw_send(raw, out, sizeof out);
    return true;
}

bool peer_contact_confirm(struct peer *peer)
{
    return confirm_link(peer, 0);
}

static void learn_link(struct peer_link *link, const struct smcr_add_link *m)
{
    memcpy(link->theirs.mac.b, m->mac, sizeof m->mac);
    memcpy(link->theirs.gid.b, m->gid, sizeof m->gid);
    link->theirs.qpn = m->qpn;
    link->theirs.psn = m->psn;
    link->theirs.mtu = m->mtu;
    link->number = m->link;
}

static void learn_rtoken(struct peer *peer, unsigned link, const uint8_t *message)
{
    struct smcr_add_link_cont m;
    smcr_add_link_cont_get(&m, message);
    peer->link[link].rkey = m.rkey_1;
    peer->link[link].va = m.va_1;
}

static bool second_as_client(struct peer *peer, unsigned links)
{
    struct raw_link *via = peer->link[0].raw;
    struct raw_message m;
    struct smcr_add_link add;
    uint8_t out[SMCR_MSG_BYTES];
    if (!raw_wait(via, SMCR_LLC_ADD_LINK, false, &m, PEER_WAIT_NS))
        return false;
    smcr_add_link_get(&add, m.bytes);
    if (links < 2) {
        peer_add_link_reject(peer, add.link, out);
        raw_send(via, out, sizeof out);
        return true;
    }
    peer_make_link(peer, 1, 1);
    learn_link(&peer->link[1], &add);
    if (raw_ready(peer->link[1].raw, &peer->link[1].theirs) != 0)
        return false;
    peer_add_link(peer, 1, true, out);
    raw_send(via, out, sizeof out);
    if (!raw_wait(via, SMCR_LLC_ADD_LINK_CONT, false, &m, PEER_WAIT_NS))
        return false;
    learn_rtoken(peer, 1, m.bytes);
    peer_add_link_cont(peer, 1, true, out);
    raw_send(via, out, sizeof out);
    return confirm_link(peer, 1);
}

static bool second_as_server(struct peer *peer, unsigned links)
{
    struct raw_link *via = peer->link[0].raw;
    struct raw_message m;
    struct smcr_add_link add;
    uint8_t out[SMCR_MSG_BYTES];
    peer_make_link(peer, 1, links < 2 ? 0 : 1);
    peer->link[1].number = 2;
    peer_add_link(peer, 1, false, out);
    raw_send(via, out, sizeof out);
    if (!raw_wait(via, SMCR_LLC_ADD_LINK, true, &m, PEER_WAIT_NS))
        return false;
    smcr_add_link_get(&add, m.bytes);
    if (links < 2)
        return add.rejected;
    learn_link(&peer->link[1], &add);
    if (add.rejected || raw_ready(peer->link[1].raw, &peer->link[1].theirs) != 0)
        return false;
    peer_add_link_cont(peer, 1, false, out);
    raw_send(via, out, sizeof out);
    if (!raw_wait(via, SMCR_LLC_ADD_LINK_CONT, true, &m, PEER_WAIT_NS))
        return false;
    learn_rtoken(peer, 1, m.bytes);
    return confirm_link(peer, 1);
}

bool peer_contact_second(struct peer *peer, unsigned links)
{
    return peer->role == SMCR_CLIENT ? second_as_client(peer, links) : second_as_server(peer, links);
}

static bool instance_is_up(void *ctx, struct pair *pair)
{
    struct peer_conn *conn = ctx;
    struct smcr_conn_status status;
    (void)pair;
    if (!pair_other(conn->end)->conn)
        return false;
    smcr_conn_status(pair_other(conn->end)->conn, &status);
    return status.established;
}

bool peer_first_contact(struct peer *peer, struct peer_conn *conn, unsigned links)
{
    return peer_contact_clc(peer, conn) && peer_contact_confirm(peer) && peer_contact_second(peer, links) &&
           pair_run_until(peer->pair, instance_is_up, conn, PEER_WAIT_NS);
}

bool peer_subsequent_contact(struct peer *peer, struct peer_conn *conn)
{
    peer_conn_begin(peer, conn);
    return clc(peer, conn, false) && pair_run_until(peer->pair, instance_is_up, conn, PEER_WAIT_NS);
}
