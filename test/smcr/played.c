/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr/played.h"

#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"

static void make(struct played *t, enum smcr_role role, struct pair_config config)
{
    memset(t, 0, sizeof *t);
    t->me = role == SMCR_SERVER ? 1 : 0;
    config.scripted[!t->me] = true;
    config.seed = config.seed ? config.seed : 7;
    t->pair = pair_new(&config);
    peer_init(&t->peer, t->pair, !t->me, role == SMCR_SERVER ? SMCR_CLIENT : SMCR_SERVER);
}

void played_begin_clc(struct played *t, enum smcr_role role, struct pair_config config)
{
    make(t, role, config);
    cr_assert(peer_contact_clc(&t->peer, &t->conn), "no CLC: %s", t->pair->failure);
}

void played_begin_with(struct played *t, enum smcr_role role, unsigned links, struct pair_config config)
{
    for (unsigned i = 0; i < 2; i++)
        config.ports[i] = config.ports[i] ? config.ports[i] : links;
    make(t, role, config);
    cr_assert(peer_first_contact(&t->peer, &t->conn, links), "no first contact: %s", t->pair->failure);
    pair_run_for(t->pair, PAIR_MS); /* what the instance begins by itself after that */
}

void played_begin(struct played *t, enum smcr_role role, unsigned links)
{
    played_begin_with(t, role, links, (struct pair_config){0});
}

void played_end(struct played *t)
{
    struct pair_end *end = pair_other(t->conn.end);
    if (end->conn && !end->given_back)
        pair_close(end);
    pair_now(t->pair);
    for (unsigned i = 0; i < PEER_LINKS; i++) {
        raw_free(t->peer.link[i].raw);
        t->peer.link[i].raw = NULL;
    }
    peer_deinit(&t->peer);
    const char *failure = pair_free(t->pair);
    cr_assert_null(failure, "%s", failure);
}

struct smcr_group *played_group(const struct played *t)
{
    return t->pair->node[t->me].smcr->groups;
}

struct smcr_link *played_link(const struct played *t, uint8_t number)
{
    struct smcr_group *group = played_group(t);
    return group ? smcr_group_link(group, number) : NULL;
}

enum smcr_link_state played_state(const struct played *t, uint8_t number)
{
    const struct smcr_link *link = played_link(t, number);
    return link ? link->state : SMCR_LINK_FREE;
}

const struct smcr_counters *played_counters(const struct played *t)
{
    return smcr_counters(t->pair->node[t->me].smcr);
}

void played_send(struct played *t, unsigned link, const uint8_t *message)
{
    raw_send(t->peer.link[link].raw, message, SMCR_MSG_BYTES);
    pair_run_for(t->pair, 20 * PAIR_US);
}

void played_make_link(struct played *t, unsigned link, unsigned port)
{
    raw_free(t->peer.link[link].raw);
    peer_make_link(&t->peer, link, port);
}

void played_join_link(struct played *t, unsigned link, const uint8_t *add_link)
{
    struct peer_link *l = &t->peer.link[link];
    struct smcr_add_link al;
    smcr_add_link_get(&al, add_link);
    cr_assert_not(al.rejected);
    l->number = al.link;
    memcpy(l->theirs.mac.b, al.mac, sizeof al.mac);
    memcpy(l->theirs.gid.b, al.gid, sizeof al.gid);
    l->theirs.qpn = al.qpn;
    l->theirs.psn = al.psn;
    l->theirs.mtu = al.mtu;
    cr_assert_eq(raw_ready(l->raw, &l->theirs), 0);
}

void played_expect(struct played *t, unsigned link, uint8_t type, bool response, uint8_t *out)
{
    struct raw_message m;
    cr_assert(raw_wait(t->peer.link[link].raw, type, response, &m, PLAYED_SOON), "no %s%s on link %u",
              smcr_llc_type_name(type), response ? " response" : "", link + 1);
    cr_assert_eq(m.len_bytes, SMCR_MSG_BYTES); /* SMCR-LLC-01 */
    cr_assert_eq(m.bytes[1], SMCR_MSG_BYTES);
    if (out)
        memcpy(out, m.bytes, SMCR_MSG_BYTES);
}

