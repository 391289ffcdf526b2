/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of links, messages on them, and their failure: SMCR sections 3, 9, 17 and 19. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "roce/query.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

/* covers: SMCR-QP-01, SMCR-QP-02, SMCR-QP-04, SMCR-ENG-07 */
Test(link, SMCR_QP_01_attributes_from_CLC_and_ADD_LINK)
{
    struct pair_config config = {.ports = {2, 2}, .path_mtu = {NORNIC_MTU_4096, NORNIC_MTU_1024}};
    struct pair *pair = pair_new(&config);
    cr_assert_not_null(pair_connect(pair, 0));
    pair_run_for(pair, PAIR_MS);
    for (unsigned node = 0; node < 2; node++)
        for (unsigned l = 0; l < 2; l++) {
            const struct smcr_link *mine = &pair->node[node].smcr->groups->links[l];
            const struct smcr_link *theirs = &pair->node[!node].smcr->groups->links[l];
            struct nornic_qp_attr attr;
            roce_qp_query(mine->qp, &attr, NULL);
            cr_assert_eq(attr.dest_qpn, theirs->local.qpn);
            cr_assert(nornic_addr_equal(&attr.av.dgid, &theirs->local.gid));
            cr_assert(nornic_mac_equal(&attr.av.dst_mac, &theirs->local.mac), "SMCR-ENG-07");
            cr_assert_eq(attr.path_mtu, NORNIC_MTU_1024, "the smaller one at both ends");
            cr_assert_eq(attr.state, NORNIC_QPS_RTS);
            cr_assert_eq(mine->peer.psn, theirs->local.psn);
            cr_assert_eq(attr.av.sgid_index, pair->node[node].port[l].sgid_index);
            cr_assert_eq(attr.access_flags, NORNIC_ACCESS_REMOTE_WRITE, "SMCR-ENG-01, ENG-05");
        }
    const struct smcr_link *a = pair->node[0].smcr->groups->links;
    cr_assert_neq(a[0].local.psn, a[1].local.psn, "SMCR-QP-04");
    cr_assert_leq(a[0].local.psn, 0xffffff);
    cr_assert_null(pair_free(pair));
}

/* They are what the source of randomness gave: two instances that differ in nothing else have nothing in
 * common.
 * covers: SMCR-QP-04 */
Test(link, SMCR_QP_04_first_PSNs_are_drawn)
{
    uint32_t psn[2][2];
    for (unsigned i = 0; i < 2; i++) {
        struct pair *pair = pair_new(&(struct pair_config){.seed = 5 + i, .ports = {2, 2}});
        cr_assert_not_null(pair_connect(pair, 0));
        pair_run_for(pair, PAIR_MS);
        for (unsigned l = 0; l < 2; l++) {
            const struct smcr_link *link = &pair->node[0].smcr->groups->links[l];
            psn[i][l] = link->local.psn;
            cr_assert_neq(link->local.psn, link->peer.psn);
        }
        cr_assert_null(pair_free(pair));
    }
    cr_assert_neq(psn[0][0], psn[1][0]);
    cr_assert_neq(psn[0][1], psn[1][1]);
    cr_assert_neq(psn[0][1] - psn[0][0], psn[1][1] - psn[1][0]);
}

/* covers: SMCR-QP-06, SMCR-ENG-03, SMCR-FBK-06 */
Test(link, SMCR_QP_06_retries_are_finite)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 1);
    struct nornic_qp_attr attr;
    roce_qp_query(played_link(&t, 1)->qp, &attr, NULL);
    cr_assert_lt(attr.rnr_retry, 7, "7 is for ever");
    cr_assert_gt(attr.rnr_retry, 0, "running dry for a moment drops no link: SMCR-ENG-03");
    cr_assert_gt(attr.timeout, 0);
    uint64_t from_ns = t.pair->now_ns;
    pair_cut(t.pair, !t.me, 0, false);
    step_test_link(played_link(&t, 1), t.pair->now_ns);
    while (played_group(&t) && t.pair->now_ns - from_ns < 5 * PAIR_S)
        pair_run_for(t.pair, 10 * PAIR_MS);
    cr_assert_gt(t.pair->now_ns - from_ns, PAIR_S, "not impatient");
    cr_assert_lt(t.pair->now_ns - from_ns, 2 * PAIR_S);
    played_end(&t);
}

