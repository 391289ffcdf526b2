/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/ladder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explain/packet/registry.h"
#include "net/wire/ether.h"
#include "nornic/addr.h"

#define MARGIN      20 /* number and time */
#define LANE        17 /* columns from one lifeline to the next, where there are more than two */
#define WORDS_LEAST 40 /* columns for the words beside them */
#define ROW_BYTES   600
#define SILENCE_NS  UINT64_C(10000000)

static unsigned lane_of(struct explain_ladder *l, const struct nornic_addr *addr, bool *is_new)
{
    for (unsigned i = 0; i < l->lane_count; i++)
        if (nornic_addr_equal(&l->lanes[i], addr))
            return i;
    if (l->lane_count == EXPLAIN_LADDER_LANES)
        return EXPLAIN_LADDER_LANES;
    *is_new = true;
    l->lanes[l->lane_count] = *addr;
    return l->lane_count++;
}

/* Columns from one lifeline to the next: two have all the room, and words stand on the arrows. */
static unsigned pitch(const struct explain_ladder *l)
{
    return l->lane_count <= 2 ? l->columns - MARGIN - 2 : LANE;
}

static void put_names(struct explain_text *out, const struct explain_ladder *l)
{
    char row[ROW_BYTES], name[NORNIC_ADDR_STR_SIZE];
    size_t used = (size_t)snprintf(row, sizeof row, "%5s %11s", "#", "s");
    for (unsigned i = 0; i < l->lane_count; i++) {
        size_t n = strlen(nornic_addr_str(&l->lanes[i], name)), at = MARGIN + (size_t)i * pitch(l);
        bool last = i > 0 && l->lane_count == 2; /* its name ends where its lifeline is */
        at = last && at + 1 > n ? at + 1 - n : at;
        at = at > used ? at : used + 1;
        if (at + n + 1 > sizeof row)
            break;
        memset(row + used, ' ', at - used);
        memcpy(row + at, name, n + 1);
        used = at + n;
    }
    explain_printf(out, "%s%s\n", l->has_begun ? "\n" : "", row);
}

/* The lifelines, from `from` columns of the margin on. */
static void draw_lanes(const struct explain_ladder *l, char *row)
{
    unsigned width = pitch(l) * (l->lane_count ? l->lane_count - 1 : 0) + 1;
    memset(row, ' ', width);
    for (unsigned i = 0; i < l->lane_count; i++)
        row[i * pitch(l)] = '|';
    row[width] = '\0';
}

/* What the packet is, by the character of its arrow. */
static char stroke(const struct explain_packet *p, const struct explain_meaning *m)
{
    bool is_roce = p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM;
    if (is_roce && p->verdict != ROCE_RX_TAKEN)
        return 'x';
    char c = '-';
    for (unsigned i = 0; i < m->remark_count; i++)
        switch (m->remarks[i].kind) {
        case EXPLAIN_FIND_NAK_SEQUENCE:
        case EXPLAIN_FIND_SELECTIVE_ACK:
        case EXPLAIN_FIND_NAK_FATAL:
        case EXPLAIN_FIND_RNR:
        case EXPLAIN_FIND_CM_REJECT:
            return '~';
        case EXPLAIN_FIND_RETRANSMISSION:
        case EXPLAIN_FIND_READ_REPLAY:
        case EXPLAIN_FIND_CM_RETRY:
        case EXPLAIN_FIND_DUPLICATE:
            c = '=';
            break;
        default:
            break;
        }
    return c;
}

/* Writes `n` characters of `words` over the row. */
static void overlay(char *row, const char *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        row[i] = words[i];
}

/* How many characters of `words` go into `room`: all, or those before a blank, if its second half has one. */
static unsigned fitting(const char *words, unsigned room)
{
    unsigned n = (unsigned)strlen(words);
    if (n <= room)
        return n;
    for (n = room; n > room / 2; n--)
        if (words[n] == ' ')
            return n;
    return room;
}

/* The arrow, and on it as much of the words as there is room for; returns what is left of them. */
static const char *draw_arrow(const struct explain_ladder *l, char *row, unsigned from, unsigned to, char c,
                              const char *words)
{
    unsigned left = (from < to ? from : to) * pitch(l) + 1, right = (from < to ? to : from) * pitch(l) - 1;
    if (from == to)
        return words; /* an address that speaks with itself */
    memset(row + left, c, right - left + 1);
    row[from < to ? right : left] = from < to ? '>' : '<';
    if (l->lane_count > 2)
        return words;
    unsigned n = fitting(words, right - left - 6);
    unsigned at = from < to ? left + 3 : right - 2 - n;
    row[at - 1] = row[at + n] = ' ';
    overlay(row + at, words, n);
    return words + n + (words[n] == ' ');
}

