/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/json.h"
#include "cli/smc/smc.h"
#include "cli/smc/stat.h"

static struct json_object *member(struct json_object *o, const char *key)
{
    struct json_object *found;
    return json_object_object_get_ex(o, key, &found) ? found : NULL;
}

/* A v4-mapped address as IPv4; an IPv6 one in brackets when a port follows. */
static const char *endpoint(struct json_object *conn, const char *addr_key, const char *port_key, char *text)
{
    const char *addr = cli_json_plain(conn, addr_key);
    if (strncmp(addr, "::ffff:", 7) == 0)
        addr += 7;
    snprintf(text, SMC_ADDR_TEXT, strchr(addr, ':') ? "[%s]:%u" : "%s:%u", addr,
             (unsigned)cli_json_count(conn, port_key));
    return text;
}

static void print_link(FILE *out, struct json_object *l)
{
    fprintf(out,
            "    link %-3" PRIu64 " %-10s %s  QPN 0x%06" PRIx64 " to 0x%06" PRIx64 "  %s to %s  MTU %" PRIu64
            "  connections: %" PRIu64 "\n",
            cli_json_count(l, "number"), cli_json_plain(l, "state"), cli_json_plain(l, "port"),
            cli_json_count(l, "qpn"), cli_json_count(l, "peer_qpn"), cli_json_plain(l, "gid"),
            cli_json_plain(l, "peer_gid"), cli_json_count(l, "path_mtu"), cli_json_count(l, "conns"));
}

static void print_rmb(FILE *out, struct json_object *r)
{
    char size[32];
    fprintf(out, "    RMB      %" PRIu64 " elements of %s, %" PRIu64 " in use\n", cli_json_count(r, "elems"),
            smc_bytes_text((double)cli_json_count(r, "elem_bytes"), size), cli_json_count(r, "used"));
}

static void print_conn(FILE *out, struct json_object *c)
{
    char local[SMC_ADDR_TEXT], remote[SMC_ADDR_TEXT], tx[32], rx[32], window[32];
    uint64_t link = cli_json_count(c, "link");
    fprintf(out, "    %s with %s  %s", endpoint(c, "local", "local_port", local),
            endpoint(c, "remote", "remote_port", remote), cli_json_plain(c, "state"));
    if (link)
        fprintf(out, "  link %" PRIu64, link);
    fprintf(out, "  sent %s, received %s, window %s",
            smc_bytes_text((double)cli_json_count(c, "tx_bytes"), tx),
            smc_bytes_text((double)cli_json_count(c, "rx_bytes"), rx),
            smc_bytes_text((double)cli_json_count(c, "window_bytes"), window));
    if (cli_json_count(c, "readable_bytes"))
        fprintf(out, ", %" PRIu64 " bytes to read", cli_json_count(c, "readable_bytes"));
    if (cli_json_count(c, "unsent_bytes"))
        fprintf(out, ", %" PRIu64 " bytes under way", cli_json_count(c, "unsent_bytes"));
    if (cli_json_count(c, "owner_pid"))
        fprintf(out, ", lent to %s (process %" PRIu64 ")", cli_json_plain(c, "owner"),
                cli_json_count(c, "owner_pid"));
    fputc('\n', out);
}

/* Those of an array that belong to a group. */
static void print_of_group(FILE *out, struct json_object *process, const char *key, uint64_t group,
                           void (*print)(FILE *out, struct json_object *o))
{
    struct json_object *array = member(process, key);
    for (size_t i = 0; i < cli_json_length(array); i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        if (cli_json_count(o, "group") == group)
            print(out, o);
    }
}

static void print_group(FILE *out, struct json_object *process, struct json_object *g)
{
    uint64_t id = cli_json_count(g, "id");
    fprintf(out, "  group %" PRIu64 "  %s of peer %s  %s  %" PRIu64 " links at most", id,
            cli_json_plain(g, "role"), cli_json_plain(g, "peer_id"), cli_json_plain(g, "redundancy"),
            cli_json_count(g, "max_links"));
    if (*cli_json_plain(g, "eid")) /* version 1 has none */
        fprintf(out, "  version %s  EID %s", cli_json_plain(g, "version"), cli_json_plain(g, "eid"));
    if (cli_json_count(g, "vlan_id"))
        fprintf(out, "  VLAN %" PRIu64, cli_json_count(g, "vlan_id"));
    fputc('\n', out);
    print_of_group(out, process, "links", id, print_link);
    print_of_group(out, process, "rmbs", id, print_rmb);
    print_of_group(out, process, "conns", id, print_conn);
}

static void print_rates(FILE *out, struct json_object *now, struct json_object *before, double seconds)
{
    char tx[32], rx[32];
    struct json_object *a = member(before, "counters"), *b = member(now, "counters");
    double sent = (double)(cli_json_count(b, "tx_bytes") - cli_json_count(a, "tx_bytes"));
    double taken = (double)(cli_json_count(b, "rx_bytes") - cli_json_count(a, "rx_bytes"));
    fprintf(out, "  now      sends %s/s, receives %s/s\n", smc_bytes_text(sent / seconds, tx),
            smc_bytes_text(taken / seconds, rx));
}

/* Those that are not 0, with what they count. */
static void print_counters(FILE *out, struct json_object *counters)
{
    uint64_t value;
#define COUNTER_PRINT_(name, words)                    \
    if ((value = cli_json_count(counters, #name)) > 0) \
        fprintf(out, "  %12" PRIu64 "  %s\n", value, words);
    SMCR_COUNTERS(COUNTER_PRINT_)
#undef COUNTER_PRINT_
}

void smc_stat_print(FILE *out, struct json_object *process, struct json_object *before, double seconds)
{
    struct json_object *groups = member(process, "groups"), *fallbacks = member(process, "fallbacks");
    fprintf(out, "process %" PRIu64 "  %s\n", cli_json_count(process, "pid"),
            cli_json_plain(process, "command"));
    if (before && seconds > 0)
        print_rates(out, process, before, seconds);
    for (size_t i = 0; i < cli_json_length(groups); i++)
        print_group(out, process, json_object_array_get_idx(groups, i));
    print_of_group(out, process, "conns", 0, print_conn);
    print_counters(out, member(process, "counters"));
    for (size_t i = 0; i < cli_json_length(fallbacks); i++) {
        struct json_object *f = json_object_array_get_idx(fallbacks, i);
        fprintf(out, "  %12" PRIu64 "  by TCP, not by SMC-R: %s\n", cli_json_count(f, "count"),
                cli_json_plain(f, "reason"));
    }
}
