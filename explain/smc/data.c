/* SPDX-License-Identifier: BSD-2-Clause */
/* CDC messages and the RDMA WRITEs between them: each connection's cursors, window, end. */
#include "explain/smc/data.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/smc/doubt.h"
#include "explain/smc/world.h"
#include "smcr/cursor.h"
#include "smcr/wire/cdc.h"

#define SIDE_NAME(side) ((side) ? "server" : "client")

/* The flags of a CDC message that are set, each behind a comma. */
static void put_flags(const struct smcr_cdc *c, char *text, size_t size)
{
    const struct {
        bool set;
        const char *words;
    } flags[] = {
        {c->writer_blocked, ", writer blocked"},   {c->urgent_pending, ", urgent data pending"},
        {c->urgent_present, ", urgent data here"}, {c->update_requested, ", update requested"},
        {c->sending_done, ", done sending"},       {c->connection_closed, ", closed"},
        {c->abnormal_close, ", abnormal close"},
    };
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < array_len(flags); i++)
        if (flags[i].set && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s", flags[i].words);
}

/* Bytes that an element of that size holds. */
static uint32_t cap_of(const struct smc_group *g, uint32_t elem_bytes)
{
    return elem_bytes - g->start;
}

/* --- cursors --- */

/* Moves a cursor in an element of `elem_bytes`, of which `*total` bytes were passed; false, with a finding:
 * there is no such cursor. */
static bool move(struct smc_view *v, struct smc_place *at, uint32_t elem_bytes, uint32_t offset,
                 uint16_t wrap, uint64_t *total, const char *what)
{
    struct smc_group *g = v->group;
    if (elem_bytes == 0)
        return false;
    if (offset < g->start || offset >= elem_bytes) {
        explain_remark(v->m, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-08", 0, 0,
                       "%s cursor %" PRIu32 ": it is from %" PRIu32 " to %" PRIu32, what, offset, g->start,
                       elem_bytes - 1);
        return false;
    }
    int64_t ahead = (int64_t)(int16_t)(uint16_t)(wrap - at->wrap) * cap_of(g, elem_bytes) + (int64_t)offset -
                    (int64_t)at->offset;
    if (ahead < 0) {
        explain_remark(v->m, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-05", 0, 0,
                       "the %s cursor goes back by %" PRId64, what, -ahead);
        return false;
    }
    *at = (struct smc_place){offset, wrap};
    *total += (uint64_t)ahead;
    return true;
}

static void take_cursors(struct smc_view *v, struct smc_conn *c, const struct smcr_cdc *cdc)
{
    struct smc_half *mine = &c->half[v->side], *peer = &c->half[!v->side];
    uint64_t before = mine->produced, read_before = mine->consumed;
    uint16_t wrap = mine->producer.wrap;
    if (move(v, &mine->producer, peer->elem_bytes, cdc->producer_cursor, cdc->producer_wrap, &mine->produced,
             "producer"))
        c->shown.wraps[v->side] += (uint16_t)(mine->producer.wrap - wrap);
    move(v, &mine->consumer, mine->elem_bytes, cdc->consumer_cursor, cdc->consumer_wrap, &mine->consumed,
         "consumer");
    uint32_t cap = peer->elem_bytes ? cap_of(v->group, peer->elem_bytes) : 0;
    bool all_seen = peer->lost == v->group->lost[!v->side];
    if (cap && all_seen && mine->produced > peer->consumed + cap)
        explain_smc_doubt(v, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-12", 0,
                          "%" PRIu64 " bytes more than the %s has room for",
                          mine->produced - peer->consumed - cap, SIDE_NAME(!v->side));
    if (all_seen && mine->consumed > peer->produced)
        explain_smc_doubt(v, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-12", 0,
                          "%" PRIu64 " bytes are consumed that were not written",
                          mine->consumed - peer->produced);
    if (mine->end.is_done && mine->produced > before)
        explain_remark(v->m, EXPLAIN_FIND_SMC_AFTER_CLOSE, "SMCR-CLS-03", 0, 0,
                       "%" PRIu64 " bytes more, after the %s was done sending", mine->produced - before,
                       SIDE_NAME(v->side));
    if (mine->written < mine->produced)
        mine->written = mine->produced;
    c->shown.bytes[v->side] = mine->produced;
    if (mine->produced > before)
        explain_smc_say(v, "; bytes %" PRIu64 "..%" PRIu64, before, mine->produced - 1);
    if (cap && (mine->produced > before || mine->consumed == read_before))
        explain_smc_say(v, "; %" PRIu64 " of %" PRIu32 " bytes filled", mine->produced - peer->consumed, cap);
    uint32_t own_cap = mine->elem_bytes ? cap_of(v->group, mine->elem_bytes) : 0;
    if (own_cap && mine->consumed > read_before && peer->produced >= mine->consumed)
        explain_smc_say(v, "; the %s's buffer: %" PRIu64 " of %" PRIu32 " bytes unread, %" PRIu64 " freed",
                        SIDE_NAME(v->side), peer->produced - mine->consumed, own_cap,
                        mine->consumed - read_before);
}

