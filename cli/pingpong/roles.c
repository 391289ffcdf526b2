/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic pingpong: the two roles, and both in one process over the memory port. */
#include "cli/pingpong/pingpong.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/stop.h"
#include "cli/node/tcp.h"

/* After its last exchange a side answers retransmissions, since its last acknowledgement may have been lost.
 * A nornic peer keeps the TCP connection until it is done. The stock program has closed it before it began;
 * then two of the peer's ack timeouts (67 ms) have to do. */
#define LINGER_NS       2000000000ull
#define LINGER_STOCK_NS 150000000ull

static void print_addresses(const struct pingpong_side *side, const char *whose,
                            const struct pingpong_dest *dests)
{
    char gid[INET6_ADDRSTRLEN];
    if (side->options->json)
        return;
    if (dests[0].is_iwarp) {
        printf("  %s address: %s, queue pair 0x%06x\n", whose, nornic_addr_str(&dests[0].gid, gid),
               dests[0].qpn);
        fflush(stdout);
        return;
    }
    for (uint32_t i = 0; i < side->options->pairs; i++) {
        inet_ntop(AF_INET6, dests[i].gid.b, gid, sizeof gid);
        printf("  %s address: LID 0x0000, QPN 0x%06x, PSN 0x%06x, GID %s\n", whose, dests[i].qpn,
               dests[i].psn, gid);
    }
    fflush(stdout); /* a script that reads through a pipe sees how far we are */
}

/* How many lines the exchange has each way. */
static uint32_t lines(const struct pingpong_options *o)
{
    return o->transport == PINGPONG_SRQ ? PINGPONG_MAX_PAIRS : 1;
}

static int pick_gid(struct pingpong_side *side, const struct nornic_addr *like, unsigned *index)
{
    const struct pingpong_options *o = side->options;
    struct nornic_addr gid;
    int err = cli_node_pick_gid(side->node, &o->node, like, index, &gid);
    for (uint32_t i = 0; i < o->pairs && err == CLI_OK; i++)
        side->mine[i].gid = gid;
    return err;
}

static void finish(const struct pingpong_side *side, int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    bool closed = poll(&p, 1, 0) > 0;
    shutdown(fd, SHUT_WR);
    cli_node_linger(side->node, closed ? LINGER_STOCK_NS : LINGER_NS, closed ? -1 : fd);
}

static int run_and_report(struct pingpong_side *side, int fd, bool quiet)
{
    if (!quiet)
        print_addresses(side, "remote", side->peer);
    int err = pingpong_run(side, quiet);
    if (err != CLI_OK)
        return err;
    finish(side, fd);
    if (!quiet)
        pingpong_report(side);
    return CLI_OK;
}

/* The server's part on an open connection. `quiet`: it is the helper of a client in this process. */
static int serve(struct pingpong_side *side, int fd, bool quiet)
{
    const struct pingpong_options *o = side->options;
    struct nornic_error why;
    unsigned sgid_index;
    if (pingpong_exchange_server_read(fd, side->peer, lines(o), o->timeout_ns, &why) != 0)
        return cli_fail("%s", why.text);
    int err = pick_gid(side, &side->peer[0].gid, &sgid_index);
    if (err == CLI_OK)
        err = pingpong_connect(side, sgid_index);
    if (err != CLI_OK)
        return err;
    if (!quiet)
        print_addresses(side, "local ", side->mine);
    if (pingpong_exchange_server_reply(fd, side->mine, lines(o), o->timeout_ns, &why) != 0)
        return cli_fail("%s", why.text);
    err = pingpong_accept(side);
    return err == CLI_OK ? run_and_report(side, fd, quiet) : err;
}

/* The client's. */
static int ask(struct pingpong_side *side, int fd)
{
    const struct pingpong_options *o = side->options;
    struct nornic_error why;
    struct nornic_addr local;
    unsigned sgid_index;
    bool like = !o->node.ipv6 && cli_tcp_local_addr(fd, &local);
    int err = pick_gid(side, like ? &local : NULL, &sgid_index);
    if (err != CLI_OK)
        return err;
    print_addresses(side, "local ", side->mine);
    if (pingpong_exchange_client(fd, side->mine, side->peer, lines(o), o->timeout_ns, &why) != 0)
        return cli_fail("%s", why.text);
    err = pingpong_connect(side, sgid_index);
    return err == CLI_OK ? run_and_report(side, fd, false) : err;
}

