/* SPDX-License-Identifier: BSD-2-Clause */
/* A device of RoCE: its engine on a port of frames. */
#include "host/roce/dev.h"

#include <errno.h>
#include <string.h>

#include "host/dev/dev.h"
#include "host/dev/random.h"
#include "host/roce/multicast.h"
#include "roce/neutral.h"
#include "roce/wire.h"

#define QPNS 65536u /* of a device without a lease: as many as a lease has */

/* --- the engine --- */

static void forward_trace(void *ctx, const struct roce_trace *event)
{
    struct host_dev *dev = ctx;
    dev->trace(dev->trace_ctx, event);
}

static void queue_event(void *ctx, const struct roce_event *event)
{
    struct host_dev *dev = ctx;
    host_dev_assert_held(dev);
    if (event->type == NORNIC_EVENT_COMM_EST && dev->client)
        dev->client->ops->comm_est(dev->client, event->qp);
    const struct host_event own = {.type = event->type,
                                   .qp = event->qp ? roce_qp_base(event->qp) : NULL,
                                   .cq = event->cq,
                                   .srq = event->srq};
    host_event_queue_push(&dev->events, &own);
}

/* roce_dev_config.qp_gone: events name the QP, and so may the CM. */
static void forget_qp(void *ctx, const struct roce_qp *qp)
{
    struct host_dev *dev = ctx;
    host_dev_assert_held(dev);
    host_event_queue_forget(&dev->events, roce_qp_base(qp));
    if (dev->client)
        dev->client->ops->qp_gone(dev->client, qp);
}

/* roce_dev_config.mcast. Packets to groups all bear one number. */
static int follow_group(void *ctx, const struct nornic_addr *group, bool join)
{
    struct host_dev *dev = ctx;
    host_dev_assert_held(dev);
    int err = 0;
    if (join)
        err = host_multicast_join(dev, group, NULL);
    else
        host_multicast_leave(dev, group);
    if (err)
        return err;
    dev->groups += join ? 1 : -1;
    net_port_steer(dev->port, ROCE_MULTICAST_QPN, dev->groups ? NET_STEER_LIMITED : NET_STEER_NOBODY, NULL);
    return 0;
}

/* roce_dev_config.reach. QP 1 is known to everybody and sends little. */
static void steer(void *ctx, uint32_t qpn, enum roce_reach reach, const struct nornic_addr *peer)
{
    struct host_dev *dev = ctx;
    static const enum net_steer whose[] = {
        [ROCE_REACH_NOBODY] = NET_STEER_NOBODY,
        [ROCE_REACH_PEER] = NET_STEER_PEER,
        [ROCE_REACH_ANYBODY] = NET_STEER_ANYBODY,
    };
    host_dev_assert_held(dev);
    bool is_limited = qpn == ROCE_GSI_QPN && reach == ROCE_REACH_ANYBODY;
    net_port_steer(dev->port, qpn, is_limited ? NET_STEER_LIMITED : whose[reach], peer);
}

/* Sets the QPNs of a device without a lease. Numbers that a program has set the beginning of count up. */
static void draw_qpns(struct roce_dev_config *config)
{
    if (config->first_qpn)
        return;
    config->first_qpn = roce_draw_first_qpn(&host_random, QPNS, 0, 0);
    config->num_qpns = QPNS;
}

/* Writes the P_Key table of the options: the key of programs that choose none, the others in their order.
 * 0xffff is among them (ROCE-VB-6). */
static void list_pkeys(const struct host_port_options *options, uint16_t pkeys[NORNIC_PKEY_MAX])
{
    unsigned count = 0;
    pkeys[count++] = options->first_pkey ? options->first_pkey : NORNIC_PKEY_DEFAULT;
    for (unsigned i = 0; i < options->num_pkeys; i++)
        pkeys[count++] = options->pkeys[i];
    if (options->first_pkey)
        pkeys[count] = NORNIC_PKEY_DEFAULT;
}

