/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/explain/live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/sniff/live.h"
#include "cli/stop.h"

#define BURST      256  /* packets taken before the output is flushed */
#define LAST_BURST 8192 /* what the kernel's buffer holds at most */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Takes what is there, `max` packets at most. 1: more are wanted, 0: no more, -EIO with a sentence. */
static int take_burst(const struct cli_explain_live *live, struct sniff_live *capture, unsigned max,
                      struct nornic_error *why)
{
    struct net_capture_record record;
    for (unsigned i = 0; i < max; i++) {
        int err = sniff_live_next(capture, &record, why);
        if (err <= 0)
            return err < 0 ? err : 1;
        if (!live->take(live->ctx, &record))
            return 0;
    }
    return 1;
}

static int wait_ms(uint64_t end_ns, uint64_t now)
{
    if (!end_ns)
        return -1;
    uint64_t ms = end_ns > now ? (end_ns - now) / 1000000 + 1 : 0;
    return ms < 60000 ? (int)ms : 60000;
}

/* Until it ends: 0; or a failure. */
static int watch(const struct cli_explain_live *live, struct sniff_live *capture, struct nornic_error *why)
{
    struct pollfd fds[2] = {{.fd = sniff_live_fd(capture), .events = POLLIN},
                            {.fd = cli_stop_fd(), .events = POLLIN}};
    uint64_t now = now_ns(), end_ns = live->duration_ns ? now + live->duration_ns : 0;
    while (!cli_stopped() && (!end_ns || now < end_ns)) {
        poll(fds, 2, wait_ms(end_ns, now)); /* what it returns does not matter: the ring says what is there */
        int more = take_burst(live, capture, BURST, why);
        if (!live->pause(live->ctx) || more <= 0)
            return more;
        now = now_ns();
    }
    /* What the kernel held when the end came was on the wire before. */
    int more = take_burst(live, capture, LAST_BURST, why);
    return more < 0 ? more : 0;
}

int cli_explain_catch(bool is_live)
{
    int err = cli_stop_install();
    if (!err && !is_live && signal(SIGPIPE, SIG_DFL) == SIG_ERR)
        err = -errno;
    return err ? cli_fail("cannot catch signals: %s", strerror(-err)) : CLI_OK;
}

int cli_explain_stopped(uint64_t packets)
{
    return cli_fail("stopped after %" PRIu64 " packet%s", packets, plural_s(packets));
}

int cli_explain_live(const struct cli_explain_live *live)
{
    struct sniff_live *capture;
    struct cli_sandbox sandbox;
    struct nornic_error why;
    if (cli_explain_catch(true) != CLI_OK)
        return CLI_ERROR;
    const char *filter = live->all ? NULL : live->iwarp ? sniff_live_tcp_filter : sniff_live_filter;
    unsigned snap_bytes = live->all || live->iwarp ? SNIFF_SNAP_TCP_BYTES : SNIFF_SNAP_BYTES;
    if (sniff_live_open(live->ifname, true, filter, snap_bytes, &capture, &why) != 0)
        return cli_fail("%s", why.text);
    cli_sandbox_begin(&sandbox, CLI_SANDBOX_CAPTURE, live->sandbox.is_off);
    cli_sandbox_close(&sandbox);
    int err = watch(live, capture, &why);
    uint64_t lost = sniff_live_dropped(capture);
    sniff_live_close(capture);
    if (lost)
        fprintf(stderr, "%" PRIu64 " packets came faster than they were explained, and were lost\n", lost);
    return err < 0 ? cli_fail("%s", why.text) : CLI_OK;
}
