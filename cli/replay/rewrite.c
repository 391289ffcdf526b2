/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* ppoll() */
#include "base/base.h"
#include "cli/replay/rewrite.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/report/json.h"
#include "cli/stop.h"
#include "net/wire/ether.h"
#include "net/packet.h"
#include "net/capture/pcapng_writer.h"

#define FULL_TRIES  1000 /* milliseconds that a full ring is waited for */
#define TAG_BYTES   18   /* of Ethernet with a VLAN tag */
#define FRAME_BYTES 131072

struct run {
    const struct cli_replay_rewrite *settings;
    struct explain_rewriter rewriter;
    struct net_port *port;            /* NULL: nothing is sent */
    struct net_pcapng_writer *writer; /* NULL: nothing is written */
    uint64_t begin_ns, first_ns;      /* now, and in the capture */
    uint64_t sent, bytes, left_out, too_long;
    uint8_t frame[FRAME_BYTES];
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Until a time, or a signal. */
static void wait_until(uint64_t due_ns)
{
    struct pollfd fd = {.fd = cli_stop_fd(), .events = POLLIN};
    for (uint64_t now = now_ns(); now < due_ns && !cli_stopped(); now = now_ns()) {
        uint64_t left_ns = due_ns - now < NS_PER_S ? due_ns - now : NS_PER_S;
        struct timespec timeout = {.tv_sec = (time_t)(left_ns / NS_PER_S),
                                   .tv_nsec = (long)(left_ns % NS_PER_S)};
        ppoll(&fd, 1, &timeout, NULL);
    }
}

/* False: the ring stays full. */
static bool send_frame(struct run *run, uint32_t len_bytes)
{
    struct net_frame buf;
    for (unsigned tries = 0; net_port_tx_reserve(run->port, &buf, 1) == 0; tries++) {
        if (tries == FULL_TRIES || cli_stopped())
            return false;
        wait_until(now_ns() + 1000000);
    }
    memcpy(buf.data, run->frame, len_bytes);
    buf.len_bytes = len_bytes;
    buf.seg_bytes = 0;
    net_port_tx_flush(run->port, &buf, 1, now_ns());
    return true;
}

/* The frame comes from this host, as a switch is to see it; a scenario that names the MAC goes before. */
static void set_source_mac(struct run *run, const struct nornic_addr *src)
{
    const struct explain_scenario *s = run->settings->scenario;
    for (unsigned i = 0; i < s->address_count; i++)
        if (s->addresses[i].has_mac && nornic_addr_equal(&s->addresses[i].from, src))
            return;
    memcpy(run->frame + NORNIC_MAC_BYTES, run->port->mac.b, NORNIC_MAC_BYTES);
}

static bool is_too_long(const struct run *run, uint32_t len_bytes)
{
    return run->port && len_bytes > run->port->limits.mtu_bytes + TAG_BYTES;
}

/* False: it cannot go on. */
static bool take(struct run *run, size_t i)
{
    const struct explain_taped *t = &run->settings->tape->packets[i];
    struct explain_packet p;
    uint32_t n = t->len_bytes <= sizeof run->frame ? explain_rewrite(&run->rewriter, i, run->frame) : 0;
    explain_tape_packet(run->settings->tape, i, &p);
    if (n && run->settings->from && !nornic_addr_equal(&p.roce.src, run->settings->from))
        return true;
    if (n == 0 || is_too_long(run, n)) {
        run->left_out += n == 0;
        run->too_long += n != 0;
        return true;
    }
    if (run->port && run->settings->from)
        set_source_mac(run, &p.roce.src);
    if (run->sent == 0)
        run->first_ns = t->time_ns;
    if (run->port && run->settings->speed && t->time_ns > run->first_ns)
        wait_until(run->begin_ns + (t->time_ns - run->first_ns) / run->settings->speed);
    if (cli_stopped() || (run->port && !send_frame(run, n)))
        return false;
    if (run->writer)
        net_pcapng_append(run->writer, run->frame, n, t->time_ns, NET_PCAPNG_ANY_DIRECTION);
    run->sent++;
    run->bytes += n;
    return true;
}

static void report(const struct run *run)
{
    if (run->settings->json) {
        struct json_object *o = json_object_new_object();
        cli_json_add_count(o, "packets", run->sent);
        cli_json_add_count(o, "bytes", run->bytes);
        cli_json_add_count(o, "left_out", run->left_out);
        cli_json_add_count(o, "too_long", run->too_long);
        cli_json_print(o);
        return;
    }
    printf("%" PRIu64 " packets rewritten, %" PRIu64 " bytes; %" PRIu64
           " left out: no RoCE, cut, or malformed\n",
           run->sent, run->bytes, run->left_out);
    if (run->too_long)
        printf("%" PRIu64 " left out: longer than the MTU of %s\n", run->too_long, run->settings->ifname);
}

static int rewrite_all(struct run *run)
{
    const struct explain_tape *tape = run->settings->tape;
    int status = CLI_OK;
    run->begin_ns = now_ns();
    for (size_t i = 0; i < tape->count && status == CLI_OK && !cli_stopped(); i++)
        if (!take(run, i) && !cli_stopped())
            status = cli_fail("%s takes no more packets", run->settings->ifname);
    if (run->port && run->port->counters.tx_errors)
        status =
            cli_fail("%s refused %" PRIu64 " packets", run->settings->ifname, run->port->counters.tx_errors);
    if (run->writer)
        net_pcapng_flush(run->writer);
    if (run->writer && net_pcapng_errno(run->writer))
        status = cli_fail("%s: cannot be written: %s", run->settings->out_path,
                          strerror(net_pcapng_errno(run->writer)));
    report(run);
    return status;
}

int cli_replay_port_open(const char *ifname, struct net_port **port)
{
    struct net_packet_config config = {.ifname = ifname};
    struct nornic_error why;
    int rc = cli_stop_install();
    *port = NULL;
    if (rc)
        return cli_fail("cannot catch signals: %s", strerror(-rc));
    return ifname && net_packet_open(&config, port, &why) != 0 ? cli_fail("%s", why.text) : CLI_OK;
}

static int open_and_rewrite(struct run *run)
{
    const struct cli_replay_rewrite *s = run->settings;
    struct nornic_error why;
    int status = CLI_ERROR;
    if (explain_rewrite_begin(&run->rewriter, s->tape, s->scenario, &why) != 0 ||
        (s->out_path && net_pcapng_create(s->out_path, "rewritten", &run->writer, &why) != 0))
        cli_fail("%s", why.text);
    else
        status = rewrite_all(run);
    if (run->writer)
        net_pcapng_close(run->writer);
    return status;
}

int cli_replay_rewrite(const struct cli_replay_rewrite *settings)
{
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return cli_fail("out of memory");
    run->settings = settings;
    run->port = settings->port;
    int status = open_and_rewrite(run);
    free(run);
    return status;
}