/* --- flags --- */

static void take_flags(struct smc_view *v, struct smc_conn *c, const struct smcr_cdc *cdc)
{
    struct smc_half *h = &c->half[v->side];
    if (cdc->writer_blocked && !h->newest.is_blocked) {
        c->shown.blocked[v->side]++;
        explain_remark(v->m, EXPLAIN_FIND_SMC_BLOCKED, "SMCR-DAT-09", 0, 0,
                       "the %s has more to write than fits", SIDE_NAME(v->side));
    }
    if (cdc->urgent_present && !h->newest.is_urgent) {
        c->shown.urgent[v->side]++;
        explain_remark(v->m, EXPLAIN_FIND_SMC_URGENT, "SMCR-URG-01", 0, 0, "byte %" PRIu64 " is urgent",
                       h->produced ? h->produced - 1 : 0);
    }
    if (cdc->abnormal_close && !h->end.is_aborted)
        explain_remark(v->m, EXPLAIN_FIND_SMC_ABORT, "SMCR-ABT-01", 0, 0, "the %s aborts connection %" PRIu32,
                       SIDE_NAME(v->side), c->id);
    h->newest.is_blocked = cdc->writer_blocked;
    h->newest.is_urgent = cdc->urgent_present;
    h->end.is_done |= cdc->sending_done | cdc->connection_closed;
    h->end.is_closed |= cdc->connection_closed;
    h->end.is_aborted |= cdc->abnormal_close;
    c->shown.is_done[v->side] = h->end.is_done;
    c->shown.is_closed[v->side] = h->end.is_closed;
    c->shown.is_aborted[v->side] = h->end.is_aborted;
}

/* --- links --- */

static uint32_t link_number(const struct smc_view *v)
{
    return v->group->links[v->link].number;
}

/* The side sends over another link than before: SMCR-FOV-07. */
static void take_link(struct smc_view *v, struct smc_conn *c, bool validated)
{
    struct smc_half *h = &c->half[v->side];
    uint32_t number = link_number(v);
    if (h->link && number && h->link != number) {
        c->shown.moves[v->side]++;
        c->shown.moved_from[v->side] = (uint8_t)h->link;
        c->shown.moved_to[v->side] = (uint8_t)number;
        v->group->shown.moves++;
        explain_remark(v->m, EXPLAIN_FIND_SMC_MOVED, "SMCR-FOV-07", 0, 0,
                       "the %s's side of connection %" PRIu32 " moves from link %" PRIu32 " to link %" PRIu32,
                       SIDE_NAME(v->side), c->id, h->link, number);
        if (!validated && h->lost == v->group->lost[v->side])
            explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-FOV-07", 0, 0,
                           "it begins on the new link without a failover validation");
    }
    if (number)
        h->link = number;
}

