/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/stop.h"
#include "cli/node/tcp.h"

#define REASON_NS 1000000000ull

/* The server may know better why a transfer failed, and says so before it goes. */
static void print_servers_reason(int fd)
{
    struct nornic_error why;
    uint64_t checked;
    if (!cli_stopped() && perf_control_read_checked(fd, REASON_NS, &checked, &why) == -EREMOTEIO)
        cli_fail("%s", why.text);
}

static int set_up(struct perf_side *side, int fd)
{
    struct nornic_error why;
    if (perf_control_send_test(fd, side, &why) != 0 || perf_control_read_answer(fd, side, &why) != 0)
        return cli_fail("%s", why.text);
    return perf_side_connect(side);
}

static int finish(struct perf_side *side, int fd, struct perf_result *result)
{
    struct nornic_error why;
    if (perf_control_send_ops(fd, side, &why) != 0 ||
        perf_control_read_checked(fd, side->timeout_ns, &result->server_checked, &why) != 0)
        return cli_negative("%s", why.text);
    return CLI_OK;
}

int perf_client(const struct perf_options *options, struct cli_node *node, int fd, struct perf_result *result)
{
    struct perf_side side;
    struct nornic_error why;
    struct nornic_addr local;
    memset(result, 0, sizeof *result);
    if (perf_side_open(&side, node, &options->test, true, options->timeout_ns, &why) != 0)
        return cli_fail("%s", why.text);
    bool like = !options->node.ipv6 && cli_tcp_local_addr(fd, &local);
    int err = cli_node_pick_gid(node, &options->node, like ? &local : NULL, &side.sgid_index, &side.gid);
    if (err == CLI_OK)
        err = set_up(&side, fd);
    if (err == CLI_OK) {
        err = perf_transfer(&side, options, result);
        if (err == CLI_OK)
            err = finish(&side, fd, result);
        else
            print_servers_reason(fd);
    }
    result->server_checked += side.checked;
    perf_side_close(&side);
    return err;
}