/* Words in rows of their own: between two lifelines, or beside one or many. */
static void put_more(struct explain_text *out, const struct explain_ladder *l, const char *words)
{
    char row[ROW_BYTES];
    draw_lanes(l, row);
    if (l->lane_count != 2) {
        explain_printf(out, "%*s%s  %s\n", MARGIN, "", row, words);
        return;
    }
    unsigned indent = 4, behind = words[0] == '!' ? indent + 2 : indent; /* of the rows that go on */
    do {
        unsigned n = fitting(words, pitch(l) - 2 - indent);
        draw_lanes(l, row);
        overlay(row + indent, words, n);
        explain_printf(out, "%*s%s\n", MARGIN, "", row);
        words += n + (words[n] == ' ');
        indent = behind;
    } while (*words);
}

static void put_silence(struct explain_text *out, const struct explain_ladder *l, uint64_t ns)
{
    char text[60];
    snprintf(text, sizeof text, ": %.1f ms without a packet", (double)ns / 1e6);
    put_more(out, l, text);
}

/* Who speaks with whom; false: the frame has no IP addresses. */
static bool ends_of(const struct explain_packet *p, struct nornic_addr *src, struct nornic_addr *dst)
{
    if ((p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM) && !nornic_addr_is_zero(&p->roce.dst)) {
        *src = p->roce.src;
        *dst = p->roce.dst;
        return true;
    }
    for (unsigned i = p->layer_count; i-- > 0;) { /* innermost */
        const struct explain_layer *layer = &p->layers[i];
        bool is_v4 = layer->kind->id == EXPLAIN_LAYER_IP;
        if (!is_v4 && layer->kind->id != EXPLAIN_LAYER_IP6)
            continue;
        const uint8_t *from = p->frame + layer->offset +
                              explain_header_field(layer->kind->header, "src", 3)->first_bit / 8,
                      *to = p->frame + layer->offset +
                            explain_header_field(layer->kind->header, "dst", 3)->first_bit / 8;
        *src = is_v4 ? nornic_addr_from_v4(from) : (struct nornic_addr){{0}};
        *dst = is_v4 ? nornic_addr_from_v4(to) : (struct nornic_addr){{0}};
        if (!is_v4) {
            memcpy(src->b, from, sizeof src->b);
            memcpy(dst->b, to, sizeof dst->b);
        }
        return true;
    }
    return false;
}

static void put_remarks(struct explain_text *out, const struct explain_ladder *l,
                        const struct explain_meaning *m, const struct explain_line_style *style)
{
    for (unsigned i = 0; i < m->remark_count; i++) {
        char text[300];
        const struct explain_finding *f = &m->remarks[i];
        int severity = explain_finding_severity(f->kind);
        if (severity == 0)
            continue;
        snprintf(text, sizeof text, "! %s: %s%s%s%s", explain_finding_key(f->kind), f->words,
                 f->rule[0] ? " (" : "", f->rule, f->rule[0] ? ")" : "");
        explain_put(out, explain_line_colour(severity, style));
        put_more(out, l, text);
        explain_put(out, explain_line_plain(style));
    }
}

void explain_ladder(struct explain_text *out, struct explain_ladder *l, const struct explain_packet *p,
                    const struct explain_meaning *m, const struct explain_line_style *style)
{
    char row[ROW_BYTES];
    struct nornic_addr src, dst;
    bool is_new = false, known = ends_of(p, &src, &dst);
    unsigned from = known ? lane_of(l, &src, &is_new) : EXPLAIN_LADDER_LANES;
    unsigned to = known ? lane_of(l, &dst, &is_new) : EXPLAIN_LADDER_LANES;
    if (is_new)
        put_names(out, l);
    else if (l->has_begun && l->lane_count && p->time_ns > l->last_ns &&
             p->time_ns - l->last_ns >= SILENCE_NS)
        put_silence(out, l, p->time_ns - l->last_ns);
    l->has_begun = true;
    l->last_ns = p->time_ns;
    draw_lanes(l, row);
    const char *rest = m->words[0] ? m->words : "no RoCE packet";
    if (from < EXPLAIN_LADDER_LANES && to < EXPLAIN_LADDER_LANES)
        rest = draw_arrow(l, row, from, to, stroke(p, m), rest);
    int severity = explain_line_severity(m);
    explain_put(out, explain_line_colour(severity, style));
    explain_printf(out, "%5" PRIu64 " ", p->number);
    explain_line_time(out, p->time_ns, style);
    explain_printf(out, "   %s", row);
    if (l->lane_count != 2)
        explain_printf(out, "  %s", rest);
    explain_put(out, explain_line_plain(style));
    explain_put(out, "\n");
    if (l->lane_count == 2 && *rest)
        put_more(out, l, rest);
    put_remarks(out, l, m, style);
}
