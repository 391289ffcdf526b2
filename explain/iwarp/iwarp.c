/* SPDX-License-Identifier: BSD-2-Clause */
/* The segments of TCP for iWARP: the connection that they are of, their new bytes, and the order in which
 * these are read. */
#include "explain/iwarp/iwarp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/iwarp/done.h"
#include "explain/iwarp/fpdu.h"
#include "explain/iwarp/setup.h"
#include "explain/iwarp/table.h"
#include "explain/iwarp/words.h"

#define MEMORY_MAX (48u << 20)
#define ANSWER_NS  (10 * NS_PER_MS) /* so shortly before the end of the capture an answer is not missing */

struct explain_iwarp *explain_iwarp_create(size_t max_bytes)
{
    struct explain_iwarp *w = calloc(1, sizeof *w);
    if (w)
        w->max_bytes = max_bytes ? max_bytes : MEMORY_MAX;
    return w;
}

void explain_iwarp_destroy(struct explain_iwarp *w)
{
    while (w->oldest)
        explain_iwarp_drop(w, w->oldest);
    free(w);
}

/* A SYN, or data that begin as MPA or an FPDU may. */
static bool may_begin(const struct explain_packet *p, const struct explain_segment *s)
{
    const uint8_t *data = p->frame + s->offset;
    return s->control.syn || (s->captured && (explain_iwarp_is_key(data, s->captured) ||
                                              explain_iwarp_is_plausible(data, s->captured)));
}

bool explain_iwarp_may_begin(const struct explain_packet *packet)
{
    struct explain_segment s;
    return packet->kind == EXPLAIN_OTHER && explain_segment_get(&s, packet) && may_begin(packet, &s);
}

/* --- which connection --- */

/* A SYN between ends that are known: the same once more, the answer to it, or a new connection. */
static bool is_new_syn(const struct iwarp_conn *c, const struct explain_segment *s, unsigned side)
{
    const struct explain_stream *stream = &c->half[side].stream;
    if (!stream->has_begun)
        return false;
    return stream->first_seq != s->seq + 1;
}

/* Of a connection that is older than the capture: an FPDU with a good CRC shows its kind. */
static struct iwarp_conn *recognise_older(struct iwarp_view *v)
{
    const struct explain_segment *s = &v->segment;
    if (!explain_iwarp_is_proven(v->packet->frame + s->offset, s->captured))
        return NULL;
    struct iwarp_conn *c = explain_iwarp_add(v->w, &v->packet->network, s);
    if (!c)
        return NULL;
    v->conn = c;
    explain_iwarp_is_older(v);
    c->shown.crc_use = EXPLAIN_CRCS_USED;
    for (unsigned side = 0; side < 2; side++)
        c->half[side].framing.has_begun = c->half[side].framing.is_lost = c->half[side].is_holey = true;
    explain_iwarp_recognise(v->w, c);
    return c;
}

static struct iwarp_conn *find_or_begin(struct iwarp_view *v)
{
    const struct explain_segment *s = &v->segment;
    struct explain_iwarp *w = v->w;
    struct iwarp_conn *c = explain_iwarp_find(w, &v->packet->network, s, &v->side);
    if (c && s->control.syn && is_new_syn(c, s, v->side)) {
        if (c->is_recognised)
            explain_iwarp_close(w, c);
        else
            explain_iwarp_drop(w, c);
        c = NULL;
    }
    if (c)
        return c;
    v->side = 0;
    if (s->control.syn && !s->control.ack) {
        c = explain_iwarp_add(w, &v->packet->network, s);
        if (c)
            c->has_syn = true;
        return c;
    }
    if (s->captured && explain_iwarp_is_key(v->packet->frame + s->offset, s->captured))
        return explain_iwarp_add(w, &v->packet->network, s);
    return s->captured ? recognise_older(v) : NULL;
}

/* Side 0 asks for the iWARP connection, whichever side asked for that of TCP (IWARP-MPA-01). */
static void turn_round(struct iwarp_view *v)
{
    struct explain_iwarp_conn *shown = &v->conn->shown;
    swap_values(v->conn->half[0], v->conn->half[1]);
    swap_values(shown->addr[0], shown->addr[1]);
    swap_values(shown->port[0], shown->port[1]);
    v->side = !v->side;
}

