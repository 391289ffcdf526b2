/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/node/node.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/node/choose.h"
#include "cli/stop.h"
#include "base/notice.h"
#include "net/memory.h"
#include "net/error.h"

#define RESOLVE_NS         (3 * NS_PER_S)
#define MEMORY_MTU_BYTES   4300 /* the 4096 path MTU with its headers */
#define MEMORY_RING_FRAMES 1024
#define LINGER_SLICE_NS    5000000ull

static struct host_dev_config dev_config(const struct cli_node_config *config)
{
    return (struct host_dev_config){
        .port = config->port,
        .capture_path = config->capture,
        .impair = config->impair,
        .window_pkts = config->window_pkts,
        .cc = config->cc,
        .no_thread = !config->events,
        .roce_v1 = config->roce_v1,
    };
}

/* The same by the programs' API. */
static int open_port(const struct cli_node_config *config, const char *port, struct cli_node *node,
                     struct nornic_error *why)
{
    struct nornic_dev_config dev = {
        NORNIC_INIT(dev),
        .port = port,
        .capture_path = config->capture,
        .impair = config->impair,
        .window_pkts = config->window_pkts,
        .cc = config->cc.on,
        .cc_config = &config->cc,
        .no_thread = !config->events,
        .roce_v1 = config->roce_v1,
        .iwarp = config->iwarp,
    };
    int err = nornic_dev_open(&dev, &node->api, why);
    if (!err)
        node->dev = host_dev_of(node->api);
    return err;
}

/* Opens the one of xdp, or else the one of udp, and says which it took. 0 or -errno with a sentence. */
static int open_default(struct host_port_default *ports, const struct cli_node_config *config,
                        struct cli_node *node, struct nornic_error *why)
{
    if (ports->xdp[0] && open_port(config, ports->xdp, node, &ports->not_xdp) == 0) {
        cli_tell("no --port given: taking %s", ports->xdp);
        return 0;
    }
    cli_tell("no --port given: taking %s, not xdp: %s", ports->udp, ports->not_xdp.text);
    return open_port(config, ports->udp, node, why);
}

int cli_node_open(const struct cli_node_config *config, const char *host, const char *bind,
                  struct cli_node *node)
{
    struct nornic_error why;
    struct host_port_default ports;
    *node = (struct cli_node){.events = config->events,
                              .spin_ns = config->spin_ns,
                              .roce_v1 = config->roce_v1,
                              .capture = config->capture};
    int err = config->port ? CLI_OK : cli_node_choose_port(host, bind, &ports);
    if (err != CLI_OK)
        return err;
    err =
        config->port ? open_port(config, config->port, node, &why) : open_default(&ports, config, node, &why);
    return err ? cli_fail("%s", why.text) : CLI_OK;
}

bool cli_node_is_iwarp(const struct cli_node *node)
{
    return host_dev_engine(node->dev) == NULL;
}

/* The MAC of side `side` of the pair: locally administered. */
static struct nornic_mac memory_mac(int side)
{
    return (struct nornic_mac){{0x02, 0, 0, 0, 0x77, (uint8_t)(side + 1)}};
}

static void add_memory_gids(const struct cli_node *node, int side)
{
    static const char *const addrs[2][2] = {{"10.77.0.1", "fd77::1"}, {"10.77.0.2", "fd77::2"}};
    struct nornic_mac mac = memory_mac(side);
    for (int i = 0; i < 2; i++) {
        struct nornic_gid gid = {.mac = mac, .type = node->roce_v1 ? NORNIC_GID_V1 : NORNIC_GID_V2};
        nornic_addr_parse(addrs[side][i], &gid.addr);
        nornic_dev_add_gid(node->api, &gid);
    }
}

/* Takes over `port`. 0 or -errno with a sentence. */
static int open_end(struct net_port *port, const struct host_dev_config *config, struct cli_node *node,
                    struct nornic_error *why)
{
    int err = host_dev_create_on(port, config, &node->dev, why);
    if (err)
        return err;
    node->api = host_dev_for_program(node->dev, !config->no_thread, node->memory_peer);
    if (node->api)
        return 0;
    host_dev_close(node->dev, NULL);
    return net_error_set(why, ENOMEM, "no memory for a device");
}

int cli_node_open_pair(const struct cli_node_config *config, struct cli_node nodes[2])
{
    struct net_port *ends[2];
    struct nornic_error why;
    int err = net_memory_pair(MEMORY_MTU_BYTES, MEMORY_RING_FRAMES, ends);
    if (err)
        return cli_fail("cannot make a memory port: %s", strerror(-err));
    struct host_dev_config first = dev_config(config);
    struct host_dev_config second = {.port = config->port,
                                     .window_pkts = config->window_pkts,
                                     .cc = config->cc,
                                     .no_thread = !config->events,
                                     .roce_v1 = config->roce_v1};
    nodes[1] = (struct cli_node){.events = config->events,
                                 .spin_ns = config->spin_ns,
                                 .roce_v1 = config->roce_v1,
                                 .memory = true,
                                 .memory_peer = memory_mac(0)};
    nodes[0] = nodes[1];
    nodes[0].capture = config->capture;
    nodes[0].memory_peer = memory_mac(1);
    if (open_end(ends[0], &first, &nodes[0], &why) != 0) {
        net_port_close(ends[1]);
        return cli_fail("%s", why.text);
    }
    if (open_end(ends[1], &second, &nodes[1], &why) != 0) {
        nornic_dev_close(nodes[0].api, NULL);
        return cli_fail("%s", why.text);
    }
    add_memory_gids(&nodes[0], 0);
    add_memory_gids(&nodes[1], 1);
    return CLI_OK;
}

