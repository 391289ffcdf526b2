/* SPDX-License-Identifier: BSD-2-Clause */
#include "sock/stat/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sock/sock.h"

/* The parts of the object are visited mixed and written one after the other. */
enum part { FALLBACKS, GROUPS, LINKS, RMBS, CONNS, PART_COUNT };

static const char *const part_names[PART_COUNT] = {"fallbacks", "groups", "links", "rmbs", "conns"};

struct writer {
    FILE *parts[PART_COUNT];
    char *texts[PART_COUNT];
    size_t sizes[PART_COUNT];
    unsigned counts[PART_COUNT];
};

void smcr_stat_path(unsigned pid, char *path)
{
    snprintf(path, SMCR_STAT_PATH_BYTES, SMCR_STAT_DIR "/" SMCR_STAT_PREFIX "%u", pid);
}

/* Begins the next object of a part. */
static FILE *next(struct writer *w, enum part part)
{
    fputs(w->counts[part]++ ? ",{" : "{", w->parts[part]);
    return w->parts[part];
}

/* Bytes of the UTF-8 character at `c` (RFC 3629, 4); 0: it is none. */
static size_t character(const unsigned char *c)
{
    size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool too_long = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool none = (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90);
    return too_long || none ? 0 : n;
}

/* Arguments of programs may be any bytes; JSON is UTF-8. */
static void put_text(FILE *to, const char *key, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    fprintf(to, ",\"%s\":\"", key);
    while (*c) {
        size_t n = character(c);
        if (n == 0)
            fputs("\\ufffd", to);
        else if (*c == '"' || *c == '\\' || *c < 0x20)
            fprintf(to, "\\u%04x", *c);
        else
            fwrite(c, 1, n, to);
        c += n ? n : 1;
    }
    fputc('"', to);
}

static void put_addr(FILE *to, const char *key, const struct nornic_addr *addr)
{
    char text[NORNIC_ADDR_STR_SIZE];
    put_text(to, key, nornic_addr_str(addr, text));
}

static void put_mac(FILE *to, const char *key, const struct nornic_mac *mac)
{
    const uint8_t *b = mac->b;
    fprintf(to, ",\"%s\":\"%02x:%02x:%02x:%02x:%02x:%02x\"", key, b[0], b[1], b[2], b[3], b[4], b[5]);
}

static void put_count(FILE *to, const char *key, uint64_t value)
{
    fprintf(to, ",\"%s\":%" PRIu64, key, value);
}

static void on_fallback(void *ctx, const char *reason, uint64_t count)
{
    FILE *to = next(ctx, FALLBACKS);
    fprintf(to, "\"count\":%" PRIu64, count);
    put_text(to, "reason", reason);
    fputc('}', to);
}

static void on_group(void *ctx, const struct smcr_group_stat *g)
{
    FILE *to = next(ctx, GROUPS);
    fprintf(to, "\"id\":%u,\"peer_id\":\"", g->id);
    for (size_t i = 0; i < sizeof g->peer_id; i++)
        fprintf(to, "%02x", g->peer_id[i]);
    fputc('"', to);
    put_text(to, "role", g->server ? "server" : "client");
    put_text(to, "redundancy", g->redundancy);
    fprintf(to, ",\"version\":\"%u.%u\"", g->version, g->release);
    if (g->version > 1) {
        put_text(to, "eid", g->eid);
        put_count(to, "max_conns", g->max_conns);
    }
    put_count(to, "max_links", g->max_links);
    put_count(to, "vlan_id", g->vlan_id);
    fputc('}', to);
}

static void on_link(void *ctx, const struct smcr_group_stat *g, const struct smcr_link_stat *l)
{
    FILE *to = next(ctx, LINKS);
    fprintf(to, "\"group\":%u,\"number\":%u", g->id, l->number);
    put_text(to, "state", l->state);
    put_text(to, "port", l->port);
    put_count(to, "qpn", l->qpn);
    put_count(to, "peer_qpn", l->peer_qpn);
    put_addr(to, "gid", &l->gid);
    put_addr(to, "peer_gid", &l->peer_gid);
    put_mac(to, "mac", &l->mac);
    put_mac(to, "peer_mac", &l->peer_mac);
    put_count(to, "path_mtu", l->path_mtu_bytes);
    put_count(to, "user_id", l->user_id);
    put_count(to, "peer_user_id", l->peer_user_id);
    put_count(to, "conns", l->conns);
    fputc('}', to);
}

