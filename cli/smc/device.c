/* SPDX-License-Identifier: BSD-2-Clause */
/* What several commands say of the process as a peer: its devices, its enterprise ids. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/smc/smc.h"
#include "host/port/options.h"

/* The interface of "xdp:eth0:native"; `*len` letters. */
const char *smc_interface_of(const char *port, int *len)
{
    const char *colon = strchr(port, ':'), *name = colon ? colon + 1 : "";
    *len = (int)strcspn(name, ":,");
    return name;
}

/* A second port on an interface would find the first one's XDP program there. */
static bool has_interface(const struct smcr_sock_config *sock, const char *port)
{
    int len, other_len;
    const char *name = smc_interface_of(port, &len);
    for (unsigned i = 0; i < sock->num_ports; i++) {
        const char *other = smc_interface_of(sock->ports[i].port, &other_len);
        if (len == other_len && strncmp(name, other, (size_t)len) == 0)
            return true;
    }
    return false;
}

/* SMC-R thinks in interfaces, so a udp port's address is none. */
static bool is_port(const char *text)
{
    static const char *const kinds[] = {"xdp:", "packet:", "udp:"};
    struct nornic_addr addr;
    for (size_t i = 0; i < array_len(kinds); i++) {
        const char *rest = text + strlen(kinds[i]);
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
            return *rest && *rest != ',' && nornic_addr_parse(rest, &addr) != 0;
    }
    return false;
}

/* Cuts pnetid=NAME out of `text`, and stores the name in `pnetid`. False: it is not legal. */
static bool take_pnetid(char *text, char *pnetid, size_t room)
{
    static const char key[] = ",pnetid=";
    char *at = strstr(text, key);
    if (!at)
        return true;
    const char *value = at + sizeof key - 1;
    size_t bytes = strcspn(value, ",");
    snprintf(pnetid, room, "%.*s", (int)bytes, value);
    memmove(at, value + bytes, strlen(value + bytes) + 1);
    return bytes > 0 && bytes < room;
}

/* Takes "xdp:eth0", "xdp:eth0,pnetid=NET" or a port with options of a device. `text` is the user's
 * argument, and loses its pnetid. */
int smc_take_device(struct smcr_sock_config *sock, const char *option, char *text)
{
    static char pnetids[SMCR_SOCK_MAX_PORTS][17];
    struct host_port_options options;
    struct nornic_error why;
    if (sock->num_ports == SMCR_SOCK_MAX_PORTS)
        return cli_fail("%s %s: %d devices are the most", option, text, SMCR_SOCK_MAX_PORTS);
    struct smcr_sock_port *port = &sock->ports[sock->num_ports];
    char *pnetid = pnetids[sock->num_ports];
    *pnetid = 0;
    if (!take_pnetid(text, pnetid, sizeof pnetids[0]))
        return cli_fail("%s %s: behind pnetid= goes a NAME of 1 to 16 letters", option, text);
    if (host_port_options(text, &options, &why) != 0)
        return cli_fail("%s %s, and for SMC-R pnetid=NAME", option, why.text);
    if (!is_port(text))
        return cli_fail("%s %s: give xdp:INTERFACE, packet:INTERFACE or udp:INTERFACE", option, text);
    if (has_interface(sock, text))
        return cli_fail("%s %s: its interface is given already; give each once", option, text);
    port->pnetid = *pnetid ? pnetid : NULL;
    port->port = text;
    sock->num_ports++;
    return CLI_OK;
}

int smc_take_ueid(struct smcr_sock_config *sock, const char *option, char *text)
{
    if (sock->num_eids == SMCR_MAX_EIDS)
        return cli_fail("%s %s: %d enterprise ids are the most", option, text, SMCR_MAX_EIDS);
    if (smcr_eid_parse(text, sock->eids[sock->num_eids]) != 0)
        return cli_fail("%s %s: give 1 to %d of A-Z, 0-9, . and -, a letter or digit first", option, text,
                        SMCR_EID_LEN);
    sock->num_eids++;
    return CLI_OK;
}
