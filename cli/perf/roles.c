/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic perf: the two roles, and both in one process over the memory port. */
#include "cli/perf/perf.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/stop.h"
#include "cli/node/tcp.h"

/* The path MTU: as asked, or the largest that fits the way to `peer` (NULL: the port). */
static int settle_pmtu(struct perf_options *o, const struct cli_node *node, const struct nornic_addr *peer)
{
    if (!o->test.pmtu_bytes && cli_node_is_iwarp(node))
        o->test.pmtu_bytes = nornic_mtu_bytes(NORNIC_MTU_4096); /* TCP cuts as it likes */
    else if (!o->test.pmtu_bytes)
        o->test.pmtu_bytes = cli_node_largest_pmtu(node, peer);
    return cli_node_check_pmtu(node, o->test.pmtu_bytes);
}

static int run_client(struct perf_options *o, struct cli_node *node)
{
    struct nornic_error why;
    struct perf_result result;
    struct nornic_addr peer;
    int fd, err = cli_node_check_pmtu(node, o->test.pmtu_bytes);
    if (err != CLI_OK)
        return err;
    if (cli_tcp_connect(o->host, o->tcp_port, o->timeout_ns, &fd, &why) != 0)
        return cli_fail("%s", why.text);
    err = settle_pmtu(o, node, cli_tcp_peer_addr(fd, &peer) ? &peer : NULL);
    if (err == CLI_OK)
        err = perf_client(o, node, fd, &result);
    close(fd);
    if (err == CLI_OK)
        perf_report(o, node, &o->test, &result);
    return err;
}

static int run_server(const struct perf_options *o, struct cli_node *node)
{
    struct nornic_error why;
    int listen_fd, fd;
    if (cli_tcp_listen(o->tcp_port, &listen_fd, &why) != 0)
        return cli_fail("%s", why.text);
    int err = cli_tcp_accept(listen_fd, &fd, &why);
    close(listen_fd);
    if (err)
        return cli_fail("%s", why.text);
    err = perf_server(o, node, fd, false);
    close(fd);
    return err;
}

static int run_one(struct perf_options *o)
{
    struct cli_node node;
    int err = cli_node_open(&o->node, o->host, NULL, &node);
    if (err != CLI_OK)
        return err;
    err = o->host ? run_client(o, &node) : run_server(o, &node);
    return cli_node_close(&node, err);
}

struct server {
    const struct perf_options *options;
    struct cli_node *node;
    int fd;
    int err;
};

static void *serve_beside(void *arg)
{
    struct server *server = arg;
    server->err = perf_server(server->options, server->node, server->fd, true);
    close(server->fd);
    return NULL;
}

static int run_sides(struct perf_options *o, struct cli_node nodes[2])
{
    int fds[2];
    pthread_t thread;
    struct perf_result result;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return cli_fail("cannot create a socket pair: %s", strerror(errno));
    struct server server = {.options = o, .node = &nodes[1], .fd = fds[1]};
    int err = pthread_create(&thread, NULL, serve_beside, &server);
    if (err) {
        close(fds[0]);
        close(fds[1]);
        return cli_fail("cannot start a thread: %s", strerror(err));
    }
    err = perf_client(o, &nodes[0], fds[0], &result);
    close(fds[0]);
    pthread_join(thread, NULL);
    err = err == CLI_OK ? server.err : err;
    if (err == CLI_OK)
        perf_report(o, &nodes[0], &o->test, &result);
    return err;
}

static int run_pair(struct perf_options *o)
{
    struct cli_node nodes[2];
    int err = cli_node_open_pair(&o->node, nodes);
    if (err != CLI_OK)
        return err;
    err = settle_pmtu(o, &nodes[0], NULL);
    if (err == CLI_OK)
        err = run_sides(o, nodes);
    err = cli_node_close(&nodes[0], err);
    return cli_node_close(&nodes[1], err);
}

int perf_main(void *settings)
{
    struct perf_options *o = settings;
    int err = cli_stop_install();
    if (err)
        return cli_fail("cannot watch for signals: %s", strerror(-err));
    return cli_node_is_memory(&o->node) ? run_pair(o) : run_one(o);
}
