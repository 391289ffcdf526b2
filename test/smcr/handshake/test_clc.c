/* SPDX-License-Identifier: BSD-2-Clause */
/* The CLC part of the handshake, at an instance whose peer the test plays: what it sends, what it takes, how
 * long it waits. SMCR section 5. */
#include <criterion/criterion.h>
#include <errno.h>

#include "net/bytes.h"
#include "smcr/conn/conn.h"
#include "test/smcr/hs.h"

static struct hs h;

TestSuite(handshake_clc, .timeout = 60);

/* covers: SMCR-CLC-01, SMCR-CLC-14, SMCR-CLC-20, SMCR-CLC-22, SMCR-CLC-24, SMCR-ARC-21, SMCR-REN-07 */
Test(handshake_clc, SMCR_CLC_22_the_client_proposes_at_once_and_reserves_nothing)
{
    hs_begin(&h, SMCR_SERVER, NULL);
    struct pair_node *node = &h.pair->node[HS_INSTANCE];
    unsigned live = node->alloc.live, dev_live = node->dev_alloc.live;
    hs_open(&h);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_PROPOSAL);
    cr_assert_eq(node->alloc.live - live, 1, "more than the connection itself");
    cr_assert_eq(node->dev_alloc.live, dev_live);
    cr_assert_null(node->smcr->groups);
    const struct pair_port *port = &node->port[0];
    uint8_t want[52] = {0xe2, 0xd4, 0xc3, 0xd9, 1, 0, 52, 0x10};
    put_be16(want + 8, node->smcr->config.instance_id);
    memcpy(want + 10, port->mac.b, 6);
    memcpy(want + 16, port->addr.b, 16);
    memcpy(want + 32, port->mac.b, 6);
    memcpy(want + 40, (uint8_t[]){10, 77, 0, 0, 24}, 5);
    put_be32(want + 48, SMCR_EYE_CATCHER);
    cr_assert_eq(h.len_bytes, 52);
    cr_assert_arr_eq(h.m, want, 52);
    hs_end(&h);
}

/* covers: SMCR-CLC-20, SMCR-CLC-22, SMCR-SEC-08 */
Test(handshake_clc, SMCR_CLC_22_the_client_proposes_prefixes_over_ipv6)
{
    hs_begin(&h, SMCR_SERVER, &(struct pair_config){.ipv6 = true});
    hs_open(&h);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_PROPOSAL);
    cr_assert_eq(h.len_bytes, 69);
    static const uint8_t want[8 + 17] = {[7] = 1, [8] = 0xfd, [9] = 0x77, [24] = 64};
    cr_assert_arr_eq(h.m + 40, want, sizeof want);
    hs_end(&h);
}

/* Decision A1, the switch.
 * covers: SMCR-CLC-22 */
Test(handshake_clc, SMCR_CLC_22_the_mask_where_the_configuration_wants_it)
{
    hs_begin(&h, SMCR_SERVER, &(struct pair_config){.smcr[0].interop.literal_subnet_mask = true});
    hs_open(&h);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_PROPOSAL);
    cr_assert_arr_eq(h.m + 40, ((uint8_t[]){255, 255, 255, 0, 24}), 5);
    hs_end(&h);
}