static int create_engine(struct host_dev *dev, const struct host_dev_config *wanted)
{
    uint16_t pkeys[NORNIC_PKEY_MAX] = {0};
    list_pkeys(&wanted->options, pkeys);
    struct roce_dev_config config = {
        .random = host_random,
        .port_mtu_bytes = dev->port->limits.mtu_bytes,
        .first_qpn = wanted->first_qpn,
        .num_qpns = wanted->num_qpns,
        .window_pkts = wanted->window_pkts,
        .answer_bytes = dev->port->limits.rx_room_bytes / 2,
        .num_pkeys = wanted->num_pkeys ? wanted->num_pkeys : 1,
        .pkeys = pkeys,
        .path_migration = wanted->options.path_migration,
        .masked_atomics = wanted->options.masked_atomics,
        .hop_limit = wanted->options.hop_limit,
        .traffic_class = wanted->options.traffic_class,
        .selective = true,
        .roce_v1 = wanted->roce_v1,
        .udp_socket = dev->port->limits.is_udp_socket,
        .src_port_count = dev->port->limits.src_port_count,
        .labels = wanted->options.entropy ? ROCE_LABELS_OF_FLOWS : ROCE_LABELS_OF_VECTORS,
        .shared_addrs = net_port_share(dev->port) != NULL,
        .cc = wanted->cc,
        .doorbell = host_dev_doorbell,
        .event = queue_event,
        .qp_gone = forget_qp,
        .mcast = follow_group,
        .reach = steer,
        .trace = dev->trace ? forward_trace : NULL,
        .trace_parse_tx = dev->trace != NULL,
        .ctx = dev,
    };
    draw_qpns(&config);
    return roce_dev_create(&config, &dev->engine);
}

/* Names the value that the engine does not take, if that is the reason. */
static int explain_failure(const struct host_dev_config *config, int err, struct nornic_error *why)
{
    if (err != -EINVAL)
        return net_error_set(why, -err, "cannot create a device: %s", strerror(-err));
    if (config->num_pkeys > NORNIC_PKEY_MAX)
        return net_error_set(why, EINVAL, "num_pkeys %u is too large: at most %u", config->num_pkeys,
                             NORNIC_PKEY_MAX);
    if (config->window_pkts >= 1u << 23)
        return net_error_set(why, EINVAL, "window_pkts %u is too large: at most %u", config->window_pkts,
                             (1u << 23) - 1);
    return net_error_set(why, EINVAL,
                         "the device's config has a value out of its range: first_qpn %u (17, or more, with "
                         "room below %u for the queue pairs)%s",
                         config->first_qpn, ROCE_MULTICAST_QPN,
                         config->cc.on ? ", or one of cc_config, whose header says the ranges" : "");
}

/* --- life --- */

int host_roce_create_on(const struct host_transport *transport, struct net_port *port,
                        const struct host_dev_config *config, struct host_dev **out, struct nornic_error *why)
{
    struct net_port *capture;
    int err = host_port_wrap(&port, &capture, config, why);
    if (err)
        return err;
    struct host_dev *dev = host_dev_new(transport, &err);
    if (!dev)
        goto close_port;
    dev->port = port;
    dev->capture = capture;
    dev->trace = config->trace;
    dev->trace_ctx = config->trace_ctx;
    err = create_engine(dev, config);
    if (err)
        goto free_dev;
    net_port_steer(port, 0, NET_STEER_NOBODY,
                   NULL); /* from now on the port is for queue pairs that there are */
    err = config->no_thread ? 0 : host_dev_thread_start(dev);
    if (err)
        goto destroy_engine;
    *out = dev;
    return 0;

destroy_engine:
    roce_dev_destroy(dev->engine);
free_dev:
    host_dev_free(dev);
close_port:
    net_port_close(port);
    return explain_failure(config, err, why);
}
