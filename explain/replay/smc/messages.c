/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC and CDC messages, RDMA writes and acknowledgements of the links. */
#include "explain/replay/smc/messages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/smc/clc.h"
#include "explain/replay/smc/engine.h"
#include "explain/replay/smc/keys.h"
#include "explain/replay/smc/match.h"
#include "explain/replay/smc/program.h"
#include "explain/replay/smc/who.h"
#include "explain/replay/tape.h"
#include "net/bytes.h"
#include "roce/psn.h"

#define JUMPS_MAX   16
#define JUMP_NS     (UINT64_C(1000) * NS_PER_S)
#define AHEAD_MAX   4096            /* packets in which the answer to an ADD LINK is looked for */
#define CROSSING_NS (2 * NS_PER_MS) /* as of packets: explain/replay/requester.c */
#define FLUSHES     2               /* a cork is drawn after a nanosecond */

/* --- the engine's messages that wait --- */

static bool is_alike(const struct smcplay_message *m, const uint8_t *recorded)
{
    struct smcr_delete_link d, e;
    smcr_delete_link_get(&d, recorded);
    smcr_delete_link_get(&e, m->bytes);
    return d.type == e.type && d.response == e.response &&
           (smcplay_type(recorded) != SMCR_LLC_DELETE_LINK || d.response || d.all == e.all);
}

static struct smcplay_message *take(struct smcplay_link *l, struct smcplay_message **at)
{
    struct smcplay_message *m = *at;
    *at = m->next;
    if (!m->next)
        l->last = at;
    return m;
}

static struct smcplay_message *take_llc(struct smcplay_link *l, const uint8_t *recorded)
{
    for (struct smcplay_message **at = &l->first; *at; at = &(*at)->next)
        if (is_alike(*at, recorded))
            return take(l, at);
    return NULL;
}

/* The engine's next CDC of that connection among those from `from` on; NULL: there is none. */
static struct smcplay_message **next_cdc(uint32_t token, struct smcplay_message **from)
{
    for (struct smcplay_message **at = from; *at; at = &(*at)->next)
        if ((*at)->bytes[0] == SMCR_CDC && get_be32((*at)->bytes + 4) == token)
            return at;
    return NULL;
}

/* Remembers that the two are the same post: an acknowledgement of one is one of the other. */
static void pair_posts(struct smcplay_link *l, uint32_t recorded_psn, uint32_t engine_psn)
{
    if (l->send_count == SMCPLAY_SENDS) {
        memmove(l->sends, l->sends + 1, (SMCPLAY_SENDS - 1) * sizeof *l->sends);
        l->send_count--;
    }
    l->sends[l->send_count].recorded = recorded_psn;
    l->sends[l->send_count++].engine = engine_psn;
}

/* The recorded end has nothing outstanding: nor has the engine. */
static void ack_all(struct smcplay *s, struct smcplay_link *l)
{
    if (l->is_engine_psn_known)
        smcplay_engine_ack(s, l, roce_psn_add(l->engine_psn, ROCE_PSN_MASK));
}

/* The same for all links of its group. */
static void ack_group(struct smcplay *s, const struct smcplay_link *l)
{
    for (unsigned i = 0; i < s->link_count; i++)
        if (s->links[i].group == l->group)
            ack_all(s, &s->links[i]);
}

/* --- LLC --- */

static void port_of_link_fails(struct smcplay *s, const struct smcplay_link *l)
{
    if (l && l->engine_qpn)
        smcplay_engine_port(s, l->port, false);
}

static void port_returns(struct smcplay *s, const uint8_t *message)
{
    struct smcr_add_link m = smcplay_add_link(message);
    for (unsigned i = 0; i < s->port_count && !m.rejected; i++)
        if (memcmp(s->ports[i].gid.b, m.gid, sizeof m.gid) == 0)
            smcplay_engine_port(s, i, true);
}

static bool has_more_conns(const struct smcplay *s)
{
    for (unsigned i = 0; i < s->conn_count; i++)
        if (s->conns[i].is_own_known && s->conns[i].clc.proposal > s->at)
            return true;
    return false;
}