/* covers: SMCR-CLC-03, SMCR-CLC-14, SMCR-CLC-30, SMCR-CLC-34, SMCR-CLC-35, SMCR-FC-04, SMCR-ARC-21 */
Test(handshake_clc, SMCR_CLC_30_the_accept_of_a_first_contact)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_ACCEPT);
    cr_assert_eq(h.len_bytes, SMCR_ACCEPT_BYTES);
    cr_assert_eq(h.m[7], 0x18, "version 1, F");
    cr_assert(h.m[51] == 0 && h.m[60] == 0, "reserved");
    const struct smcr_conn *conn = hs_conn(&h);
    const struct smcr_link *link = conn->link_accepted;
    const struct rdma_mr *mr = conn->rmb->mr[link->slot];
    struct smcr_accept a;
    smcr_accept_get(&a, h.m);
    cr_assert_arr_eq(a.peer_id, h.pair->node[HS_INSTANCE].smcr->peer_id.b, 8);
    cr_assert_arr_eq(a.gid, h.pair->node[HS_INSTANCE].port[0].addr.b, 16);
    cr_assert_arr_eq(a.mac, h.pair->node[HS_INSTANCE].port[0].mac.b, 6);
    cr_assert_eq(a.qpn, link->local.qpn);
    cr_assert_eq(a.psn, link->local.psn);
    cr_assert_eq(a.mtu, NORNIC_MTU_1024);
    cr_assert_eq(a.rkey, mr->rkey);
    cr_assert_eq(a.va, mr->iova);
    cr_assert_eq(a.rmbe_index, conn->rmb_index);
    cr_assert_eq(a.alert_token, conn->token);
    cr_assert_eq(smcr_elem_bytes_of(a.bsize), conn->rmb->elem_bytes);
    cr_assert_eq(link->state, SMCR_LINK_ALLOCATED);
    hs_end(&h);
}

/* Every message in pieces of every small size.
 * covers: SMCR-CLC-05 */
Test(handshake_clc, SMCR_CLC_05_segments_of_one_byte)
{
    for (uint32_t chunk = 1; chunk <= 9; chunk += 4) {
        for (unsigned role = 0; role < 2; role++) {
            hs_begin(&h, role ? SMCR_CLIENT : SMCR_SERVER, &(struct pair_config){.tcp_chunk_bytes = chunk});
            hs_contact(&h, 1);
            hs_end(&h);
        }
    }
}

/* What the peer sends first, and that ends in RST: no Decline, no fallback. */
static void expect_broken(enum smcr_role role, uint8_t at_stage, void (*spoil)(uint8_t *m, size_t *len_bytes))
{
    hs_begin(&h, role, NULL);
    hs_to(&h, at_stage);
    spoil(h.m, &h.len_bytes);
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_reset(&h, -EPROTO);
    cr_assert_eq(hs_counters(&h)->clc_malformed, 1);
    cr_assert_eq(hs_groups(&h), 0);
    hs_end(&h);
}

static unsigned spoil_at, spoil_bits;

static void flip(uint8_t *m, size_t *len_bytes)
{
    m[spoil_at < *len_bytes ? spoil_at : 0] ^= (uint8_t)spoil_bits;
}

static const struct {
    enum smcr_role role;
    uint8_t stage;
} stages[] = {
    {SMCR_CLIENT, SMCR_CLC_PROPOSAL},
    {SMCR_SERVER, SMCR_CLC_ACCEPT},
    {SMCR_CLIENT, SMCR_CLC_CONFIRM},
};

/* covers: SMCR-CLC-02, SMCR-CLC-06, SMCR-FBK-01 */
Test(handshake_clc, SMCR_CLC_06_a_defect_of_the_frame_is_the_end_of_tcp)
{
    static const uint8_t at[] = {0, 3, 4, 5, 6};
    for (unsigned s = 0; s < 3; s++) {
        for (unsigned i = 0; i < sizeof at; i++) {
            spoil_at = at[i];
            spoil_bits = 0x10;
            expect_broken(stages[s].role, stages[s].stage, flip);
        }
    }
}

static void spoil_trailer(uint8_t *m, size_t *len_bytes)
{
    m[*len_bytes - 1] ^= 1;
}

static void zero_index(uint8_t *m, size_t *len_bytes)
{
    (void)len_bytes;
    m[45] = 0;
}

static void zero_qpn(uint8_t *m, size_t *len_bytes)
{
    (void)len_bytes;
    memset(m + 38, 0, 3);
}