static void validate(struct smc_view *v, struct smc_conn *c, const struct smcr_cdc *cdc)
{
    struct smc_half *h = &c->half[v->side];
    explain_smc_say(v, ": SMC CDC failover validation, token 0x%08x, sequence number %u", cdc->alert_token,
                    cdc->seq);
    explain_smc_say(v, ": connection %" PRIu32, c->id);
    if (v->is_repeat)
        return;
    take_link(v, c, true);
    h->is_replaying = true;
    if (h->newest.is_there && smcr_seq_ahead(cdc->seq, h->newest.seq) > 0 && !explain_smc_may_lack(v->group))
        explain_remark(v->m, EXPLAIN_FIND_SMC_LOST, "SMCR-FOV-08", 0, 0,
                       "the %s sent up to message %u, of which %u is the last in this capture",
                       SIDE_NAME(v->side), cdc->seq, h->newest.seq);
}

/* --- sequence --- */

/* Whether the message says something new. */
static bool take_seq(struct smc_view *v, struct smc_conn *c, const struct smcr_cdc *cdc)
{
    struct smc_half *h = &c->half[v->side];
    uint16_t expected = (uint16_t)(h->newest.is_there ? h->newest.seq + 1 : 1);
    int16_t ahead = smcr_seq_ahead(cdc->seq, expected);
    if (ahead < 0) {
        if (h->is_replaying) {
            explain_smc_say(v, ", sent again after the failover");
            return false;
        }
        explain_remark(v->m, EXPLAIN_FIND_SMC_SEQUENCE, "SMCR-CDC-04", 0, 0,
                       "message %u comes after message %u", cdc->seq, h->newest.seq);
        return false;
    }
    if (ahead > 0 && !h->is_replaying && h->lost == v->group->lost[v->side])
        explain_remark(v->m, EXPLAIN_FIND_SMC_SEQUENCE, "SMCR-CDC-03", 0, 0, "message %u, but %u is the next",
                       cdc->seq, expected);
    h->newest.is_there = true;
    h->newest.seq = cdc->seq;
    h->is_replaying = false;
    h->lost = v->group->lost[v->side];
    return true;
}

/* Sent before the connection left this link, and again behind that: the capture may lack the copy before. */
static bool is_left_behind(const struct smc_view *v, const struct smc_conn *c, const struct smcr_cdc *cdc)
{
    const struct smc_half *h = &c->half[v->side];
    return c->shown.moves[v->side] && c->shown.moved_from[v->side] == link_number(v) &&
           h->link != link_number(v) && smcr_seq_ahead(cdc->seq, h->newest.seq) <= 0;
}

static void follow(struct smc_view *v, struct smc_conn *c, const struct smcr_cdc *cdc)
{
    struct smc_half *h = &c->half[v->side];
    if (is_left_behind(v, c, cdc)) {
        explain_smc_say(v, ", from before the move");
        return;
    }
    if ((h->end.is_closed || h->end.is_aborted) &&
        !h->is_replaying) /* after a failover it may be said again */
        explain_remark(v->m, EXPLAIN_FIND_SMC_AFTER_CLOSE, "SMCR-CDC-15", 0, 0,
                       "a CDC message after the %s %s", SIDE_NAME(v->side),
                       h->end.is_aborted ? "aborted" : "closed");
    take_link(v, c, h->is_replaying);
    if (!take_seq(v, c, cdc))
        return;
    c->shown.messages[v->side]++;
    take_cursors(v, c, cdc);
    take_flags(v, c, cdc);
}

/* --- messages that the capture cut --- */

/* Tells the part before the cut. */
static void say_cut(struct smc_view *v, const struct explain_layer *layer, const struct smcr_cdc *cdc)
{
    explain_smc_say(v, ": SMC CDC");
    if (explain_layer_has(layer, "seq"))
        explain_smc_say(v, " %u", cdc->seq);
    if (explain_layer_has(layer, "alert_token"))
        explain_smc_say(v, ", token 0x%08x", cdc->alert_token);
    if (explain_layer_has(layer, "producer_cursor"))
        explain_smc_say(v, ", producer %u/%u", cdc->producer_wrap, cdc->producer_cursor);
    if (explain_layer_has(layer, "consumer_cursor"))
        explain_smc_say(v, ", consumer %u/%u", cdc->consumer_wrap, cdc->consumer_cursor);
    explain_smc_say(v, " (cut)");
}