/* The endpoint gives an RMB back; its connection has ended, so all of it has arrived. */
static void give_back(struct smcplay *s, const struct smcplay_link *l, const uint8_t *recorded)
{
    struct smcr_delete_rkey m; /* version 2 has its keys in the same place */
    smcr_delete_rkey_get(&m, recorded);
    const struct smcplay_key *key = smcplay_key_of(s, smcplay_link_number(s, l), get_be32(m.rkeys));
    ack_group(s, l);
    if (key)
        smcr_give_back(s->smcr, key->rkey[1], s->now_ns);
    smcplay_engine_work(s);
}

/* Something happened to the endpoint that no packet tells: a port of its failed, or came back; a timer
 * fired. */
static struct smcplay_message *provoke_llc(struct smcplay *s, struct smcplay_link *l, const uint8_t *recorded)
{
    struct smcr_delete_link m;
    smcr_delete_link_get(&m, recorded);
    bool deletes = smcplay_type(recorded) == SMCR_LLC_DELETE_LINK && !m.response;
    if (deletes && !m.all && m.reason == SMCR_DELETE_LOST_PATH)
        port_of_link_fails(s, smcplay_link_by_number(s, l, m.link));
    if (deletes && m.all && m.reason == SMCR_DELETE_OPERATOR && !has_more_conns(s)) {
        smcr_retire(s->smcr, s->now_ns);
        smcplay_engine_work(s);
    }
    if (smcplay_type(recorded) == SMCR_LLC_ADD_LINK)
        port_returns(s, recorded);
    struct smcplay_message *e = take_llc(l, recorded);
    for (unsigned i = 0; i < JUMPS_MAX && !e && !m.response; i++) {
        if (!smcplay_engine_jump(s, JUMP_NS))
            break;
        e = take_llc(l, recorded);
    }
    return e;
}

static uint32_t confirmed_rkey(const uint8_t *message)
{
    struct smcr_confirm_rkey m; /* version 2 has it in the same place */
    smcr_confirm_rkey_get(&m, message);
    return m.rkey;
}

static bool deletes_all(const uint8_t *message)
{
    struct smcr_delete_link m;
    smcr_delete_link_get(&m, message);
    return smcplay_type(message) == SMCR_LLC_DELETE_LINK && !m.response && m.all;
}

/* A client of Linux answers the DELETE LINK of all links with its own. */
static bool is_told_the_end(const struct smcplay *s, const struct smcplay_link *l, const uint8_t *recorded)
{
    bool is_ended = false;
    for (unsigned i = 0; i < s->link_count; i++)
        is_ended |= s->links[i].group == l->group && s->links[i].is_ended;
    return is_ended && deletes_all(recorded);
}

static void sent_llc(struct smcplay *s, struct smcplay_link *l, const struct explain_packet *p)
{
    const uint8_t *recorded = p->roce.payload;
    struct explain_smc_compared told = {
        .number = p->number, .message = smcplay_message_name(recorded), .link = smcplay_link_number(s, l)};
    bool is_request = !net_bits_get(recorded, SMCR_LLC_RESPONSE_BIT, 1);
    uint8_t type = smcplay_type(recorded);
    if (is_request && type == SMCR_LLC_CONFIRM_RKEY)
        smcplay_clc_release(s, confirmed_rkey(recorded));
    struct smcplay_message *e = take_llc(l, recorded);
    if (!e && is_request && type == SMCR_LLC_DELETE_RKEY) {
        give_back(s, l, recorded);
        e = take_llc(l, recorded);
    }
    if (!e && is_request && type == SMCR_LLC_TEST_LINK) {
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_TEST);
        return;
    }
    if (!e && is_request && l->fed_request == recorded[0] && s->now_ns - l->fed_ns < CROSSING_NS) {
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_CROSSED);
        return;
    }
    if (!e && is_told_the_end(s, l, recorded)) {
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_ENDED);
        return;
    }
    if (!e)
        e = provoke_llc(s, l, recorded);
    if (!e) {
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_ONLY_RECORD);
        return;
    }
    smcplay_compare(p, (uint32_t)(recorded - p->frame), e->bytes, e->len_bytes, &told);
    smcplay_keys_learn(s, l, recorded, e->bytes);
    pair_posts(l, p->roce.bth.psn, e->psn);
    smcplay_tell(s, &told, told.diff_count ? EXPLAIN_SMC_REPLAY_DIFFERENT : EXPLAIN_SMC_REPLAY_EQUAL);
    free(e);
}