/* The capture begins between Request and Reply. */
static void miss_request(struct iwarp_view *v)
{
    struct iwarp_half *h = iwarp_other_half(v);
    explain_iwarp_is_older(v);
    h->framing.has_begun = h->is_holey = true;
}

/* The first bytes of a direction: MPA, or something else, which is not followed any further. False: that. */
static bool recognise(struct iwarp_view *v)
{
    uint8_t key[sizeof IWARP_MPA_KEY_REQUEST - 1];
    struct iwarp_half *h = iwarp_half_of(v);
    uint32_t there = (uint32_t)min_u64(explain_stream_there(&h->stream), sizeof key);
    uint32_t n = h->stream.next == 0 ? explain_stream_read(&h->stream, 0, there, key) : 0;
    bool is_cut_off = there < sizeof key && explain_stream_hole_stays(&h->stream);
    if (!there && !is_cut_off)
        return true;
    if (is_cut_off || n < there || !explain_iwarp_is_key(key, n)) {
        explain_iwarp_drop(v->w, v->conn);
        return false;
    }
    if (n < sizeof key)
        return true;
    explain_iwarp_recognise(v->w, v->conn);
    bool is_reply = memcmp(key, IWARP_MPA_KEY_REPLY, sizeof key) == 0;
    if (v->side != is_reply && (!is_reply || !v->conn->has_syn))
        turn_round(v);
    if (is_reply && !v->conn->has_syn)
        miss_request(v);
    return true;
}

/* --- the events of TCP --- */

static const struct iwarp_seen *seen_before(const struct iwarp_half *h, uint64_t from, uint32_t len)
{
    for (unsigned i = 1; i <= IWARP_SEEN_MAX; i++) {
        const struct iwarp_seen *seen = &h->seen[(h->next_seen - i) % IWARP_SEEN_MAX];
        if (seen->number && from < seen->from + seen->len && seen->from < from + len)
            return seen;
    }
    return NULL;
}

static void remember(struct iwarp_view *v)
{
    const struct explain_segment *s = &v->segment;
    struct iwarp_half *h = iwarp_half_of(v);
    h->seen[h->next_seen++ % IWARP_SEEN_MAX] = (struct iwarp_seen){.from = v->from,
                                                                   .number = v->packet->number,
                                                                   .len = s->len_bytes,
                                                                   .ip_id = s->ip_id,
                                                                   .has_ip_id = s->has_ip_id && s->ip_id};
}

/* The same datagram, not only the same bytes: the network or the capture made the second one. */
static bool is_copy(const struct iwarp_seen *seen, const struct iwarp_view *v)
{
    const struct explain_segment *s = &v->segment;
    return seen && seen->has_ip_id && s->has_ip_id && seen->ip_id == s->ip_id && seen->from == v->from &&
           seen->len == s->len_bytes;
}

static void say_again(struct iwarp_view *v, const struct explain_stream_news *news)
{
    char before[48] = "";
    const struct iwarp_seen *seen = seen_before(iwarp_half_of(v), v->from, v->segment.len_bytes);
    uint64_t number = seen ? seen->number : 0;
    if (number)
        snprintf(before, sizeof before, " that #%" PRIu64 " brought", number);
    if (is_copy(seen, v)) {
        v->m->is_copy = true;
        explain_iwarp_say(v, "a copy of #%" PRIu64 ", made by the network or the capture", number);
        return;
    }
    v->m->iwarp.again = news->again;
    v->conn->shown.again_bytes[v->side] += news->again;
    explain_iwarp_say(v, "TCP sends %u byte%s%s once more: RDMAP sees nothing of it", news->again,
                      news->again == 1 ? "" : "s", before);
    explain_remark(v->m, EXPLAIN_FIND_TCP_AGAIN, "", 0, number,
                   "TCP sent %u byte%s again%s: no message of RDMAP is repeated", news->again,
                   news->again == 1 ? "" : "s", before);
}

static void say_ahead(struct iwarp_view *v, const struct explain_stream_news *news)
{
    struct iwarp_half *h = iwarp_half_of(v);
    uint64_t hole = explain_stream_hole(&h->stream);
    explain_iwarp_say(v, "%s%u bytes of TCP that wait for %" PRIu64 " byte%s before them",
                      v->m->words[0] ? "; " : "", news->fresh, hole, hole == 1 ? "" : "s");
    explain_remark(v->m, EXPLAIN_FIND_TCP_AHEAD, "", 0, 0, "%" PRIu64 " byte%s before it %s missing so far",
                   hole, hole == 1 ? "" : "s", hole == 1 ? "is" : "are");
}

