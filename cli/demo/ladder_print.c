/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawing a ladder in plain characters: two lifelines, one line a packet, the time at either end by that
 * side's own clock, and a second line for what an extended header says. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/demo/ladder.h"
#include "roce/roce.h"

#define TIME_COLUMNS 10
#define LABEL_BYTES  160

#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define CYAN   "\033[36m"
#define BOLD   "\033[1m"
#define PLAIN  "\033[0m"

struct pen {
    FILE *out;
    const struct ladder_style *style;
    uint64_t zero_ns;
    uint32_t middle; /* columns between the lifelines */
};

struct text {
    char s[LABEL_BYTES];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->s + t->len, sizeof t->s - t->len, format, args);
    va_end(args);
    if (n > 0)
        t->len += (size_t)n < sizeof t->s - t->len ? (size_t)n : sizeof t->s - t->len - 1;
}

static bool is_packet(const struct ladder_event *e)
{
    return e->kind == LADDER_TX || e->kind == LADDER_RX;
}

static const struct ladder_event *row_event(const struct ladder_row *row)
{
    return row->left ? row->left : row->right;
}

/* What the receiver saw, or NULL. */
static const struct ladder_event *row_got(const struct ladder_row *row)
{
    const struct ladder_event *e = row->to_right ? row->right : row->left;
    return e && e->kind == LADDER_RX ? e : NULL;
}

static struct text packet_label(const struct ladder_row *row)
{
    const struct ladder_event *e = row_event(row);
    struct text t = {.len = 0};
    const struct roce_opcode *op = &roce_opcodes[e->opcode];
    const char *name = roce_opcode_name(e->opcode);

    if (op->flags & ROCE_PKT_SACKETH)
        add(&t, e->is_probe ? "selective ACK, a probe" : "selective ACK");
    else if (op->flags & ROCE_PKT_AETH && roce_syndrome_kind(e->syndrome) != ROCE_SYN_ACK)
        add(&t, "%s", roce_syndrome_name(e->syndrome));
    else
        add(&t, "%s", strncmp(name, "RC ", 3) == 0 ? name + 3 : name);
    add(&t, "  psn %06" PRIx32, e->psn);
    if (op->flags & ROCE_PKT_AETH)
        add(&t, "  msn %" PRIu32, e->msn);
    if (op->flags & ROCE_PKT_SACKETH)
        add(&t, "  has %" PRIu32 " behind it", e->kept_pkts);
    else if (op->flags & ROCE_PKT_PAYLOAD || e->payload_bytes)
        add(&t, "  %" PRIu32 " B", e->payload_bytes);
    if (op->flags & ROCE_PKT_IMMDT)
        add(&t, "  imm %08" PRIx32, e->imm);
    if (e->solicited)
        add(&t, "  solicited");
    if (e->ack_req)
        add(&t, "  ack please");
    if (row->is_again)
        add(&t, "  again");
    return t;
}

/* What the extended headers say, for a second line; empty: nothing. */
static struct text packet_detail(const struct ladder_event *e)
{
    struct text t = {.len = 0};
    uint32_t flags = roce_opcodes[e->opcode].flags;

    if (flags & ROCE_PKT_RETH)
        add(&t, "%s %" PRIu32 " bytes at 0x%" PRIx64 ", rkey 0x%08" PRIx32,
            flags & ROCE_PKT_READ ? "RETH: give me" : "RETH: put", e->dma_len, e->va, e->rkey);
    if (flags & ROCE_PKT_ATOMICETH) {
        add(&t, "AtomicETH: at 0x%" PRIx64 ", rkey 0x%08" PRIx32 ", ", e->va, e->rkey);
        if ((e->opcode & 0x1f) == ROCE_OP_CMP_SWAP)
            add(&t, "if %" PRIu64 " then %" PRIu64, e->compare, e->swap_add);
        else
            add(&t, "add %" PRIu64, e->swap_add);
    }
    if (flags & ROCE_PKT_SACKETH && e->is_offer)
        add(&t, "an offer: who sends this understands it");
    if (flags & ROCE_PKT_ATOMICACKETH)
        add(&t, "AtomicAckETH: it was %" PRIu64, e->original);
    return t;
}

static void put_repeat(FILE *out, char c, uint32_t n)
{
    while (n--)
        putc(c, out);
}

static const char *paint(const struct pen *pen, const char *code)
{
    return pen->style->colour ? code : "";
}

/* The time at one end: that side's clock, or blank where it saw nothing. A round of progress reads the clock
 * once, so that a packet may seem to arrive before it was sent: then it was sent when it arrived. */