/* covers: SMCR-ENG-03, SMCR-CDC-01 */
Test(link, SMCR_ENG_03_receives_are_posted_again_at_once)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 1);
    uint8_t m[SMCR_MSG_BYTES];
    unsigned answers = 0;
    struct raw_message raw;
    for (unsigned i = 0; i < 5 * SMCR_LINK_RECVS; i++) {
        played_test_link(m, (uint8_t)i);
        raw_send(t.peer.link[0].raw, m, SMCR_MSG_BYTES);
        if (i % 16 == 15)
            pair_run_for(t.pair, 20 * PAIR_US);
        while (raw_take(t.peer.link[0].raw, &raw))
            answers++;
    }
    pair_run_for(t.pair, PAIR_MS);
    while (raw_take(t.peer.link[0].raw, &raw))
        answers++;
    cr_assert_eq(answers, 5 * SMCR_LINK_RECVS);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    played_end(&t);
}

/* covers: SMCR-ENG-10 */
Test(link, SMCR_ENG_10_a_write_with_immediate_costs_a_receive_and_nothing_else)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 1);
    const struct smcr_rmb *rmb = played_group(&t)->rmbs;
    struct raw_link *raw = t.peer.link[0].raw;
    for (unsigned i = 0; i < 3 * SMCR_LINK_RECVS; i++) {
        struct nornic_send_wr wr = {.opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                    .send_flags = NORNIC_SEND_SIGNALED,
                                    .imm_data = i,
                                    .remote_addr = rmb->mr[0]->iova + 64,
                                    .rkey = rmb->mr[0]->rkey};
        cr_assert_eq(roce_post_send(raw->qp, &wr, NULL), 0, "%u", i);
        if (i % 16 == 15)
            pair_run_for(t.pair, 20 * PAIR_US);
    }
    pair_run_for(t.pair, PAIR_MS);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    cr_assert_eq(played_counters(&t)->llc_malformed, 0);
    played_end(&t);
}

/* The ADD LINK of ours is not answered; data go all the same, each CDC by one SEND of 44 bytes.
 * covers: SMCR-CDC-01, SMCR-ALK-02, SMCR-DAT-01 */
Test(link, SMCR_CDC_01_data_does_not_wait_for_an_exchange_of_LLC)
{
    struct played t;
    struct raw_message m;
    played_begin_with(&t, SMCR_SERVER, 1, (struct pair_config){.ports = {2, 2}});
    struct smcr_conn *conn = pair_other(t.conn.end)->conn;
    step_want_link(played_group(&t), t.pair->now_ns);
    played_expect(&t, 0, SMCR_LLC_ADD_LINK, false, NULL);
    cr_assert_eq(played_group(&t)->llc.step, SMCR_LLC_OFFER_OUT);
    for (unsigned i = 1; i < 4; i++) {
        cr_assert_eq(smcr_conn_send(conn, "data", 4, 0, t.pair->now_ns), 4);
        cr_assert(raw_wait(t.peer.link[0].raw, SMCR_CDC, false, &m, PAIR_MS));
        struct smcr_cdc cdc;
        smcr_cdc_get(&cdc, m.bytes);
        cr_assert_eq(m.len_bytes, SMCR_MSG_BYTES);
        cr_assert_eq(cdc.length, SMCR_MSG_BYTES);
        cr_assert_eq(cdc.producer_cursor, 4 + 4 * i);
    }
    cr_assert_eq(played_group(&t)->llc.step, SMCR_LLC_OFFER_OUT);
    played_end(&t);
}

