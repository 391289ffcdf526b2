/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer of the connection manager's programs that has all it wanted and leaves before its last
 * acknowledgement arrives is no failure (two generals); one that leaves earlier is. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/peer/exchange.h"

static const struct peer_options options = {
    .connections = 1, .messages = 10, .size_bytes = 100, .timeout_ns = 10 * NS_PER_S};
static const struct peer_kind kind = {.stock = "ucmatose", .qp_type = NORNIC_QPT_RC, PEER_EXCHANGE_KIND};

static struct nornic_dev *devices[2]; /* the second one's program has ended: it acknowledges nothing */
static struct peer peer;
static struct peer_conn conn;

static void open_peer(void)
{
    struct nornic_error why;
    const struct nornic_dev_config memory = {NORNIC_INIT(memory), .no_thread = true};
    const struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 32};
    cr_assert_eq(nornic_dev_open_pair(&memory, devices, &why), 0, "%s", why.text);
    peer = (struct peer){.options = &options,
                         .kind = &kind,
                         .node = {.api = devices[0], .dev = host_dev_of(devices[0])},
                         .conns = &conn,
                         .max_send_wr = 2,
                         .max_recv_wr = 16};
    conn = (struct peer_conn){.peer = &peer, .state = PEER_CONN_ESTABLISHED};
    cr_assert_eq(nornic_pd_create(devices[0], &peer.pd), 0);
    cr_assert_eq(nornic_cm_open(devices[0], NULL, &peer.cm, &why), 0, "%s", why.text);
    cr_assert_eq(nornic_cq_create(devices[0], &cq, &peer.cq), 0);
    cr_assert_eq(nornic_cm_id_create(peer.cm, NORNIC_PS_TCP, &conn, &conn.id), 0);
    cr_assert_eq(peer_conn_open(&conn), CLI_OK);
}

static void connect_to_nobody(void)
{
    struct nornic_error why;
    struct nornic_endpoint mine;
    cr_assert_eq(nornic_qp_endpoint(conn.qp, 0, &mine), 0);
    struct nornic_endpoint nobody = {.addr = mine.addr, .qpn = 99};
    nobody.addr.b[15] ^= 3;
    cr_assert_eq(nornic_qp_connect(conn.qp, &mine, &nobody, 0, NS_PER_S, &why), 0, "%s", why.text);
    cr_assert_eq(peer_post_send(&conn, 0, 0, 64), CLI_OK);
}

static void close_peer(void)
{
    peer_conn_close(&conn);
    nornic_cm_close(peer.cm);
    nornic_cq_destroy(peer.cq);
    nornic_pd_destroy(peer.pd);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(nornic_dev_close(devices[i], NULL), 0);
}

static bool is_over(const struct peer *p, const void *ctx)
{
    (void)ctx;
    return p->conns[0].state == PEER_CONN_CLOSED || p->sent > 0;
}

Test(peer, one_that_leaves_with_all_it_wanted_is_no_failure, .timeout = 60)
{
    open_peer();
    connect_to_nobody();
    peer.peer_may_leave = true;
    cr_expect_eq(peer_wait(&peer, is_over, NULL, "it left"), CLI_OK);
    cr_expect_eq(peer.unacknowledged, 1);
    cr_expect_eq(peer.sent, 0);
    cr_expect_eq(conn.state, PEER_CONN_CLOSED);
    close_peer();
}

Test(peer, one_that_leaves_earlier_is, .timeout = 60, .init = cr_redirect_stderr)
{
    open_peer();
    connect_to_nobody();
    cr_expect_eq(peer_wait(&peer, is_over, NULL, "it left"), CLI_NEGATIVE);
    cr_expect_eq(peer.unacknowledged, 0);
    close_peer();
}
