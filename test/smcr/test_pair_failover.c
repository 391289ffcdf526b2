/* SPDX-License-Identifier: BSD-2-Clause */
/* Links that die under connections: between two instances, and against a peer played by hand. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "smcr/conn/conn.h"
#include "smcr/stat.h"
#include "test/smcr/finish.h"
#include "test/smcr/steps.h"
#include "test/smcr_pair/peer.h"

static struct pair_config two_fabrics(uint64_t seed)
{
    return (struct pair_config){.seed = seed, .topology = PAIR_CABLES, .ports = {2, 2}};
}

static struct smcr_conn_status status_of(const struct pair_end *end)
{
    struct smcr_conn_status st;
    smcr_conn_status(end->conn, &st);
    return st;
}

/* --- two instances --- */

struct first_messages {
    bool moved[8][2]; /* the connection changed its link, and nothing was sent on it yet */
    unsigned validations;
    uint16_t last_seq[8][2];
};

static void on_trace(void *ctx, struct pair_node *node, const struct smcr_trace *t)
{
    struct first_messages *f = ctx;
    if (!t->conn)
        return;
    const struct pair_end *end = smcr_conn_ctx(t->conn);
    if (t->type == SMCR_TRACE_MOVED && end->conn && status_of(end).established)
        f->moved[end->c->id][node->index] = true;
    if (t->type != SMCR_TRACE_CDC_TX)
        return;
    struct smcr_cdc cdc;
    smcr_cdc_get(&cdc, t->message);
    bool *moved = &f->moved[end->c->id][node->index];
    cr_assert(!*moved || cdc.failover_validation, "not F first (SMCR-FOV-07)");
    if (cdc.failover_validation)
        cr_assert_leq(cdc.seq, f->last_seq[end->c->id][node->index]);
    else
        f->last_seq[end->c->id][node->index] = cdc.seq;
    f->validations += *moved;
    *moved = false;
}

/* covers: SMCR-FOV-03, SMCR-FOV-07, SMCR-FOV-14, SMCR-CDC-03 */
Test(pair_failover, SMCR_FOV_07_validation_is_first_on_the_new_link_idle_connections_too)
{
    struct pair_config config = two_fabrics(1);
    struct pair *pair = pair_new(&config);
    struct first_messages f = {0};
    struct pair_conn *c[4];
    pair->on_trace = on_trace;
    pair->trace_ctx = &f;
    for (unsigned i = 0; i < 4; i++)
        cr_assert_not_null(c[i] = pair_connect(pair, 0), "%s", pair->failure);
    for (unsigned i = 0; i < 2; i++) /* the other two stay idle */
        cr_assert(pair_transfer(pair, &c[i]->end[i], 20000, PAIR_S), "%s", pair->failure);
    memset(f.moved, 0, sizeof f.moved);
    f.validations = 0;
    unsigned on_link = 0;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned n = 0; n < 2; n++)
            on_link += c[i]->end[n].conn->link->port->config.dev == pair->node[n].port[1].dev;
    cr_assert_gt(on_link, 0);
    pair_cut(pair, 0, 1, true);
    pair_run_for(pair, 5 * PAIR_S);
    cr_assert_eq(f.validations, on_link, "%u connections moved, %u validations", on_link, f.validations);
    for (unsigned i = 0; i < 4; i++)
        cr_assert(pair_transfer(pair, &c[i]->end[0], 20000, PAIR_S), "%s", pair->failure);
    finish(pair);
}

static bool drained(void *ctx, struct pair *pair)
{
    struct pair_conn *c = ctx;
    (void)pair;
    (void)pair_drain(&c->end[1], SIZE_MAX / 2);
    (void)pair_pump(&c->end[0], 400000 - c->end[0].tx_pos, 0);
    return c->end[1].rx_pos == 400000;
}

