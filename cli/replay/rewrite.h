/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic replay --rewrite`: the packets of a capture, sent to another place. */
#ifndef NORNIC_CLI_REPLAY_REWRITE_H
#define NORNIC_CLI_REPLAY_REWRITE_H

#include "explain/replay/rewrite.h"

struct cli_replay_rewrite {
    const struct explain_tape *tape;
    const struct explain_scenario *scenario;
    const struct nornic_addr *from; /* only what this address sent; NULL: all */
    const char *ifname, *out_path;  /* where to; one of them may be NULL */
    uint64_t speed;                 /* times as fast as recorded; 0: without waiting */
    bool json;
};

/* Sends all of them, or until a signal comes, and sums up on standard output. Returns the exit status; what
 * fails it tells. */
int cli_replay_rewrite(const struct cli_replay_rewrite *settings);

#endif
