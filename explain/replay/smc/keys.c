/* SPDX-License-Identifier: BSD-2-Clause */
/* What the endpoint chose freely: keys and addresses of its memory by link, QPNs, tokens. The recorded
 * value and the engine's stand in the same place of two messages that were compared; whatever the peer says
 * of the one is fed with the other. */
#include "explain/replay/smc/keys.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"
#include "explain/replay/smc/match.h"
#include "explain/replay/smc/who.h"
#include "net/bytes.h"

void smcplay_keys_pair(struct smcplay *s, unsigned link, const uint32_t rkey[2], const uint64_t va[2])
{
    struct smcplay_key *keys = array_room(s->keys, &s->key_cap, s->key_count + 1, sizeof *keys);
    s->is_out_of_memory |= !keys;
    if (!keys)
        return;
    s->keys = keys;
    s->keys[s->key_count++] =
        (struct smcplay_key){.link = link, .rkey = {rkey[0], rkey[1]}, .va = {va[0], va[1]}};
}

const struct smcplay_key *smcplay_key_of(const struct smcplay *s, unsigned link, uint32_t rkey)
{
    for (size_t i = s->key_count; i-- > 0;)
        if (s->keys[i].link == link && s->keys[i].rkey[0] == rkey)
            return &s->keys[i];
    return NULL;
}

struct smcplay_link *smcplay_link_made(struct smcplay *s, const struct nornic_addr *gid,
                                       uint32_t recorded_qpn, uint32_t engine_qpn)
{
    struct smcplay_link *made = NULL;
    for (unsigned i = 0; i < s->link_count; i++) {
        struct smcplay_link *l = &s->links[i];
        if (l->own.qpn != recorded_qpn || !nornic_addr_equal(&l->own.gid, gid))
            continue;
        made = l;
        if (!l->engine_qpn || l->engine_qpn == engine_qpn)
            break;
    }
    if (!made || made->engine_qpn)
        return made;
    made->engine_qpn = engine_qpn;
    for (unsigned i = 0; i < s->port_count; i++)
        if (nornic_addr_equal(&s->ports[i].gid, gid))
            made->port = i;
    s->result->links++;
    return made;
}

/* --- places in messages that hold a key, and the address behind it --- */

struct places {
    uint8_t type;
    unsigned count;
    struct smcplay_key_place place[8];
};

static const struct places places[] = {
    {SMCR_LLC_ADD_LINK_CONT, 2, {{12, 16, 4}, {28, 32, 4}}},
    {SMCR_LLC_CONFIRM_RKEY, 3, {{5, 9, 0}, {18, 22, 17}, {31, 35, 30}}},
    {SMCR_LLC_CONFIRM_RKEY_CONT, 3, {{6, 10, 5}, {19, 23, 18}, {32, 36, 31}}},
    {SMCR_LLC_DELETE_RKEY,
     8,
     {{8, 0, 0}, {12, 0, 0}, {16, 0, 0}, {20, 0, 0}, {24, 0, 0}, {28, 0, 0}, {32, 0, 0}, {36, 0, 0}}},
};

static const struct places *places_of(const uint8_t *message)
{
    for (size_t i = 0; i < array_len(places); i++)
        if (places[i].type == smcplay_type(message))
            return &places[i];
    return NULL;
}

struct smcplay_link *smcplay_link_by_number(struct smcplay *s, const struct smcplay_link *via, uint8_t number)
{
    for (unsigned i = s->link_count; i-- > 0;)
        if (s->links[i].group == via->group && s->links[i].number == number && s->links[i].engine_qpn)
            return &s->links[i];
    return NULL;
}

const struct smcplay_key_place *smcplay_key_places(const uint8_t *message, unsigned *count)
{
    const struct places *of = places_of(message);
    *count = of ? of->count : 0;
    return of ? of->place : NULL;
}

static const struct smcplay_link *link_at(struct smcplay *s, const struct smcplay_link *via,
                                          const struct smcplay_key_place *place, const uint8_t *message)
{
    return place->link_at ? smcplay_link_by_number(s, via, message[place->link_at]) : via;
}

unsigned smcplay_rtokens(const uint8_t *message)
{
    struct smcr_llc2_head head;
    struct smcr_add_link2_ext ext;
    smcr_llc2_head_get(&head, message);
    uint32_t len = smcr_llc2_length(head.length), before = SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES;
    if (len < before)
        return 0;
    smcr_add_link2_ext_get(&ext, message + SMCR_MSG_BYTES);
    return min_u32(smcr_llc2_count(ext.rkey_count), (len - before) / SMCR_RTOKEN2_BYTES);
}