int cli_node_close(struct cli_node *node, int status)
{
    struct nornic_error why;
    int err = host_dev_capture_flush(node->dev);
    if (status != CLI_OK && host_dev_notice(node->dev, &why))
        base_notice("%s", why.text); /* unless it was told when it happened */
    if (nornic_dev_close(node->api, &why) != 0)
        return cli_fail("%s", why.text);
    if (!err)
        return status;
    cli_fail("the capture %s ends too early: %s", node->capture, strerror(-err));
    return status == CLI_OK ? CLI_ERROR : status;
}

const char *cli_node_port_name(const struct cli_node *node)
{
    return node->memory ? "memory" : host_dev_port_name(node->dev);
}

const char *cli_node_port_mode(const struct cli_node *node)
{
    return host_dev_port_mode(node->dev);
}

/* How well `gid` serves: 0 not at all, else the greater the better. */
static int gid_score(const struct nornic_addr *gid, bool ipv6, const struct nornic_addr *like)
{
    if (!like)
        return nornic_addr_is_v4(gid) ? (ipv6 ? 0 : 3) : nornic_addr_is_link_local(gid) ? 1 : 2;
    if (nornic_addr_equal(gid, like))
        return 3;
    if (nornic_addr_is_v4(gid) != nornic_addr_is_v4(like))
        return 0;
    return nornic_addr_is_link_local(gid) == nornic_addr_is_link_local(like) ? 2 : 1;
}

static int gid_at(const struct cli_node *node, unsigned index, struct nornic_addr *gid,
                  enum nornic_gid_type *type)
{
    struct nornic_gid entry;
    *type = NORNIC_GID_V2;
    if (cli_node_is_iwarp(node)) /* its GID is no address */
        return nornic_dev_query_addr(node->api, index, gid);
    int err = nornic_dev_query_gid(node->api, index, &entry);
    if (!err)
        *gid = entry.addr, *type = entry.type;
    return err;
}

int cli_node_pick_gid(const struct cli_node *node, const struct cli_node_config *config,
                      const struct nornic_addr *like, unsigned *out_index, struct nornic_addr *out_gid)
{
    enum nornic_gid_type type;
    bool ipv6 = config->ipv6;
    if (config->has_gid_index) {
        *out_index = config->gid_index;
        return gid_at(node, *out_index, out_gid, &type) == 0
                   ? CLI_OK
                   : cli_fail("%s has no GID with index %u", cli_node_port_name(node), config->gid_index);
    }
    int best = 0;
    struct nornic_addr gid;
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        if (gid_at(node, i, &gid, &type) != 0)
            continue; /* an address that went leaves a hole (ROCE-AH-10) */
        int score = (type == NORNIC_GID_V1) == node->roce_v1 ? gid_score(&gid, ipv6, like) : 0;
        if (score > best) {
            best = score;
            *out_index = i;
            *out_gid = gid;
        }
    }
    if (best > 0)
        return CLI_OK;
    char text[NORNIC_ADDR_STR_SIZE];
    if (like)
        return cli_fail("%s has no address of the family of %s: add one with `ip addr add`",
                        cli_node_port_name(node), nornic_addr_str(like, text));
    return cli_fail("%s has no %s address: add one with `ip addr add`", cli_node_port_name(node),
                    ipv6 ? "IPv6" : "IP");
}

int cli_node_resolve(const struct cli_node *node, const struct nornic_addr *dst, struct nornic_mac *mac)
{
    if (node->memory) {
        *mac = node->memory_peer;
        return CLI_OK;
    }
    struct nornic_error why;
    int err = host_dev_resolve(node->dev, dst, RESOLVE_NS, mac, &why);
    return !err ? CLI_OK : cli_fail("%s", why.text);
}

uint32_t cli_node_largest_pmtu(const struct cli_node *node, const struct nornic_addr *dst)
{
    const struct net_port_limits *limits = &host_dev_port(node->dev)->limits;
    enum nornic_mtu of_port = nornic_mtu_for_port(limits->mtu_bytes), of_way = 0;
    struct net_interface interface;
    if (dst && limits->is_udp_socket && host_dev_interface(node->dev, &interface))
        of_way = nornic_mtu_for_port(net_route_mtu(interface.index, dst));
    return nornic_mtu_bytes(of_way && of_way < of_port ? of_way : of_port);
}

int cli_node_check_pmtu(const struct cli_node *node, uint32_t pmtu_bytes)
{
    if (cli_node_is_iwarp(node))
        return CLI_OK;
    uint32_t port_mtu = host_dev_port(node->dev)->limits.mtu_bytes;
    uint32_t largest = cli_node_largest_pmtu(node, NULL);
    if (largest == 0)
        return cli_fail("%s has an MTU of %u bytes, too small for RoCE: raise it to 352 at least",
                        cli_node_port_name(node), port_mtu);
    if (pmtu_bytes <= largest)
        return CLI_OK;
    return cli_fail("path MTU %u does not fit %s, whose MTU is %u bytes: use at most %u, or raise the MTU",
                    pmtu_bytes, cli_node_port_name(node), port_mtu, largest);
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

void cli_node_linger(const struct cli_node *node, uint64_t duration_ns, int fd)
{
    uint64_t end_ns = host_now_ns() + duration_ns;
    while (host_now_ns() < end_ns && !readable(fd) && !cli_stopped()) {
        if (node->events) {
            struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = cli_stop_fd(), .events = POLLIN}};
            poll(fds, 2, (int)(LINGER_SLICE_NS / 1000000));
        } else if (!host_round(node->dev, NULL)) {
            host_dev_wait(node->dev, LINGER_SLICE_NS);
        }
    }
}
