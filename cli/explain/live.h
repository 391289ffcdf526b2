/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic explain -i IFACE`: the packets of an interface as they come. */
#ifndef NORNIC_CLI_EXPLAIN_LIVE_H
#define NORNIC_CLI_EXPLAIN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/pcap_file.h"

struct cli_explain_live {
    const char *ifname;
    uint64_t duration_ns; /* 0: until a signal */
    bool all;             /* also what is neither RDMA nor a handshake of SMC-R */
    /* Takes one packet; false: no more are wanted. */
    bool (*take)(void *ctx, const struct net_capture_record *record);
    /* All that was there is taken: what is gathered is to be shown. False: that failed. */
    bool (*pause)(void *ctx);
    void *ctx;
};

/* Captures until a signal, the time, or take() or pause() ends it. Returns the exit status; what fails it
 * tells. */
int cli_explain_live(const struct cli_explain_live *live);

#endif
