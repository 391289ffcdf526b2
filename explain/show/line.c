/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/line.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "explain/packet/registry.h"
#include "net/wire/ether.h"
#include "nornic/addr.h"

#define DIM    "\033[2m"
#define YELLOW "\033[33m"
#define RED    "\033[31m"
#define PLAIN  "\033[0m"

int explain_line_severity(const struct explain_meaning *m)
{
    int worst = 0;
    for (unsigned i = 0; i < m->remark_count; i++) {
        int severity = explain_finding_severity(m->remarks[i].kind);
        worst = severity > worst ? severity : worst;
    }
    return worst;
}

const char *explain_line_colour(int severity, const struct explain_line_style *style)
{
    static const char *const colours[] = {"", YELLOW, RED};
    return style->colour ? colours[severity] : "";
}

const char *explain_line_plain(const struct explain_line_style *style)
{
    return style->colour ? PLAIN : "";
}

static const char *colour_of(const struct explain_packet *p, int severity)
{
    if (severity)
        return severity > 1 ? RED : YELLOW;
    return p->kind == EXPLAIN_OTHER || (p->roce.op && p->roce.op->flags & ROCE_PKT_RESPONSE) ? DIM : "";
}

/* Of a packet that is not RoCE: the source and destination of its IP layer. */
static void put_ip_addresses(struct explain_text *out, const struct explain_packet *p)
{
    char src[80], dst[80];
    for (unsigned i = p->layer_count; i-- > 0;) { /* innermost */
        const struct net_header *h = p->layers[i].kind->header;
        if (p->layers[i].kind->id != EXPLAIN_LAYER_IP && p->layers[i].kind->id != EXPLAIN_LAYER_IP6)
            continue;
        const struct net_field *from = explain_header_field(h, "src", 3),
                               *to = explain_header_field(h, "dst", 3);
        explain_printf(out, "%s > %s  ", explain_field_text(p, i, from, src, sizeof src),
                       explain_field_text(p, i, to, dst, sizeof dst));
        return;
    }
}

/* Of a frame that only concerns its link: the MAC addresses. */
static void put_mac_addresses(struct explain_text *out, const struct explain_packet *p)
{
    char src[NORNIC_MAC_STR_SIZE], dst[NORNIC_MAC_STR_SIZE];
    struct net_ether ether;
    struct nornic_mac from, to;
    if (p->layer_count == 0 || p->layers[0].kind->id != EXPLAIN_LAYER_ETH)
        return;
    net_ether_get(&ether, p->frame);
    memcpy(from.b, ether.src, sizeof from.b);
    memcpy(to.b, ether.dst, sizeof to.b);
    explain_printf(out, "%s > %s  ", nornic_mac_str(&from, src), nornic_mac_str(&to, dst));
}

static void put_network(struct explain_text *out, const struct explain_packet *p)
{
    char text[EXPLAIN_NETWORK_STR_SIZE];
    if (p->network.tunnel != EXPLAIN_TUNNEL_NONE)
        explain_printf(out, "in %s  ", explain_network_text(&p->network, text, sizeof text));
}

static bool is_bth_cut(const struct explain_packet *p)
{
    bool is_cut = p->verdict != ROCE_RX_TAKEN && p->len_bytes < p->wire_bytes;
    for (unsigned i = 0; i < p->layer_count && is_cut; i++)
        is_cut = p->layers[i].kind->id != EXPLAIN_LAYER_BTH;
    return is_cut;
}

static void put_place(struct explain_text *out, const struct explain_packet *p)
{
    char src[NORNIC_ADDR_STR_SIZE], dst[NORNIC_ADDR_STR_SIZE];
    if (p->kind == EXPLAIN_SMC_TCP || p->kind == EXPLAIN_IWARP)
        put_ip_addresses(out, p);
    if (p->kind == EXPLAIN_PAUSE || p->kind == EXPLAIN_LLDP)
        put_mac_addresses(out, p);
    if (p->kind == EXPLAIN_ROCE && is_bth_cut(p)) {
        put_ip_addresses(out, p);
        put_network(out, p);
        return;
    }
    if (p->kind == EXPLAIN_OTHER || nornic_addr_is_zero(&p->roce.dst))
        return;
    explain_put(out, nornic_addr_str(&p->roce.src, src));
    explain_put(out, " > ");
    explain_put(out, nornic_addr_str(&p->roce.dst, dst));
    explain_put(out, "  ");
    put_network(out, p);
    explain_put(out, "qp 0x");
    explain_put_hex(out, p->roce.bth.dest_qpn, 6);
    explain_put(out, " psn 0x");
    explain_put_hex(out, p->roce.bth.psn, 6);
    explain_put(out, "  ");
}

static void put_words(struct explain_text *out, const struct explain_packet *p,
                      const struct explain_meaning *m)
{
    if (p->kind != EXPLAIN_OTHER) {
        explain_put(out, m->words);
        return;
    }
    const char *name = net_ethertype_name(p->ethertype);
    if (p->ethertype == 0 || p->layer_count == 0)
        explain_printf(out, "a frame that is not read (%u bytes)", p->wire_bytes);
    else if (name)
        explain_printf(out, "no RoCE packet (%s, %u bytes)", name, p->wire_bytes);
    else
        explain_printf(out, "no RoCE packet (EtherType 0x%04x, %u bytes)", p->ethertype, p->wire_bytes);
}

void explain_line_time(struct explain_text *out, uint64_t time_ns, const struct explain_line_style *style)
{
    char seconds[24];
    bool is_before = time_ns < style->epoch_ns;
    uint64_t ns = is_before ? style->epoch_ns - time_ns : time_ns - style->epoch_ns;
    if (is_before) {
        snprintf(seconds, sizeof seconds, "-%" PRIu64, ns / NS_PER_S);
        explain_printf(out, "%4s", seconds);
    } else {
        explain_put_u64_padded(out, ns / NS_PER_S, 4, ' ');
    }
    explain_put(out, ".");
    explain_put_u64_padded(out, ns / NS_PER_US % 1000000, 6, '0');
}

void explain_line_rest(struct explain_text *out, const struct explain_packet *p,
                       const struct explain_meaning *m, const struct explain_line_style *style)
{
    const char *colour = style->colour ? colour_of(p, explain_line_severity(m)) : "";
    put_place(out, p);
    put_words(out, p, m);
    explain_put(out, *colour ? PLAIN "\n" : "\n");
    for (unsigned i = 0; i < m->remark_count; i++) {
        const struct explain_finding *f = &m->remarks[i];
        if (explain_finding_severity(f->kind) == 0)
            continue;
        explain_printf(out, "%s      %s: %s%s%s%s\n", colour, explain_finding_key(f->kind), f->words,
                       f->rule[0] ? " (" : "", f->rule, f->rule[0] ? ")" : "");
        if (*colour)
            explain_put(out, PLAIN);
    }
}

void explain_line(struct explain_text *out, const struct explain_packet *p, const struct explain_meaning *m,
                  const struct explain_line_style *style)
{
    const char *colour = style->colour ? colour_of(p, explain_line_severity(m)) : "";
    explain_put(out, colour);
    explain_put_u64_padded(out, p->number, 5, ' ');
    explain_put(out, " ");
    explain_line_time(out, p->time_ns, style);
    explain_put(out, "  ");
    explain_line_rest(out, p, m, style);
}