/* Moves a cursor on; of a message without its flags it is not known whether it had to. */
static void move_on(struct smc_view *v, struct smc_place *at, uint32_t elem_bytes, uint32_t offset,
                    uint16_t wrap, uint64_t *total)
{
    struct smc_place to = *at;
    uint64_t moved = *total;
    unsigned remarks = v->m->remark_count;
    if (move(v, &to, elem_bytes, offset, wrap, &moved, "")) {
        *at = to;
        *total = moved;
    }
    v->m->remark_count = remarks;
}

static void follow_cut(struct smc_view *v, struct smc_conn *c, const struct explain_layer *layer,
                       const struct smcr_cdc *cdc)
{
    struct smc_half *mine = &c->half[v->side], *peer = &c->half[!v->side];
    uint64_t before = mine->produced;
    v->group->lost[v->side]++; /* the content of its flags may be missing */
    mine->is_producer_cut |= !explain_layer_has(layer, "producer_cursor");
    if (mine->newest.is_there && smcr_seq_ahead(cdc->seq, mine->newest.seq) <= 0)
        return;
    mine->newest.is_there = true;
    mine->newest.seq = cdc->seq;
    c->shown.messages[v->side]++;
    if (explain_layer_has(layer, "producer_cursor"))
        move_on(v, &mine->producer, peer->elem_bytes, cdc->producer_cursor, cdc->producer_wrap,
                &mine->produced);
    if (explain_layer_has(layer, "consumer_cursor"))
        move_on(v, &mine->consumer, mine->elem_bytes, cdc->consumer_cursor, cdc->consumer_wrap,
                &mine->consumed);
    mine->written = max_u64(mine->written, mine->produced);
    c->shown.bytes[v->side] = mine->produced;
    if (mine->produced > before)
        explain_smc_say(v, "; bytes %" PRIu64 "..%" PRIu64, before, mine->produced - 1);
}

static void take_cut(struct smc_view *v, struct smc_conn *c, const struct explain_layer *layer,
                     const struct smcr_cdc *cdc)
{
    say_cut(v, layer, cdc);
    if (!c)
        return;
    explain_smc_say(v, ": connection %" PRIu32, c->id);
    if (!v->is_repeat)
        follow_cut(v, c, layer, cdc);
}

/* The side has ended the connection, and a message or write goes on: of one that took its place, if the
 * capture may lack its handshake. */
static bool is_over(const struct smc_view *v, const struct smc_conn *c)
{
    const struct smc_half *h = &c->half[v->side];
    return (h->end.is_closed || h->end.is_aborted) && !v->is_repeat &&
           explain_smc_may_lack_conns(v->w, v->group);
}

/* --- messages --- */

void explain_smc_cdc(struct smc_view *v, const struct explain_layer *layer)
{
    struct smcr_cdc cdc;
    char flags[120];
    uint8_t room[EXPLAIN_LAYER_BYTES_MAX];
    smcr_cdc_get(&cdc, explain_layer_bytes(v->packet, layer, room));
    bool has_token = explain_layer_has(layer, "alert_token");
    struct smc_conn *c = v->group && has_token
                             ? explain_smc_conn_by_token(v->w, v->group->id, !v->side, cdc.alert_token)
                             : NULL;
    c = c && !is_over(v, c) ? c : NULL;
    if (c) {
        v->m->smc.conn = c->id;
        c->shown.last_number = v->packet->number;
        c->shown.last_ns = v->packet->time_ns;
    }
    if (!explain_layer_has(layer, "abnormal_close")) {
        take_cut(v, c, layer, &cdc);
        return;
    }
    if (cdc.failover_validation && c) {
        validate(v, c, &cdc);
        return;
    }
    if (cdc.failover_validation) {
        explain_smc_say(v, ": SMC CDC failover validation, token 0x%08x, sequence number %u", cdc.alert_token,
                        cdc.seq);
        return;
    }
    put_flags(&cdc, flags, sizeof flags);
    explain_smc_say(v, ": SMC CDC %u, token 0x%08x, producer %u/%u, consumer %u/%u%s", cdc.seq,
                    cdc.alert_token, cdc.producer_wrap, cdc.producer_cursor, cdc.consumer_wrap,
                    cdc.consumer_cursor, flags);
    if (v->group && !c && !explain_smc_may_lack_conns(v->w, v->group))
        explain_remark(v->m, EXPLAIN_FIND_SMC_TOKEN, "SMCR-CDC-06", 0, 0,
                       "token 0x%08x is that of no connection in group %" PRIu32, cdc.alert_token,
                       v->group->id);
    if (!c)
        return;
    explain_smc_say(v, ": connection %" PRIu32, c->id);
    if (!v->is_repeat)
        follow(v, c, &cdc);
    v->m->smc.is_cdc = true;
    v->m->smc.to = c->half[v->side].produced;
    v->m->smc.from = c->half[v->side].consumed;
}

