/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "smcr/trace_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "smcr/wire/cdc.h"
#include "smcr/conn/conn.h"

/* A text that grows as far as it has room. */
struct words {
    char *text;
    size_t size, len;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = w->len < w->size ? vsnprintf(w->text + w->len, w->size - w->len, format, args) : 0;
    va_end(args);
    if (n > 0)
        w->len = w->len + (size_t)n < w->size ? w->len + (size_t)n : w->size - 1;
}

static void add_named(struct words *w, const char *name, const char *otherwise, uint64_t value)
{
    if (name)
        add(w, "%s", name);
    else
        add(w, "%s 0x%" PRIx64, otherwise, value);
}

static const char *way(bool response)
{
    return response ? "response" : "request";
}

static void add_peer(struct words *w, const uint8_t *id)
{
    add(w, ", peer ");
    for (int i = 0; i < SMCR_PEER_ID_BYTES; i++)
        add(w, "%02x", id[i]);
}

static void add_gid(struct words *w, const uint8_t *gid)
{
    struct nornic_addr addr;
    char text[NORNIC_ADDR_STR_SIZE];
    memcpy(addr.b, gid, sizeof addr.b);
    add(w, ", GID %s", nornic_addr_str(&addr, text));
}

/* --- CLC --- */

static void add_proposal(struct words *w, const uint8_t *p, size_t len)
{
    struct smcr_proposal m;
    struct smcr_subnet s;
    smcr_proposal_get(&m, p);
    add_peer(w, m.peer_id);
    add_gid(w, m.gid);
    if (SMCR_PROPOSAL_BYTES + (size_t)m.offset + SMCR_SUBNET_BYTES > len)
        return;
    smcr_subnet_get(&s, p + SMCR_PROPOSAL_BYTES + m.offset);
    if (s.prefix_count > 0)
        add(w, ", %u prefixes", s.prefix_count);
    else
        add(w, ", subnet %u.%u.%u.%u/%u", s.subnet[0], s.subnet[1], s.subnet[2], s.subnet[3], s.mask_len);
}

static void add_accept(struct words *w, const uint8_t *p)
{
    struct smcr_accept m;
    smcr_accept_get(&m, p);
    if (m.type == SMCR_CLC_ACCEPT)
        add(w, m.flag ? ", first contact" : ", subsequent contact");
    add(w, ", QPN 0x%06x, token %08x, RMBE %u of ", m.qpn, m.alert_token, m.rmbe_index);
    add_named(w, smcr_bsize_name(m.bsize), "size", m.bsize);
    add(w, ", MTU ");
    add_named(w, smcr_mtu_name(m.mtu), "code", m.mtu);
}

static void add_decline(struct words *w, const uint8_t *p)
{
    struct smcr_decline m;
    smcr_decline_get(&m, p);
    add(w, "%s, ", m.flag ? ", out of sync" : "");
    add_named(w, smcr_clc_diagnosis_name(m.diagnosis), "diagnosis", m.diagnosis);
}

static void add_clc(struct words *w, const uint8_t *p, size_t len)
{
    struct smcr_clc m;
    if (len < SMCR_CLC_BYTES) {
        add(w, "%zu bytes of a CLC message", len);
        return;
    }
    smcr_clc_get(&m, p);
    add_named(w, smcr_clc_type_name(m.type), "CLC type", m.type);
    if (m.type == SMCR_CLC_PROPOSAL && len >= SMCR_PROPOSAL_BYTES)
        add_proposal(w, p, len);
    else if ((m.type == SMCR_CLC_ACCEPT || m.type == SMCR_CLC_CONFIRM) && len >= SMCR_ACCEPT_BYTES)
        add_accept(w, p);
    else if (m.type == SMCR_CLC_DECLINE && len >= SMCR_DECLINE_BYTES)
        add_decline(w, p);
}

/* --- LLC --- */

static void add_confirm_link(struct words *w, const uint8_t *p)
{
    struct smcr_confirm_link m;
    smcr_confirm_link_get(&m, p);
    add(w, " %s, link %u, QPN 0x%06x, max %u", way(m.response), m.link, m.qpn, m.max_links);
}

static void add_add_link(struct words *w, const uint8_t *p)
{
    struct smcr_add_link m;
    smcr_add_link_get(&m, p);
    if (m.rejected) {
        add(w, " rejected, %s",
            m.reason == SMCR_ADD_LINK_NO_PATH   ? "no alternate path"
            : m.reason == SMCR_ADD_LINK_BAD_MTU ? "invalid MTU"
                                                : "unknown reason");
        return;
    }
    add(w, " %s, link %u, QPN 0x%06x", way(m.response), m.link, m.qpn);
    add_gid(w, m.gid);
}

static void add_continuation(struct words *w, const uint8_t *p)
{
    struct smcr_add_link_cont m;
    smcr_add_link_cont_get(&m, p);
    add(w, " %s, link %u, %u RTokens from here on", way(m.response), m.link, m.rtokens_left);
}

static void add_delete_link(struct words *w, const uint8_t *p)
{
    struct smcr_delete_link m;
    smcr_delete_link_get(&m, p);
    add(w, " %s, ", way(m.response));
    if (m.all)
        add(w, "all links");
    else
        add(w, "link %u", m.link);
    if (m.orderly)
        add(w, ", orderly");
    if (m.reason) {
        add(w, ", ");
        add_named(w, smcr_delete_link_reason_name(m.reason), "reason", m.reason);
    }
}

static void add_rkey(struct words *w, const uint8_t *p)
{
    struct smcr_confirm_rkey m;
    smcr_confirm_rkey_get(&m, p);
    add(w, " %s, RKey 0x%08x and on %u other links%s%s", way(m.response), m.rkey, m.other_links,
        m.negative ? ", refused" : "", m.retry ? ", try again" : "");
}

