/* SPDX-License-Identifier: BSD-2-Clause */
/* The page's data are lines of text in a <script> that no browser runs; model.js reads them:
 *   =f NAME                       a file begins
 *   =l KEY:OFFSET ... ;DATA       the next layout: which headers where, and where a message's data begin
 *   =w TEXT                       the next frame of words, with \# for each number
 *   =n NUMBER                     of the next packet, where it is not the one after the last
 *   DT WIRE CAPTURED KIND VERDICT FLOW DIRECTION MESSAGE ANSWERS LAYOUT DATA ICRC BYTES WORDS NUMBERS...
 *      a packet: nanoseconds since the last one; VERDICT has :layer.field for each that offends; MESSAGE is
 *      n:piece:pieces:done:total; ICRC is what was found, and :expected where that differs; BYTES are base64
 *   ~CONNECTION SIDE KIND FROM TO
 *      what the packet above is to a connection of SMC-R; KIND is d (data), c (CDC) or -
 *   @FROM FATE SURE OVERTAKEN A B
 *      the packet above in two joined captures: A and B are nanoseconds from its time to that at either end
 *   !NUMBER KIND RELATED RULE WHY WORDS NUMBERS...
 *      a finding; WHY is CAUSE:SURE:OTHER:BEHIND:ROOT:WAY:SURE:SILENCE:TIMEOUT:SAMPLES and a ,NUMBER:WHAT for
 *      each packet it rests on, WHAT by its number in the dictionary of words
 * A - stands for what is not there; WORDS is a * where the dictionary is full: the text itself follows. */
#include "base/base.h"
#include "explain/page/html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain/page/inside.h"
#include "explain/show/boxes.h"

struct explain_html {
    struct explain_html_dict layouts, words;
    struct explain_text frame, numbers, layout; /* scratch */
    struct explain_glossary named;              /* the rules of findings */
    uint64_t next_number, last_ns, first_ns;
    bool any, is_whole;
};

struct explain_html *explain_html_create(bool is_whole)
{
    struct explain_html *html = calloc(1, sizeof *html);
    if (html)
        html->is_whole = is_whole;
    return html;
}

void explain_html_destroy(struct explain_html *html)
{
    if (!html)
        return;
    explain_html_dict_free(&html->layouts);
    explain_html_dict_free(&html->words);
    explain_text_free(&html->frame);
    explain_text_free(&html->numbers);
    explain_text_free(&html->layout);
    free(html);
}

/* Appends what stands before the mark in the page, and returns what stands behind it. */
static const char *put_until(struct explain_text *out, const char *page, const char *mark)
{
    const char *at = strstr(page, mark);
    explain_put_n(out, page, (size_t)(at - page));
    return at + strlen(mark);
}

void explain_html_begin(struct explain_html *html, struct explain_text *out)
{
    (void)html;
    const char *rest = put_until(out, explain_page_html, "@CSS@");
    explain_put(out, explain_page_css);
    put_until(out, rest, "@DATA@");
}

/* A capture knows nothing of the one before it. */
void explain_html_open(struct explain_html *html, struct explain_text *out, const char *tour)
{
    explain_html_dict_free(&html->layouts);
    explain_html_dict_free(&html->words);
    html->layouts = html->words = (struct explain_html_dict){0};
    html->named.count = 0;
    html->next_number = 1;
    html->last_ns = html->first_ns = 0;
    html->any = false;
    explain_printf(out, "<script type=\"text/plain\" class=\"packets\" data-tour=\"%s\">\n",
                   tour ? tour : "");
}

void explain_html_file(struct explain_html *html, struct explain_text *out, const char *name)
{
    (void)html;
    explain_put(out, "=f ");
    explain_html_put_safe(out, name);
    explain_put(out, "\n");
}

/* The number of a text in its dictionary, defined on a line of its own when it is new. */
static int number_of(struct explain_html_dict *dict, struct explain_text *out, const char *mark,
                     const char *text)
{
    bool is_new;
    int number = explain_html_dict_number(dict, text, &is_new);
    if (is_new) {
        explain_put(out, mark);
        explain_put(out, text);
        explain_put(out, "\n");
    }
    return number;
}

/* Defines the words, if need be; to be called where a line begins. put_words() comes next. */
static int define_words(struct explain_html *html, struct explain_text *out, const char *words)
{
    explain_text_clear(&html->frame);
    explain_text_clear(&html->numbers);
    explain_html_split_words(words, &html->frame, &html->numbers);
    return number_of(&html->words, out, "=w ", html->frame.bytes ? html->frame.bytes : "");
}

static void put_words(struct explain_html *html, struct explain_text *out, int number, const char *words)
{
    if (number < 0) {
        explain_put(out, " * ");
        explain_html_put_safe(out, words);
    } else {
        explain_put(out, " ");
        explain_put_u64(out, (uint64_t)number);
        explain_put_n(out, html->numbers.bytes ? html->numbers.bytes : "", html->numbers.len);
    }
    explain_put(out, "\n");
}