struct smcr_rtoken2 smcplay_rtoken(const uint8_t *message, unsigned i)
{
    struct smcr_rtoken2 token;
    smcr_rtoken2_get(&token, message + SMCR_MSG_BYTES + SMCR_ADD_LINK2_EXT_BYTES + i * SMCR_RTOKEN2_BYTES);
    return token;
}

/* They come in any order: the key on the link that carries the message says which RMB each is. */
static void learn_rtokens(struct smcplay *s, const struct smcplay_link *via, const struct smcplay_link *made,
                          const uint8_t *recorded, const uint8_t *engine)
{
    unsigned count = smcplay_rtokens(recorded), engine_count = smcplay_rtokens(engine);
    for (unsigned i = 0; i < count; i++) {
        struct smcr_rtoken2 r = smcplay_rtoken(recorded, i);
        const struct smcplay_key *known = smcplay_key_of(s, smcplay_link_number(s, via), r.reference_rkey);
        for (unsigned k = 0; k < engine_count && known; k++) {
            struct smcr_rtoken2 e = smcplay_rtoken(engine, k);
            if (e.reference_rkey != known->rkey[1])
                continue;
            smcplay_keys_pair(s, smcplay_link_number(s, made), (uint32_t[]){r.rkey, e.rkey},
                              (uint64_t[]){r.va, e.va});
            break;
        }
    }
}

/* Requests that tell of new keys. */
static void learn_keys(struct smcplay *s, const struct smcplay_link *via, const uint8_t *recorded,
                       const uint8_t *engine)
{
    const struct places *of = places_of(recorded);
    for (unsigned i = 0; of && i < of->count; i++) {
        const struct smcplay_key_place *at = &of->place[i];
        const struct smcplay_link *l = link_at(s, via, at, recorded);
        uint32_t rkey[2] = {get_be32(recorded + at->rkey_at), get_be32(engine + at->rkey_at)};
        if (!l || !at->va_at || rkey[0] == 0)
            continue;
        uint64_t va[2] = {get_be64(recorded + at->va_at), get_be64(engine + at->va_at)};
        smcplay_keys_pair(s, smcplay_link_number(s, l), rkey, va);
    }
}

/* The link of which the endpoint has told its end first by this message: its QPN is the engine's. */
static struct smcplay_link *learn_end(struct smcplay *s, const uint8_t *recorded, const uint8_t *engine)
{
    struct smcr_add_link r = smcplay_add_link(recorded), e = smcplay_add_link(engine);
    struct nornic_addr gid;
    memcpy(gid.b, r.gid, sizeof gid.b);
    return smcplay_link_made(s, &gid, r.qpn, e.qpn);
}

void smcplay_keys_learn(struct smcplay *s, struct smcplay_link *l, const uint8_t *recorded,
                        const uint8_t *engine)
{
    bool is_response = net_bits_get(recorded, SMCR_LLC_RESPONSE_BIT, 1);
    uint8_t type = smcplay_type(recorded);
    if (type == SMCR_LLC_ADD_LINK) {
        const struct smcplay_link *made = learn_end(s, recorded, engine);
        if (made && smcr_llc_is_v2(recorded[0]) && smcr_llc_is_v2(engine[0]))
            learn_rtokens(s, l, made, recorded, engine);
    } else if (!is_response || type == SMCR_LLC_ADD_LINK_CONT) {
        learn_keys(s, l, recorded, engine);
    }
}

static void translate_token(struct smcplay *s, uint8_t *message)
{
    struct smcr_cdc cdc;
    smcr_cdc_get(&cdc, message);
    for (unsigned i = s->conn_count; i-- > 0;) {
        const struct smcplay_conn *c = &s->conns[i];
        if (c->engine.is_begun && c->own_token[1] && c->own_token[0] == cdc.alert_token) {
            cdc.alert_token = c->own_token[1];
            smcr_cdc_put(message, &cdc);
            return;
        }
    }
}

void smcplay_keys_translate(struct smcplay *s, const struct smcplay_link *l, uint8_t *message)
{
    assert(l);
    const struct places *of = places_of(message);
    bool is_response = net_bits_get(message, SMCR_LLC_RESPONSE_BIT, 1);
    if (message[0] == SMCR_CDC)
        translate_token(s, message);
    if (!is_response || message[0] == SMCR_CDC || smcplay_type(message) == SMCR_LLC_ADD_LINK_CONT)
        return;
    for (unsigned i = 0; of && i < of->count; i++) {
        const struct smcplay_key_place *at = &of->place[i];
        const struct smcplay_link *on = link_at(s, l, at, message);
        const struct smcplay_key *key =
            on ? smcplay_key_of(s, smcplay_link_number(s, on), get_be32(message + at->rkey_at)) : NULL;
        if (!key)
            continue;
        put_be32(message + at->rkey_at, key->rkey[1]);
        if (at->va_at)
            put_be64(message + at->va_at, key->va[1]);
    }
}
