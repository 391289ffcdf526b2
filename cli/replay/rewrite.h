/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic replay --rewrite`: the packets of a capture, sent to another place. */
#ifndef NORNIC_CLI_REPLAY_REWRITE_H
#define NORNIC_CLI_REPLAY_REWRITE_H

#include "explain/replay/rewrite.h"

struct cli_replay_rewrite {
    const struct explain_tape *tape;
    const struct explain_scenario *scenario;
    const struct nornic_addr *from; /* only what this address sent; NULL: all */
    struct net_port *port;          /* where to, borrowed; NULL: nothing is sent */
    const char *ifname, *out_path;  /* names of the port and of the file; one of them may be NULL */
    uint64_t speed;                 /* times as fast as recorded; 0: without waiting */
    bool json;
};

/* Opens the port of `ifname`, where signals are watched for: 0. Otherwise CLI_ERROR, after a sentence. */
int cli_replay_port_open(const char *ifname, struct net_port **port);

/* Sends all of them, or until a signal comes, and sums up on standard output. Returns the exit status; what
 * fails it tells. */
int cli_replay_rewrite(const struct cli_replay_rewrite *settings);

#endif