/* covers: SMCR-FOV-18, SMCR-FOV-14 */
Test(pair_failover, SMCR_FOV_18_the_link_fails_again_during_the_replay)
{
    struct pair_config config = {.seed = 3, .topology = PAIR_CABLES, .ports = {3, 3}};
    config.smcr[0].max_links = config.smcr[1].max_links = 3;
    config.smcr[0].times.redundancy_ns = config.smcr[1].times.redundancy_ns = PAIR_S;
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    pair_run_for(pair, 10 * PAIR_S); /* the third link */
    for (unsigned i = 0; i < 2; i++) {
        struct smcr_link *link = c->end[0].conn->link;
        (void)pair_pump(&c->end[0], 60000, 0);
        for (unsigned p = 0; p < 3; p++)
            if (link->port->config.dev == pair->node[0].port[p].dev)
                pair_cut(pair, 0, p, true);
        pair_run_for(pair, 3 * PAIR_US);
    }
    cr_assert(pair_run_until(pair, drained, c, 10 * PAIR_S), "%s", pair->failure);
    cr_assert_geq(smcr_counters(pair->node[0].smcr)->failovers, 2);
    finish(pair);
}

/* --- a link whose port's MTU has shrunk --- */

struct longest {
    const struct nornic_mac *mac;
    size_t len_bytes;
};

static void see_longest(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t len_bytes)
{
    struct longest *l = ctx;
    if (!end && memcmp(bytes + NORNIC_MAC_BYTES, l->mac->b, NORNIC_MAC_BYTES) == 0 &&
        len_bytes > l->len_bytes)
        l->len_bytes = len_bytes;
}

/* Of the first ports, on both sides. */
static void shrink_mtu(struct pair *pair)
{
    for (unsigned node = 0; node < 2; node++)
        smcr_port_set_mtu(pair->node[node].port[0].port, NORNIC_MTU_512, pair->now_ns);
}

/* The only link stays with small writes when the MTU of its port shrinks. What another link has left behind,
 * once there is one, must not go over that one in packets that its port does not let through.
 * covers: SMCR-QP-02, SMCR-FOV-09 */
Test(pair_failover, SMCR_QP_02_nothing_is_replayed_in_packets_that_do_not_fit)
{
    struct pair_config config = two_fabrics(11);
    config.path_mtu[0] = config.path_mtu[1] = NORNIC_MTU_4096;
    config.smcr[0].times.redundancy_ns = config.smcr[1].times.redundancy_ns = PAIR_S;
    struct pair *pair = pair_new(&config);
    struct longest longest = {.mac = &pair->node[0].port[0].mac};
    struct pair_conn *first = pair_connect(pair, 0), *c;
    cr_assert_not_null(first, "%s", pair->failure);
    pair_cut(pair, 0, 1, true);
    pair_run_for(pair, PAIR_S / 2);
    shrink_mtu(pair);
    pair_restore(pair, 0, 1);
    pair_run_for(pair, 20 * PAIR_S);
    pair->on_wire = see_longest;
    pair->wire_ctx = &longest;
    cr_assert_not_null(c = pair_connect(pair, 0), "%s", pair->failure);
    cr_assert_eq(c->end[0].conn->link->port->config.dev, pair->node[0].port[1].dev);
    (void)pair_pump(&c->end[0], 60000, 0);
    pair_cut(pair, 0, 1, true);
    cr_assert(pair_run_until(pair, drained, c, 10 * PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &first->end[0], 20000, PAIR_S), "%s", pair->failure);
    cr_assert_gt(longest.len_bytes, 512);
    cr_assert_lt(longest.len_bytes, 512 + 100, "a frame of %zu bytes", longest.len_bytes);
    finish(pair);
}

/* covers: SMCR-FOV-16, SMCR-ARC-04, SMCR-LGT-06 */
Test(pair_failover, SMCR_FOV_16_the_last_link_takes_the_connections_with_it)
{
    struct pair_config config = two_fabrics(4);
    struct pair *pair = pair_new(&config);
    struct pair_conn *a = pair_connect(pair, 0), *b = pair_connect(pair, 0);
    cr_assert(a && b, "%s", pair->failure);
    pair_cut(pair, 0, 0, true);
    pair_cut(pair, 0, 1, true);
    pair_run_for(pair, 40 * PAIR_S);
    for (unsigned n = 0; n < 2; n++) {
        cr_assert(a->end[n].events & SMCR_EVENT_RESET, "node %u", n);
        cr_assert_eq(status_of(&a->end[n]).error, -ECONNRESET);
        cr_assert_eq(status_of(&b->end[n]).error, -ECONNRESET);
        cr_assert_eq(pair->node[n].smcr->num_groups, 0);
    }
    cr_assert(a->end[0].reset_sent && b->end[0].reset_sent);
    finish(pair);
}

