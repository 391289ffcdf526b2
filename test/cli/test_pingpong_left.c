/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that has all it wanted and leaves before its last acknowledgement arrives. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/pingpong/pingpong.h"

static const struct pingpong_options options = {.node = {.port = "memory"},
                                                .transport = PINGPONG_RC,
                                                .size_bytes = 64,
                                                .pmtu_bytes = 1024,
                                                .pairs = 1,
                                                .rx_depth = 4,
                                                .iters = 1,
                                                .timeout_ns = 20000000000u};

static struct cli_node nodes[2];
static struct pingpong_side client, server;

static void connect_to(struct pingpong_side *side, const struct pingpong_side *other)
{
    unsigned index;
    memcpy(side->peer, other->mine, sizeof side->peer);
    cr_assert_eq(cli_node_pick_gid(side->node, &(struct cli_node_config){.port = NULL}, NULL, &index,
                                   &side->mine[0].gid),
                 CLI_OK);
    cr_assert_eq(pingpong_connect(side, index), CLI_OK);
}

/* ARP is answered while the other side asks. */
static atomic_bool connected;
static void *answer(void *arg)
{
    (void)arg;
    while (!atomic_load(&connected))
        host_round(nodes[1].dev, NULL);
    return NULL;
}

static void open_pair(void)
{
    unsigned index;
    cr_assert_eq(cli_node_open_pair(&options.node, nodes), CLI_OK);
    cr_assert_eq(pingpong_side_open(&client, &options, &nodes[0], true), CLI_OK);
    cr_assert_eq(pingpong_side_open(&server, &options, &nodes[1], false), CLI_OK);
    cr_assert_eq(cli_node_pick_gid(&nodes[1], &(struct cli_node_config){.port = NULL}, NULL, &index,
                                   &server.mine[0].gid),
                 CLI_OK);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, answer, NULL), 0);
    connect_to(&client, &server);
    atomic_store(&connected, true);
    pthread_join(thread, NULL);
    connect_to(&server, &client);
}

/* The client says one word and is never seen again. The server does not run yet, so that no answer can come
 * before it has left. */
static void speak_and_leave(void)
{
    struct pingpong_link *link = &client.links[0];
    pingpong_fill(PINGPONG_FORM_COUNTED, pingpong_key(0, 0), link->send_buf, options.size_bytes);
    struct nornic_sge sge = {
        .addr = (uintptr_t)link->send_buf, .len_bytes = options.size_bytes, .lkey = client.memory.lkey};
    struct nornic_send_wr wr = {.wr_id = PINGPONG_WR_SEND,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED};
    cr_assert_eq(nornic_qp_post_send(link->qp, &wr, NULL), 0);
    cr_assert(host_round(nodes[0].dev, NULL), "it is on its way");
    cr_assert_eq(nornic_qp_destroy(link->qp), 0);
    link->qp = NULL;
}

Test(pingpong, a_peer_that_leaves_with_all_it_wanted_is_no_failure, .timeout = 60)
{
    open_pair();
    speak_and_leave();
    cr_assert_eq(pingpong_run(&server, true), CLI_OK);
    cr_assert_eq(server.received, 1);
    cr_assert_eq(server.unacknowledged, 1);
    pingpong_side_close(&client);
    pingpong_side_close(&server);
    cr_assert_eq(cli_node_close(&nodes[0], CLI_OK), CLI_OK);
    cr_assert_eq(cli_node_close(&nodes[1], CLI_OK), CLI_OK);
}