/* covers: SMCR-ENG-05, SMCR-ARC-24, SMCR-SEC-06 */
Test(link, SMCR_ENG_05_a_key_of_another_link_does_not_open_the_RMB)
{
    for (unsigned i = 0; i < 3; i++) {
        struct played t;
        played_begin(&t, SMCR_SERVER, 2);
        struct smcr_group *group = played_group(&t);
        /* A second link on the same device, so that only the domain tells them apart. */
        struct smcr_link *other;
        cr_assert_eq(smcr_link_create(group, t.pair->node[1].smcr->ports, 77, &other), 0);
        struct smcr_rmb *rmb = group->rmbs;
        uint8_t *elem = smcr_elem(rmb, 2), byte = 0x5a;
        uint32_t rkey = i == 0 ? rmb->mr[other->slot]->rkey : rmb->mr[0]->rkey;
        uint64_t va = i == 1 ? rmb->mr[0]->iova + rmb->mr[0]->len_bytes : (uintptr_t)elem + 100;
        raw_write(t.peer.link[0].raw, &byte, 1, va, rkey);
        pair_run_for(t.pair, PAIR_MS);
        if (i == 2) {
            cr_assert_eq(elem[100], 0x5a, "with its own key it does");
            cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
        } else {
            cr_assert_eq(elem[100], 0);
            struct raw_message m;
            while (raw_take(t.peer.link[0].raw, &m))
                ;
            cr_assert_geq(t.peer.link[0].raw->failed, 1, "refused: case %u", i);
        }
        step_link_free(other, t.pair->now_ns);
        played_end(&t);
    }
}

/* covers: SMCR-ENG-05 */
Test(link, SMCR_ENG_05_keys_that_were_freed_are_not_given_again_soon)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 1);
    struct smcr_group *group = played_group(&t);
    uint32_t seen[64];
    for (unsigned i = 0; i < 64; i++) {
        struct smcr_link *link;
        cr_assert_eq(smcr_link_create(group, t.pair->node[1].smcr->ports, 77, &link), 0);
        seen[i] = group->rmbs->mr[link->slot]->rkey;
        for (unsigned k = 0; k < i; k++)
            cr_assert_neq(seen[k], seen[i]);
        step_link_free(link, t.pair->now_ns);
        cr_assert_null(group->rmbs->mr[link->slot]);
    }
    played_end(&t);
}

/* Whichever allocation of instance or device fails, nothing is left of a link that could not be made. */
Test(link, a_link_without_memory_leaves_nothing)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 1);
    struct smcr_group *group = played_group(&t);
    struct test_alloc *allocs[2] = {&t.pair->node[0].alloc, &t.pair->node[0].dev_alloc};
    unsigned failures = 0;
    for (unsigned which = 0; which < 2; which++)
        for (unsigned call = 1; call < 40; call++) {
            struct smcr_link *link;
            unsigned live = allocs[1]->live;
            allocs[which]->calls = 0;
            allocs[which]->fail_at = call;
            int err = smcr_link_create(group, t.pair->node[0].smcr->ports, 9, &link);
            allocs[which]->fail_at = 0;
            if (err == 0) {
                step_link_free(link, t.pair->now_ns);
                break;
            }
            failures++;
            cr_assert(err == -ENOMEM || err == -ENOSPC);
            cr_assert_eq(allocs[1]->live, live, "device, call %u", call);
            cr_assert_eq(group->links[1].state, SMCR_LINK_FREE);
            cr_assert_eq(t.pair->node[0].smcr->ports->num_links, 1);
        }
    cr_assert_gt(failures, 8);
    played_end(&t);
}

/* --- SMCR-ENG-04, ENG-06, FOV-01 to FOV-04 --- */