/* covers: SMCR-FOV-17 */
Test(pair_failover, SMCR_FOV_17_the_survivors_share_the_load)
{
    struct pair_config config = {.seed = 5, .topology = PAIR_CABLES, .ports = {3, 3}};
    config.smcr[0].max_links = config.smcr[1].max_links = 3;
    config.smcr[0].times.redundancy_ns = config.smcr[1].times.redundancy_ns = PAIR_S;
    struct pair *pair = pair_new(&config);
    struct pair_conn *c[9];
    c[0] = pair_connect(pair, 0);
    cr_assert_not_null(c[0], "%s", pair->failure);
    pair_run_for(pair, 10 * PAIR_S);
    for (unsigned i = 1; i < 9; i++)
        cr_assert_not_null(c[i] = pair_connect(pair, 0), "%s", pair->failure);
    pair_cut(pair, 0, 2, true);
    pair_run_for(pair, PAIR_S);
    const struct smcr_group *group = c[0]->end[0].conn->group;
    unsigned active = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state == SMCR_LINK_ACTIVE) {
            active++;
            cr_assert_geq(group->links[i].conns, 3, "link %u has %u of 9", i, group->links[i].conns);
        }
    cr_assert_eq(active, 2);
    finish(pair);
}

static bool symmetric(void *ctx, struct pair *pair)
{
    (void)ctx;
    return smcr_group_redundancy(pair->node[0].smcr->groups) == SMCR_SYMMETRIC &&
           smcr_group_redundancy(pair->node[1].smcr->groups) == SMCR_SYMMETRIC;
}

/* covers: SMCR-REC-30, SMCR-ALK-10, SMCR-DLK-10 */
Test(pair_failover, SMCR_REC_30_a_silent_cut_is_found_and_redundancy_comes_back)
{
    struct pair_config config = two_fabrics(6);
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    cr_assert(symmetric(NULL, pair));
    pair_cut(pair, 1, 1, false);
    pair_run_for(pair, 40 * PAIR_S); /* TEST LINK every 30 s, an answer within 2 */
    cr_assert_eq(smcr_group_redundancy(pair->node[0].smcr->groups), SMCR_SINGLE);
    pair_restore(pair, 1, 1);
    cr_assert(pair_run_until(pair, symmetric, NULL, 300 * PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[0], 50000, PAIR_S), "%s", pair->failure);
    finish(pair);
}

/* The server's end of a cable comes back before the client's: the client has no other RNIC in that
 * network and refuses at once (SMCR-FC-14). The link after its notice is the right one.
 * covers: SMCR-SER-01, SMCR-ALK-03, SMCR-ALK-04, SMCR-REC-30 */
Test(pair_failover, SMCR_REC_30_a_client_whose_port_comes_back_a_little_later)
{
    struct pair_config config = two_fabrics(12);
    config.wire.bits_per_s = 1000000000; /* what is sent right after something comes right after it */
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    pair_cut(pair, 0, 0, true);
    pair_cut(pair, 1, 0, true);
    pair_run_for(pair, 50 * PAIR_MS);
    uint64_t offers = pair->node[1].sent[SMCR_LLC_ADD_LINK];
    pair_restore(pair, 1, 0);
    pair_run_for(pair, 50 * PAIR_MS);
    /* what the second port of that RNIC, for its other family of addresses, brings when it comes up */
    step_want_link(pair->node[1].smcr->groups, pair->now_ns);
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(pair->node[1].sent[SMCR_LLC_ADD_LINK], offers + 2);
    pair_restore(pair, 0, 0);
    cr_assert(pair_run_until(pair, symmetric, NULL, 10 * PAIR_S), "%s", pair->failure);
    cr_assert_eq(pair->node[1].sent[SMCR_LLC_ADD_LINK], offers + 3);
    cr_assert(pair_transfer(pair, &c->end[0], 50000, PAIR_S), "%s", pair->failure);
    finish(pair);
}

/* --- a peer played by hand --- */

