/* SPDX-License-Identifier: BSD-2-Clause */
/* smcr/life.c, smcr/conn/conn.c: the frame of an instance and of its connections. */
#include <criterion/criterion.h>
#include <errno.h>

#include "net/port.h"
#include "smcr/conn/conn.h"
#include "test/smcr/hs.h"

static struct test_alloc alloc;
static struct test_random random_state = {.state = 1};

static struct smcr_config config(void)
{
    return (struct smcr_config){
        .mem = &alloc.mem, .random = test_random_source(&random_state), .instance_id = 0x5a01};
}

static void setup(void)
{
    test_alloc_init(&alloc);
}

TestSuite(instance, .init = setup, .timeout = 60);

/* covers: SMCR-ARC-14 */
Test(instance, what_cannot_be_is_refused)
{
    struct smcr *smcr;
    struct smcr_config c = config();
    c.random.next = NULL;
    cr_assert_eq(smcr_create(&c, &smcr), -EINVAL);
    static const uint8_t links[] = {1, 9, 255};
    for (unsigned i = 0; i < sizeof links; i++) {
        c = config();
        c.max_links = links[i];
        cr_assert_eq(smcr_create(&c, &smcr), -EINVAL, "%u links", links[i]);
    }
    c = config();
    c.max_conns = UINT32_MAX;
    cr_assert_eq(smcr_create(&c, &smcr), -EINVAL);
    c = config();
    c.max_groups = UINT32_MAX;
    cr_assert_eq(smcr_create(&c, &smcr), -EINVAL);
    cr_assert_eq(alloc.live, 0);
}

Test(instance, no_memory_for_it)
{
    for (unsigned nth = 1; nth <= 2; nth++) {
        struct smcr *smcr;
        struct smcr_config c = config();
        alloc.fail_at = alloc.calls + nth;
        cr_assert_eq(smcr_create(&c, &smcr), -ENOMEM);
        cr_assert_eq(alloc.live, 0);
    }
}

/* covers: SMCR-ARC-14, SMCR-CLC-12, SMCR-FBK-06 */
Test(instance, SMCR_FBK_06_the_defaults_are_those_of_section_24)
{
    struct smcr *smcr;
    struct smcr_config c = config();
    c.times.cork_ns = 1;
    cr_assert_eq(smcr_create(&c, &smcr), 0);
    const struct smcr_times *t = &smcr->config.times;
    cr_assert_eq(t->clc_ns, 6 * PAIR_S);
    cr_assert_eq(t->first_contact_ns, 5 * PAIR_S);
    cr_assert_eq(t->llc_ns, 2 * PAIR_S);
    cr_assert_eq(t->test_link_ns, 30 * PAIR_S);
    cr_assert_eq(t->test_answer_ns, 2 * PAIR_S);
    cr_assert_eq(t->redundancy_ns, 10 * PAIR_S);
    cr_assert_eq(t->redundancy_max_ns, 300 * PAIR_S);
    cr_assert_eq(t->add_link_notice_ns, 30 * PAIR_S);
    cr_assert_eq(t->group_idle_ns, 600 * PAIR_S);
    cr_assert_eq(t->rmb_idle_ns, 60 * PAIR_S);
    cr_assert_eq(t->close_guard_ns, 60 * PAIR_S);
    cr_assert_eq(t->abort_guard_ns, 5 * PAIR_S);
    cr_assert_eq(t->stale_cursor_ns, 200 * PAIR_MS);
    cr_assert_eq(t->cork_ns, 1, "a given time is kept");
    cr_assert_eq(smcr->config.max_links, 2);
    cr_assert_eq(smcr_deadline_ns(smcr), NET_TIME_NONE);
    smcr_destroy(smcr, 0);
    cr_assert_eq(alloc.live, 0);
}