/* --- CDC --- */

static bool is_before(uint16_t wrap_a, uint32_t at_a, uint16_t wrap_b, uint32_t at_b)
{
    int16_t wraps = (int16_t)(uint16_t)(wrap_a - wrap_b);
    return wraps ? wraps < 0 : at_a <= at_b;
}

/* Returns whether the recorded message tells all that `m` tells, or more. */
static bool is_covered(const struct smcplay_message *m, const struct smcr_cdc *recorded)
{
    struct smcr_cdc e;
    smcr_cdc_get(&e, m->bytes);
    return e.failover_validation == recorded->failover_validation &&
           e.connection_closed <= recorded->connection_closed && e.sending_done <= recorded->sending_done &&
           is_before(e.producer_wrap, e.producer_cursor, recorded->producer_wrap,
                     recorded->producer_cursor) &&
           is_before(e.consumer_wrap, e.consumer_cursor, recorded->consumer_wrap, recorded->consumer_cursor);
}

/* The newest of the engine's that tells no more than the recorded one; those before it have merged into
 * that. */
static struct smcplay_message *take_cdc(struct smcplay *s, struct smcplay_link *l, struct smcplay_conn *c,
                                        const struct smcr_cdc *recorded)
{
    struct smcplay_message **at = next_cdc(recorded->alert_token, &l->first);
    while (at) {
        struct smcplay_message **next = next_cdc(recorded->alert_token, &(*at)->next);
        if (!next || !is_covered(*next, recorded))
            return take(l, at);
        struct smcplay_message *merged = take(l, at);
        struct explain_smc_compared told = {.cause = merged->cause,
                                            .message = "CDC",
                                            .connection = c->index,
                                            .link = smcplay_link_number(s, l)};
        c->cdc.seq_shift++;
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_UPDATE_ENGINE);
        free(merged);
        at = next_cdc(recorded->alert_token, &l->first);
    }
    return NULL;
}

static bool is_established(const struct smcplay_conn *c)
{
    struct smcr_conn_status status = {.established = false};
    if (c->engine.conn)
        smcr_conn_status(c->engine.conn, &status);
    return !c->engine.conn || status.established;
}

/* Lets the program act; if the engine says nothing yet after that, the writes that wait for more are let
 * go. */
static struct smcplay_message *provoke_cdc(struct smcplay *s, struct smcplay_link *l, struct smcplay_conn *c,
                                           const struct smcplay_cdc *cdc)
{
    bool moves = cdc->cdc.failover_validation && c->cdc.link && c->cdc.link != smcplay_link_number(s, l);
    if (moves && !next_cdc(cdc->cdc.alert_token, &l->first))
        port_of_link_fails(s, &s->links[c->cdc.link - 1]);
    if (!is_established(c))
        ack_group(s, l); /* an end that sends data has found the links confirmed, or did not wait for that */
    smcplay_program_acts(s, c, cdc);
    bool ends = cdc->cdc.sending_done || cdc->cdc.connection_closed;
    if (ends &&
        (c->engine.is_done < cdc->cdc.sending_done || c->engine.is_closed < cdc->cdc.connection_closed))
        ack_all(s, l); /* an end that closes has nothing outstanding: SMCR-CLS-03 */
    struct smcplay_message *e = take_cdc(s, l, c, &cdc->cdc);
    for (unsigned i = 0; i < FLUSHES && !e; i++) {
        smcplay_engine_advance(s, s->now_ns + 1);
        e = take_cdc(s, l, c, &cdc->cdc);
    }
    return e;
}

/* It tells of nothing but that the program has read on. */
static bool is_update(const struct smcplay_conn *c, const struct smcplay_cdc *cdc)
{
    const struct smcplay_cdc *before = cdc > c->cdc.list ? cdc - 1 : NULL;
    uint64_t produced = before ? before->produced : 0;
    const struct smcr_cdc *m = &cdc->cdc, none = {0}, *old = before ? &before->cdc : &none;
    return cdc->produced == produced && m->writer_blocked == old->writer_blocked &&
           m->urgent_pending == old->urgent_pending && !m->urgent_present && !m->failover_validation &&
           m->sending_done == old->sending_done && m->connection_closed == old->connection_closed &&
           !m->abnormal_close;
}