static void nine_prefixes(uint8_t *m, size_t *len_bytes)
{
    memset(m + 48, 0, 9 * 17);
    m[47] = 9;
    *len_bytes = 52 + 9 * 17;
    put_be16(m + 5, (uint16_t)*len_bytes);
    put_be32(m + *len_bytes - 4, SMCR_EYE_CATCHER);
}

/* covers: SMCR-CLC-02, SMCR-CLC-06, SMCR-CLC-23, SMCR-CLC-34, SMCR-QP-05 */
Test(handshake_clc, SMCR_CLC_06_a_defect_of_a_field_is_the_end_of_tcp)
{
    for (unsigned s = 0; s < 3; s++)
        expect_broken(stages[s].role, stages[s].stage, spoil_trailer);
    for (unsigned s = 1; s < 3; s++) {
        expect_broken(stages[s].role, stages[s].stage, zero_index);
        expect_broken(stages[s].role, stages[s].stage, zero_qpn);
    }
    expect_broken(SMCR_CLIENT, SMCR_CLC_PROPOSAL, nine_prefixes);
}

/* A peer that is not the one of the Proposal any more. */
static void other_peer(uint8_t *m, size_t *len_bytes)
{
    (void)len_bytes;
    m[9] ^= 1;
}

/* covers: SMCR-ARC-21 */
Test(handshake_clc, SMCR_ARC_21_the_peer_id_is_the_same_in_all_messages)
{
    expect_broken(SMCR_CLIENT, SMCR_CLC_CONFIRM, other_peer);
}

/* Well formed, but not what comes next.
 * covers: SMCR-CLC-01, SMCR-CLC-08 */
Test(handshake_clc, SMCR_CLC_08_a_message_out_of_order_is_the_end_of_tcp)
{
    uint8_t m[SMCR_CLC_MAX_BYTES];
    for (unsigned s = 0; s < 3; s++) {
        for (uint8_t type = SMCR_CLC_PROPOSAL; type <= SMCR_CLC_CONFIRM; type++) {
            if (type == stages[s].stage)
                continue;
            hs_begin(&h, stages[s].role, NULL);
            hs_to(&h, stages[s].stage);
            if (!h.peer.link[0].raw)
                peer_make_link(&h.peer, 0, 0);
            size_t n = type == SMCR_CLC_PROPOSAL ? peer_proposal(&h.peer, m)
                                                 : peer_accept(&h.conn, type, type == SMCR_CLC_ACCEPT, 0, m);
            hs_send(&h, m, n);
            hs_expect_reset(&h, -EPROTO);
            hs_end(&h);
        }
    }
}

/* The peer does not wait for the answer that it is owed, while a first contact of another connection keeps
 * it.
 * covers: SMCR-CLC-08, SMCR-CLC-11 */
Test(handshake_clc, SMCR_CLC_11_nothing_may_come_while_we_owe_the_answer)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_confirm(&h, true); /* its Confirm is not sent yet */
    hs_to_proposal(&h);
    hs_send(&h, h.m, h.len_bytes);
    hs_pass(&h);
    cr_assert_eq(hs_conn(&h)->stage, SMCR_STAGE_GROUP);
    hs_send(&h, (const uint8_t[]){0xe2}, 1);
    hs_expect_reset(&h, -EPROTO);
    hs_end(&h);
}

/* covers: SMCR-CLC-10, SMCR-CLC-42, SMCR-FBK-05 */
Test(handshake_clc, SMCR_CLC_10_a_decline_in_place_of_each_message)
{
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        for (unsigned s = 0; s < 3; s++) {
            hs_begin(&h, stages[s].role, &(struct pair_config){.tcp_chunk_bytes = chunk});
            hs_to(&h, stages[s].stage);
            uint8_t decline[SMCR_DECLINE_BYTES];
            hs_send(&h, decline, peer_decline(&h.peer, false, decline));
            hs_pass(&h);
            hs_expect_tcp(&h); /* and nothing answers it */
            struct smcr_conn_status status = hs_status(&h);
            cr_assert(status.declined_by_peer);
            cr_assert_eq(status.diagnosis, SMCR_DIAG_CONFIG);
            cr_assert_str_eq(status.reason, "configuration or policy");
            cr_assert_eq(hs_counters(&h)->declines_rx, 1);
            cr_assert_eq(hs_counters(&h)->conns_fallback, 1);
            cr_assert_eq(hs_groups(&h), 0);
            hs_end(&h);
        }
    }
}