static int define_layout(struct explain_html *html, struct explain_text *out, const struct explain_packet *p)
{
    explain_text_clear(&html->layout);
    for (unsigned i = 0; i < p->layer_count; i++)
        explain_printf(&html->layout, "%s:%u ", p->layers[i].kind->key, p->layers[i].offset);
    explain_printf(&html->layout, ";%u", p->payload_offset);
    return number_of(&html->layouts, out, "=l ", html->layout.bytes ? html->layout.bytes : "");
}

static void put_number(struct explain_text *out, uint64_t value)
{
    explain_put_u64(out, value);
    explain_put_n(out, " ", 1);
}

static void put_message(struct explain_text *out, const struct explain_meaning *m)
{
    if (!m->message) {
        explain_put(out, "- ");
        return;
    }
    explain_put_u64(out, m->message);
    const uint64_t rest[] = {m->piece, m->pieces, m->bytes_done, m->bytes_total};
    for (unsigned i = 0; i < array_len(rest); i++) {
        explain_put_n(out, ":", 1);
        explain_put_u64(out, rest[i]);
    }
    explain_put_n(out, " ", 1);
}

static void put_icrc(struct explain_text *out, const struct explain_packet *p)
{
    if (!explain_has_icrc(p)) {
        explain_put(out, "- ");
        return;
    }
    explain_put_hex(out, explain_icrc_on_wire(p->roce.icrc_found), 8);
    if (p->roce.icrc_found != p->roce.icrc_expected) {
        explain_put(out, ":");
        explain_put_hex(out, explain_icrc_on_wire(p->roce.icrc_expected), 8);
    }
    explain_put_n(out, " ", 1);
}

/* The headers, and the beginning of the data. */
static size_t kept_bytes(const struct explain_html *html, const struct explain_packet *p)
{
    if (html->is_whole)
        return p->len_bytes;
    size_t end = 0;
    for (unsigned i = 0; i < p->layer_count; i++) {
        size_t layer_end = p->layers[i].offset + (size_t)p->layers[i].kind->header->len_bytes;
        end = layer_end > end ? layer_end : end;
    }
    size_t data = p->payload_bytes < EXPLAIN_HTML_DATA_BYTES ? p->payload_bytes : EXPLAIN_HTML_DATA_BYTES;
    if (p->payload_bytes && p->payload_offset + data > end)
        end = p->payload_offset + data;
    end = end < EXPLAIN_HTML_FRAME_BYTES ? end : EXPLAIN_HTML_FRAME_BYTES;
    return end < p->len_bytes ? end : p->len_bytes;
}

static void put_bytes(const struct explain_html *html, struct explain_text *out,
                      const struct explain_packet *p)
{
    size_t n = kept_bytes(html, p);
    if (n)
        explain_html_put_base64(out, p->frame, n);
    else
        explain_put(out, "-");
}

/* Time since the packet before; clocks of captures may go back. */
static void put_time(struct explain_html *html, struct explain_text *out, uint64_t time_ns)
{
    if (!html->any)
        html->first_ns = html->last_ns = time_ns;
    html->any = true;
    if (time_ns < html->last_ns)
        explain_put(out, "-");
    put_number(out, time_ns < html->last_ns ? html->last_ns - time_ns : time_ns - html->last_ns);
    html->last_ns = time_ns;
}

static void put_verdict(struct explain_text *out, const struct explain_packet *p)
{
    explain_put_u64(out, p->verdict);
    for (unsigned l = 0; p->verdict != ROCE_RX_TAKEN && l < p->layer_count; l++) {
        const struct net_header *h = p->layers[l].kind->header;
        for (unsigned i = 0; i < h->field_count; i++)
            if (explain_field_offends(p, l, &h->fields[i]))
                explain_printf(out, ":%s.%s", p->layers[l].kind->key, h->fields[i].name);
    }
    explain_put_n(out, " ", 1);
}

void explain_html_packet(struct explain_html *html, struct explain_text *out, const struct explain_packet *p,
                         const struct explain_meaning *m)
{
    int layout = define_layout(html, out, p);
    int words = define_words(html, out, m->words);
    if (p->number != html->next_number)
        explain_printf(out, "=n %" PRIu64 "\n", p->number);
    html->next_number = p->number + 1;
    put_time(html, out, p->time_ns);
    put_number(out, p->wire_bytes);
    put_number(out, p->len_bytes);
    put_number(out, p->kind);
    put_verdict(out, p);
    put_number(out, m->flow);
    put_number(out, m->direction);
    put_message(out, m);
    put_number(out, m->answers);
    if (layout < 0)
        explain_put(out, "- ");
    else
        put_number(out, (uint64_t)layout);
    put_number(out, p->payload_bytes);
    put_icrc(out, p);
    put_bytes(html, out, p);
    put_words(html, out, words, m->words);
    if (m->smc.conn)
        explain_printf(out, "~%u %u %c %" PRIu64 " %" PRIu64 "\n", m->smc.conn, m->smc.side,
                       m->smc.is_data  ? 'd'
                       : m->smc.is_cdc ? 'c'
                                       : '-',
                       m->smc.from, m->smc.to);
    for (unsigned i = 0; i < m->remark_count; i++)
        explain_html_finding(html, out, &m->remarks[i]);
}

