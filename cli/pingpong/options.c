/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/pingpong/pingpong.h"

#define AT(member) CLI_SETS(struct pingpong_options, member)

/* --port is the nornic port here as in every command; the stock program's long --port has the letter p. */
static const struct cli_option rows[] = {
    {"tcp-port", 'p', "PORT", "TCP port of the exchange before the transfer", AT(tcp_port),
     CLI_TAKES_COUNT(1, 65535), .preset = "18515"},
    {"transport", 0, "NAME",
     "%r: uc and ud do not repeat what is lost, and iWARP has neither; srq is several reliable "
     "connections that share a receive queue",
     AT(transport), CLI_TAKES_ONE_OF(pingpong_transport_names), .preset = "rc"},
    {"num-qp", 'q', "COUNT", "srq: queue pairs, %r (16); both sides need the same", AT(pairs),
     CLI_TAKES_COUNT(1, PINGPONG_MAX_PAIRS)},
    {"size", 's', "BYTES", "size of the message, such as 4096 or 64K (4096; of ud 1024)", AT(size_bytes),
     CLI_TAKES_SIZE(1, 1u << 30)},
    {"mtu", 'm', "BYTES", "path MTU: %r (1024); both sides need the same", AT(pmtu_bytes), .kind = CLI_PMTU},
    {"rx-depth", 'r', "COUNT", "receives posted at a time, %r", AT(rx_depth), CLI_TAKES_COUNT(1, 16384),
     .preset = "500"},
    {"iters", 'n', "COUNT", "exchanges, of all queue pairs together", AT(iters),
     CLI_TAKES_COUNT(1, UINT32_MAX), .preset = "1000"},
    {"sl", 'l', "LEVEL", "service level, %r", AT(sl), CLI_TAKES_COUNT(0, 7), .preset = "0"},
    {"chk", 'c', NULL, "send, and as a server expect, what ibv_*_pingpong -c does", AT(stock_check)},
    {"timeout", 't', "TIME", "give up when nothing arrives for so long", AT(timeout_ns),
     CLI_TAKES_TIME(10 * NS_PER_MS, 3600 * NS_PER_S), .preset = "10s"},
    {"json", 'j', NULL, "report as one line of JSON", AT(json)},
    {NULL},
};

/* What follows from the transport. */
static int check(void *settings)
{
    struct pingpong_options *o = settings;
    bool ud = o->transport == PINGPONG_UD, srq = o->transport == PINGPONG_SRQ;
    if (ud && o->pmtu_bytes != 0)
        return cli_fail("a datagram has no path MTU: leave --mtu out with --transport ud");
    if (!srq && o->pairs > 1)
        return cli_fail("--num-qp %u goes with --transport srq only", o->pairs);
    if (o->size_bytes == 0)
        o->size_bytes = ud ? 1024 : 4096;
    if (o->pmtu_bytes == 0)
        o->pmtu_bytes = 1024;
    if (o->pairs == 0)
        o->pairs = srq ? 16 : 1;
    return cli_node_options_check(&o->node, o->host);
}

const struct cli_command pingpong_command = {
    .name = "pingpong",
    .summary = "bounce a message, checked; speaks with ibv_{rc,uc,ud,srq}_pingpong",
    .usage = "pingpong [OPTION...] [HOST]",
    .about =
        "Bounces a message between two machines, checks every byte of it, and reports the rate and the round "
        "trip. Without HOST it is the server and waits for a client. The other side may be ibv_rc_pingpong, "
        "ibv_uc_pingpong, ibv_ud_pingpong or ibv_srq_pingpong; over iWARP it is a nornic pingpong.",
    .groups = {{.rows = rows}, CLI_NODE_GROUP(struct pingpong_options, node)},
    .operands = (const struct cli_operand[]){{.name = "HOST",
                                              .kind = CLI_TEXT,
                                              .is_optional = true,
                                              .offset = offsetof(struct pingpong_options, host)},
                                             {NULL}},
    .examples =
        "Example, on two machines, over AF_XDP:\n"
        "  server# nornic pingpong --port xdp:eth0\n"
        "  client# nornic pingpong --port xdp:eth0 -s 64K 192.0.2.1\n"
        "Against Linux soft-RoCE, which needs to be told its GID index:\n"
        "  server# ibv_rc_pingpong -d rxe0 -g 1\n"
        "  client# nornic pingpong --port xdp:eth0 192.0.2.1\n"
        "Without privileges, both sides in one process, or two of them over iWARP:\n"
        "  $ nornic pingpong --port memory\n"
        "  $ nornic pingpong --port iwarp:127.0.0.1 & nornic pingpong --port iwarp:127.0.0.1 127.0.0.1\n",
    .status = {"all came back right", "data differed or the peer was lost",
               "wrong usage, or it could not be tried"},
    .settings_bytes = sizeof(struct pingpong_options),
    .check = check,
    .run = pingpong_main,
};