/* The application's first bytes come in the segment of the Decline, which may end anywhere in it.
 * covers: SMCR-FBK-05, SMCR-CLC-05, SMCR-CLC-09 */
Test(handshake_clc, SMCR_FBK_05_no_byte_behind_a_decline_is_lost)
{
    for (uint32_t chunk = 0; chunk <= SMCR_DECLINE_BYTES + 30; chunk++) {
        hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.tcp_chunk_bytes = chunk});
        hs_to_proposal(&h);
        uint8_t stream[SMCR_DECLINE_BYTES + 2 * SMCR_DECLINE_BYTES];
        size_t n = peer_decline(&h.peer, false, stream);
        for (unsigned i = 0; i < 2; i++) /* the application says the same */
            memcpy(stream + n + i * n, stream, n);
        hs_send(&h, stream, sizeof stream);
        hs_pass(&h);
        struct pair_end *theirs = pair_other(h.conn.end);
        cr_assert_eq(theirs->plain_bytes, 2 * n, "chunks of %u: %zu bytes", chunk, theirs->plain_bytes);
        cr_assert_arr_eq(theirs->plain, stream + n, 2 * n);
        hs_end(&h);
    }
}

/* A code of somebody else's is told, and nothing depends on it.
 * covers: SMCR-CLC-41 */
Test(handshake_clc, SMCR_CLC_41_an_unknown_code_says_nothing)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_proposal(&h);
    peer_decline(&h.peer, false, h.m);
    put_be32(h.m + 16, 0xdeadbeef);
    hs_send(&h, h.m, SMCR_DECLINE_BYTES);
    hs_pass(&h);
    struct smcr_conn_status status = hs_status(&h);
    cr_assert(status.fallback && status.declined_by_peer);
    cr_assert_eq(status.diagnosis, 0xdeadbeef);
    cr_assert_str_eq(status.reason, "the peer declined");
    hs_end(&h);
}

/* Silence, at each message that is waited for, and after half of it.
 * covers: SMCR-CLC-12, SMCR-FBK-01 */
Test(handshake_clc, SMCR_CLC_12_silence_ends_tcp)
{
    for (unsigned s = 0; s < 3; s++) {
        for (unsigned half = 0; half < 2; half++) {
            hs_begin(&h, stages[s].role, NULL);
            hs_to(&h, stages[s].stage);
            uint64_t since_ns = h.pair->now_ns;
            if (half)
                hs_send(&h, h.m, h.len_bytes / 2);
            pair_run_for(h.pair, since_ns + 5900 * PAIR_MS - h.pair->now_ns);
            cr_assert_not(hs_status(&h).closed, "before its time");
            pair_run_for(h.pair, 100 * PAIR_MS);
            hs_expect_reset(&h, -ETIMEDOUT);
            cr_assert_eq(hs_counters(&h)->clc_timeouts, 1);
            cr_assert_eq(hs_groups(&h), 0);
            hs_end(&h);
        }
    }
}

/* covers: SMCR-CLC-12 */
Test(handshake_clc, SMCR_CLC_12_the_time_is_the_configured_one)
{
    hs_begin(&h, SMCR_CLIENT, &(struct pair_config){.smcr[0].times.clc_ns = 50 * PAIR_MS});
    hs_open(&h);
    pair_run_for(h.pair, 49 * PAIR_MS);
    cr_assert_not(hs_status(&h).closed);
    pair_run_for(h.pair, PAIR_MS);
    hs_expect_reset(&h, -ETIMEDOUT);
    hs_end(&h);
}

