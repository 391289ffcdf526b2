/* SPDX-License-Identifier: BSD-2-Clause */
/* The replay port: frames of a file are received. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "net/pcap_file.h"

#define MTU_BYTES  65535
#define SLOT_BYTES 65600 /* an IP packet of MTU_BYTES with Ethernet header and tag, in whole cache lines */
#define FRAME_MAX  (MTU_BYTES + 18)

struct replay_port {
    struct net_port port;
    struct net_capture *capture;
    struct nornic_error failure;
    bool failed;
    int fd;      /* an eventfd, readable until the end */
    uint8_t *rx; /* NET_BURST slots: the reader's record lives only until the next one */
    uint8_t *tx; /* NET_BURST slots that nobody reads */
};

/* Reads on to the next frame that can be shown. False: there is none. */
static bool replay_next(struct replay_port *p, struct net_capture_record *record)
{
    int err;
    while ((err = net_capture_next(p->capture, record, &p->failure)) == 1) {
        if (record->wire_bytes > record->len_bytes || record->link != NET_LINK_ETHERNET)
            p->port.counters.rx_dropped++;
        else if (record->len_bytes > FRAME_MAX)
            p->port.counters.rx_too_long++;
        else
            return true;
    }
    p->failed = err < 0;
    eventfd_t count;
    eventfd_read(p->fd, &count);
    return false;
}

static unsigned replay_rx_burst(struct net_port *port, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    (void)now_ns;
    struct replay_port *p = (struct replay_port *)port;
    struct net_capture_record record;
    unsigned got = 0;
    while (got < n && got < NET_BURST && replay_next(p, &record)) {
        uint8_t *slot = p->rx + (size_t)got * SLOT_BYTES;
        memcpy(slot, record.data, record.len_bytes);
        frames[got++] =
            (struct net_frame){.data = slot, .len_bytes = record.len_bytes, .time_ns = record.time_ns};
        port->counters.rx_bytes += record.len_bytes;
    }
    port->counters.rx_frames += got;
    return got;
}

static void replay_rx_release(struct net_port *port, const struct net_frame *frames, unsigned n)
{
    (void)port, (void)frames, (void)n; /* the next burst writes over them */
}

static unsigned replay_tx_reserve(struct net_port *port, struct net_frame *bufs, unsigned n,
                                  uint32_t train_bytes)
{
    (void)train_bytes; /* limits: no trains */
    struct replay_port *p = (struct replay_port *)port;
    if (n > NET_BURST)
        n = NET_BURST;
    for (unsigned i = 0; i < n; i++)
        bufs[i] = (struct net_frame){.data = p->tx + (size_t)i * SLOT_BYTES, .cap_bytes = SLOT_BYTES};
    return n;
}

static void replay_tx_flush(struct net_port *port, const struct net_frame *bufs, unsigned used,
                            uint64_t now_ns)
{
    (void)now_ns;
    for (unsigned i = 0; i < used; i++)
        port->counters.tx_bytes += bufs[i].len_bytes;
    port->counters.tx_frames += used;
}

static int replay_fd(struct net_port *port)
{
    return ((struct replay_port *)port)->fd;
}

static uint64_t replay_deadline_ns(const struct net_port *port)
{
    (void)port;
    return NET_TIME_NONE;
}

static void replay_close(struct net_port *port)
{
    struct replay_port *p = (struct replay_port *)port;
    if (p->capture)
        net_capture_close(p->capture);
    if (p->fd >= 0)
        close(p->fd);
    free(p->rx);
    free(p->tx);
    free(p);
}

static const struct net_port_ops replay_ops = {
    .rx_burst = replay_rx_burst,
    .rx_release = replay_rx_release,
    .tx_reserve = replay_tx_reserve,
    .tx_flush = replay_tx_flush,
    .fd = replay_fd,
    .deadline_ns = replay_deadline_ns,
    .close = replay_close,
};

int net_pcap_replay_open(const char *path, struct net_port **out, struct nornic_error *why)
{
    struct replay_port *p = calloc(1, sizeof *p);
    if (!p)
        return net_error_set(why, ENOMEM, "no memory to replay %s", path);
    *p = (struct replay_port){
        .port = {.ops = &replay_ops,
                 .limits = {.mtu_bytes = MTU_BYTES, .burst_frames = NET_BURST},
                 .name = "replay",
                 .mode = "capture file"},
        .fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC),
        .rx = aligned_alloc(64, (size_t)NET_BURST * SLOT_BYTES),
        .tx = aligned_alloc(64, (size_t)NET_BURST * SLOT_BYTES),
    };
    int err = net_capture_open(path, &p->capture, why);
    if (!err && (p->fd < 0 || !p->rx || !p->tx))
        err = net_error_set(why, ENOMEM, "no memory or descriptor to replay %s", path);
    if (err) {
        replay_close(&p->port);
        return err;
    }
    *out = &p->port;
    return 0;
}

const char *net_pcap_replay_error(const struct net_port *port)
{
    assert(port->ops == &replay_ops);
    const struct replay_port *p = (const struct replay_port *)port;
    return p->failed ? p->failure.text : NULL;
}