/* --- RDMA WRITEs --- */

static void say_data(struct smc_view *v, uint32_t conn, uint64_t from, uint32_t bytes)
{
    v->m->smc.conn = conn;
    v->m->smc.is_data = bytes > 0;
    v->m->smc.from = from;
    v->m->smc.to = from + bytes;
    if (bytes)
        explain_smc_say(v, ": bytes %" PRIu64 "..%" PRIu64 " of connection %" PRIu32, from, from + bytes - 1,
                        conn);
}

/* The place of a write: the connection of the element that it goes to, and the offset there. */
static struct smc_conn *conn_at(struct smc_view *v, const struct roce_reth *reth, uint32_t *offset)
{
    unsigned receiver = !v->side, rmb = explain_smc_rmb_by_rkey(v->group, receiver, v->link, reth->rkey);
    if (rmb == SMC_RMBS_MAX) {
        if (!v->is_repeat && !explain_smc_may_lack_conns(v->w, v->group))
            explain_smc_doubt(v, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-04", 0,
                              "R_Key 0x%08x is that of no RMB of the %s on this link", reth->rkey,
                              SIDE_NAME(receiver));
        return NULL;
    }
    const struct smc_rmb *r = &v->group->rmbs[receiver][rmb];
    uint64_t from = reth->va - r->on[v->link].va;
    uint64_t index = r->elem_bytes ? from / r->elem_bytes + 1 : 0;
    struct smc_conn *c = index && index <= 255 ? explain_smc_conn_of(v->w, r->conns[index]) : NULL;
    if (!c && r->elem_bytes && !v->is_repeat && !explain_smc_may_lack_conns(v->w, v->group))
        explain_remark(v->m, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-04", 0, 0,
                       "at 0x%" PRIx64 " the %s has no element of a connection", reth->va,
                       SIDE_NAME(receiver));
    *offset = c ? (uint32_t)(from % r->elem_bytes) : 0;
    bool is_of_another = c && c->half[v->side].end.is_done && explain_smc_may_lack_conns(v->w, v->group);
    return c && c->half[receiver].elem_bytes && !is_of_another ? c : NULL; /* the size may be reserved */
}

