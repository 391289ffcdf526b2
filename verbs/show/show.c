/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/show/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "verbs/device/context_list.h"

struct writer {
    FILE *to;
    const char *comma; /* before the next member or element: "" or "," */
};

/* Names of interfaces may be any bytes but a few. */
static void put_text(struct writer *w, const char *key, const char *text)
{
    fprintf(w->to, "%s\"%s\":\"", w->comma, key);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\' || *c < 0x20 || *c >= 0x7f)
            fprintf(w->to, "\\u%04x", *c);
        else
            fputc(*c, w->to);
    fputc('"', w->to);
    w->comma = ",";
}

static void put_count(void *ctx, const char *key, uint64_t value)
{
    struct writer *w = ctx;
    fprintf(w->to, "%s\"%s\":%" PRIu64, w->comma, key, value);
    w->comma = ",";
}

static void put_counter(void *ctx, const char *key, uint64_t value)
{
    if (value)
        put_count(ctx, key, value);
}

static void begin(struct writer *w, const char *what)
{
    fprintf(w->to, "%s%s", w->comma, what);
    w->comma = "";
}

static void end(struct writer *w, const char *what)
{
    fputs(what, w->to);
    w->comma = ",";
}

static const char *type_name(enum ibv_qp_type type)
{
    switch ((int)type) {
    case IBV_QPT_RC:
        return "RC";
    case IBV_QPT_UC:
        return "UC";
    case IBV_QPT_UD:
        return "UD";
    case IBV_QPT_XRC_SEND:
        return "XRC_SEND";
    case IBV_QPT_XRC_RECV:
        return "XRC_RECV";
    }
    return "?";
}

static void put_qp(struct writer *w, struct verbs_qp *qp)
{
    struct nornic_addr addr;
    char text[NORNIC_ADDR_STR_SIZE];
    uint32_t qpn, sends, recvs;
    begin(w, "{");
    put_count(w, "qpn", nornic_qp_num(qp->nornic));
    put_text(w, "type", type_name(qp->init.qp_type));
    put_text(w, "state", nornic_qp_state_name(nornic_qp_state(qp->nornic)));
    if (nornic_qp_peer(qp->nornic, &addr, &qpn)) {
        put_text(w, "peer", nornic_addr_str(&addr, text));
        put_count(w, "peer_qpn", qpn);
    }
    nornic_qp_outstanding(qp->nornic, &sends, &recvs);
    put_count(w, "sends", sends);
    put_count(w, "recvs", recvs);
    begin(w, "\"counters\":{");
    nornic_qp_counters(qp->nornic, put_counter, w);
    end(w, "}}");
}

static void put_addresses(struct writer *w, struct verbs_context_own *own)
{
    struct nornic_addr addr;
    char text[NORNIC_ADDR_STR_SIZE];
    begin(w, "\"addresses\":[");
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++)
        if (nornic_dev_query_addr(own->dev, i, &addr) == 0) {
            fprintf(w->to, "%s\"%s\"", w->comma, nornic_addr_str(&addr, text));
            w->comma = ",";
        }
    end(w, "]");
}

static void put_context(struct verbs_context_own *own, const void *arg)
{
    struct writer *w = *(struct writer *const *)arg;
    struct nornic_port_attr port;
    nornic_dev_query_port(own->dev, &port, sizeof port);
    begin(w, "{");
    put_text(w, "device", own->device->base.name);
    put_text(w, "port", own->device->port);
    put_text(w, "state", port.is_up ? "ACTIVE" : "DOWN");
    put_addresses(w, own);
    begin(w, "\"counters\":{");
    nornic_dev_counters(own->dev, put_counter, w);
    end(w, "}");
    begin(w, "\"qps\":[");
    pthread_mutex_lock(&own->lock);
    struct verbs_qp *qp;
    for (qp = LIST_FIRST(&own->qps); qp; qp = LIST_NEXT(qp, entry))
        put_qp(w, qp);
    pthread_mutex_unlock(&own->lock);
    end(w, "]}");
}

char *verbs_show(size_t *len_bytes)
{
    char *text = NULL;
    struct writer all = {.to = open_memstream(&text, len_bytes), .comma = ""}, *w = &all;
    if (!w->to)
        return NULL;
    begin(w, "{\"devices\":[");
    verbs_context_list_each(put_context, &w);
    end(w, "]}\n");
    bool is_whole = !ferror(w->to);
    if (fclose(w->to) == 0 && is_whole)
        return text;
    free(text);
    return NULL;
}