static void add_rkey_continuation(struct words *w, const uint8_t *p)
{
    struct smcr_confirm_rkey_cont m;
    smcr_confirm_rkey_cont_get(&m, p);
    add(w, " %s, %u links from here on%s", way(m.response), m.links_left, m.negative ? ", refused" : "");
}

static void add_delete_rkey(struct words *w, const uint8_t *p)
{
    struct smcr_delete_rkey m;
    smcr_delete_rkey_get(&m, p);
    add(w, " %s, %u keys%s", way(m.response), m.count, m.negative ? ", some unknown" : "");
}

static void add_cdc(struct words *w, const uint8_t *p)
{
    struct smcr_cdc m;
    smcr_cdc_get(&m, p);
    add(w, "CDC %08x seq %u", m.alert_token, m.seq);
    if (m.failover_validation) {
        add(w, " failover validation");
        return;
    }
    add(w, ", producer %u:%u, consumer %u:%u", m.producer_wrap, m.producer_cursor, m.consumer_wrap,
        m.consumer_cursor);
    const struct {
        uint8_t set;
        const char *word;
    } flags[] = {{m.writer_blocked, "writer blocked"}, {m.urgent_pending, "urgent pending"},
                 {m.urgent_present, "urgent present"}, {m.update_requested, "update requested"},
                 {m.sending_done, "sending done"},     {m.connection_closed, "closed"},
                 {m.abnormal_close, "abnormal close"}};
    for (size_t i = 0; i < array_len(flags); i++)
        if (flags[i].set)
            add(w, ", %s", flags[i].word);
}

static void add_message(struct words *w, const uint8_t *p, size_t len)
{
    if (len < SMCR_MSG_BYTES) {
        add(w, "%zu bytes of a message", len);
        return;
    }
    if (p[0] == SMCR_CDC) {
        add_cdc(w, p);
        return;
    }
    add_named(w, smcr_llc_type_name(p[0]), "LLC type", p[0]);
    if (p[0] == SMCR_LLC_CONFIRM_LINK)
        add_confirm_link(w, p);
    else if (p[0] == SMCR_LLC_ADD_LINK)
        add_add_link(w, p);
    else if (p[0] == SMCR_LLC_ADD_LINK_CONT)
        add_continuation(w, p);
    else if (p[0] == SMCR_LLC_DELETE_LINK)
        add_delete_link(w, p);
    else if (p[0] == SMCR_LLC_CONFIRM_RKEY)
        add_rkey(w, p);
    else if (p[0] == SMCR_LLC_CONFIRM_RKEY_CONT)
        add_rkey_continuation(w, p);
    else if (p[0] == SMCR_LLC_DELETE_RKEY)
        add_delete_rkey(w, p);
    else
        add(w, " %s", way(net_bits_get(p, SMCR_LLC_RESPONSE_BIT, 1)));
}

/* --- the line --- */

static void put_where(const struct smcr_trace *trace, struct smcr_trace_line *out)
{
    bool is_conn = trace->type == SMCR_TRACE_CONN || trace->type == SMCR_TRACE_MOVED;
    if (trace->type == SMCR_TRACE_CLC_TX || trace->type == SMCR_TRACE_CLC_RX)
        snprintf(out->where, sizeof out->where, "tcp");
    else if (is_conn && trace->conn)
        snprintf(out->where, sizeof out->where, "conn %08x", trace->conn->token);
    else if (trace->link && trace->type != SMCR_TRACE_GROUP)
        snprintf(out->where, sizeof out->where, "link %u", trace->link->number);
    else if (trace->group)
        snprintf(out->where, sizeof out->where, "group %u", trace->group->id);
    else
        snprintf(out->where, sizeof out->where, "%s", trace->conn ? "tcp" : "smc");
}

static void add_change(struct words *w, const struct smcr_trace *trace)
{
    if (trace->from && trace->to)
        add(w, "%s -> %s", trace->from, trace->to);
    else
        add(w, "%s", trace->to ? trace->to : trace->from ? trace->from : "changed");
}

void smcr_trace_line(const struct smcr_trace *trace, struct smcr_trace_line *out)
{
    struct words w = {.text = out->text, .size = sizeof out->text};
    out->text[0] = 0;
    out->mark = '*';
    put_where(trace, out);
    switch (trace->type) {
    case SMCR_TRACE_CLC_TX:
    case SMCR_TRACE_CLC_RX:
        out->mark = trace->type == SMCR_TRACE_CLC_TX ? '>' : '<';
        add_clc(&w, trace->message, trace->len_bytes);
        return;
    case SMCR_TRACE_LLC_TX:
    case SMCR_TRACE_CDC_TX:
        out->mark = '>';
        add_message(&w, trace->message, trace->len_bytes);
        return;
    case SMCR_TRACE_LLC_RX:
    case SMCR_TRACE_CDC_RX:
        out->mark = '<';
        add_message(&w, trace->message, trace->len_bytes);
        return;
    case SMCR_TRACE_DROP:
        out->mark = '!';
        if (trace->message && trace->link)
            add_message(&w, trace->message, trace->len_bytes);
        else if (trace->message)
            add_clc(&w, trace->message, trace->len_bytes);
        break;
    case SMCR_TRACE_MOVED:
        add(&w, "sends over link %u", trace->link ? trace->link->number : 0);
        break;
    case SMCR_TRACE_CONN:
    case SMCR_TRACE_LINK:
    case SMCR_TRACE_GROUP:
        add_change(&w, trace);
        break;
    }
    if (trace->cause)
        add(&w, "%s%s", out->text[0] ? ": " : "", trace->cause);
}