static void on_rmb(void *ctx, const struct smcr_group_stat *g, const struct smcr_rmb_stat *r)
{
    FILE *to = next(ctx, RMBS);
    fprintf(to, "\"group\":%u", g->id);
    put_count(to, "elem_bytes", r->elem_bytes);
    put_count(to, "elems", r->elems);
    put_count(to, "used", r->used);
    fputc('}', to);
}

/* The process that a connection is lent to, and what it is called; nothing where it is not lent. */
static void put_owner(FILE *to, int pid)
{
    char path[64], name[32] = "";
    if (pid == 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *from = fopen(path, "re");
    if (from && fgets(name, sizeof name, from))
        name[strcspn(name, "\n")] = 0;
    if (from)
        fclose(from);
    put_count(to, "owner_pid", (uint64_t)pid);
    put_text(to, "owner", name);
}

static void on_conn(void *ctx, const struct smcr_group_stat *g, const struct smcr_conn_stat *c)
{
    FILE *to = next(ctx, CONNS);
    fprintf(to, "\"group\":%u", g ? g->id : 0);
    put_text(to, "state", c->state);
    put_addr(to, "local", &c->local);
    put_count(to, "local_port", c->local_port);
    put_addr(to, "remote", &c->remote);
    put_count(to, "remote_port", c->remote_port);
    put_count(to, "alert_token", c->alert_token);
    put_count(to, "peer_alert_token", c->peer_alert_token);
    put_owner(to, c->owner_pid);
    put_count(to, "link", c->link);
    put_count(to, "tx_bytes", c->tx_bytes);
    put_count(to, "rx_bytes", c->rx_bytes);
    put_count(to, "window_bytes", c->window_bytes);
    put_count(to, "readable_bytes", c->readable_bytes);
    put_count(to, "unsent_bytes", c->unsent_bytes);
    fputc('}', to);
}

/* What the process calls itself: its arguments with blanks between them. */
static void put_command(FILE *to)
{
    char text[512];
    FILE *from = fopen("/proc/self/cmdline", "re");
    size_t n = from ? fread(text, 1, sizeof text - 1, from) : 0;
    if (from)
        fclose(from);
    while (n > 0 && text[n - 1] == 0)
        n--;
    for (size_t i = 0; i < n; i++)
        if (text[i] == 0)
            text[i] = ' ';
    text[n] = 0;
    put_text(to, "command", text);
}

static void put_counters(FILE *to)
{
    struct smcr_counters counters;
    smcr_sock_counters(&counters);
    const char *comma = "";
    fputs(",\"counters\":{", to);
#define COUNTER_PUT_(name, words)                                  \
    fprintf(to, "%s\"" #name "\":%" PRIu64, comma, counters.name); \
    comma = ",";
    SMCR_COUNTERS(COUNTER_PUT_)
#undef COUNTER_PUT_
    fputc('}', to);
}

static void put_all(FILE *to, struct writer *w)
{
    struct smcr_stat_visitor visitor = {
        .group = on_group, .link = on_link, .rmb = on_rmb, .conn = on_conn, .ctx = w};
    smcr_sock_stat_visit(&visitor);
    smcr_sock_fallbacks(on_fallback, w);
    fprintf(to, "{\"pid\":%d", (int)getpid());
    put_command(to);
    put_counters(to);
    for (int i = 0; i < PART_COUNT; i++) {
        fflush(w->parts[i]);
        fprintf(to, ",\"%s\":[%s]", part_names[i], w->texts[i] ? w->texts[i] : "");
    }
    fputs("}\n", to);
}

/* Whether all that was written to it could be kept. */
static bool close_part(FILE *part)
{
    bool ok = part && !ferror(part);
    return part && fclose(part) == 0 && ok;
}

char *smcr_stat_json(size_t *len_bytes)
{
    struct writer w = {0};
    char *text = NULL;
    FILE *to = open_memstream(&text, len_bytes);
    bool ok = to != NULL;
    for (int i = 0; i < PART_COUNT; i++)
        ok &= (w.parts[i] = open_memstream(&w.texts[i], &w.sizes[i])) != NULL;
    if (ok)
        put_all(to, &w);
    for (int i = 0; i < PART_COUNT; i++) {
        ok &= close_part(w.parts[i]);
        free(w.texts[i]);
    }
    ok &= close_part(to);
    if (ok)
        return text;
    free(text);
    return NULL;
}
