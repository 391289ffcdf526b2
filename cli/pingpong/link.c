/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue pairs of a side: made, and connected as their service has it. */
#include "cli/pingpong/pingpong.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/node/unreliable.h"

const char *const pingpong_transport_names[] = {
    [PINGPONG_RC] = "rc", [PINGPONG_UC] = "uc", [PINGPONG_UD] = "ud", [PINGPONG_SRQ] = "srq", NULL};

static enum nornic_qp_type qp_type(enum pingpong_transport transport)
{
    static const enum nornic_qp_type types[PINGPONG_TRANSPORT_COUNT] = {NORNIC_QPT_RC, NORNIC_QPT_UC,
                                                                        NORNIC_QPT_UD, NORNIC_QPT_RC};
    return types[transport];
}

int pingpong_link_open(struct pingpong_side *side, uint32_t i)
{
    const struct pingpong_options *o = side->options;
    struct pingpong_link *link = &side->links[i];
    const struct nornic_qp_config config = {
        NORNIC_INIT(config),
        .type = qp_type(o->transport),
        .pd = side->memory.pd,
        .send_cq = side->cq.cq,
        .recv_cq = side->cq.cq,
        .srq = side->srq,
        .caps = {.max_send_wr = PINGPONG_SENDS,
                 .max_recv_wr = side->srq ? 0 : o->rx_depth,
                 .max_send_sge = 1,
                 .max_recv_sge = side->srq ? 0 : 1},
    };
    bool is_iwarp = cli_node_is_iwarp(side->node);
    int err = nornic_qp_create(side->node->api, &config, &link->qp);
    if (err)
        return cli_fail("cannot create a queue pair of %s: %s", pingpong_transport_names[o->transport],
                        strerror(-err));
    side->mine[i] = (struct pingpong_dest){
        .qpn = nornic_qp_num(link->qp), .psn = cli_rc_random_psn(), .is_iwarp = is_iwarp};
    return o->transport == PINGPONG_UD ? cli_ud_init(link->qp, PINGPONG_UD_QKEY) : cli_rc_init(link->qp, 0);
}

static int connect_ud(struct pingpong_side *side, struct pingpong_link *link, const struct cli_path *path)
{
    struct nornic_av av = cli_path_av(path);
    int err = nornic_ah_create(side->memory.pd, &av, &link->ah);
    return !err ? cli_ud_start(link->qp, path->sq_psn)
                : cli_fail("cannot make an address handle: %s", strerror(-err));
}

static int connect_link(struct pingpong_side *side, uint32_t i, unsigned sgid_index,
                        struct nornic_mac dst_mac)
{
    const struct pingpong_options *o = side->options;
    struct pingpong_link *link = &side->links[i];
    struct cli_path path = {
        .dgid = side->peer[i].gid,
        .dst_mac = dst_mac,
        .sgid_index = sgid_index,
        .pmtu_bytes = o->pmtu_bytes,
        .dest_qpn = side->peer[i].qpn,
        .rq_psn = side->peer[i].psn,
        .sq_psn = side->mine[i].psn,
        .sl = o->sl,
        .rd_atomic = 1,
    };
    if (o->transport == PINGPONG_UD)
        return connect_ud(side, link, &path);
    if (o->transport == PINGPONG_UC)
        return cli_uc_connect(link->qp, &path);
    return cli_rc_connect(link->qp, &path);
}

static int check_pairs(const struct pingpong_side *side)
{
    uint32_t n = 0;
    while (n < PINGPONG_MAX_PAIRS && side->peer[n].qpn != 0)
        n++;
    if (side->options->transport != PINGPONG_SRQ || n == side->options->pairs)
        return CLI_OK;
    return cli_fail("the peer has %u queue pairs and this side %u: use the same -q on both", n,
                    side->options->pairs);
}

/* The server's connections come when it has told its port. */
static int connect_iwarp(struct pingpong_side *side)
{
    const struct pingpong_options *o = side->options;
    uint16_t port = 0;
    int err = cli_iwarp_open(side->node, o->pairs, 1, &side->iwarp);
    for (uint32_t i = 0; i < o->pairs && err == CLI_OK; i++) {
        side->iwarp.streams[i].qp = side->links[i].qp;
        side->iwarp.streams[i].token = side->is_client ? side->mine[i].psn : side->peer[i].psn;
    }
    if (err == CLI_OK && side->is_client)
        return cli_iwarp_connect(&side->iwarp, &side->mine[0].gid, &side->peer[0].gid,
                                 (uint16_t)side->peer[0].psn, o->timeout_ns);
    if (err == CLI_OK)
        err = cli_iwarp_listen(&side->iwarp, &side->mine[0].gid, &port);
    for (uint32_t i = 0; i < o->pairs; i++)
        side->mine[i].psn = port;
    return err;
}

int pingpong_accept(struct pingpong_side *side)
{
    return side->iwarp.cm ? cli_iwarp_accept(&side->iwarp, side->options->timeout_ns) : CLI_OK;
}

int pingpong_connect(struct pingpong_side *side, unsigned sgid_index)
{
    const struct pingpong_dest *peer = side->peer;
    if (peer->is_iwarp != side->mine[0].is_iwarp)
        return cli_fail(
            "one side speaks iWARP and the other RoCE: use --port iwarp:ADDRESS on both, or on none");
    if (nornic_addr_is_v4(&peer->gid) != nornic_addr_is_v4(&side->mine[0].gid))
        return cli_fail("one side uses an IPv4 GID and the other an IPv6 GID: choose with -g or --ipv6");
    struct nornic_mac mac;
    int err = check_pairs(side);
    if (err == CLI_OK && peer->is_iwarp)
        return connect_iwarp(side);
    if (err == CLI_OK)
        err = cli_node_resolve(side->node, &peer->gid, &mac);
    for (uint32_t i = 0; i < side->options->pairs && err == CLI_OK; i++)
        err = connect_link(side, i, sgid_index, mac);
    return err;
}
