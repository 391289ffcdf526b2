/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port/names.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "host/port/default.h"
#include "host/port/open.h"
#include "host/port/options.h"

/* An element without a colon is an option of the port before it. */
static void append_option(struct host_port_names *out, const char *option, size_t bytes)
{
    char *port = out->at[out->count - 1];
    size_t so_far = strlen(port);
    snprintf(port + so_far, HOST_PORT_NAME_BYTES - so_far, ",%.*s", (int)bytes, option);
}

void host_port_names(const char *listed, struct host_port_names *out)
{
    struct host_port_default found;
    struct nornic_error why;
    *out = (struct host_port_names){0};
    if (!listed || !*listed)
        listed = host_port_default(NULL, NULL, &found, &why) == 0 ? found.udp : "udp:127.0.0.1";
    for (const char *at = listed; *at;) {
        size_t bytes = strcspn(at, ", ");
        if (bytes && out->count && !memchr(at, ':', bytes))
            append_option(out, at, bytes);
        else if (bytes && out->count < HOST_PORT_NAMES_MAX)
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
    sum = hash(sum, port, host_port_name_bytes(port));
    memcpy(bytes, &sum, sizeof bytes);
    bytes[0] = (uint8_t)((bytes[0] & 0xfc) | 2);
    memcpy(&sum, bytes, sizeof sum);
    return sum;
}
