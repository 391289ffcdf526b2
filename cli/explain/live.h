/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic explain -i IFACE`: the packets of an interface as they come. */
#ifndef NORNIC_CLI_EXPLAIN_LIVE_H
#define NORNIC_CLI_EXPLAIN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/sandbox/sandbox.h"
#include "net/pcap_file.h"

struct cli_explain_live {
    const char *ifname;
    uint64_t duration_ns; /* 0: until a signal */
    bool all;             /* also what is neither RDMA nor a handshake of SMC-R */
    bool iwarp;           /* also TCP, for iWARP is in it */
    struct cli_sandbox_options sandbox;
    /* Takes one packet; false: no more are wanted. */
    bool (*take)(void *ctx, const struct net_capture_record *record);
    /* All that was there is taken: what is gathered is to be shown. False: that failed. */
    bool (*pause)(void *ctx);
    void *ctx;
};

/* Captures until a signal, the time, or take() or pause() ends it. Returns the exit status; what fails it
 * tells. */
int cli_explain_live(const struct cli_explain_live *live);

/* Ctrl-C ends the reading, and what was gathered until then comes out; a file that grows too large is a write
 * that fails. A pipe that nobody reads ends the process, but for a live one, which has to clean up. CLI_OK,
 * or CLI_ERROR and a sentence on stderr. */
int cli_explain_catch(bool is_live);

/* Says that a signal ended the reading behind so many packets, before the end. The exit status. */
int cli_explain_stopped(uint64_t packets);

#endif