void played_expect_none(struct played *t, unsigned link, uint8_t type, bool response, uint64_t ns)
{
    struct raw_message m;
    cr_assert_not(raw_wait(t->peer.link[link].raw, type, response, &m, ns), "a %s%s on link %u",
                  smcr_llc_type_name(type), response ? " response" : "", link + 1);
}

/* --- messages --- */

void played_test_link(uint8_t *out, uint8_t fill)
{
    struct smcr_test_link m = {.type = SMCR_LLC_TEST_LINK, .length = SMCR_MSG_BYTES};
    memset(m.user_data, fill, sizeof m.user_data);
    smcr_test_link_put(out, &m);
}

void played_delete_link(uint8_t *out, uint8_t number, uint32_t reason, uint8_t flags)
{
    struct smcr_delete_link m = {
        .type = SMCR_LLC_DELETE_LINK, .length = SMCR_MSG_BYTES, .link = number, .reason = reason};
    smcr_delete_link_put(out, &m);
    out[3] = flags;
}

void played_confirm_rkey(uint8_t *out, uint32_t rkey, uint64_t va, uint8_t others)
{
    struct smcr_confirm_rkey m = {.type = SMCR_LLC_CONFIRM_RKEY,
                                  .length = SMCR_MSG_BYTES,
                                  .other_links = others,
                                  .rkey = rkey,
                                  .va = va};
    smcr_confirm_rkey_put(out, &m);
}

void played_delete_rkey(uint8_t *out, unsigned count, const uint32_t *rkeys)
{
    struct smcr_delete_rkey m = {
        .type = SMCR_LLC_DELETE_RKEY, .length = SMCR_MSG_BYTES, .count = (uint8_t)count};
    for (unsigned i = 0; i < count && i < SMCR_RKEYS_PER_DELETE; i++)
        put_be32(m.rkeys + 4 * i, rkeys[i]);
    smcr_delete_rkey_put(out, &m);
}

void played_answer_delete(struct played *t, unsigned via, uint8_t number)
{
    uint8_t m[SMCR_MSG_BYTES];
    played_expect(t, via, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[4], number);
    played_delete_link(m, number, 0, 0x80);
    played_send(t, via, m);
}

void played_owe_tokens(struct played *t, unsigned link)
{
    uint8_t m[SMCR_MSG_BYTES];
    for (uint32_t rkey = 0x1234; rkey <= 0x1235; rkey++) /* two RMBs more, told some time ago */
        cr_assert_not_null(smcr_peer_rmb_find(played_group(t), &played_group(t)->links[0], rkey, 1, true));
    peer_add_link_cont(&t->peer, link, false, m);
    m[5] = 3;
    put_be32(m + 24, 0x1234);
    put_be32(m + 28, 0x5678);
    played_send(t, 0, m);
    played_expect(t, 0, SMCR_LLC_ADD_LINK_CONT, true, NULL);
}

uint32_t played_rkey(const struct played *t, unsigned link)
{
    return t->peer.link[link].raw->rmb_mr->rkey;
}

struct pair_end *played_open(struct played *t, uint32_t rcvbuf_bytes)
{
    uint8_t m[SMCR_CLC_MAX_BYTES];
    t->pair->config.rcvbuf_bytes[t->me] = rcvbuf_bytes;
    struct pair_conn *c = pair_open(t->pair, t->peer.role == SMCR_CLIENT ? !t->me : t->me);
    if (t->peer.role == SMCR_CLIENT)
        pair_tcp_send(&c->end[!t->me], m, peer_proposal(&t->peer, m));
    pair_run_for(t->pair, PAIR_MS);
    return &c->end[t->me];
}

struct smcr_conn_status played_status(const struct played *t)
{
    struct smcr_conn_status status;
    smcr_conn_status(pair_other(t->conn.end)->conn, &status);
    return status;
}
