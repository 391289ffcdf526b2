/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr/hs.h"

#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "smcr/conn/conn.h"

#define WAIT_NS (4 * PAIR_S) /* the longest that an instance holds a CLC message back */

void hs_begin(struct hs *h, enum smcr_role role, const struct pair_config *config)
{
    struct pair_config c = config ? *config : (struct pair_config){0};
    c.seed = c.seed ? c.seed : 1;
    c.scripted[HS_PEER] = true;
    memset(h, 0, sizeof *h);
    h->pair = pair_new(&c);
    peer_init(&h->peer, h->pair, HS_PEER, role);
}

void hs_end(struct hs *h)
{
    peer_deinit(&h->peer);
    const char *wrong = pair_free(h->pair);
    cr_assert_null(wrong, "%s", wrong);
}

void hs_open(struct hs *h)
{
    peer_conn_begin(&h->peer, &h->conn);
}

struct smcr_conn *hs_conn(const struct hs *h)
{
    return pair_other(h->conn.end)->conn;
}

struct smcr_conn_status hs_status(const struct hs *h)
{
    struct smcr_conn_status status;
    cr_assert_not_null(hs_conn(h));
    smcr_conn_status(hs_conn(h), &status);
    cr_assert_not_null(status.reason);
    return status;
}

void hs_send(struct hs *h, const uint8_t *bytes, size_t len_bytes)
{
    pair_tcp_send(h->conn.end, bytes, len_bytes);
}

uint8_t hs_wait(struct hs *h, uint64_t max_ns)
{
    h->len_bytes = peer_clc_wait(h->conn.end, h->m, sizeof h->m, max_ns);
    return h->len_bytes ? h->m[4] : 0;
}

void hs_pass(struct hs *h)
{
    pair_run_for(h->pair, PAIR_MS);
}

void hs_to_proposal(struct hs *h)
{
    hs_open(h);
    h->len_bytes = peer_proposal(&h->peer, h->m);
}

void hs_to_accept(struct hs *h, bool first_contact)
{
    hs_open(h);
    cr_assert_eq(hs_wait(h, WAIT_NS), SMCR_CLC_PROPOSAL);
    if (first_contact) {
        raw_free(h->peer.link[0].raw);
        peer_make_link(&h->peer, 0, 0);
        h->peer.link[0].number = 1;
    }
    h->len_bytes = peer_accept(&h->conn, SMCR_CLC_ACCEPT, first_contact, 0, h->m);
}

void hs_to_confirm(struct hs *h, bool first_contact)
{
    hs_to_proposal(h);
    hs_send(h, h->m, h->len_bytes);
    cr_assert_eq(hs_wait(h, WAIT_NS), SMCR_CLC_ACCEPT);
    if (first_contact) {
        raw_free(h->peer.link[0].raw);
        peer_make_link(&h->peer, 0, 0);
        h->peer.link[0].number = 1;
    }
    peer_learn(&h->conn, h->m, first_contact);
    cr_assert_eq(h->conn.theirs.flag, first_contact);
    if (first_contact)
        cr_assert_eq(raw_ready(h->peer.link[0].raw, &h->peer.link[0].theirs), 0);
    h->len_bytes = peer_accept(&h->conn, SMCR_CLC_CONFIRM, false, 0, h->m);
}

void hs_to(struct hs *h, uint8_t type)
{
    if (type == SMCR_CLC_PROPOSAL)
        hs_to_proposal(h);
    else if (type == SMCR_CLC_ACCEPT)
        hs_to_accept(h, true);
    else
        hs_to_confirm(h, true);
}

void hs_contact(struct hs *h, unsigned links)
{
    cr_assert(peer_first_contact(&h->peer, &h->conn, links));
    hs_expect_smc(h);
}