static void put_time(const struct pen *pen, const struct ladder_row *row, bool left)
{
    const struct ladder_event *e = left ? row->left : row->right;
    char buf[32] = "";

    if (e) {
        uint64_t at_ns = e->kind == LADDER_RX ? e->time_ns : row->time_ns;
        snprintf(buf, sizeof buf, "%.1f", (double)(int64_t)(at_ns - pen->zero_ns) / 1000);
    }
    if (left)
        fprintf(pen->out, "%*s |", TIME_COLUMNS, buf);
    else
        fprintf(pen->out, e ? "| %*s\n" : "|\n", TIME_COLUMNS - 2, buf);
}

/* `text` between the lifelines, without times. */
static void put_inner(const struct pen *pen, const char *text, bool at_right)
{
    uint32_t room = pen->middle - 8;
    uint32_t len = (uint32_t)strnlen(text, room);
    uint32_t pad = room - len;

    fprintf(pen->out, "%*s |", TIME_COLUMNS, "");
    put_repeat(pen->out, ' ', at_right ? pad + 4 : 4);
    fprintf(pen->out, "%.*s", (int)len, text);
    put_repeat(pen->out, ' ', at_right ? 4 : pad + 4);
    fputs("|\n", pen->out);
}

/* How the packet ended, at the head of its arrow. */
static struct text packet_fate(const struct ladder_row *row)
{
    struct text t = {.len = 0};
    const struct ladder_event *got = row_got(row);

    if (row->lost)
        add(&t, row->to_right ? " X LOST" : "LOST X ");
    else if (got && got->verdict != ROCE_RX_TAKEN) {
        const char *words = roce_rx_verdict_words((enum roce_rx_verdict)got->verdict);
        add(&t, " %.*s ", (int)strcspn(words, ","), words);
    }
    return t;
}

static const char *row_colour(const struct pen *pen, const struct ladder_row *row)
{
    const struct ladder_event *e = row_event(row), *got = row_got(row);
    uint32_t flags = roce_opcodes[e->opcode].flags;

    if (row->lost)
        return paint(pen, RED);
    if (flags & ROCE_PKT_AETH && roce_syndrome_kind(e->syndrome) != ROCE_SYN_ACK)
        return paint(pen, YELLOW);
    if (got && got->verdict != ROCE_RX_TAKEN)
        return paint(pen, YELLOW);
    return row->to_right ? "" : paint(pen, CYAN);
}

/* "-- LABEL -------------- fate ->", or "<- fate --- LABEL --": `middle` columns. */
static void put_arrow(const struct pen *pen, const struct ladder_row *row)
{
    struct text label = packet_label(row), fate = packet_fate(row);
    uint32_t room = pen->middle - (uint32_t)(fate.len + strlen("--  ->"));
    uint32_t line = label.len < room ? room - (uint32_t)label.len : 0;

    if (label.len > room)
        label.s[room] = 0;

    if (row->to_right) {
        fprintf(pen->out, "-- %s ", label.s);
        put_repeat(pen->out, '-', line);
        fprintf(pen->out, "%s%s", fate.s, row->lost ? "  " : "->");
    } else {
        fprintf(pen->out, "%s%s", row->lost ? "  " : "<-", fate.s);
        put_repeat(pen->out, '-', line);
        fprintf(pen->out, " %s --", label.s);
    }
}

static void put_packet(const struct pen *pen, const struct ladder_row *row)
{
    const char *colour = row_colour(pen, row);
    struct text detail = packet_detail(row_event(row));

    put_time(pen, row, true);
    fputs(colour, pen->out);
    put_arrow(pen, row);
    fputs(*colour ? PLAIN : "", pen->out);
    put_time(pen, row, false);
    if (detail.len)
        put_inner(pen, detail.s, !row->to_right);
}

/* What one side does by itself: starred on its lifeline. */
static void put_local(const struct pen *pen, const struct ladder_row *row)
{
    const struct ladder_event *e = row_event(row);
    struct text t = {.len = 0};
    const char *cause = roce_cause_words((enum roce_cause)e->cause);

    if (e->kind == LADDER_RETRANSMIT && e->cause == ROCE_CAUSE_SELECTIVE_ACK)
        add(&t, "* sends what is missing, from psn %06" PRIx32 ": %s", e->psn, cause);
    else if (e->kind == LADDER_RETRANSMIT)
        add(&t, "* goes back to psn %06" PRIx32 ": %s", e->psn, cause);
    else if (e->kind == LADDER_RNR_WAIT)
        add(&t, "* waits %.3f ms, then psn %06" PRIx32 ": %s", (double)e->wait_ns / 1e6, e->psn, cause);
    else
        add(&t, "* QP %" PRIu32 " %s -> %s: %s", e->qpn, nornic_qp_state_name(e->from_state),
            nornic_qp_state_name(e->to_state), cause);
    uint32_t pad = pen->middle > t.len + 1 ? pen->middle - (uint32_t)t.len - 1 : 0;
    put_time(pen, row, true);
    put_repeat(pen->out, ' ', row->left ? 1 : pad);
    fprintf(pen->out, "%s%s%s", paint(pen, YELLOW), t.s, paint(pen, PLAIN));
    put_repeat(pen->out, ' ', row->left ? pad : 1);
    put_time(pen, row, false);
}