/* covers: SMCR-ARC-21, SMCR-ARC-22, SMCR-CLC-14 */
Test(instance, SMCR_ARC_21_the_peer_id_is_of_the_instance_and_its_first_rnic)
{
    struct pair *pair = pair_new(&(struct pair_config){
        .seed = 1, .ports = {2, 1}, .smcr = {{.instance_id = 0x1234}, {.instance_id = 0x1235}}});
    for (unsigned i = 0; i < 2; i++) {
        const struct pair_node *node = &pair->node[i];
        uint8_t want[8] = {0x12, (uint8_t)(0x34 + i)};
        memcpy(want + 2, node->port[0].mac.b, 6);
        cr_assert_arr_eq(node->smcr->peer_id.b, want, 8);
    }
    pair_add_port(pair, 0); /* it stays */
    cr_assert_arr_eq(pair->node[0].smcr->peer_id.b + 2, pair->node[0].port[0].mac.b, 6);
    cr_assert_null(pair_free(pair));
}

/* --- connections --- */

static int no_send(void *ctx, const uint8_t *bytes, size_t len_bytes)
{
    (void)bytes;
    (void)len_bytes;
    return ctx ? 0 : -EPIPE;
}

static unsigned resets;

static void count_reset(void *ctx)
{
    (void)ctx;
    resets++;
}

static struct smcr_conn_config conn_config(enum smcr_role role)
{
    return (struct smcr_conn_config){
        .role = role,
        .local = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 1}),
        .remote = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 2}),
        .tcp = {.send = no_send, .reset = count_reset},
        .ctx = &resets,
    };
}

static struct smcr *make(uint32_t max_conns)
{
    struct smcr *smcr;
    struct smcr_config c = config();
    c.max_conns = max_conns;
    cr_assert_eq(smcr_create(&c, &smcr), 0);
    return smcr;
}

/* covers: SMCR-SEC-07 */
Test(instance, SMCR_SEC_07_connections_are_bounded)
{
    struct smcr *smcr = make(3);
    struct smcr_conn *conn[3 + SMCR_SURPLUS_CONNS], *more;
    struct smcr_conn_config c = conn_config(SMCR_SERVER);
    for (unsigned i = 0; i < 3 + SMCR_SURPLUS_CONNS; i++)
        cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn[i]), 0);
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &more), -ENOSPC);
    smcr_conn_release(conn[1], false, 0);
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn[1]), 0);
    alloc.fail_at = alloc.calls + 1;
    smcr_conn_release(conn[1], false, 0);
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn[1]), -ENOMEM);
    cr_assert_eq(smcr->num_conns, 2 + SMCR_SURPLUS_CONNS);
    smcr_destroy(smcr, 0);
    cr_assert_eq(alloc.live, 0);
    cr_assert_eq(resets, 4 + SMCR_SURPLUS_CONNS, "each was in its handshake");
}

Test(instance, connections_that_cannot_be_are_refused)
{
    struct smcr *smcr = make(3);
    struct smcr_conn *conn;
    struct smcr_conn_config good = conn_config(SMCR_SERVER), c = good;
    c.role = (enum smcr_role)2;
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), -EINVAL);
    c = good;
    c.num_networks = SMCR_MAX_NETWORKS + 1;
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), -EINVAL);
    c = good;
    c.tcp.send = NULL;
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), -EINVAL);
    c = good;
    c.tcp.reset = NULL;
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), -EINVAL);
    c = good;
    memset(c.pnetid, 'x', sizeof c.pnetid);
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), -EINVAL);
    c = good;
    c.local.b[0] = 0x20;
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), -EINVAL, "IPv6 to IPv4");
    smcr_destroy(smcr, 0);
    cr_assert_eq(alloc.live, 0);
}

/* A TCP connection that is broken at the first message.
 * covers: SMCR-FC-22 */
Test(instance, SMCR_FC_22_tcp_breaks_under_the_handshake)
{
    struct smcr *smcr = make(3);
    struct smcr_conn *conn;
    struct smcr_conn_config c = conn_config(SMCR_CLIENT);
    c.ctx = NULL;
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), 0);
    unsigned events;
    cr_assert_eq(smcr_next_event(smcr, &events), conn);
    cr_assert_eq(events, SMCR_EVENT_RESET | SMCR_EVENT_CLOSED);
    struct smcr_conn_status s;
    smcr_conn_status(conn, &s);
    cr_assert(s.closed);
    cr_assert_eq(s.error, -EPIPE);
    smcr_conn_release(conn, false, 0);
    smcr_destroy(smcr, 0);
    cr_assert_eq(alloc.live, 0);
}

