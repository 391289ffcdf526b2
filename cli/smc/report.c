/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netdb.h>
#include <string.h>

#include "base/base.h"
#include "cli/report/json.h"
#include "cli/smc/smc.h"

const char *smc_addr_text(const struct sockaddr_storage *addr, char *text)
{
    char host[INET6_ADDRSTRLEN], service[8];
    socklen_t len = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int flags = NI_NUMERICHOST | NI_NUMERICSERV;
    if (getnameinfo((const struct sockaddr *)addr, len, host, sizeof host, service, sizeof service, flags) !=
        0)
        snprintf(text, SMC_ADDR_TEXT, "?");
    else if (strncmp(host, "::ffff:", 7) == 0)
        snprintf(text, SMC_ADDR_TEXT, "%s:%s", host + 7, service);
    else
        snprintf(text, SMC_ADDR_TEXT, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, service);
    return text;
}

const char *smc_bytes_text(double bytes, char *text)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;
    for (; bytes >= 1024 && unit + 1 < array_len(units); unit++)
        bytes /= 1024;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

const char *smc_time_text(double seconds, char *text)
{
    unsigned s = (unsigned)(seconds + 0.5);
    if (s >= 3600)
        snprintf(text, 32, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, 32, "%u:%02u", s / 60, s % 60);
    return text;
}

static const char *role(const struct smc_connection *c)
{
    return c->options->listen ? "server" : "client";
}

void smc_say_transport(const struct smc_connection *c)
{
    char peer[SMC_ADDR_TEXT];
    if (c->options->say.quiet || c->options->say.json)
        return;
    smc_addr_text(&c->peer, peer);
    if (c->info.smcr)
        fprintf(stderr, "%s %s: bytes travel by SMC-R\n", c->options->listen ? "from" : "to", peer);
    else
        fprintf(stderr, "%s %s: bytes travel by TCP, not by SMC-R: %s\n", c->options->listen ? "from" : "to",
                peer, *c->info.reason ? c->info.reason : "no reason is known");
}

static double seconds_of(const struct smc_connection *c)
{
    return (double)(c->end_ns - c->connected_ns) / 1e9;
}

static void add_counters(struct json_object *to)
{
    struct smcr_counters counters;
    smcr_sock_counters(&counters);
    struct json_object *o = json_object_new_object();
#define COUNTER_ADD_(name, words) cli_json_add_count(o, #name, counters.name);
    SMCR_COUNTERS(COUNTER_ADD_)
#undef COUNTER_ADD_
    json_object_object_add(to, "counters", o);
}

static void add_link(void *ctx, const struct smcr_group_stat *group, const struct smcr_link_stat *link)
{
    struct json_object *o = json_object_new_object();
    cli_json_add_count(o, "group", group->id);
    cli_json_add_count(o, "number", link->number);
    cli_json_add_text(o, "state", link->state);
    cli_json_add_text(o, "port", link->port);
    cli_json_add_count(o, "conns", link->conns);
    json_object_array_add(ctx, o);
}

static void add_flow(struct json_object *to, const char *name, const struct smc_flow *flow, double seconds)
{
    char key[32], sum[SMC_SUM_TEXT];
    snprintf(key, sizeof key, "%s_bytes", name);
    cli_json_add_count(to, key, flow->bytes);
    snprintf(key, sizeof key, "%s_mbit_per_s", name);
    cli_json_add_real(to, key, seconds > 0 ? (double)flow->bytes * 8 / seconds / 1e6 : 0);
    if (!flow->sum)
        return;
    snprintf(key, sizeof key, "%s_sha256", name);
    cli_json_add_text(to, key, smc_sum_text(flow->sum, sum));
}

/* On standard output; on standard error where that carries data. */
static void print_json(const struct smc_connection *c, bool ok)
{
    char text[SMC_ADDR_TEXT];
    struct json_object *j = json_object_new_object(), *links = json_object_new_array();
    struct smcr_stat_visitor visitor = {.link = add_link, .ctx = links};
    json_object_object_add(j, "ok", json_object_new_boolean(ok));
    cli_json_add_text(j, "role", role(c));
    cli_json_add_text(j, "local", smc_addr_text(&c->local, text));
    cli_json_add_text(j, "peer", smc_addr_text(&c->peer, text));
    cli_json_add_text(j, "transport", c->info.smcr ? "smcr" : "tcp");
    cli_json_add_text(j, "reason", c->info.reason);
    cli_json_add_count(j, "diagnosis", c->info.diagnosis);
    cli_json_add_real(j, "seconds", seconds_of(c));
    add_flow(j, "sent", &c->sent, seconds_of(c));
    add_flow(j, "received", &c->taken, seconds_of(c));
    if (c->options->sock.num_ports > 0) {
        smcr_sock_stat_visit(&visitor);
        add_counters(j);
    }
    json_object_object_add(j, "links", links);
    (void)cli_json_write(c->options->output ? stdout : stderr, j,
                         JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    fflush(stdout);
    json_object_put(j);
}

static void print_flow(const char *verb, const struct smc_flow *flow, double seconds)
{
    char bytes[32], rate[32], sum[SMC_SUM_TEXT];
    if (flow->bytes == 0)
        return;
    fprintf(stderr, "%s %s", verb, smc_bytes_text((double)flow->bytes, bytes));
    if (flow->bytes >= 1024)
        fprintf(stderr, " (%" PRIu64 " bytes)", flow->bytes);
    fprintf(stderr, " in %.2f s, %s/s\n", seconds,
            smc_bytes_text(seconds > 0 ? (double)flow->bytes / seconds : 0, rate));
    if (flow->sum)
        fprintf(stderr, "sha256 of what was %s: %s\n", verb, smc_sum_text(flow->sum, sum));
}

void smc_report(const struct smc_connection *c, bool ok)
{
    if (c->options->say.json) {
        print_json(c, ok);
        return;
    }
    if (c->options->say.quiet && !c->options->say.sum)
        return;
    print_flow("sent", &c->sent, seconds_of(c));
    print_flow("received", &c->taken, seconds_of(c));
    if (!c->info.smcr || c->options->say.quiet)
        return;
    struct smcr_counters n;
    smcr_sock_counters(&n);
    /* A second link that never stood is no news to who has all the bytes. */
    if (n.failovers > 0)
        fprintf(stderr,
                "links that failed meanwhile: %" PRIu64 "; moves to another link: %" PRIu64 ", with %" PRIu64
                " messages sent again there\n",
                n.links_failed, n.failovers, n.replayed);
}