/* The Proposal's reserved values are Declined, its reserved fields not looked at.
 * covers: SMCR-CLC-03, SMCR-CLC-04 */
Test(handshake_clc, SMCR_CLC_04_a_later_version_is_answered_in_version_1)
{
    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_proposal(&h);
    h.m[7] = 0x20; /* version 2; SMC-R of both versions */
    hs_send(&h, h.m, h.len_bytes);
    cr_assert_eq(hs_wait(&h, PAIR_MS), SMCR_CLC_ACCEPT);
    cr_assert_eq(h.m[7] >> 4, 1);
    hs_end(&h);

    hs_begin(&h, SMCR_CLIENT, NULL);
    hs_to_proposal(&h);
    h.m[7] = 0x22; /* nothing of version 1 */
    hs_send(&h, h.m, h.len_bytes);
    hs_expect_decline(&h, SMCR_DIAG_VERSION);
    hs_end(&h);
}

/* The peer closes, or its kernel resets, in the middle of it.
 * covers: SMCR-FC-22 */
Test(handshake_clc, SMCR_FC_22_the_end_of_tcp_is_the_end_of_it)
{
    for (unsigned s = 0; s < 3; s++) {
        for (unsigned rst = 0; rst < 2; rst++) {
            hs_begin(&h, stages[s].role, NULL);
            hs_to(&h, stages[s].stage);
            if (rst)
                pair_tcp_rst(pair_other(h.conn.end));
            else
                pair_tcp_fin(h.conn.end);
            hs_pass(&h);
            hs_expect_reset(&h, -ECONNRESET);
            cr_assert_eq(hs_groups(&h), 0);
            hs_end(&h);
        }
    }
}

/* covers: SMCR-FC-22, SMCR-SEC-07 */
Test(handshake_clc, SMCR_SEC_07_the_application_leaves_in_the_middle_of_it)
{
    for (unsigned s = 0; s < 3; s++) {
        for (unsigned linger = 0; linger < 2; linger++) {
            hs_begin(&h, stages[s].role, NULL);
            hs_to(&h, stages[s].stage);
            struct pair_end *theirs = pair_other(h.conn.end);
            struct smcr *smcr = h.pair->node[HS_INSTANCE].smcr;
            smcr_conn_release(theirs->conn, linger, h.pair->now_ns);
            unsigned events = 0;
            if (linger) {
                cr_assert_eq(smcr_next_event(smcr, &events), theirs->conn);
                cr_assert_eq(events, SMCR_EVENT_CLOSED);
                smcr_conn_release(theirs->conn, false, h.pair->now_ns);
            }
            theirs->conn = NULL;
            cr_assert_null(smcr_next_event(smcr, &events));
            cr_assert_null(smcr->conns);
            hs_pass(&h);
            cr_assert(h.conn.end->rst_seen);
            cr_assert_null(smcr->groups);
            hs_end(&h);
        }
    }
}

/* Any byte of any message may be any other: it ends in one of three ways, soon, and nothing is left.
 * covers: SMCR-SEC-07 */
Test(handshake_clc, SMCR_SEC_07_every_byte_of_every_message_flipped)
{
    for (unsigned s = 0; s < 3; s++) {
        unsigned len = s == 0 ? 52 : SMCR_ACCEPT_BYTES;
        for (unsigned at = 0; at < len; at++) {
            hs_begin(&h, stages[s].role, &(struct pair_config){.seed = 1 + at});
            hs_to(&h, stages[s].stage);
            h.m[at] ^= (uint8_t)(1u << at % 8);
            hs_send(&h, h.m, h.len_bytes);
            pair_run_for(h.pair, 30 * PAIR_S);
            struct smcr_conn_status status = hs_status(&h);
            cr_assert(status.fallback || status.closed, "%u: byte %u: it hangs", s, at);
            cr_assert_eq(hs_groups(&h), 0, "%u: byte %u", s, at);
            hs_end(&h);
        }
    }
}