/* Each connection once, in the order in which something happened first, with all that did.
 * The instance has no port: each client declines at once. */
Test(instance, events_come_once_and_in_order)
{
    struct smcr *smcr = make(8);
    struct smcr_conn *conn[5];
    struct smcr_conn_config client = conn_config(SMCR_CLIENT), server = conn_config(SMCR_SERVER);
    unsigned events;
    for (unsigned i = 0; i < 5; i++)
        cr_assert_eq(smcr_conn_create(smcr, i == 2 ? &server : &client, 0, &conn[i]), 0);
    smcr_conn_release(conn[1], false, 0); /* in the middle, */
    smcr_conn_release(conn[4], false, 0); /* and at the end */
    smcr_conn_tcp_end(conn[2], SMCR_TCP_RST, 0);
    cr_assert_eq(smcr_next_event(smcr, &events), conn[0]);
    cr_assert_eq(events, SMCR_EVENT_FALLBACK);
    cr_assert_eq(smcr_next_event(smcr, &events), conn[3]);
    cr_assert_eq(smcr_next_event(smcr, &events), conn[2]);
    cr_assert_eq(events, SMCR_EVENT_RESET | SMCR_EVENT_CLOSED);
    cr_assert_null(smcr_next_event(smcr, &events));
    cr_assert_eq(events, 0);
    cr_assert_eq(smcr_conn_ctx(conn[0]), &resets);
    smcr_conn_release(conn[0], true, 0); /* lingers: once more, whatever it was */
    cr_assert_eq(smcr_next_event(smcr, &events), conn[0]);
    cr_assert_eq(events, SMCR_EVENT_CLOSED);
    smcr_conn_release(conn[0], false, 0);
    cr_assert_eq(smcr->num_conns, 2);
    smcr_destroy(smcr, 0);
    cr_assert_eq(alloc.live, 0);
}

/* covers: SMCR-FBK-05, SMCR-CLC-09 */
Test(instance, SMCR_CLC_09_nothing_is_taken_after_a_fallback)
{
    struct smcr *smcr = make(2);
    struct smcr_conn *conn;
    struct smcr_conn_config c = conn_config(SMCR_CLIENT);
    cr_assert_eq(smcr_conn_create(smcr, &c, 0, &conn), 0);
    uint8_t bytes[28] = {0xe2, 0xd4, 0xc3, 0xd9, 4, 0, 28, 0x10, [24] = 0xe2, 0xd4, 0xc3, 0xd9};
    cr_assert_eq(smcr_conn_tcp_input(conn, bytes, sizeof bytes, 0), 0);
    smcr_conn_tcp_end(conn, SMCR_TCP_FIN, 0);
    smcr_conn_tcp_end(conn, SMCR_TCP_RST, 0);
    struct smcr_conn_status s;
    smcr_conn_status(conn, &s);
    cr_assert(s.fallback);
    cr_assert_eq(s.error, 0);
    cr_assert_eq(resets, 0);
    smcr_destroy(smcr, 0);
}

/* covers: SMCR-KAL-05, SMCR-FBK-04 */
Test(instance, SMCR_KAL_05_data_on_tcp_after_the_switch_is_a_protocol_error)
{
    static struct hs h;
    for (unsigned role = 0; role < 2; role++) {
        hs_begin(&h, role ? SMCR_CLIENT : SMCR_SERVER, NULL);
        hs_contact(&h, 1);
        cr_assert_eq(smcr_conn_tcp_input(hs_conn(&h), NULL, 0, h.pair->now_ns), 0);
        cr_assert(hs_status(&h).established);
        hs_send(&h, (const uint8_t *)"x", 1);
        hs_pass(&h);
        struct smcr_conn_status s = hs_status(&h);
        cr_assert_eq(s.error, -ECONNRESET);
        cr_assert(pair_other(h.conn.end)->reset_sent);
        cr_assert_eq(smcr_conn_tcp_input(hs_conn(&h), (const uint8_t *)"yz", 2, h.pair->now_ns), 2);
        cr_assert_eq(hs_groups(&h), 1);
        hs_end(&h);
    }
}