void explain_html_ends(struct explain_html *html, struct explain_text *out, const struct explain_html_ends *e)
{
    explain_printf(out, "@%u %s %s %d", e->from, e->fate, e->sure, e->is_overtaken);
    for (unsigned side = 0; side < 2; side++)
        if (e->has[side])
            explain_printf(out, " %" PRId64, (int64_t)(e->time_ns[side] - html->last_ns));
        else
            explain_put(out, " -");
    explain_put(out, "\n");
}

void explain_html_operation(struct explain_text *out, const struct explain_operation *op)
{
    explain_printf(out, "=o %u %u %" PRIu64 " %" PRIu64 " %u %u %" PRIu64 " %" PRIu64 " ", op->flow,
                   op->direction, op->message, op->bytes, op->packets, op->again, op->first_number,
                   op->end_number);
    if (op->is_untimed)
        explain_put(out, "-");
    else
        explain_put_u64(out, op->latency_ns);
    explain_printf(out, " %s\n", explain_operation_name(op));
}

/* What evidence says has few texts; each is in the dictionary before the line that names it. */
static void define_evidence(struct explain_html *html, struct explain_text *out,
                            const struct explain_why *why, int what[EXPLAIN_EVIDENCE_MAX])
{
    for (unsigned i = 0; i < why->evidence_count; i++)
        what[i] = number_of(&html->words, out, "=w ", why->evidence[i].what);
}

static void put_why(struct explain_text *out, const struct explain_why *why,
                    const int what[EXPLAIN_EVIDENCE_MAX])
{
    if (why->cause == EXPLAIN_CAUSE_NONE) {
        explain_put(out, " -");
        return;
    }
    explain_printf(out, " %d:%d:%d:%" PRIu64 ":%d:%d:%d:%" PRIu64 ":%" PRIu64 ":%u", why->cause, why->sure,
                   why->or_cause, why->behind, why->root, why->way, why->way_sure, why->silence_ns,
                   why->timeout_ns, why->timeout_samples);
    for (unsigned i = 0; i < EXPLAIN_CANDIDATES; i++)
        explain_printf(out, ":%d:%d", why->candidate[i], why->way_candidate[i]);
    for (unsigned i = 0; i < why->evidence_count; i++)
        explain_printf(out, ",%" PRIu64 ":%d", why->evidence[i].number, what[i]);
}

void explain_html_finding(struct explain_html *html, struct explain_text *out,
                          const struct explain_finding *f)
{
    int what[EXPLAIN_EVIDENCE_MAX] = {0};
    define_evidence(html, out, &f->why, what);
    int words = define_words(html, out, f->words);
    explain_glossary_add(&html->named, f->rule);
    explain_printf(out, "!%" PRIu64 " %d %" PRIu64 " %s", f->number, f->kind, f->related,
                   f->rule[0] ? f->rule : "-");
    put_why(out, &f->why, what);
    put_words(html, out, words, f->words);
}

void explain_html_close(struct explain_html *html, struct explain_text *out, uint64_t total,
                        const struct explain_analysis *analysis, const char *story)
{
    explain_printf(out, "</script>\n<script type=\"application/json\">\n");
    explain_printf(out, "{\"total\":%" PRIu64 ",\"first_ns\":\"%" PRIu64 "\",\n", total, html->first_ns);
    explain_put(out, "\"story\":");
    explain_put_quoted(out, story);
    explain_put(out, ",\n");
    explain_html_put_tables(out);
    explain_put(out, ",\n");
    explain_html_put_rules(out, &html->named);
    explain_put(out, ",\n");
    explain_html_put_flows(out, analysis);
    explain_put(out, ",\n");
    explain_html_put_smc(out, analysis);
    explain_put(out, ",\n");
    explain_html_put_iwarp(out, analysis);
    explain_put(out, "}</script>\n");
}

void explain_html_end(struct explain_html *html, struct explain_text *out)
{
    (void)html;
    const char *rest = strstr(explain_page_html, "@DATA@") + strlen("@DATA@");
    rest = put_until(out, rest, "@WORDS@");
    explain_put(out, explain_page_words);
    rest = put_until(out, rest, "@SCRIPT@");
    explain_put(out, explain_page_js);
    explain_put(out, rest);
}