static int open_connection(const struct pingpong_options *o, int *fd)
{
    struct nornic_error why;
    int err;
    if (o->host) {
        err = cli_tcp_connect(o->host, o->tcp_port, o->timeout_ns, fd, &why);
    } else {
        int listen_fd;
        err = cli_tcp_listen(o->tcp_port, &listen_fd, &why);
        if (!err) {
            err = cli_tcp_accept(listen_fd, fd, &why);
            close(listen_fd);
        }
    }
    return !err ? CLI_OK : cli_fail("%s", why.text);
}

/* What must fit a packet: the path MTU, or the whole message of UD. */
static int check_size(const struct cli_node *node, const struct pingpong_options *o)
{
    bool is_reliable = o->transport == PINGPONG_RC || o->transport == PINGPONG_SRQ;
    if (cli_node_is_iwarp(node) && !is_reliable)
        return cli_fail(
            "iWARP has reliable connections only, as it speaks over TCP: --transport rc or srq, not %s",
            pingpong_transport_names[o->transport]);
    if (o->transport != PINGPONG_UD)
        return cli_node_check_pmtu(node, o->pmtu_bytes);
    uint32_t port_mtu = host_dev_port(node->dev)->limits.mtu_bytes;
    uint32_t largest = nornic_mtu_bytes(nornic_mtu_for_port(port_mtu));
    if (o->size_bytes <= largest)
        return CLI_OK;
    return cli_fail("a datagram of %u bytes does not fit %s, whose MTU is %u bytes: use at most -s %u",
                    o->size_bytes, cli_node_port_name(node), port_mtu, largest);
}

static int run_one(const struct pingpong_options *o)
{
    struct cli_node node;
    struct pingpong_side side;
    int err = cli_node_open(&o->node, o->host, NULL, &node);
    if (err != CLI_OK)
        return err;
    int fd = -1;
    err = check_size(&node, o);
    if (err == CLI_OK)
        err = pingpong_side_open(&side, o, &node, o->host != NULL);
    if (err != CLI_OK)
        goto close_node;
    err = open_connection(o, &fd);
    if (err == CLI_OK) {
        err = o->host ? ask(&side, fd) : serve(&side, fd, false);
        close(fd);
    }
    pingpong_side_close(&side);
close_node:
    return cli_node_close(&node, err);
}

struct server {
    struct pingpong_side side;
    int fd;
    int err;
};

static void *serve_beside(void *arg)
{
    struct server *server = arg;
    server->err = serve(&server->side, server->fd, true);
    close(server->fd);
    return NULL;
}

/* Client and server side by side, the exchange on a socket pair. */
static int run_sides(struct pingpong_side *client, struct server *server)
{
    int fds[2];
    pthread_t thread;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return cli_fail("cannot create a socket pair: %s", strerror(errno));
    server->fd = fds[1];
    int err = pthread_create(&thread, NULL, serve_beside, server);
    if (err) {
        close(fds[0]);
        close(fds[1]);
        return cli_fail("cannot start a thread: %s", strerror(err));
    }
    err = ask(client, fds[0]);
    close(fds[0]);
    pthread_join(thread, NULL);
    return err == CLI_OK ? server->err : err;
}

static int run_pair(const struct pingpong_options *o)
{
    struct cli_node nodes[2];
    struct pingpong_side client;
    struct server server;
    int err = cli_node_open_pair(&o->node, nodes);
    if (err != CLI_OK)
        return err;
    err = check_size(&nodes[0], o);
    if (err == CLI_OK)
        err = pingpong_side_open(&client, o, &nodes[0], true);
    if (err != CLI_OK)
        goto close_nodes;
    err = pingpong_side_open(&server.side, o, &nodes[1], false);
    if (err == CLI_OK) {
        err = run_sides(&client, &server);
        pingpong_side_close(&server.side);
    }
    pingpong_side_close(&client);
close_nodes:
    err = cli_node_close(&nodes[0], err);
    return cli_node_close(&nodes[1], err);
}

int pingpong_main(void *settings)
{
    const struct pingpong_options *o = settings;
    int err = cli_stop_install();
    if (err)
        return cli_fail("cannot watch for signals: %s", strerror(-err));
    return cli_node_is_memory(&o->node) ? run_pair(o) : run_one(o);
}