/* An instance that ends while everything runs, or stands at each stage, leaves nothing.
 * covers: SMCR-ABT-09 */
Test(instance, SMCR_ABT_09_it_ends_at_any_moment)
{
    for (unsigned us = 0; us < 400; us += 5) {
        struct pair *pair = pair_new(&(struct pair_config){.seed = 1 + us, .ports = {2, 2}});
        struct pair_conn *c[3];
        for (unsigned i = 0; i < 3; i++)
            c[i] = pair_open(pair, 0);
        pair_run_for(pair, us * PAIR_US);
        (void)c;
        const char *wrong = pair_free(pair);
        cr_assert_null(wrong, "after %u us: %s", us, wrong);
    }
}

/* The client asks for the end of the group, at once or with its last connection, and waits for the server's
 * DELETE LINK.
 * covers: SMCR-ABT-09, SMCR-LGT-04 */
Test(instance, SMCR_LGT_04_a_client_that_retires_asks_the_server)
{
    for (unsigned is_idle = 0; is_idle < 2; is_idle++) {
        struct pair *pair = pair_new(&(struct pair_config){.seed = 1 + is_idle, .ports = {2, 2}});
        struct pair_conn *c = pair_connect(pair, 0);
        cr_assert_not_null(c);
        pair_run_for(pair, PAIR_MS);
        if (is_idle) {
            pair_close(&c->end[0]);
            pair_close(&c->end[1]);
            pair_run_for(pair, PAIR_S);
        }
        smcr_retire(pair->node[0].smcr, pair->now_ns);
        pair_run_for(pair, PAIR_MS);
        if (!is_idle) {
            cr_assert_not_null(pair->node[0].smcr->groups, "a connection lives");
            cr_assert_eq(pair->node[0].sent[SMCR_LLC_DELETE_LINK], 0);
            pair_close(&c->end[0]);
            pair_close(&c->end[1]);
            pair_run_for(pair, 10 * PAIR_MS);
        }
        cr_assert_eq(pair->node[0].sent[SMCR_LLC_DELETE_LINK], 1, "%u: the request", is_idle);
        cr_assert_eq(pair->node[1].sent[SMCR_LLC_DELETE_LINK], 1, "%u: and the server's own", is_idle);
        cr_assert_null(pair->node[0].smcr->groups);
        cr_assert_null(pair->node[1].smcr->groups);
        cr_assert_eq(smcr_counters(pair->node[1].smcr)->links_failed, 0);
        cr_assert_null(pair_free(pair));
    }
}

/* Connections still end, new ones use TCP, and a group goes with its last connection.
 * covers: SMCR-ABT-09 */
Test(instance, SMCR_ABT_09_retiring_takes_no_new_connection_and_ends_idle_groups)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1});
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c);
    smcr_retire(pair->node[1].smcr, pair->now_ns);
    cr_assert(pair_transfer(pair, &c->end[0], 10000, PAIR_S));
    struct pair_conn *late = pair_open(pair, 0);
    pair_run_for(pair, PAIR_MS);
    cr_assert(pair_is_fallback(late));
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_run_for(pair, PAIR_S);
    cr_assert(pair_is_over(c));
    cr_assert_null(pair->node[1].smcr->groups);
    cr_assert_null(pair->node[0].smcr->groups, "the client was told");
    cr_assert_null(pair_free(pair));

    pair = pair_new(&(struct pair_config){.seed = 2});
    c = pair_connect(pair, 0);
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_run_for(pair, PAIR_S);
    cr_assert_not_null(pair->node[1].smcr->groups, "it is kept for the next connection");
    smcr_retire(pair->node[1].smcr, pair->now_ns);
    pair_run_for(pair, PAIR_S);
    cr_assert_null(pair->node[1].smcr->groups);
    cr_assert_null(pair->node[0].smcr->groups);
    cr_assert_null(pair_free(pair));
}

