/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/stat/verbs.h"

#include <stdio.h>

#include "base/base.h"
#include "cli/report/json.h"

static uint64_t count_of(struct json_object *o, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(o, key, &value) ? json_object_get_uint64(value) : 0;
}

static size_t length_of(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* What another process said, for a terminal: printable ASCII alone. */
static void put(const char *text)
{
    for (; *text; text++)
        putchar(*text >= ' ' && *text <= '~' ? *text : '?');
}

static void print_counters(struct json_object *o, const char *indent)
{
    struct json_object *counters = json_object_object_get(o, "counters");
    if (!json_object_is_type(counters, json_type_object) || json_object_object_length(counters) == 0)
        return;
    fputs(indent, stdout);
    json_object_object_foreach(counters, name, value)
    {
        putchar(' ');
        put(name);
        printf(" %llu", (unsigned long long)json_object_get_uint64(value));
    }
    putchar('\n');
}

static void print_qp(struct json_object *qp)
{
    uint64_t peer_qpn = count_of(qp, "peer_qpn"), sends = count_of(qp, "sends"),
             recvs = count_of(qp, "recvs");
    printf("    queue pair 0x%06llx ", (unsigned long long)count_of(qp, "qpn"));
    put(cli_json_text(qp, "type"));
    putchar(' ');
    put(cli_json_text(qp, "state"));
    if (json_object_object_get(qp, "peer")) {
        fputs(", to ", stdout);
        if (peer_qpn)
            printf("0x%06llx at ", (unsigned long long)peer_qpn);
        put(cli_json_text(qp, "peer"));
    }
    printf("; outstanding: %llu send%s, %llu receive%s\n", (unsigned long long)sends, plural_s(sends),
           (unsigned long long)recvs, plural_s(recvs));
    print_counters(qp, "     ");
}

static void print_device(struct json_object *device)
{
    struct json_object *addresses = json_object_object_get(device, "addresses");
    struct json_object *qps = json_object_object_get(device, "qps");
    size_t count = length_of(qps);
    fputs("  ", stdout);
    put(cli_json_text(device, "device"));
    fputs(" on ", stdout);
    put(cli_json_text(device, "port"));
    fputs(", ", stdout);
    put(cli_json_text(device, "state"));
    for (size_t i = 0; i < length_of(addresses); i++) {
        fputs(i ? ", " : ": ", stdout);
        struct json_object *addr = json_object_array_get_idx(addresses, i);
        put(json_object_is_type(addr, json_type_string) ? json_object_get_string(addr) : "?");
    }
    printf("; %zu queue pair%s\n", count, plural_s(count));
    print_counters(device, "   ");
    for (size_t i = 0; i < count; i++)
        print_qp(json_object_array_get_idx(qps, i));
}

void stat_verbs_print(struct json_object *process)
{
    struct json_object *devices = json_object_object_get(process, "devices");
    size_t count = length_of(devices);
    put(cli_json_text(process, "program"));
    printf(" (process %llu, user %llu) by libibverbs: %zu device%s open\n",
           (unsigned long long)count_of(process, "pid"), (unsigned long long)count_of(process, "user"), count,
           plural_s(count));
    for (size_t i = 0; i < count; i++)
        print_device(json_object_array_get_idx(devices, i));
}