/* The recorded end has an urgent byte in the same place. */
static bool is_urgent_there(const struct smcplay_conn *c, uint64_t produced)
{
    for (size_t i = 0; i < c->cdc.count; i++)
        if (c->cdc.list[i].cdc.urgent_present && c->cdc.list[i].produced == produced)
            return true;
    return false;
}

/* They differ in nothing but how far the cursors have come, and in the consequences: whether that fills
 * the peer's window, or is the place of the urgent byte. How a stream is cut is free; that its bytes are
 * right was seen when the engine wrote them, that all of them come is seen at the end (replay.c). */
static bool is_cut_elsewhere(const struct smcplay_conn *c, const struct smcr_cdc *recorded,
                             const struct smcplay_message *e, const struct smcr_cdc *engine)
{
    struct smcr_cdc like = *engine;
    like.seq = recorded->seq;
    like.producer_wrap = recorded->producer_wrap;
    like.producer_cursor = recorded->producer_cursor;
    like.consumer_wrap = recorded->consumer_wrap;
    like.consumer_cursor = recorded->consumer_cursor;
    like.writer_blocked = recorded->writer_blocked;
    like.urgent_pending = recorded->urgent_pending;
    like.urgent_present = recorded->urgent_present;
    if (recorded->connection_closed)
        like.sending_done = recorded->sending_done; /* C implies it: SMCR-CLS-11 */
    uint8_t a[SMCR_MSG_BYTES] = {0}, b[SMCR_MSG_BYTES] = {0};
    smcr_cdc_put(a, &like);
    smcr_cdc_put(b, recorded);
    return memcmp(a, b, sizeof a) == 0 && (uint16_t)(engine->seq - recorded->seq) == c->cdc.seq_shift &&
           (!engine->urgent_present || is_urgent_there(c, e->produced));
}

/* How far the engine's sequence number is from the expected one after the recorded one; 0: it is that. A
 * failover validation names the last message that the endpoint knows to have arrived: an older one may be
 * all that it had heard of. Messages that it had posted on the dead link and that never came out have used
 * numbers up. */
static int compare_seq(struct smcplay_conn *c, const struct smcr_cdc *recorded, const struct smcr_cdc *engine)
{
    int ahead = smcr_seq_ahead(recorded->seq, (uint16_t)(engine->seq - c->cdc.seq_shift));
    bool has_moved = c->cdc.has_moved;
    c->cdc.has_moved = recorded->failover_validation;
    if (recorded->failover_validation)
        return ahead < 0 ? 0 : ahead;
    if (!has_moved || ahead <= 0)
        return ahead;
    c->cdc.seq_shift = (uint16_t)(c->cdc.seq_shift - ahead);
    return 0;
}

/* `equal`: the outcome if nothing differs. */
static void compare_cdc(struct smcplay *s, struct smcplay_link *l, struct smcplay_conn *c,
                        const struct explain_packet *p, const struct smcplay_message *e,
                        enum explain_smc_replay_outcome equal, struct explain_smc_compared *told)
{
    struct smcr_cdc r, m;
    smcr_cdc_get(&r, p->roce.payload);
    smcr_cdc_get(&m, e->bytes);
    smcplay_compare(p, (uint32_t)(p->roce.payload - p->frame), e->bytes, e->len_bytes, told);
    if (compare_seq(c, &r, &m) != 0 && told->diff_count < EXPLAIN_DIFFS_MAX) {
        struct explain_field_diff *d = &told->diffs[told->diff_count++];
        *d = (struct explain_field_diff){.layer = "cdc", .field = "seq"};
        snprintf(d->recorded, sizeof d->recorded, "%u", r.seq);
        snprintf(d->engine, sizeof d->engine, "%u", (uint16_t)(m.seq - c->cdc.seq_shift));
    }
    bool is_cut = told->diff_count > 0 && is_cut_elsewhere(c, &r, e, &m) && !e->is_misplaced;
    if (e->is_misplaced && told->diff_count < EXPLAIN_DIFFS_MAX) {
        struct explain_field_diff *d = &told->diffs[told->diff_count++];
        *d = (struct explain_field_diff){.layer = "rdma_write", .field = "data"};
        snprintf(d->recorded, sizeof d->recorded, "the stream");
        snprintf(d->engine, sizeof d->engine, "another byte at %" PRIu64, e->misplaced_at);
    }
    pair_posts(l, p->roce.bth.psn, e->psn);
    if (is_cut)
        smcplay_tell(s, told, EXPLAIN_SMC_REPLAY_CUT);
    else
        smcplay_tell(s, told, told->diff_count ? EXPLAIN_SMC_REPLAY_DIFFERENT : equal);
}