/* covers: SMCR-ENG-06, SMCR-ENG-04, SMCR-FOV-04 */
Test(link, SMCR_FOV_04_a_link_that_is_stopped_owes_nothing)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 1);
    struct smcr_link *link = played_link(&t, 1);
    struct smcr_conn *conn = pair_other(t.conn.end)->conn;
    pair_cut(t.pair, 1, 0, false);
    cr_assert_gt(pair_pump(pair_other(t.conn.end), 10000, 0), 0);
    pair_run_for(t.pair, 10 * PAIR_US);
    cr_assert_gt(link->num_posts, 0);
    cr_assert_gt(conn->posts, 0);
    uint64_t acked = smcr_counters(t.pair->node[0].smcr)->tx_cdc;
    cr_assert_gt(acked, 0);
    smcr_progress_stop(link, "the test stops it", t.pair->now_ns);
    cr_assert_eq(link->num_posts, 0);
    cr_assert_eq(conn->posts, 0, "every post was reported");
    cr_assert_eq(roce_qp_state(link->qp), NORNIC_QPS_ERR);
    uint8_t m[SMCR_MSG_BYTES] = {SMCR_LLC_TEST_LINK, SMCR_MSG_BYTES};
    cr_assert_eq(smcr_link_post_message(link, m, SMCR_MSG_BYTES, (struct smcr_post){.kind = SMCR_POST_LLC}),
                 -ENOTCONN);
    cr_assert_eq(smcr_link_post_write(link, &(struct smcr_write){.local = m, .len_bytes = 1}), -ENOTCONN);
    played_end(&t);
}

/* covers: SMCR-ENG-06 */
Test(link, SMCR_ENG_06_nothing_is_placed_in_memory_by_a_link_that_is_stopped)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 2);
    const struct smcr_rmb *rmb = played_group(&t)->rmbs;
    uint8_t *elem = smcr_elem(rmb, 2), byte = 0x5a;
    raw_write(t.peer.link[0].raw, &byte, 1, (uintptr_t)elem + 100, rmb->mr[0]->rkey);
    smcr_progress_stop(played_link(&t, 1), "the test stops it", t.pair->now_ns);
    pair_run_for(t.pair, PAIR_MS);
    cr_assert_eq(elem[100], 0);
    played_end(&t);
}

/* What arrived and was acknowledged before the end counts: the peer says so over the other link. */
/* covers: SMCR-FOV-08, SMCR-FOV-04, SMCR-FOV-19 */
Test(link, SMCR_FOV_08_CDCs_that_came_on_one_link_are_taken_before_the_validation_on_another)
{
    for (unsigned on = 0; on < 2; on++) {
        struct played t;
        struct smcr_cdc cdc;
        played_begin(&t, SMCR_SERVER, 2);
        /* Both wait when the instance looks, whichever port it looks at first. */
        peer_cdc(&t.conn, &cdc);
        peer_send_cdc(&t.conn, on, &cdc);
        cdc.failover_validation = 1;
        peer_send_cdc(&t.conn, !on, &cdc);
        pair_run_for(t.pair, PAIR_MS);
        cr_assert_eq(played_counters(&t)->failover_lost, 0, "%u", on);
        cr_assert(played_status(&t).established);
        cr_assert_eq(played_status(&t).error, 0);
        played_end(&t);
    }
}

/* covers: SMCR-FOV-08, SMCR-FOV-04 */
Test(link, SMCR_FOV_08_CDCs_of_a_link_that_has_died_meanwhile_are_not_lost)
{
    for (unsigned how = 0; how < 2; how++) {
        struct played t;
        struct smcr_cdc cdc;
        played_begin(&t, SMCR_SERVER, 2);
        struct pair_node *node = &t.pair->node[1];
        struct smcr *smcr = node->smcr;
        node->smcr = NULL; /* it does not look for a while */
        peer_cdc(&t.conn, &cdc);
        peer_send_cdc(&t.conn, 1, &cdc);
        pair_run_for(t.pair, PAIR_MS);
        node->smcr = smcr;
        if (how == 0)
            smcr_port_state(node->port[1].port, false, t.pair->now_ns);
        else
            pair_remove_port(t.pair, 1);
        cdc.failover_validation = 1;
        peer_send_cdc(&t.conn, 0, &cdc);
        pair_run_for(t.pair, PAIR_MS);
        cr_assert_eq(played_counters(&t)->failover_lost, 0, "%u", how);
        cr_assert_eq(played_status(&t).error, 0, "%u", how);
        played_end(&t);
    }
}

enum death { PORT_DOWN, PORT_REMOVED, SILENCE, PEER_BROKEN, TEST_UNANSWERED, DEATHS };

/* covers: SMCR-FOV-01, SMCR-FOV-02, SMCR-FOV-03, SMCR-DLK-01, SMCR-ENG-08, SMCR-ENG-04, SMCR-FOV-14,
 * SMCR-DLK-09 */