static bool is_hidden(const struct pen *pen, const struct ladder_row *row)
{
    const struct ladder_event *e = row_event(row);
    if (e->kind == LADDER_NOTE)
        return !pen->style->notes || e->note >= pen->style->note_count;
    return e->kind == LADDER_QP_STATE && !pen->style->states;
}

/* Packets that a reader need not see one by one. */
static bool is_alike(const struct ladder_row *a, const struct ladder_row *b)
{
    const struct ladder_event *x = row_event(a), *y = row_event(b), *gx = row_got(a), *gy = row_got(b);
    if (!is_packet(x) || !is_packet(y) || a->to_right != b->to_right || a->lost || b->lost)
        return false;
    if (!gx || !gy || gx->verdict != gy->verdict || x->syndrome != y->syndrome)
        return false;
    /* out of sequence, what the packets carry no longer matters */
    return (x->opcode == y->opcode && a->is_again == b->is_again) || gx->verdict != ROCE_RX_TAKEN;
}

static void put_folded(const struct pen *pen, const struct ladder_row *rows, uint32_t n)
{
    char text[96];
    snprintf(text, sizeof text, ": %" PRIu32 " more alike, psn %06" PRIx32 " to %06" PRIx32, n,
             row_event(&rows[0])->psn, row_event(&rows[n - 1])->psn);
    put_inner(pen, text, !rows[0].to_right);
}

/* When the first packet from row i on was sent; 0: there is none. */
static uint64_t first_packet_ns(const struct ladder_row *rows, uint32_t i, uint32_t end)
{
    for (; i < end; i++)
        if (is_packet(row_event(&rows[i])))
            return rows[i].time_ns;
    return 0;
}

/* Prints the rows from i on that belong together; returns how many. */
static uint32_t put_rows(struct pen *pen, const struct ladder_row *rows, uint32_t i, uint32_t end)
{
    const struct ladder_row *row = &rows[i];
    const struct ladder_event *e = row_event(row);

    if (is_hidden(pen, row))
        return 1;
    if (e->kind == LADDER_NOTE) {
        fprintf(pen->out, "%*s |%*s|\n%s%s%s\n", TIME_COLUMNS, "", (int)pen->middle, "", paint(pen, BOLD),
                pen->style->notes[e->note], paint(pen, PLAIN));
        pen->zero_ns = first_packet_ns(rows, i, end);
        return 1;
    }
    if (!is_packet(e)) {
        put_local(pen, row);
        return 1;
    }
    uint32_t run = 1;
    while (pen->style->fold && i + run < end && is_alike(row, &rows[i + run]))
        run++;
    put_packet(pen, row);
    if (run < 4)
        return 1;
    put_folded(pen, row + 1, run - 2);
    put_packet(pen, row + run - 1);
    return run;
}

static void put_names(const struct pen *pen)
{
    const struct ladder_style *s = pen->style;
    int gap = (int)(pen->middle + 2) - (int)strlen(s->left) - (int)strlen(s->right);
    fprintf(pen->out, "%*s %s%s%*s%s%s %*s\n", TIME_COLUMNS, "us", paint(pen, BOLD), s->left,
            gap > 1 ? gap : 1, "", s->right, paint(pen, PLAIN), TIME_COLUMNS - 2, "us");
}

void ladder_print(FILE *out, const struct ladder *ladder, uint32_t first, uint32_t count,
                  const struct ladder_style *style)
{
    struct pen pen = {.out = out, .style = style, .middle = style->width - 2 * TIME_COLUMNS - 2};
    uint32_t end = first + count < ladder->count ? first + count : ladder->count;

    pen.zero_ns = first_packet_ns(ladder->rows, first, end);
    put_names(&pen);
    for (uint32_t i = first; i < end;)
        i += put_rows(&pen, ladder->rows, i, end);
}
