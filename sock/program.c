/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting and stopping as programs do it: nornic/socket.h. */
#include <errno.h>

#include "host/api/config.h"
#include "sock/sock.h"

int nornic_sockets_start(const struct nornic_sockets_config *config, struct nornic_error *why)
{
    struct nornic_sockets_config own;
    int err = host_config_take(&own, sizeof own, config);
    if (err)
        return net_error_set(why, -err, "the sockets' config %s",
                             err == -E2BIG ? "has values that this version does not know"
                                           : "does not say how long it is: begin it with NORNIC_INIT()");
    if (own.num_ports > NORNIC_SOCKETS_MAX_PORTS)
        return net_error_set(why, EINVAL, "%u ports are too many: use at most %d", own.num_ports,
                             NORNIC_SOCKETS_MAX_PORTS);
    struct smcr_sock_config inner = {.num_ports = own.num_ports,
                                     .max_links = own.max_links,
                                     .elems_per_rmb = own.elems_per_rmb,
                                     .no_stat = own.no_stat};
    while (inner.num_eids < NORNIC_SOCKETS_MAX_EIDS && own.eids[inner.num_eids]) {
        const char *eid = own.eids[inner.num_eids];
        if (smcr_eid_parse(eid, inner.eids[inner.num_eids]) != 0)
            return net_error_set(why, EINVAL,
                                 "the enterprise id \"%s\" cannot be: give 1 to %d of A-Z, 0-9, . and -, a "
                                 "letter or digit first",
                                 eid, SMCR_EID_LEN);
        inner.num_eids++;
    }
    for (unsigned i = 0; i < own.num_ports; i++)
        inner.ports[i] = (struct smcr_sock_port){.port = own.ports[i].port,
                                                 .pnetid = own.ports[i].pnetid,
                                                 .capture_path = own.ports[i].capture_path,
                                                 .impair = own.ports[i].impair};
    return smcr_sock_start(&inner, why);
}

int nornic_sockets_stop(struct nornic_error *why)
{
    return smcr_sock_stop(why);
}
