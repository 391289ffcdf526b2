/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port/names.h"

#include <stdio.h>
#include <string.h>

#include "host/port/default.h"
#include "host/port/open.h"

void host_port_names(const char *listed, struct host_port_names *out)
{
    struct host_port_default found;
    struct nornic_error why;
    *out = (struct host_port_names){0};
    if (!listed || !*listed)
        listed = host_port_default(NULL, NULL, &found, &why) == 0 ? found.udp : "udp:127.0.0.1";
    for (const char *at = listed; *at;) {
        size_t bytes = strcspn(at, ", ");
        if (bytes && out->count < HOST_PORT_NAMES_MAX)
            snprintf(out->at[out->count++], HOST_PORT_NAME_BYTES, "%.*s", (int)bytes, at);
        else if (bytes)
            out->left_out++;
        at += bytes + strspn(at + bytes, ", ");
    }
}

void host_port_place(const char *port, struct net_interface *out)
{
    struct host_port_name parsed;
    struct nornic_error why;
    *out = (struct net_interface){0};
    if (host_port_parse(port, &parsed, &why) == 0)
        (void)host_port_interface(&parsed, out, &why); /* one that is down is one, too */
}

bool host_port_is_iwarp(const char *port)
{
    struct host_port_name parsed;
    struct nornic_error why;
    return host_port_parse(port, &parsed, &why) == 0 && parsed.kind == HOST_PORT_IWARP;
}

/* FNV-1a. */
static uint64_t hash(uint64_t so_far, const void *bytes, size_t count)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < count; i++)
        so_far = (so_far ^ p[i]) * UINT64_C(0x100000001b3);
    return so_far;
}

uint64_t host_port_guid(const char *port)
{
    struct net_interface interface;
    uint8_t bytes[8];
    host_port_place(port, &interface);
    uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), interface.mac.b, sizeof interface.mac.b);
    sum = hash(sum, port, strlen(port));
    memcpy(bytes, &sum, sizeof bytes);
    bytes[0] = (uint8_t)((bytes[0] & 0xfc) | 2);
    memcpy(&sum, bytes, sizeof sum);
    return sum;
}
