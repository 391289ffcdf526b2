/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/stat/verbs.h"

#include <stdio.h>

#include "base/base.h"
#include "cli/report/json.h"

static void print_counters(struct json_object *o, const char *indent)
{
    struct json_object *counters = json_object_object_get(o, "counters");
    if (!json_object_is_type(counters, json_type_object) || json_object_object_length(counters) == 0)
        return;
    fputs(indent, stdout);
    json_object_object_foreach(counters, name, value)
    {
        putchar(' ');
        cli_json_put_plain(name);
        printf(" %llu", (unsigned long long)json_object_get_uint64(value));
    }
    putchar('\n');
}

static void print_qp(struct json_object *qp)
{
    uint64_t peer_qpn = cli_json_count(qp, "peer_qpn"), sends = cli_json_count(qp, "sends"),
             recvs = cli_json_count(qp, "recvs");
    printf("    queue pair 0x%06llx ", (unsigned long long)cli_json_count(qp, "qpn"));
    fputs(cli_json_plain(qp, "type"), stdout);
    putchar(' ');
    fputs(cli_json_plain(qp, "state"), stdout);
    if (json_object_object_get(qp, "peer")) {
        fputs(", to ", stdout);
        if (peer_qpn)
            printf("0x%06llx at ", (unsigned long long)peer_qpn);
        fputs(cli_json_plain(qp, "peer"), stdout);
    }
    printf("; outstanding: %llu send%s, %llu receive%s\n", (unsigned long long)sends, plural_s(sends),
           (unsigned long long)recvs, plural_s(recvs));
    print_counters(qp, "     ");
}

static void print_device(struct json_object *device)
{
    struct json_object *addresses = json_object_object_get(device, "addresses");
    struct json_object *qps = json_object_object_get(device, "qps");
    size_t count = cli_json_length(qps);
    fputs("  ", stdout);
    fputs(cli_json_plain(device, "device"), stdout);
    fputs(" on ", stdout);
    fputs(cli_json_plain(device, "port"), stdout);
    fputs(", ", stdout);
    fputs(cli_json_plain(device, "state"), stdout);
    for (size_t i = 0; i < cli_json_length(addresses); i++) {
        fputs(i ? ", " : ": ", stdout);
        struct json_object *addr = json_object_array_get_idx(addresses, i);
        cli_json_put_plain(json_object_is_type(addr, json_type_string) ? json_object_get_string(addr) : "?");
    }
    printf("; %zu queue pair%s\n", count, plural_s(count));
    print_counters(device, "   ");
    for (size_t i = 0; i < count; i++)
        print_qp(json_object_array_get_idx(qps, i));
}

void stat_verbs_print(struct json_object *process)
{
    struct json_object *devices = json_object_object_get(process, "devices");
    size_t count = cli_json_length(devices);
    fputs(cli_json_plain(process, "program"), stdout);
    printf(" (process %llu, user %llu) by libibverbs: %zu device%s open\n",
           (unsigned long long)cli_json_count(process, "pid"),
           (unsigned long long)cli_json_count(process, "user"), count, plural_s(count));
    for (size_t i = 0; i < count; i++)
        print_device(json_object_array_get_idx(devices, i));
}
