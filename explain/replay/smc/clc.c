/* SPDX-License-Identifier: BSD-2-Clause */
/* The handshakes: connections begin when their Proposal is seen, the peer's messages are fed, the endpoint's
 * compared. */
#include "explain/replay/smc/clc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/smc/engine.h"
#include "explain/replay/smc/keys.h"
#include "explain/replay/smc/learn.h"
#include "explain/replay/smc/match.h"
#include "explain/replay/smc/who.h"
#include "explain/replay/tape.h"

#define BUFFER_BYTES \
    (1u << 20) /* the data of the program are to fit: the capture does not tell its own buffer */

static int tcp_send(void *ctx, const uint8_t *bytes, size_t len_bytes)
{
    struct smcplay_conn *c = ctx;
    if (len_bytes > sizeof c->sent - c->sent_bytes)
        return -EMSGSIZE;
    memcpy(c->sent + c->sent_bytes, bytes, len_bytes);
    c->sent_bytes += len_bytes;
    return 0;
}

static void tcp_reset(void *ctx)
{
    (void)ctx;
}

static void begin(struct smcplay *s, struct smcplay_conn *c, const struct explain_packet *p)
{
    if (c->engine.is_begun)
        return;
    const struct smcr_accept *own = c->clc.has_confirm || c->is_own_server ? smcplay_own(c) : NULL;
    struct smcr_conn_config config = {
        .role = c->is_own_server ? SMCR_SERVER : SMCR_CLIENT,
        .local = c->addr[c->is_own_server],
        .remote = c->addr[!c->is_own_server],
        .local_port = c->port[c->is_own_server],
        .remote_port = c->port[!c->is_own_server],
        .vlan_id = s->port_count ? s->ports[0].vlan_id : 0,
        .rcvbuf_bytes = own ? smcr_cap_bytes(SMCR_CURSOR_START, smcplay_elem_bytes(own)) : 0,
        .sndbuf_bytes = BUFFER_BYTES,
        .tcp = {.send = tcp_send, .reset = tcp_reset},
        .ctx = c,
    };
    config.num_networks = smcplay_networks(p, &config.local, config.networks, SMCR_MAX_NETWORKS);
    c->engine.is_begun = smcr_conn_create(s->smcr, &config, s->now_ns, &c->engine.conn) == 0;
    if (!c->engine.is_begun)
        return;
    smcr_conn_set_urgent_inline(c->engine.conn, true);
    s->result->connections++;
    smcplay_engine_work(s);
}

/* The endpoint's ends of Accept and Confirm: QPN, key and token of the engine. */
static void learn(struct smcplay *s, struct smcplay_conn *c, const struct smcr_accept *recorded,
                  const struct smcr_accept *engine, struct explain_smc_compared *told)
{
    struct nornic_addr gid;
    memcpy(gid.b, recorded->gid, sizeof gid.b);
    struct smcplay_link *l = smcplay_link_made(s, &gid, recorded->qpn, engine->qpn);
    c->own_token[0] = recorded->alert_token;
    c->own_token[1] = engine->alert_token;
    if (l && l->engine_qpn != engine->qpn && told->diff_count < EXPLAIN_DIFFS_MAX) {
        struct explain_field_diff *d = &told->diffs[told->diff_count++];
        *d = (struct explain_field_diff){.layer = "clc", .field = "qpn"};
        snprintf(d->recorded, sizeof d->recorded, "that of link %u", smcplay_link_number(s, l));
        snprintf(d->engine, sizeof d->engine, "that of another link");
    } else if (l) {
        smcplay_keys_pair(s, smcplay_link_number(s, l), (uint32_t[]){recorded->rkey, engine->rkey},
                          (uint64_t[]){recorded->va, engine->va});
    }
}

static void compare(struct smcplay *s, struct smcplay_conn *c, const struct explain_packet *p, uint32_t at,
                    struct explain_smc_compared *told)
{
    struct smcr_clc recorded, engine;
    smcr_clc_get(&recorded, p->frame + at);
    if (c->sent_bytes < SMCR_CLC_BYTES) {
        smcplay_tell(s, told, EXPLAIN_SMC_REPLAY_ONLY_RECORD);
        return;
    }
    smcr_clc_get(&engine, c->sent);
    size_t n = min_u32(engine.length, (uint32_t)c->sent_bytes);
    smcplay_compare(p, at, c->sent, n, told);
    bool names_end = (recorded.type == SMCR_CLC_ACCEPT || recorded.type == SMCR_CLC_CONFIRM) &&
                     engine.type == recorded.type && n >= SMCR_ACCEPT_BYTES;
    if (names_end) {
        struct smcr_accept r, e;
        smcr_accept_get(&r, p->frame + at);
        smcr_accept_get(&e, c->sent);
        learn(s, c, &r, &e, told);
    }
    memmove(c->sent, c->sent + n, c->sent_bytes - n);
    c->sent_bytes -= n;
    smcplay_tell(s, told, told->diff_count ? EXPLAIN_SMC_REPLAY_DIFFERENT : EXPLAIN_SMC_REPLAY_EQUAL);
}

