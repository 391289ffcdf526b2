/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/json.h"
#include "cli/peer/peer.h"

void peer_say_listening(const struct peer *peer)
{
    if (peer->options->json)
        printf("{\"listening\": %u}\n", peer->options->service_port);
    else
        printf("listening on service port %u\n", peer->options->service_port);
    fflush(stdout); /* a script that reads through a pipe sees how far we are */
}

/* A counter that is looked for by its name; 0 where the device has none such. */
struct wanted {
    const char *name;
    uint64_t value;
};

static void look(void *ctx, const char *name, uint64_t value)
{
    struct wanted *wanted = ctx;
    if (strcmp(name, wanted->name) == 0)
        wanted->value = value;
}

static uint64_t counter(const struct peer *peer, const char *name)
{
    struct wanted wanted = {.name = name};
    nornic_dev_counters(peer->node.api, look, &wanted);
    return wanted.value;
}

uint64_t peer_retransmitted(const struct peer *peer)
{
    return counter(peer, "retransmitted_pkts");
}

static void report_json(const struct peer *peer)
{
    const struct peer_options *o = peer->options;
    struct json_object *j = json_object_new_object();
    cli_json_add_text(j, "role", o->host ? "client" : "server");
    cli_json_add_text(j, "port", cli_node_port_name(&peer->node));
    cli_json_add_text(j, "mode", cli_node_port_mode(&peer->node));
    cli_json_add_count(j, "connections", o->connections);
    cli_json_add_count(j, "size", o->size_bytes);
    cli_json_add_count(j, "sent_messages", peer->sent);
    cli_json_add_count(j, "received_messages", peer->received);
    cli_json_add_count(j, "verified_messages", peer->verified);
    cli_json_add_count(j, "received_crc32_sum", peer->crc_sum);
    cli_json_add_real(j, "seconds", (double)(peer->end_ns - peer->start_ns) / 1e9);
    cli_json_add_count(j, "retransmitted_pkts", peer_retransmitted(peer));
    cli_json_add_count(j, "rx_ip_id_foreign", counter(peer, "rx_ip_id_foreign"));
    cli_json_add_count(j, "unacknowledged_messages", peer->unacknowledged);
    cli_json_print(j);
}

void peer_report(const struct peer *peer)
{
    if (peer->options->json) {
        report_json(peer);
        return;
    }
    printf("%" PRIu64 " messages sent, %" PRIu64 " received, %" PRIu64 " of them verified; "
           "%" PRIu64 " packets retransmitted\n",
           peer->sent, peer->received, peer->verified, peer_retransmitted(peer));
    if (peer->unacknowledged > 0)
        printf("the peer left before it acknowledged the last message%s\n",
               peer->unacknowledged == 1 ? "" : "s");
    if (peer->verified < peer->received)
        printf("(the peer is no nornic: %s sends what happens to be in its memory)\n", peer->kind->stock);
}