/* The rules for a write that is no repetition: SMCR-RMB-08, DAT-02, DAT-03, CLS-08. */
static void judge_write(struct smc_view *v, const struct smc_conn *c, uint32_t offset, uint32_t bytes,
                        uint64_t from)
{
    const struct smc_half *mine = &c->half[v->side], *peer = &c->half[!v->side];
    uint32_t cap = cap_of(v->group, peer->elem_bytes);
    bool all_seen = mine->lost == v->group->lost[v->side] && peer->lost == v->group->lost[!v->side];
    if (offset < v->group->start)
        explain_remark(v->m, EXPLAIN_FIND_SMC_WRITE, "SMCR-RMB-08", 0, 0,
                       "at offset %" PRIu32 " of the element: there is its eye catcher", offset);
    if (bytes > peer->elem_bytes - offset)
        explain_remark(v->m, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-02", 0, 0,
                       "%" PRIu32 " bytes at offset %" PRIu32 " leave the element of %" PRIu32, bytes, offset,
                       peer->elem_bytes);
    else if (!mine->is_replaying && all_seen && offset >= v->group->start &&
             from + bytes > peer->consumed + cap)
        explain_smc_doubt(v, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-03", 0,
                          "%" PRIu64 " bytes beyond what the %s has room for",
                          from + bytes - peer->consumed - cap, SIDE_NAME(!v->side));
    if (mine->end.is_closed || mine->end.is_aborted)
        explain_remark(v->m, EXPLAIN_FIND_SMC_AFTER_CLOSE, "SMCR-CDC-15", 0, 0, "a write after the %s %s",
                       SIDE_NAME(v->side), mine->end.is_aborted ? "aborted" : "closed");
    else if (mine->end.is_done)
        explain_remark(v->m, EXPLAIN_FIND_SMC_AFTER_CLOSE, "SMCR-CLS-03", 0, 0,
                       "a write after the %s was done sending", SIDE_NAME(v->side));
}

/* Returns the begin of a write in the stream. Writes go on from the producer cursor, and have wrapped if they
 * lie before it; after a move they may begin at bytes that the peer has not consumed yet (SMCR-FOV-09,
 * FOV-12). */
static uint64_t position_of(const struct smc_conn *c, unsigned side, uint32_t offset, uint32_t cap)
{
    const struct smc_half *mine = &c->half[side], *peer = &c->half[!side];
    uint64_t back = (uint64_t)((int64_t)mine->producer.offset - (int64_t)offset + cap) % cap;
    if (mine->is_replaying && mine->produced >= peer->consumed && back <= mine->produced - peer->consumed)
        return mine->produced - back;
    return mine->produced + (cap - back) % cap;
}

/* The first packet of a write: it names the place of all of it. */
static void begin_write(struct smc_view *v)
{
    const struct roce_pkt *pkt = &v->packet->roce;
    uint32_t offset;
    struct smc_conn *c = conn_at(v, &pkt->reth, &offset);
    if (!c || pkt->reth.dma_len == 0)
        return;
    struct smc_half *h = &c->half[v->side];
    if (h->is_producer_cut) /* its place in the stream is not known */
        return;
    uint32_t cap = cap_of(v->group, c->half[!v->side].elem_bytes);
    uint64_t from = position_of(c, v->side, offset, cap);
    struct smc_write *w = &v->group->links[v->link].writes[v->side][v->m->message % SMC_WRITES_MAX];
    if (w->message == v->m->message && w->conn == c->id)
        from = w->from; /* again: the cursor may have moved on */
    else if (v->is_repeat)
        return;
    else
        judge_write(v, c, offset, pkt->reth.dma_len, from);
    if (w->message != v->m->message)
        c->shown.writes[v->side]++;
    if (!v->is_repeat && from < h->produced) {
        uint64_t old = h->produced - from;
        c->shown.replayed_bytes[v->side] += old < pkt->reth.dma_len ? old : pkt->reth.dma_len;
    }
    *w = (struct smc_write){.message = v->m->message, .conn = c->id, .from = from};
    c->shown.last_number = v->packet->number;
    c->shown.last_ns = v->packet->time_ns;
    say_data(v, c->id, from, pkt->payload_bytes);
    if (!v->is_repeat && from < h->produced)
        explain_smc_say(v, ", written again after the move");
}

void explain_smc_rdma_write(struct smc_view *v)
{
    const struct roce_pkt *pkt = &v->packet->roce;
    if (pkt->op->flags & ROCE_PKT_RETH) {
        begin_write(v);
        return;
    }
    const struct smc_write *w = &v->group->links[v->link].writes[v->side][v->m->message % SMC_WRITES_MAX];
    if (v->m->message && w->message == v->m->message && v->m->bytes_done >= pkt->payload_bytes)
        say_data(v, w->conn, w->from + v->m->bytes_done - pkt->payload_bytes, pkt->payload_bytes);
}