/* The engine has told of all that before. */
static bool is_ahead(const struct smcplay_conn *c, const struct smcplay_cdc *cdc)
{
    const struct smcr_cdc *m = &cdc->cdc;
    return c->engine.image.position >= cdc->produced && !m->failover_validation &&
           (!m->urgent_present || c->engine.urgent >= cdc->produced) &&
           (m->sending_done == c->engine.is_done || m->connection_closed) &&
           m->connection_closed == c->engine.is_closed && !m->abnormal_close;
}

/* The peer has heard by the recorded message how far was read, and writes up to there: the engine, which
 * would have waited, has told it as well. */
static struct smcplay_message *tell_update(struct smcplay *s, struct smcplay_link *l, struct smcplay_conn *c,
                                           const struct smcplay_cdc *cdc)
{
    if (!c->engine.conn || !is_update(c, cdc))
        return NULL;
    smcr_conn_tell(c->engine.conn, s->now_ns);
    smcplay_engine_work(s);
    return take_cdc(s, l, c, &cdc->cdc);
}

static void sent_cdc(struct smcplay *s, struct smcplay_link *l, const struct explain_packet *p)
{
    struct smcplay_conn *c = smcplay_conn_by_peer_token(s, get_be32(p->roce.payload + 4), s->at);
    if (!c || !c->engine.is_begun || c->cdc.next == c->cdc.count)
        return;
    const struct smcplay_cdc *cdc = &c->cdc.list[c->cdc.next++];
    struct explain_smc_compared told = {
        .number = p->number, .message = "CDC", .connection = c->index, .link = smcplay_link_number(s, l)};
    if (!cdc->has_data) {
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_UNKNOWN);
        return;
    }
    struct smcplay_message *e = provoke_cdc(s, l, c, cdc);
    enum explain_smc_replay_outcome equal = e ? EXPLAIN_SMC_REPLAY_EQUAL : EXPLAIN_SMC_REPLAY_UPDATE_RECORD;
    c->cdc.link = smcplay_link_number(s, l);
    e = e ? e : tell_update(s, l, c, cdc);
    if (e) {
        compare_cdc(s, l, c, p, e, equal, &told);
        free(e);
        return;
    }
    c->cdc.seq_shift--;
    if (is_update(c, cdc))
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_UPDATE_RECORD);
    else
        smcplay_tell(s, &told, is_ahead(c, cdc) ? EXPLAIN_SMC_REPLAY_CUT : EXPLAIN_SMC_REPLAY_ONLY_RECORD);
}

void smcplay_sent(struct smcplay *s, struct smcplay_link *l, const struct explain_packet *p)
{
    if (!(p->roce.op->flags & ROCE_PKT_REQUEST))
        return;
    if (l->is_sent_known && roce_psn_diff(p->roce.bth.psn, l->sent_psn) < 0)
        return; /* again */
    l->is_sent_known = true;
    l->sent_psn = roce_psn_add(p->roce.bth.psn, 1);
    if (!smcplay_is_message(&p->roce))
        return;
    if (p->roce.payload[0] == SMCR_CDC)
        sent_cdc(s, l, p);
    else
        sent_llc(s, l, p);
}

/* --- from the peer --- */