static void start(struct pair **pair, struct peer *peer, struct peer_conn *conn, enum smcr_role role,
                  unsigned links)
{
    struct pair_config config = {
        .seed = 7, .topology = PAIR_CABLES, .ports = {links, 2}, .scripted[1] = true};
    *pair = pair_new(&config);
    peer_init(peer, *pair, 1, role);
    cr_assert(peer_first_contact(peer, conn, links), "no first contact: %s", (*pair)->failure);
}

static void stop(struct pair *pair, struct peer *peer)
{
    peer_deinit(peer);
    finish(pair);
}

/* covers: SMCR-FOV-08, SMCR-FOV-19 */
Test(pair_failover, SMCR_FOV_08_validation_of_what_came_is_silent)
{
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn;
    start(&pair, &peer, &conn, SMCR_CLIENT, 2);
    uint8_t bytes[100];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    peer_write(&conn, 0, bytes, 50); /* sequence number 1 */
    pair_run_for(pair, PAIR_MS);
    struct smcr_cdc cdc;
    peer_cdc(&conn, &cdc);
    conn.seq--;
    cdc.failover_validation = 1;
    cdc.seq = 1;
    cdc.producer_cursor = 0xffffffff; /* means nothing: SMCR-CDC-14 */
    peer_send_cdc(&conn, 1, &cdc);
    peer_write(&conn, 1, bytes + 50, 50);
    pair_run_for(pair, PAIR_MS);
    uint8_t got[100];
    struct pair_end *end = pair_other(conn.end);
    cr_assert_eq(smcr_conn_recv(end->conn, got, 100, 0, pair->now_ns), 100);
    cr_assert_arr_eq(got, bytes, 100);
    cr_assert_eq(status_of(end).error, 0);
    stop(pair, &peer);
}

/* covers: SMCR-FOV-08 */
Test(pair_failover, SMCR_FOV_08_validation_of_what_never_came_resets)
{
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn;
    start(&pair, &peer, &conn, SMCR_SERVER, 2);
    struct smcr_cdc cdc;
    peer_cdc(&conn, &cdc);
    cdc.failover_validation = 1;
    cdc.seq = 1;
    peer_send_cdc(&conn, 1, &cdc);
    pair_run_for(pair, PAIR_MS);
    struct pair_end *end = pair_other(conn.end);
    cr_assert(end->events & SMCR_EVENT_RESET);
    cr_assert(end->reset_sent);
    cr_assert_eq(smcr_counters(pair->node[0].smcr)->failover_lost, 1);
    stop(pair, &peer);
}

/* What the instance writes after a failover lies where the peer's element is, told by the key of that link.
 * covers: SMCR-FOV-13, SMCR-FOV-05, SMCR-FOV-09, SMCR-RKY-01 */
Test(pair_failover, SMCR_FOV_13_writes_use_the_keys_of_the_new_link)
{
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn;
    start(&pair, &peer, &conn, SMCR_CLIENT, 2);
    struct pair_end *end = pair_other(conn.end);
    unsigned used = end->conn->link->number == peer.link[0].number ? 0 : 1;
    uint8_t bytes[12000];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8));
    cr_assert_eq(smcr_conn_send(end->conn, bytes, 1000, 0, pair->now_ns), 1000);
    pair_run_for(pair, PAIR_MS);
    raw_break(peer.link[used].raw);
    cr_assert_eq(smcr_conn_send(end->conn, bytes + 1000, 11000, 0, pair->now_ns), 11000);
    struct smcr_cdc cdc;
    cr_assert(peer_cdc_wait(&conn, !used, &cdc, 6 * PAIR_S), "%s", pair->failure);
    cr_assert(cdc.failover_validation);
    cr_assert_eq(cdc.seq, 1, "SS is %u", cdc.seq);
    cr_assert(peer_cdc_wait(&conn, !used, &cdc, PAIR_S));
    pair_run_for(pair, PAIR_MS);
    cr_assert_arr_eq(peer.rmb + (conn.index - 1) * PEER_ELEM_BYTES + 4, bytes, sizeof bytes);
    stop(pair, &peer);
}

/* The peer moves its own direction first, to whichever link it likes, with no DELETE LINK at all.
 * covers: SMCR-FOV-19, SMCR-CDC-07, SMCR-FOV-03 */
