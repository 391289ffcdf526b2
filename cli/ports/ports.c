/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic ports`: what --port may be here and now. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/report/json.h"
#include "host/port/try.h"
#include "roce/roce.h"

struct settings {
    bool json;
};

/* What is told so far. */
struct listing {
    struct json_object *ports; /* NULL: as text */
    char ifname[16];           /* of the newest line */
    unsigned usable;
};

static uint32_t pmtu_of(const struct host_port_found *port)
{
    return nornic_mtu_bytes(nornic_mtu_for_port(port->mtu_bytes));
}

static void print_port(struct listing *listing, const struct host_port_found *port)
{
    if (strcmp(listing->ifname, port->ifname) != 0)
        printf("%s: MTU %u, path MTU %u at the most\n", cli_plain(port->ifname), port->mtu_bytes,
               pmtu_of(port));
    if (port->is_usable && port->sharers > 0)
        printf("  %s shared with %s\n", cli_plain(port->name), cli_plain(port->shared_with));
    else if (port->is_usable && port->queues > 1)
        printf("  %s of all %u receive queues\n", cli_plain(port->name), port->queues);
    else if (port->is_usable)
        printf("  %s\n", cli_plain(port->name));
    else
        printf("  %s not now: %s\n", cli_plain(port->name), port->why.text);
}

static void add_port(const struct listing *listing, const struct host_port_found *port)
{
    struct json_object *o = json_object_new_object();
    cli_json_add_text(o, "port", port->name);
    cli_json_add_text(o, "interface", port->ifname);
    cli_json_add_count(o, "mtu", port->mtu_bytes);
    cli_json_add_count(o, "path_mtu", pmtu_of(port));
    json_object_object_add(o, "usable", json_object_new_boolean(port->is_usable));
    cli_json_add_count(o, "sharers", port->sharers);
    cli_json_add_count(o, "queues", port->queues);
    json_object_object_add(o, "why", port->is_usable ? NULL : json_object_new_string(port->why.text));
    json_object_array_add(listing->ports, o);
}

static void tell(void *ctx, const struct host_port_found *port)
{
    struct listing *listing = ctx;
    if (listing->ports)
        add_port(listing, port);
    else
        print_port(listing, port);
    listing->usable += port->is_usable;
    snprintf(listing->ifname, sizeof listing->ifname, "%s", port->ifname);
}

static int run(void *options)
{
    const struct settings *settings = options;
    struct listing listing = {.ports = settings->json ? json_object_new_array() : NULL};
    struct nornic_error why;
    int err = host_ports_find(tell, &listing, &why);
    if (settings->json) {
        struct json_object *all = json_object_new_object();
        json_object_object_add(all, "ports", listing.ports);
        cli_json_print(all);
    } else if (!err) {
        puts("memory: two ends in one process, without an interface");
    }
    if (err)
        return cli_fail("%s", why.text);
    return listing.usable ? CLI_OK : CLI_NEGATIVE;
}

#define AT(member) CLI_SETS(struct settings, member)

static const struct cli_option rows[] = {
    {"json", 'j', NULL,
     "one line of JSON: ports, a list of port, interface, mtu, path_mtu, usable, sharers (how many "
     "processes have the address of a udp port already, and share it; how many packet ports the interface "
     "has), queues (that an xdp port receives by) and why (null where it is usable)",
     AT(json)},
    {NULL},
};

const struct cli_command ports_command = {
    .name = "ports",
    .summary = "list the ports that this machine and user can use",
    .usage = "ports [--json]",
    .about =
        "Lists what --port of the other commands may be here and now: for each interface that is up the "
        "udp port of each of its addresses, which needs no privilege, with whom it is shared, its iwarp port "
        "(iWARP over TCP, likewise), and its packet and xdp ports; and of those that this user cannot use, "
        "why not. It leaves no trace: nothing is attached, no packet is sent. Which port is for whom: "
        "docs/ports.md.",
    .groups = {{.rows = rows}},
    .examples = "Example:\n"
                "  $ nornic ports\n"
                "  lo: MTU 65536, path MTU 4096 at the most\n"
                "    udp:127.0.0.1\n"
                "    iwarp:127.0.0.1\n"
                "    packet:lo not now: it needs root, or the capability CAP_NET_RAW\n"
                "  $ nornic ports --json | jq -r '.ports[] | select(.usable) | .port'\n",
    .status = {"at least one can be used", "none can", "they could not be listed"},
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