void hs_expect_decline(struct hs *h, uint32_t diagnosis)
{
    cr_assert_eq(hs_wait(h, WAIT_NS), SMCR_CLC_DECLINE);
    cr_assert_eq(h->len_bytes, SMCR_DECLINE_BYTES);
    struct smcr_decline d;
    smcr_decline_get(&d, h->m);
    cr_assert_eq(d.eye_catcher, SMCR_EYE_CATCHER);
    cr_assert_eq(d.trailer, SMCR_EYE_CATCHER);
    cr_assert_eq(d.version, 1);
    cr_assert_eq(d.diagnosis, diagnosis, "the code is %08x", d.diagnosis);
    cr_assert_eq(d.flag, diagnosis == SMCR_DIAG_OUT_OF_SYNC);
    cr_assert_arr_eq(d.peer_id, h->pair->node[HS_INSTANCE].smcr->peer_id.b, SMCR_PEER_ID_BYTES);
    struct smcr_conn_status s = hs_status(h);
    cr_assert_eq(s.diagnosis, diagnosis);
    cr_assert_not(s.declined_by_peer);
    hs_expect_tcp(h);
}

void hs_expect_tcp(struct hs *h)
{
    struct pair_end *theirs = pair_other(h->conn.end);
    pair_run_for(h->pair, PAIR_MS);
    struct smcr_conn_status s = hs_status(h);
    cr_assert(s.fallback, "not in FALLBACK: %s", s.reason);
    cr_assert(strlen(s.reason) > 0);
    cr_assert_not(theirs->reset_sent);
    cr_assert(theirs->events & SMCR_EVENT_FALLBACK);
    cr_assert_eq(h->conn.end->plain_bytes, h->conn.end->plain_read, "bytes that nobody sent");
    cr_assert_eq(theirs->plain_bytes - theirs->plain_read, 0, "CLC bytes for the application");
    uint8_t bytes[300];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    put_be32(bytes, SMCR_EYE_CATCHER); /* application data that looks like CLC: SMCR-CLC-09 */
    bytes[4] = SMCR_CLC_DECLINE;
    hs_send(h, bytes, sizeof bytes);
    pair_tcp_send(theirs, bytes, sizeof bytes);
    pair_run_for(h->pair, 10 * PAIR_MS);
    struct pair_end *ends[] = {theirs, h->conn.end};
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(ends[i]->plain_bytes - ends[i]->plain_read, sizeof bytes);
        cr_assert_arr_eq(ends[i]->plain + ends[i]->plain_read, bytes, sizeof bytes);
        ends[i]->plain_read += sizeof bytes;
    }
}

void hs_expect_reset(struct hs *h, int error)
{
    pair_run_for(h->pair, PAIR_MS);
    struct smcr_conn_status s = hs_status(h);
    cr_assert(s.closed, "not CLOSED");
    cr_assert_not(s.fallback);
    cr_assert_eq(s.error, error, "the error is %d: %s", s.error, s.reason);
    cr_assert(strlen(s.reason) > 0);
    cr_assert(pair_other(h->conn.end)->reset_sent);
    cr_assert(pair_other(h->conn.end)->events & SMCR_EVENT_RESET);
    cr_assert_eq(hs_wait(h, PAIR_MS), 0, "a CLC message of type %u before the RST", h->m[4]);
}

void hs_expect_smc(struct hs *h)
{
    pair_run_for(h->pair, PAIR_MS);
    struct smcr_conn_status s = hs_status(h);
    cr_assert(s.established, "not established: %s", s.reason);
    cr_assert(pair_other(h->conn.end)->events & SMCR_EVENT_ESTABLISHED);
}

const struct smcr_counters *hs_counters(const struct hs *h)
{
    return smcr_counters(h->pair->node[HS_INSTANCE].smcr);
}

unsigned hs_groups(const struct hs *h)
{
    unsigned n = 0;
    for (const struct smcr_group *g = h->pair->node[HS_INSTANCE].smcr->groups; g; g = g->next)
        n += g->state != SMCR_GROUP_ENDING;
    return n;
}

bool hs_link_0_lives(struct hs *h)
{
    struct raw_link *raw = h->peer.link[0].raw;
    uint8_t m[SMCR_MSG_BYTES] = {SMCR_LLC_TEST_LINK, SMCR_MSG_BYTES};
    struct raw_message answer;
    raw_send(raw, m, sizeof m);
    return raw_wait(raw, SMCR_LLC_TEST_LINK, true, &answer, 3 * PAIR_S);
}