Test(link, SMCR_FOV_01_whatever_kills_a_link_moves_its_connections_and_is_told)
{
    for (enum death how = 0; how < DEATHS; how++)
        for (unsigned role = 0; role < 2; role++) {
            struct played t;
            uint8_t m[SMCR_MSG_BYTES];
            struct raw_message raw;
            played_begin(&t, (enum smcr_role)role, 2);
            struct smcr_conn *conn = pair_other(t.conn.end)->conn;
            struct smcr_link *dying = played_link(&t, 2), *other = played_link(&t, 1);
            step_move(conn, dying, t.pair->now_ns);
            cr_assert_eq(conn->link, dying);
            pair_run_for(t.pair, PAIR_MS);
            switch (how) {
            case PORT_DOWN:
                pair_cut(t.pair, t.me, 1, true);
                break;
            case PORT_REMOVED:
                pair_remove_port(t.pair, t.me);
                break;
            case SILENCE:
                pair_cut(t.pair, !t.me, 1, false);
                pair_pump(pair_other(t.conn.end), 100, 0);
                break;
            case PEER_BROKEN:
                raw_break(t.peer.link[1].raw);
                pair_pump(pair_other(t.conn.end), 100, 0);
                break;
            case TEST_UNANSWERED:
                step_test_link(dying, t.pair->now_ns);
                break;
            case DEATHS:
                break;
            }
            cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_DELETE_LINK, false, &raw, 2100 * PAIR_MS),
                      "death %u", how);
            memcpy(m, raw.bytes, sizeof m);
            cr_assert_eq(m[3], 0, "disorderly");
            cr_assert_eq(m[4], 2);
            cr_assert_eq(conn->link, other);
            cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN);
            cr_assert_eq(played_counters(&t)->links_failed, 1);
            cr_assert_eq(played_counters(&t)->conns_reset, 0);
            played_end(&t);
        }
}

/* covers: SMCR-FOV-02, SMCR-FOV-07 */
Test(link, SMCR_FOV_02_connections_move_before_the_peer_is_told)
{
    struct played t;
    struct raw_message raw;
    played_begin(&t, SMCR_CLIENT, 2);
    struct smcr_conn *conn = pair_other(t.conn.end)->conn;
    step_move(conn, played_link(&t, 2), t.pair->now_ns);
    pair_run_for(t.pair, PAIR_MS);
    while (raw_take(t.peer.link[0].raw, &raw))
        ;
    pair_cut(t.pair, t.me, 1, true);
    pair_run_for(t.pair, PAIR_MS);
    cr_assert(raw_take(t.peer.link[0].raw, &raw));
    cr_assert_eq(raw.bytes[0], SMCR_CDC);
    cr_assert_eq(raw.bytes[24] & 0x08, 0x08, "F");
    cr_assert(raw_take(t.peer.link[0].raw, &raw));
    cr_assert_eq(raw.bytes[0], SMCR_LLC_DELETE_LINK);
    played_end(&t);
}

/* covers: SMCR-FOV-16, SMCR-LGT-06, SMCR-ARC-04 */
Test(link, SMCR_FOV_16_with_the_last_link_goes_the_group)
{
    for (unsigned role = 0; role < 2; role++) {
        struct played t;
        played_begin(&t, (enum smcr_role)role, 1);
        pair_cut(t.pair, t.me, 0, true);
        pair_run_for(t.pair, PAIR_MS);
        cr_assert_null(played_group(&t));
        cr_assert(pair_other(t.conn.end)->reset_sent);
        cr_assert_eq(t.pair->node[t.me].port[0].port->num_links, 0);
        played_end(&t);
    }
}

/* --- keepalive: SMCR section 19 --- */

