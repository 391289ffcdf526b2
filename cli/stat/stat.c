/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic stat`: the processes that share addresses, and what their ports have counted; those that have
 * devices of the verbs libraries open, and their queue pairs. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/report/json.h"
#include "cli/stat/verbs.h"
#include "net/share/look.h"

#define ANSWER_NS (500 * NS_PER_MS) /* a process that makes no progress does not answer */
#define ALL_NS    (5 * NS_PER_S)    /* of waits for all of them; later ones are shown without counters */

struct settings {
    bool json;
};

struct listing {
    struct json_object *ports; /* NULL: as text */
    unsigned count;
    uint64_t waited_ns; /* for those that did not answer */
};

static struct json_object *addrs_of(const struct net_share_record *record)
{
    struct json_object *addrs = json_object_new_array();
    char text[NORNIC_ADDR_STR_SIZE];
    for (uint32_t i = 0; i < record->place_count; i++)
        json_object_array_add(addrs, json_object_new_string(nornic_addr_str(&record->places[i].addr, text)));
    return addrs;
}

static void add_port(const struct listing *listing, unsigned slot, const struct net_share_record *record,
                     const struct net_port_counters *counters)
{
    struct json_object *o = json_object_new_object(), *counts = NULL;
    cli_json_add_count(o, "pid", record->pid);
    cli_json_add_text(o, "program", record->name);
    cli_json_add_count(o, "user", record->uid);
    json_object_object_add(o, "addresses", addrs_of(record));
    cli_json_add_count(o, "first_qpn", slot << NET_SHARE_SLOT_BITS);
    cli_json_add_count(o, "services", record->service_count);
    if (counters) {
        counts = json_object_new_object();
#define COUNTER_ADD_(name) cli_json_add_count(counts, #name, counters->name);
        NET_PORT_COUNTERS(COUNTER_ADD_)
#undef COUNTER_ADD_
    }
    json_object_object_add(o, "counters", counts);
    json_object_array_add(listing->ports, o);
}

static void print_port(unsigned slot, const struct net_share_record *record,
                       const struct net_port_counters *counters)
{
    char text[NORNIC_ADDR_STR_SIZE];
    printf("%s (process %u, user %u):", record->name, record->pid, record->uid);
    for (uint32_t i = 0; i < record->place_count; i++)
        printf("%s %s", i ? "," : "", nornic_addr_str(&record->places[i].addr, text));
    if (record->place_count == 0)
        printf(" without an address of its own");
    printf("; queue pairs 0x%06x to 0x%06x", slot << NET_SHARE_SLOT_BITS,
           ((slot + 1) << NET_SHARE_SLOT_BITS) - 1);
    if (record->service_count)
        printf("; listens to %u service%s", record->service_count, plural_s(record->service_count));
    putchar('\n');
    if (!counters) {
        puts("  it does not look at its port now (perf and pingpong, while they wait for a client), so its "
             "counters are not known");
        return;
    }
    bool has_any = false;
#define COUNTER_PRINT_(name)                                                                 \
    if (counters->name) {                                                                    \
        printf("%s %s %llu", has_any ? "" : " ", #name, (unsigned long long)counters->name); \
        has_any = true;                                                                      \
    }
    NET_PORT_COUNTERS(COUNTER_PRINT_)
#undef COUNTER_PRINT_
    puts(has_any ? "" : "  it has counted nothing");
}

static void tell(void *ctx, unsigned slot, const struct net_share_record *record)
{
    struct listing *listing = ctx;
    struct net_port_counters counters;
    bool is_answered = listing->waited_ns < ALL_NS && net_share_ask(slot, ANSWER_NS, &counters);
    listing->waited_ns += is_answered ? 0 : ANSWER_NS;
    listing->count++;
    if (listing->ports)
        add_port(listing, slot, record, is_answered ? &counters : NULL);
    else
        print_port(slot, record, is_answered ? &counters : NULL);
}

static void print_json(struct json_object *ports, struct json_object *processes, unsigned hidden,
                       unsigned silent)
{
    struct json_object *all = json_object_new_object();
    json_object_object_add(all, "ports", json_object_get(ports));
    json_object_object_add(all, "processes", json_object_get(processes));
    cli_json_add_count(all, "hidden", hidden);
    cli_json_add_count(all, "silent", silent);
    cli_json_print(all);
}

/* Behind the ports. */
static void print_processes(struct json_object *processes, unsigned hidden, unsigned silent)
{
    for (size_t i = 0; i < json_object_array_length(processes); i++)
        stat_verbs_print(json_object_array_get_idx(processes, i));
    if (hidden)
        printf("not shown: %u process%s with devices open, of other users (ask as root)\n", hidden,
               hidden == 1 ? "" : "es");
    if (silent)
        printf("not shown: %u process%s with devices open, which gave no answer\n", silent,
               silent == 1 ? "" : "es");
}

static int run(void *options)
{
    const struct settings *settings = options;
    struct listing listing = {.ports = settings->json ? json_object_new_array() : NULL};
    struct nornic_error why;
    unsigned hidden, silent;
    if (net_share_look(tell, &listing, &why) != 0) {
        json_object_put(listing.ports);
        return cli_fail("%s", why.text);
    }
    struct json_object *processes = stat_verbs_collect(&hidden, &silent);
    bool is_any = listing.count || json_object_array_length(processes) || hidden || silent;
    if (settings->json)
        print_json(listing.ports, processes, hidden, silent);
    else if (is_any)
        print_processes(processes, hidden, silent);
    else
        puts("no process has a port here that this user could share numbers with, or a device open");
    json_object_put(processes);
    json_object_put(listing.ports);
    return is_any ? CLI_OK : CLI_NEGATIVE;
}

#define AT(member) CLI_SETS(struct settings, member)

static const struct cli_option rows[] = {
    {"json", 'j', NULL,
     "one line of JSON: ports, a list of pid, program, user, addresses, first_qpn, services and counters "
     "(null where it did not answer); processes, a list of pid, program, user and devices, which have "
     "device, port, state, addresses, counters and qps (qpn, type, state, peer, peer_qpn, sends, recvs, "
     "counters); hidden and silent, how many more there are",
     AT(json)},
    {NULL},
};

const struct cli_command stat_command = {
    .name = "stat",
    .summary = "show the processes that share addresses or use libibverbs: devices, queue pairs, counters",
    .usage = "stat [--json]",
    .about =
        "Shows the udp ports of this machine whose addresses this user could share, and the packet ports "
        "beside which this user could have one: of which process each is, its addresses, the queue pair "
        "numbers that it has leased, and what it has counted so far (counters that are 0 are left out). "
        "How addresses and interfaces are shared: docs/ports.md. Then the processes of this network "
        "namespace that have devices of nornic's libibverbs open (docs/verbs.md), this user's, or for root "
        "all: each device with its port, addresses and counters, and each of its queue pairs with type, "
        "state, peer, the requests that are outstanding, and counters.",
    .groups = {{.rows = rows}},
    .examples =
        "Example:\n"
        "  $ nornic stat\n"
        "  nornic (process 4711, user 1000): 192.0.2.1; queue pairs 0x4d0000 to 0x4dffff\n"
        "    tx_frames 12 tx_bytes 1488 rx_frames 12 rx_bytes 1488\n"
        "  ib_write_bw (process 4712, user 1000) by libibverbs: 1 device open\n"
        "    nornic0 on udp:192.0.2.1, ACTIVE: 192.0.2.1; 1 queue pair\n"
        "      tx_pkts 5017 tx_bytes 5418360 rx_pkts 313 rx_bytes 19406\n"
        "      queue pair 0x4e0017 RC RTS, to 0x7a0003 at 192.0.2.2; outstanding: 128 sends, 0 receives\n"
        "        tx_pkts 5017 tx_bytes 5418360 rx_pkts 313 rx_bytes 19406\n",
    .status = {"there is one", "there is none", "wrong usage"},
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