/* The recorded end gave up, for a reason of its own, after the engine has said something else, or nothing. */
static bool is_unexplained(const struct smcplay_conn *c, unsigned recorded_type)
{
    struct smcr_clc engine = {.type = 0};
    if (c->sent_bytes >= SMCR_CLC_BYTES)
        smcr_clc_get(&engine, c->sent);
    return recorded_type == SMCR_CLC_DECLINE && engine.type != SMCR_CLC_DECLINE;
}

static void sent(struct smcplay *s, struct smcplay_conn *c, const struct explain_packet *p, unsigned layer)
{
    static const char *const names[] = {"CLC", "CLC Proposal", "CLC Accept", "CLC Confirm", "CLC Decline"};
    struct smcr_clc clc;
    uint32_t at = p->layers[layer].offset;
    smcr_clc_get(&clc, p->frame + at);
    struct explain_smc_compared told = {
        .number = p->number, .message = names[clc.type > 4 ? 0 : clc.type], .connection = c->index};
    if (is_unexplained(c, clc.type)) {
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_DECLINED);
        c->sent_bytes = 0;
        if (c->engine.conn)
            smcr_conn_release(c->engine.conn, false, s->now_ns);
        c->engine.conn = NULL;
    } else {
        compare(s, c, p, at, &told);
    }
}

/* --- from the peer --- */

static void feed(struct smcplay *s, struct smcplay_conn *c, const struct explain_packet *p, uint32_t at)
{
    struct smcr_clc clc;
    smcr_clc_get(&clc, p->frame + at);
    if (!c->engine.conn || clc.length > p->len_bytes - at)
        return;
    s->cause = p->number;
    s->result->fed++;
    smcr_conn_tcp_input(c->engine.conn, p->frame + at, clc.length, s->now_ns);
    smcplay_engine_work(s);
}

/* The endpoint has come to the message that waits for it. */
static void release(struct smcplay *s, struct smcplay_conn *c)
{
    struct explain_packet p;
    if (!c->held.is_there)
        return;
    c->held.is_there = false;
    explain_tape_packet(s->tape, c->held.packet, &p);
    if (c->is_own_server && !c->clc.has_own_declined)
        begin(s, c, &p);
    feed(s, c, &p, c->held.at);
}

/* Several connections' messages wait for the one thread, or the other, that takes them; in which order is
 * scheduling, and when it is their turn is seen when the endpoint tells of the key of their buffer, or
 * answers. So a Proposal to a server and an Accept to a client are kept until then. */
static void got(struct smcplay *s, struct smcplay_conn *c, size_t i, const struct explain_packet *p,
                unsigned layer, unsigned type)
{
    uint32_t at = p->layers[layer].offset;
    if (type != (c->is_own_server ? SMCR_CLC_PROPOSAL : SMCR_CLC_ACCEPT)) {
        feed(s, c, p, at);
        return;
    }
    c->held.is_there = true;
    c->held.packet = i;
    c->held.at = at;
}

void smcplay_clc_release(struct smcplay *s, uint32_t rkey)
{
    struct smcplay_conn *first = NULL;
    for (unsigned i = 0; i < s->conn_count; i++) {
        struct smcplay_conn *c = &s->conns[i];
        if (c->held.is_there && c->clc.own_at && smcplay_own(c)->rkey == rkey &&
            (!first || c->clc.own_at < first->clc.own_at))
            first = c;
    }
    if (first)
        release(s, first);
}

void smcplay_clc(struct smcplay *s, size_t i, const struct explain_packet *p, struct smcplay_conn *c,
                 bool is_own)
{
    for (unsigned k = 0; k < p->layer_count; k++) {
        unsigned type = smcplay_clc_type(p->layers[k].kind->id), seen = 1u << (2 * type + is_own);
        if (type == 0 || c->clc.seen & seen)
            continue; /* TCP sends it again */
        c->clc.seen |= seen;
        if (!is_own) {
            got(s, c, i, p, k, type);
            continue;
        }
        if (type == SMCR_CLC_PROPOSAL)
            begin(s, c, p);
        release(s, c);
        sent(s, c, p, k);
    }
}
