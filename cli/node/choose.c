/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/choose.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/cli.h"
#include "cli/node/tcp.h"
#include "net/kernel/sockaddr.h"

/* The first address of a name. CLI_OK or CLI_ERROR. */
static int address_of(const char *name, struct nornic_addr *out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list;
    uint16_t port;
    union net_sockaddr first;
    int gai = getaddrinfo(name, NULL, &hints, &list);
    if (gai != 0)
        return cli_fail("cannot find the host '%s': %s%s", name, gai_strerror(gai), cli_name_remedy(gai));
    memcpy(&first, list->ai_addr, list->ai_addrlen < sizeof first ? list->ai_addrlen : sizeof first);
    *out = net_sockaddr_get(&first, &port);
    freeaddrinfo(list);
    return CLI_OK;
}

int cli_node_choose_port(const char *host, const char *bind, struct host_port_default *out)
{
    struct nornic_addr from, to;
    struct nornic_error why;
    int err = host ? address_of(host, &to) : CLI_OK;
    if (err == CLI_OK && bind)
        err = address_of(bind, &from);
    if (err != CLI_OK)
        return err;
    if (host_port_default(bind ? &from : NULL, host ? &to : NULL, out, &why) != 0)
        return cli_fail("%s; say which port to use: --port udp:ADDRESS, xdp:INTERFACE or another that "
                        "`nornic ports` lists",
                        why.text);
    return CLI_OK;
}