static void say_end(struct iwarp_view *v)
{
    const struct explain_segment *s = &v->segment;
    struct iwarp_half *h = iwarp_half_of(v);
    struct explain_iwarp_conn *shown = &v->conn->shown;
    uint64_t end = v->from + s->len_bytes;
    const char *part = v->m->words[0] ? "; " : "";
    if (s->control.rst) {
        explain_iwarp_say(v, "%sRST: the connection is aborted", part);
        shown->end[v->side].has_rst = true;
        return;
    }
    explain_iwarp_say(v, "%sFIN: this side sends no more", part);
    h->fin_at = end;
    if (shown->end[v->side].has_fin)
        return;
    shown->end[v->side].has_fin = true;
    uint64_t left = h->framing.has_begun && !h->framing.is_lost && h->stream.reach == end
                        ? explain_stream_there(&h->stream)
                        : 0;
    if (left && !v->conn->shown.is_refused)
        explain_remark(v->m, EXPLAIN_FIND_IWARP_CUT_OFF, "IWARP-MPA-20", 0, 0,
                       "the stream ends within an FPDU, of which %" PRIu64 " byte%s came", left,
                       left == 1 ? "" : "s");
}

/* --- a segment --- */

/* Bytes that the other end has, and the capture has not. */
static void cross_holes(struct iwarp_view *v)
{
    struct iwarp_half *h = iwarp_half_of(v);
    while (explain_stream_hole_stays(&h->stream)) {
        uint64_t hole = explain_stream_hole(&h->stream);
        explain_remark(v->m, EXPLAIN_FIND_IWARP_GAP, "", 0, 0,
                       "%" PRIu64 " byte%s of this direction %s not in this capture", hole,
                       hole == 1 ? "" : "s", hole == 1 ? "is" : "are");
        v->conn->shown.lost_bytes[v->side] += hole;
        explain_stream_skip(&h->stream, h->stream.reach + hole);
        h->framing.is_lost = h->is_holey = true;
        h->framing.is_trusted = false;
        if (h->framing.has_begun)
            explain_iwarp_walk(v);
    }
}

static void read_on(struct iwarp_view *v)
{
    struct iwarp_half *h = iwarp_half_of(v);
    if (!h->framing.has_begun && !explain_iwarp_setup(v))
        return;
    explain_iwarp_walk(v);
    cross_holes(v);
    explain_iwarp_told(v);
}

/* Returns how much of a segment is older than its stream. */
static void leave_out_old(struct explain_segment *s, const struct explain_stream *stream)
{
    int64_t position = explain_stream_position(stream, s->seq);
    uint32_t old = position < 0 ? (uint32_t)min_u64((uint64_t)-position, s->len_bytes) : 0;
    s->seq += old;
    s->offset += old;
    s->len_bytes -= old;
    s->captured -= min_u32(old, s->captured);
}

static void note_outstanding(struct iwarp_view *v)
{
    const struct explain_stream *stream = &iwarp_half_of(v)->stream;
    uint64_t *most = &v->conn->shown.most_bytes[v->side];
    if (stream->acked && stream->end > stream->acked)
        *most = max_u64(*most, stream->end - stream->acked);
}

/* False: it is no iWARP, and nothing of the connection is kept. */
static bool take_data(struct iwarp_view *v)
{
    struct explain_segment *s = &v->segment;
    struct iwarp_half *h = iwarp_half_of(v);
    leave_out_old(s, &h->stream);
    struct explain_stream_news news =
        explain_stream_put(&h->stream, s->seq, v->packet->frame + s->offset, s->len_bytes, s->captured,
                           (struct explain_stream_origin){v->packet->number, v->packet->time_ns});
    v->from = news.from;
    if (news.is_far)
        return true;
    if (!v->conn->is_recognised && !recognise(v))
        return false;
    if (!v->conn->is_recognised)
        return true;
    h = iwarp_half_of(v); /* the sides may have been turned round */
    v->packet->kind = EXPLAIN_IWARP;
    v->m->iwarp.from = v->from;
    note_outstanding(v);
    if (news.again)
        say_again(v, &news);
    if (news.fresh)
        read_on(v);
    if (news.is_ahead && explain_stream_hole(&h->stream))
        say_ahead(v, &news);
    remember(v);
    return true;
}