/* covers: SMCR-KAL-02, SMCR-KAL-06 */
Test(link, SMCR_KAL_02_an_idle_link_is_tested_and_one_with_traffic_is_not)
{
    struct pair_config config = {.ports = {1, 1}, .smcr[1].times.redundancy_ns = 1000 * PAIR_S};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    for (unsigned i = 0; i < 12; i++) { /* for a minute */
        pair_run_for(pair, 5 * PAIR_S);
        cr_assert(pair_transfer(pair, &c->end[0], 100, PAIR_S));
    }
    cr_assert_eq(pair->node[0].sent[SMCR_LLC_TEST_LINK] + pair->node[1].sent[SMCR_LLC_TEST_LINK], 0);
    pair_run_for(pair, 29 * PAIR_S);
    cr_assert_eq(pair->node[0].sent[SMCR_LLC_TEST_LINK], 0);
    pair_run_for(pair, 2 * PAIR_S);
    cr_assert_gt(pair->node[0].sent[SMCR_LLC_TEST_LINK] + pair->node[1].sent[SMCR_LLC_TEST_LINK], 0,
                 "whoever hears the other's test needs none");
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-KAL-03, SMCR-REC-04.18 */
Test(link, SMCR_KAL_03_an_answer_proves_the_link_and_silence_ends_it)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct raw_message raw;
    played_begin(&t, SMCR_CLIENT, 1);
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_TEST_LINK, false, &raw, 31 * PAIR_S));
    memcpy(m, raw.bytes, sizeof m);
    m[3] = 0x80;
    played_send(&t, 0, m);
    pair_run_for(t.pair, 10 * PAIR_S);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    cr_assert(raw_wait(t.peer.link[0].raw, SMCR_LLC_TEST_LINK, false, &raw, 31 * PAIR_S));
    pair_run_for(t.pair, 1900 * PAIR_MS);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE);
    pair_run_for(t.pair, 200 * PAIR_MS);
    cr_assert_null(played_group(&t), "it was the last: connections are reset");
    cr_assert(pair_other(t.conn.end)->reset_sent);
    played_end(&t);
}

/* covers: SMCR-REC-28, SMCR-KAL-06, SMCR-LLC-04 */
Test(link, SMCR_REC_28_another_echo_than_what_was_sent_ends_the_link)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    step_test_link(played_link(&t, 2), t.pair->now_ns);
    played_expect(&t, 1, SMCR_LLC_TEST_LINK, false, m);
    m[3] = 0x80;
    m[19] ^= 1;
    played_send(&t, 1, m);
    cr_assert_eq(played_state(&t, 2), SMCR_LINK_DOWN);
    played_expect(&t, 0, SMCR_LLC_DELETE_LINK, false, m);
    cr_assert_eq(m[6], 0x04, "LLC protocol violation");
    played_end(&t);
}

/* The answer to the first would not be that to a second: there is one of ours at a time on a link.
 * covers: SMCR-KAL-06 */
Test(link, SMCR_KAL_06_a_link_under_test_is_not_tested_again)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    struct smcr_link *link = played_link(&t, 2);
    step_test_link(link, t.pair->now_ns);
    step_test_link(link, t.pair->now_ns);
    step_test_link(played_link(&t, 1), t.pair->now_ns); /* each link has its own */
    cr_assert_eq(t.pair->node[t.me].sent[SMCR_LLC_TEST_LINK], 2);
    played_expect(&t, 1, SMCR_LLC_TEST_LINK, false, m);
    m[3] = 0x80;
    played_send(&t, 1, m);
    cr_assert_eq(link->state, SMCR_LINK_ACTIVE);
    cr_assert_not(link->is_tested);
    step_test_link(link, t.pair->now_ns);
    cr_assert_eq(t.pair->node[t.me].sent[SMCR_LLC_TEST_LINK], 3);
    played_end(&t);
}

/* covers: SMCR-LLC-62, SMCR-KAL-06 */
Test(link, SMCR_KAL_06_several_tests_at_once_are_all_answered)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES], answer[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 1);
    for (unsigned i = 0; i < 10; i++) {
        played_test_link(m, (uint8_t)i);
        raw_send(t.peer.link[0].raw, m, SMCR_MSG_BYTES);
    }
    for (unsigned i = 0; i < 10; i++) {
        played_expect(&t, 0, SMCR_LLC_TEST_LINK, true, answer);
        cr_assert_eq(answer[4], i);
    }
    played_end(&t);
}
