/* SPDX-License-Identifier: BSD-2-Clause */
/* The handshakes: connections begin when their Proposal is seen, the peer's messages are fed, the endpoint's
 * compared. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/smc/inner.h"

#define BUFFER_BYTES \
    (1u << 20) /* what the program writes is to fit: its own buffer the capture does not tell */

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
    const struct smcr_accept *own = c->has_confirm || c->is_own_server ? smcplay_own(c) : NULL;
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
    c->is_begun = smcr_conn_create(s->smcr, &config, s->now_ns, &c->engine) == 0;
    if (!c->is_begun)
        return;
    smcr_conn_set_urgent_inline(c->engine, true);
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
                     engine.type == recorded.type && n == SMCR_ACCEPT_BYTES;
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

/* The recorded end gave up, for a reason of its own, where the engine has said something else, or nothing. */
static bool is_unexplained(const struct smcplay_conn *c, enum explain_layer_id id)
{
    struct smcr_clc engine = {.type = 0};
    if (c->sent_bytes >= SMCR_CLC_BYTES)
        smcr_clc_get(&engine, c->sent);
    return id == EXPLAIN_LAYER_CLC_DECLINE && engine.type != SMCR_CLC_DECLINE;
}

static void sent(struct smcplay *s, struct smcplay_conn *c, const struct explain_packet *p, unsigned layer)
{
    static const char *const names[] = {"CLC", "CLC Proposal", "CLC Accept", "CLC Confirm", "CLC Decline"};
    struct smcr_clc clc;
    uint32_t at = p->layers[layer].offset;
    smcr_clc_get(&clc, p->frame + at);
    struct explain_smc_compared told = {
        .number = p->number, .message = names[clc.type > 4 ? 0 : clc.type], .connection = c->index};
    if (is_unexplained(c, p->layers[layer].kind->id)) {
        smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_DECLINED);
        c->sent_bytes = 0;
        if (c->engine)
            smcr_conn_release(c->engine, false, s->now_ns);
        c->engine = NULL;
    } else {
        compare(s, c, p, at, &told);
    }
}

/* The recorded Proposal offers version 2 as well, which the engine does not. */
static void propose_otherwise(struct smcplay *s, struct smcplay_conn *c, const struct explain_packet *p)
{
    struct explain_smc_compared told = {
        .number = p->number, .message = "CLC Proposal", .connection = c->index};
    c->sent_bytes = 0;
    smcplay_tell(s, &told, EXPLAIN_SMC_REPLAY_UNKNOWN);
}

static void got(struct smcplay *s, struct smcplay_conn *c, const struct explain_packet *p, unsigned layer)
{
    struct smcr_clc clc;
    uint32_t at = p->layers[layer].offset;
    smcr_clc_get(&clc, p->frame + at);
    if (!c->engine || clc.length > p->len_bytes - at)
        return;
    s->cause = p->number;
    s->result->fed++;
    smcr_conn_tcp_input(c->engine, p->frame + at, clc.length, s->now_ns);
    smcplay_engine_work(s);
}

void smcplay_clc(struct smcplay *s, const struct explain_packet *p, struct smcplay_conn *c, bool is_own)
{
    for (unsigned i = 0; i < p->layer_count; i++) {
        enum explain_layer_id id = p->layers[i].kind->id;
        bool begins = id == EXPLAIN_LAYER_CLC_PROPOSAL || id == EXPLAIN_LAYER_CLC2_PROPOSAL;
        if (!begins && !smcplay_is_clc(id))
            continue;
        unsigned seen = 1u << (2 * (id - EXPLAIN_LAYER_CLC) + is_own);
        if (c->seen & seen)
            continue; /* TCP sends it again */
        c->seen |= seen;
        if (begins && !(c->is_own_server && c->has_own_declined))
            begin(s, c, p);
        if (is_own && id == EXPLAIN_LAYER_CLC2_PROPOSAL)
            propose_otherwise(s, c, p);
        else if (is_own)
            sent(s, c, p, i);
        else
            got(s, c, p, i);
    }
}
