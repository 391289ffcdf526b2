/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices of RoCE. Internal to host/. */
#ifndef NORNIC_HOST_ROCE_DEV_H
#define NORNIC_HOST_ROCE_DEV_H

#include "host/host.h"

struct host_port_name;
struct host_transport;

/* Opens the port that `config` names, and a device on it, by host_dev_open(). */
int host_roce_open(const struct host_transport *transport, const struct host_dev_config *config,
                   const struct host_port_name *name, struct host_dev **out, struct nornic_error *why);

/* Makes a device on a port that exists already, by host_dev_create_on(). Takes over `port`, also on
 * failure. */
int host_roce_create_on(const struct host_transport *transport, struct net_port *port,
                        const struct host_dev_config *config, struct host_dev **out,
                        struct nornic_error *why);

#endif
