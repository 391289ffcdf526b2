/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a device: the name of the port chooses the transport. */
#include "host/host.h"

#include <errno.h>

#include "host/port/open.h"
#include "host/roce/dev.h"
#include "host/transport.h"

/* Adds the options of the port's name to those of the program. A port without a name has none. */
static int take_options(struct host_dev_config *own, struct nornic_error *why)
{
    int err = host_port_options(own->port ? own->port : "", &own->options, why);
    if (err)
        return err;
    if (!own->cc.on)
        own->cc = own->options.cc;
    uint16_t needed = (uint16_t)(own->options.num_pkeys + (own->options.first_pkey ? 2 : 1));
    if (own->num_pkeys < needed)
        own->num_pkeys = needed;
    return 0;
}

int host_dev_open(const struct host_dev_config *config, struct host_dev **out, struct nornic_error *why)
{
    static const struct host_transport *const of_kind[HOST_PORT_KINDS] = {
        [HOST_PORT_XDP] = &host_transport_roce,
        [HOST_PORT_PACKET] = &host_transport_roce,
        [HOST_PORT_UDP] = &host_transport_roce,
        [HOST_PORT_IWARP] = &host_transport_iwarp,
    };
    struct host_port_name name;
    int err = host_port_parse(config->port, &name, why);
    if (err)
        return err;
    struct host_dev_config own = *config;
    err = take_options(&own, why);
    if (err)
        return err;
    const struct host_transport *transport = of_kind[name.kind];
    return transport->open(transport, &own, &name, out, why);
}

int host_dev_create_on(struct net_port *port, const struct host_dev_config *config, struct host_dev **out,
                       struct nornic_error *why)
{
    struct host_dev_config own = *config;
    int err = take_options(&own, why);
    if (!err)
        return host_roce_create_on(&host_transport_roce, port, &own, out, why);
    net_port_close(port);
    return err;
}