Test(pair_failover, SMCR_FOV_19_validation_without_a_delete_link)
{
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn;
    start(&pair, &peer, &conn, SMCR_SERVER, 2);
    uint8_t byte = 'x', got[8];
    struct pair_end *end = pair_other(conn.end);
    const struct smcr_link *own = end->conn->link;
    for (unsigned i = 0; i < 6; i++) {
        struct smcr_cdc cdc;
        peer_cdc(&conn, &cdc);
        conn.seq--;
        cdc.failover_validation = 1;
        cdc.seq = conn.seq;
        peer_send_cdc(&conn, i % 2, &cdc);
        peer_write(&conn, i % 2, &byte, 1);
        pair_run_for(pair, PAIR_MS);
    }
    cr_assert_eq(smcr_conn_recv(end->conn, got, 8, 0, pair->now_ns), 6);
    cr_assert_eq(end->conn->link, own, "our direction stays where it is");
    stop(pair, &peer);
}

/* An Accept for `second` that names link 1 of the peer, which has been deleted while it was on its way; `va`
 * of the peer's RMB in it. */
static void accept_over_a_gone_link(struct peer *peer, struct peer_conn *second, uint64_t va)
{
    struct raw_message m;
    uint8_t out[SMCR_CLC_MAX_BYTES] = {0};
    peer_conn_begin(peer, second);
    cr_assert_gt(peer_clc_wait(second->end, out, sizeof out, PAIR_S), 0);
    struct smcr_delete_link d = {.type = SMCR_LLC_DELETE_LINK,
                                 .length = SMCR_MSG_BYTES,
                                 .link = peer->link[1].number,
                                 .reason = SMCR_DELETE_LOST_PATH};
    smcr_delete_link_put(out, &d);
    raw_send(peer->link[0].raw, out, SMCR_MSG_BYTES);
    cr_assert(raw_wait(peer->link[0].raw, SMCR_LLC_DELETE_LINK, true, &m, PAIR_S));
    size_t len = peer_accept(second, SMCR_CLC_ACCEPT, false, 1, out);
    put_be64(out + 52, va);
    pair_tcp_send(second->end, out, len);
}

static void still_works(struct pair *pair, struct peer_conn *conn)
{
    uint8_t byte = 'x', got[8];
    peer_write(conn, 0, &byte, 1);
    pair_run_for(pair, PAIR_MS);
    cr_assert_eq(smcr_conn_recv(pair_other(conn->end)->conn, got, 8, 0, pair->now_ns), 1);
}

/* covers: SMCR-SC-11 */
Test(pair_failover, SMCR_SC_11_an_accept_that_names_a_link_just_gone_is_confirmed_on_another)
{
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn, second;
    uint8_t confirm[SMCR_CLC_MAX_BYTES];
    start(&pair, &peer, &conn, SMCR_SERVER, 2);
    accept_over_a_gone_link(&peer, &second, (uintptr_t)peer.rmb);
    cr_assert_eq(peer_clc_wait(second.end, confirm, sizeof confirm, PAIR_S), SMCR_ACCEPT_BYTES);
    cr_assert_eq(confirm[4], SMCR_CLC_CONFIRM);
    peer_learn(&second, confirm, false);
    cr_assert_eq(second.theirs.qpn, peer.link[0].theirs.qpn);
    still_works(pair, &second);
    still_works(pair, &conn);
    stop(pair, &peer);
}

/* The peer's buffer cannot be told by its address: the connection goes on over TCP, the group and its
 * connections as if nothing had been.
 * covers: SMCR-SC-11, SMCR-FBK-03 */
Test(pair_failover, SMCR_SC_11_an_accept_that_names_a_link_just_gone_harms_nobody)
{
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn, second;
    uint8_t out[SMCR_CLC_MAX_BYTES];
    struct smcr_decline decline;
    start(&pair, &peer, &conn, SMCR_SERVER, 2);
    accept_over_a_gone_link(&peer, &second, 0x4000);
    cr_assert_eq(peer_clc_wait(second.end, out, sizeof out, PAIR_S), SMCR_DECLINE_BYTES);
    smcr_decline_get(&decline, out);
    cr_assert_eq(decline.flag, 0, "out of sync");
    cr_assert_eq(decline.diagnosis, SMCR_DIAG_NO_SUCH_LINK);
    cr_assert(pair_other(second.end)->events & SMCR_EVENT_FALLBACK);
    still_works(pair, &conn);
    stop(pair, &peer);
}