/* Begins the stream at its first byte, as far as the segment tells. */
static void begin_stream(struct iwarp_view *v)
{
    const struct explain_segment *s = &v->segment;
    struct iwarp_half *h = iwarp_half_of(v), *other = iwarp_other_half(v);
    h->is_heard = true;
    if (!h->stream.has_begun && (s->control.syn || s->len_bytes || v->conn->is_recognised))
        explain_stream_begin(&h->stream, s->control.syn ? s->seq + 1 : s->seq);
    if (s->control.ack && !other->stream.has_begun && s->control.syn)
        explain_stream_begin(&other->stream, s->ack);
    if (s->control.ack && other->stream.has_begun)
        explain_stream_ack(&other->stream, s->ack);
    if (v->conn->is_recognised)
        explain_iwarp_acked(v);
}

static void note(struct iwarp_view *v)
{
    struct explain_iwarp_conn *shown = &v->conn->shown;
    if (!shown->first_number) {
        shown->first_number = v->packet->number;
        shown->first_ns = v->packet->time_ns;
    }
    shown->last_number = v->packet->number;
    shown->last_ns = max_u64(shown->last_ns, v->packet->time_ns);
    v->m->iwarp.conn = shown->id;
    v->m->iwarp.sender = (uint8_t)v->side;
}

void explain_iwarp_take(struct explain_iwarp *w, struct explain_packet *packet, struct explain_meaning *m)
{
    struct iwarp_view v = {.w = w, .packet = packet, .m = m};
    const struct explain_segment *s = &v.segment;
    if (packet->kind != EXPLAIN_OTHER || !explain_segment_get(&v.segment, packet))
        return;
    v.conn = find_or_begin(&v);
    if (!v.conn)
        return;
    begin_stream(&v);
    v.from = (uint64_t)max_i64(0, explain_stream_position(&iwarp_half_of(&v)->stream, s->seq));
    if (s->len_bytes && !s->control.syn && !s->control.rst && !take_data(&v))
        return;
    if (v.conn->is_recognised && (s->control.fin || s->control.rst)) {
        packet->kind = EXPLAIN_IWARP;
        say_end(&v);
    }
    if (packet->kind == EXPLAIN_IWARP)
        note(&v);
    explain_iwarp_touch(w, v.conn);
}

/* --- the end --- */

static bool next_of(const struct iwarp_half *h, unsigned at, uint64_t last_ns, struct explain_finding *f)
{
    const struct iwarp_asked *a = &h->asked.list[(h->asked.first + at) % IWARP_ASKED_MAX];
    if (last_ns - a->time_ns < ANSWER_NS)
        return false;
    *f = (struct explain_finding){
        .kind = EXPLAIN_FIND_IWARP_UNANSWERED, .rule = "IWARP-RDMAP-10", .number = a->number};
    snprintf(f->words, sizeof f->words, "the %s with MSN %" PRIu32 " has no answer in this capture",
             a->is_atomic ? "atomic" : "Read", a->msn);
    return true;
}

bool explain_iwarp_next_open(struct explain_iwarp *w, uint64_t last_ns, struct explain_finding *f)
{
    for (; w->ending < w->conn_count; w->ending++, w->ending_asked = 0) {
        const struct iwarp_conn *c = explain_iwarp_by_id(w, w->ending + 1);
        uint32_t first = c ? c->half[0].asked.count : 0, all = first + (c ? c->half[1].asked.count : 0);
        while (w->ending_asked < all) {
            uint32_t at = w->ending_asked++;
            unsigned side = at >= first;
            if (c->half[!side].is_heard && next_of(&c->half[side], side ? at - first : at, last_ns, f))
                return true;
        }
    }
    return false;
}

uint32_t explain_iwarp_conn_count(const struct explain_iwarp *w)
{
    return w->conn_count;
}

const struct explain_iwarp_conn *explain_iwarp_get_conn(const struct explain_iwarp *w, uint32_t id)
{
    const struct iwarp_conn *c = explain_iwarp_by_id(w, id);
    return c ? &c->shown : NULL;
}

uint32_t explain_iwarp_forgotten(const struct explain_iwarp *w)
{
    return w->forgotten_count;
}