/* An instance that retires waits for its connections, and each end for the other's DELETE LINK.
 * covers: SMCR-ABT-09, SMCR-LGT-04 */
Test(instance, SMCR_ABT_09_an_instance_that_retires_lingers_until_its_groups_are_gone)
{
    for (unsigned node = 0; node < 2; node++) { /* 0: the client */
        struct pair *pair = pair_new(&(struct pair_config){.seed = 3 + node, .ports = {2, 2}});
        const struct smcr *smcr = pair->node[node].smcr;
        struct pair_conn *c = pair_connect(pair, 0);
        cr_assert_not(smcr_lingers(smcr, pair->now_ns), "it does not retire");
        pair_close(&c->end[node]);
        pair_run_for(pair, PAIR_MS);
        smcr_retire(pair->node[node].smcr, pair->now_ns);
        cr_assert(smcr_lingers(smcr, pair->now_ns), "%u: the peer has not closed", node);
        cr_assert_not(smcr_retire_unheard(pair->node[node].smcr, pair->now_ns), "%u: it has said all", node);
        pair_close(&c->end[!node]);
        for (unsigned us = 0; us < 100000 && smcr_lingers(smcr, pair->now_ns); us++)
            pair_run_for(pair, PAIR_US);
        cr_assert_eq(pair->node[0].sent[SMCR_LLC_DELETE_LINK], node == 0, "%u: the client's request", node);
        cr_assert_eq(pair->node[1].sent[SMCR_LLC_DELETE_LINK], 1, "%u: the server's", node);
        cr_assert_not(smcr_lingers(smcr, pair->now_ns));
        pair_run_for(pair, 10 * PAIR_US);         /* frames on the wire arrive */
        for (unsigned port = 0; port < 2; port++) /* as after the end of a process */
            pair_cut(pair, node, port, false);
        pair_run_for(pair, 60 * PAIR_S);
        cr_assert_eq(smcr_counters(pair->node[!node].smcr)->links_failed, 0, "%u: the peer heard it", node);
        cr_assert_null(pair->node[!node].smcr->groups);
        cr_assert_null(pair_free(pair));
    }
}

/* Bytes that the peer does not take are lost with the instance, which the peer hears at once.
 * covers: SMCR-ABT-09, SMCR-LGT-02 */
Test(instance, SMCR_ABT_09_groups_with_bytes_that_nobody_takes_are_deleted_at_last)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 5, .ports = {2, 2}});
    struct pair_conn *c = pair_connect(pair, 0);
    static const uint8_t bytes[1000];
    cr_assert_eq(smcr_conn_send(c->end[1].conn, bytes, sizeof bytes, 0, pair->now_ns), sizeof bytes);
    pair_close(&c->end[1]);
    smcr_retire(pair->node[1].smcr, pair->now_ns);
    pair_run_for(pair, 999 * PAIR_MS);
    cr_assert(smcr_lingers(pair->node[1].smcr, pair->now_ns));
    pair_run_for(pair, PAIR_MS);
    cr_assert_not(smcr_lingers(pair->node[1].smcr, pair->now_ns), "half of 2 s");
    cr_assert_eq(pair->node[1].sent[SMCR_LLC_DELETE_LINK], 0, "there is still time");
    cr_assert(smcr_retire_unheard(pair->node[1].smcr, pair->now_ns));
    pair_run_for(pair, 10 * PAIR_MS);
    cr_assert_eq(pair->node[1].sent[SMCR_LLC_DELETE_LINK], 1);
    cr_assert_not(smcr_lingers(pair->node[1].smcr, pair->now_ns));
    cr_assert_null(pair->node[0].smcr->groups, "the client was told");
    cr_assert_eq(smcr_counters(pair->node[0].smcr)->links_failed, 0);
    struct smcr_conn_status status;
    smcr_conn_status(c->end[0].conn, &status);
    cr_assert_eq(status.error, -ECONNRESET);
    cr_assert_null(pair_free(pair));
}