static void got_ack(struct smcplay *s, struct smcplay_link *l, const struct explain_packet *p)
{
    if (!(p->roce.op->flags & ROCE_PKT_AETH) || roce_syndrome_kind(p->roce.aeth.syndrome) != ROCE_SYN_ACK)
        return;
    if (roce_psn_diff(roce_psn_add(p->roce.bth.psn, 1), l->sent_psn) >= 0)
        ack_all(s, l);
    for (unsigned i = l->send_count; i-- > 0;)
        if (roce_psn_diff(l->sends[i].recorded, p->roce.bth.psn) <= 0) {
            smcplay_engine_ack(s, l, l->sends[i].engine);
            return;
        }
}

/* A port that was down must be up again for the answer that the recorded end gave. */
static void prepare_answer(struct smcplay *s, const struct smcplay_link *l, size_t i)
{
    struct explain_packet p;
    bool is_own;
    for (size_t j = i + 1; j < s->tape->count && j < i + AHEAD_MAX; j++) {
        explain_tape_packet(s->tape, j, &p);
        if (!smcplay_has_message(&p) || smcplay_type(p.roce.payload) != SMCR_LLC_ADD_LINK ||
            smcplay_link_of(s, &p.roce, &is_own) != l || !is_own)
            continue;
        port_returns(s, p.roce.payload);
        return;
    }
}

static void put(uint8_t *frame, const struct explain_packet *p, unsigned layer, const char *field,
                uint64_t value)
{
    const struct net_field *f = explain_header_field(p->layers[layer].kind->header, field, strlen(field));
    net_bits_put(frame + p->layers[layer].offset, f->first_bit, f->width_bits, value);
}

/* The frame as it is to the engine. */
static void translate(struct smcplay *s, const struct smcplay_link *l, const struct explain_packet *p,
                      uint8_t *frame)
{
    for (unsigned i = 0; i < p->layer_count; i++) {
        enum explain_layer_id id = p->layers[i].kind->id;
        const struct smcplay_key *key = NULL;
        if (id == EXPLAIN_LAYER_UDP)
            /* none: the bytes that it covers change, and the ICRC leaves it out */
            put(frame, p, i, "checksum", 0);
        if (id == EXPLAIN_LAYER_BTH)
            put(frame, p, i, "dest_qpn", l->engine_qpn);
        if (id == EXPLAIN_LAYER_RETH)
            key = smcplay_key_of(s, smcplay_link_number(s, l), p->roce.reth.rkey);
        if (!key)
            continue;
        put(frame, p, i, "rkey", key->rkey[1]);
        put(frame, p, i, "va", p->roce.reth.va - key->va[0] + key->va[1]);
    }
    if (smcplay_is_message(&p->roce))
        smcplay_keys_translate(s, l, frame + (p->roce.payload - p->frame));
    size_t l3 = (size_t)(p->roce.l3 - p->frame);
    put_le32(frame + p->icrc_offset, roce_icrc(frame + l3, p->roce.l3_kind, p->icrc_offset - l3));
}

void smcplay_got(struct smcplay *s, struct smcplay_link *l, size_t i, const struct explain_packet *p)
{
    if (!l->engine_qpn)
        return;
    if (p->roce.op->flags & ROCE_PKT_RESPONSE) {
        got_ack(s, l, p);
        return;
    }
    if (!(p->roce.op->flags & ROCE_PKT_REQUEST))
        return;
    if (smcplay_is_message(&p->roce)) {
        bool is_response = net_bits_get(p->roce.payload, SMCR_LLC_RESPONSE_BIT, 1);
        if (smcplay_type(p->roce.payload) == SMCR_LLC_ADD_LINK && !is_response)
            prepare_answer(s, l, i);
        l->is_ended |= deletes_all(p->roce.payload);
        if (p->roce.payload[0] != SMCR_CDC && !is_response) {
            l->fed_request = p->roce.payload[0];
            l->fed_ns = s->now_ns;
        }
    }
    uint8_t *frame = malloc(p->len_bytes);
    if (!frame) {
        s->is_out_of_memory = true;
        return;
    }
    memcpy(frame, p->frame, p->len_bytes);
    translate(s, l, p, frame);
    s->cause = p->number;
    smcplay_engine_feed(s, l, frame, p->len_bytes);
    free(frame);
}
