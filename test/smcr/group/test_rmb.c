/* SPDX-License-Identifier: BSD-2-Clause */
/* Elements, sizes, and pools that grow and shrink. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "test/smcr/played.h"

/* covers: SMCR-RMB-03, SMCR-CLC-31, SMCR-CLC-32 */
Test(rmb, SMCR_RMB_03_the_smallest_size_that_holds_the_receive_buffer)
{
    static const struct {
        uint32_t rcvbuf_bytes, elem_bytes;
        uint8_t bsize;
    } sizes[] = {
        {0, 16384, 0},        {1, 16384, 0},           {16380, 16384, 0},   {16381, 32768, 1},
        {16384, 32768, 1},    {32764, 32768, 1},       {65532, 65536, 2},   {65536, 131072, 3},
        {262140, 262144, 4},  {262141, 524288, 5},     {524284, 524288, 5}, {524285, 524288, 5},
        {1 << 20, 524288, 5}, {UINT32_MAX, 524288, 5},
    };
    for (size_t i = 0; i < array_len(sizes); i++) {
        uint32_t elem_bytes = smcr_elem_bytes_for(sizes[i].rcvbuf_bytes);
        cr_assert_eq(elem_bytes, sizes[i].elem_bytes, "%u", sizes[i].rcvbuf_bytes);
        cr_assert_eq(smcr_bsize_of(elem_bytes), sizes[i].bsize);
        cr_assert_eq(smcr_elem_bytes_of(sizes[i].bsize), elem_bytes);
    }
    for (unsigned bsize = 6; bsize < 256; bsize++)
        cr_assert_eq(smcr_elem_bytes_of((uint8_t)bsize), 0, "%u", bsize);
}

/* A connection for elements only. */
static struct smcr_conn *conn_for(uint32_t rcvbuf_bytes)
{
    struct smcr_conn *conn = calloc(1, sizeof *conn);
    cr_assert_not_null(conn);
    conn->config.rcvbuf_bytes = rcvbuf_bytes;
    return conn;
}

/* covers: SMCR-RMB-01, SMCR-RMB-02, SMCR-RMB-04, SMCR-RMB-10, SMCR-RMB-11, SMCR-CLC-34, SMCR-ENG-05 */
Test(rmb, SMCR_RMB_01_equal_elements_side_by_side)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 1);
    struct smcr_group *group = played_group(&t);
    struct smcr_rmb *rmb = group->rmbs;
    cr_assert_eq(rmb->num_elems, 16);
    struct smcr_conn *conns[15];
    for (unsigned i = 0; i < 15; i++) { /* one is the connection's of the first contact */
        conns[i] = conn_for(rmb->elem_bytes - SMCR_EYE_BYTES);
        cr_assert_eq(smcr_rmb_get_elem(group, conns[i]), 0);
        cr_assert_eq(conns[i]->rmb, rmb);
        cr_assert_eq(conns[i]->rmb_index, i + 2);
        uint8_t *elem = smcr_elem(rmb, conns[i]->rmb_index);
        cr_assert_eq(elem, rmb->bytes + (i + 1) * (size_t)rmb->elem_bytes);
        cr_assert(smcr_elem_is_sound(rmb, conns[i]->rmb_index));
    }
    cr_assert_eq((uintptr_t)rmb->bytes % SMCR_PAGE_BYTES, 0);
    struct rdma_mr *mr = rmb->mr[group->links[0].slot];
    cr_assert_eq(mr->len_bytes, (uint64_t)rmb->num_elems * rmb->elem_bytes);
    cr_assert_eq(mr->access &
                     (NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC),
                 NORNIC_ACCESS_REMOTE_WRITE); /* SMCR-ENG-05 */
    for (unsigned i = 0; i < 15; i++) {
        smcr_rmb_put_elem(conns[i], t.pair->now_ns);
        free(conns[i]);
    }
    played_end(&t);
}

/* One element in each RMB, which is then nobody else's.
 * covers: SMCR-RMB-10, SMCR-RMB-01 */
Test(rmb, SMCR_RMB_10_an_RMB_of_one_element)
{
    struct pair *pair = pair_new(&(struct pair_config){.smcr = {{.elems_per_rmb = 1}, {.elems_per_rmb = 1}}});
    struct pair_conn *a = pair_connect(pair, 0), *b = pair_connect(pair, 0);
    cr_assert(a && b, "%s", pair->failure);
    for (unsigned node = 0; node < 2; node++) {
        cr_assert_neq(a->end[node].conn->rmb, b->end[node].conn->rmb);
        cr_assert_eq(a->end[node].conn->rmb_index, 1);
        cr_assert_eq(b->end[node].conn->rmb_index, 1);
        cr_assert(pair_transfer(pair, &a->end[node], 100000, PAIR_S));
        cr_assert(pair_transfer(pair, &b->end[node], 100000, PAIR_S));
    }
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-RMB-05, SMCR-RMB-06, SMCR-SEC-09 */
Test(rmb, SMCR_RMB_05_an_element_is_zeroed_before_another_connection_has_it)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 1);
    struct smcr_group *group = played_group(&t);
    struct smcr_conn *conn = conn_for(1000);
    /* Another size than the first connection's, so that a new RMB begins: only its bytes matter here. */
    group->state = SMCR_GROUP_FIRST_CONTACT;
    cr_assert_eq(smcr_rmb_get_elem(group, conn), 0);
    group->state = SMCR_GROUP_USABLE;
    struct smcr_rmb *rmb = conn->rmb;
    uint8_t index = conn->rmb_index, *elem = smcr_elem(rmb, index);
    memset(elem, 0x5a, rmb->elem_bytes);
    cr_assert_not(smcr_elem_is_sound(rmb, index)); /* SMCR-RMB-07 */
    smcr_rmb_put_elem(conn, t.pair->now_ns);
    cr_assert_eq(smcr_rmb_get_elem(group, conn), 0);
    cr_assert_eq(conn->rmb_index, index);
    cr_assert(smcr_elem_is_sound(rmb, index));
    for (uint32_t i = SMCR_EYE_BYTES; i < rmb->elem_bytes; i++)
        cr_assert_eq(elem[i], 0, "byte %u", i);
    smcr_rmb_put_elem(conn, t.pair->now_ns);
    free(conn);
    played_end(&t);
}

/* covers: SMCR-RKY-02, SMCR-RKY-03, SMCR-SC-02, SMCR-RMB-04 */
Test(rmb, SMCR_RKY_03_no_accept_before_the_new_RMB_is_confirmed_on_all_links)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 2);
    struct pair_end *end = played_open(&t, 300000);
    struct smcr_group *group = played_group(&t);
    cr_assert_eq(group->num_rmbs, 2);
    cr_assert_eq(pair_other(end)->plain_bytes, 0, "an Accept before CONFIRM RKEY was answered");
    struct pair_end *second = played_open(&t, 300000); /* it takes another element of the same RMB */
    cr_assert_eq(group->num_rmbs, 2);
    cr_assert_eq(group->rmbs->next->used, 2);
    cr_assert_eq(pair_other(second)->plain_bytes, 0);
    unsigned via = 0;
    struct raw_message raw;
    if (!raw_wait(t.peer.link[0].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, PAIR_MS)) {
        via = 1;
        cr_assert(raw_wait(t.peer.link[1].raw, SMCR_LLC_CONFIRM_RKEY, false, &raw, PAIR_MS));
    }
    struct smcr_confirm_rkey cr;
    smcr_confirm_rkey_get(&cr, raw.bytes);
    const struct smcr_rmb *rmb = group->rmbs->next;
    const struct smcr_link *carrier = played_link(&t, (uint8_t)(via + 1));
    const struct smcr_link *other = played_link(&t, (uint8_t)(2 - via));
    cr_assert_eq(cr.other_links, 1);
    cr_assert_eq(cr.rkey, rmb->mr[carrier->slot]->rkey);
    cr_assert_eq(cr.link_1, other->number);
    cr_assert_eq(cr.rkey_1, rmb->mr[other->slot]->rkey);
    cr_assert_neq(cr.rkey, cr.rkey_1, "a key per link: SMCR-ARC-24");
    cr_assert_eq(cr.va, rmb->mr[carrier->slot]->iova);
    memcpy(m, raw.bytes, sizeof m);
    m[3] |= 0x80;
    played_send(&t, via, m);
    uint8_t clc[SMCR_CLC_MAX_BYTES];
    cr_assert_eq(peer_clc_wait(pair_other(end), clc, sizeof clc, PLAYED_SOON), SMCR_ACCEPT_BYTES);
    cr_assert_eq(clc[4], SMCR_CLC_ACCEPT);
    cr_assert_eq(clc[7] & 0x08, 0, "a subsequent contact");
    cr_assert(rmb->is_confirmed);
    played_end(&t);
}

/* covers: SMCR-RKY-10, SMCR-SC-12 */
Test(rmb, SMCR_RKY_10_there_are_255_RMBs_and_no_more)
{
    struct played t;
    struct pair_config config = {.smcr = {{.elems_per_rmb = 1}, {.elems_per_rmb = 1}}};
    played_begin_with(&t, SMCR_CLIENT, 1, config);
    struct smcr_group *group = played_group(&t);
    static struct smcr_conn conns[255];
    group->state = SMCR_GROUP_FIRST_CONTACT; /* no exchange for each */
    for (unsigned i = 0; i < 255; i++)
        cr_assert_eq(smcr_rmb_get_elem(group, &conns[i]), i < 254 ? 0 : -ENOSPC, "%u", i);
    cr_assert_eq(group->num_rmbs, 255);
    for (unsigned i = 0; i < 254; i++)
        smcr_rmb_put_elem(&conns[i], t.pair->now_ns);
    group->state = SMCR_GROUP_USABLE;
    const struct smcr_link *link = &group->links[0];
    for (unsigned i = 0; i < 300; i++)
        smcr_peer_rmb_find(group, link, 0x1000 + i, 0x100000u * i, true);
    cr_assert_eq(group->num_peer_rmbs, 255, "nor does a peer have more");
    played_end(&t);
}

/* covers: SMCR-RKY-07, SMCR-RMB-09 */
Test(rmb, SMCR_RKY_07_an_unused_RMB_goes_after_a_while_and_the_answer)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct pair_config config = {.smcr[0].times.rmb_idle_ns = 100 * PAIR_MS};
    played_begin_with(&t, SMCR_CLIENT, 1, config);
    struct smcr_group *group = played_group(&t);
    struct smcr_conn *conn = conn_for(1000);
    group->state = SMCR_GROUP_FIRST_CONTACT;
    cr_assert_eq(smcr_rmb_get_elem(group, conn), 0);
    group->state = SMCR_GROUP_USABLE;
    uint32_t rkey = conn->rmb->mr[0]->rkey;
    smcr_rmb_put_elem(conn, t.pair->now_ns);
    free(conn);
    pair_run_for(t.pair, 90 * PAIR_MS);
    cr_assert_eq(t.pair->node[0].sent[SMCR_LLC_DELETE_RKEY], 0);
    played_expect(&t, 0, SMCR_LLC_DELETE_RKEY, false, m);
    cr_assert_eq(get_be32(m + 8), rkey);
    cr_assert_eq(m[4], 1);
    cr_assert_eq(group->num_rmbs, 2, "kept until the answer");
    m[3] |= 0x80;
    played_send(&t, 0, m);
    cr_assert_eq(group->num_rmbs, 1);
    pair_run_for(t.pair, 500 * PAIR_MS);
    cr_assert_eq(group->num_rmbs, 1, "the last one stays for the next connection");
    played_end(&t);
}

/* Each has a time of its own.
 * covers: SMCR-RKY-07 */
Test(rmb, SMCR_RKY_07_no_RMB_goes_with_another_that_was_idle_longer)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    struct pair_config config = {.smcr[0].times.rmb_idle_ns = 100 * PAIR_MS};
    played_begin_with(&t, SMCR_CLIENT, 1, config);
    struct smcr_group *group = played_group(&t);
    struct smcr_conn *first = conn_for(1000), *second = conn_for(300000);
    group->state = SMCR_GROUP_FIRST_CONTACT;
    cr_assert_eq(smcr_rmb_get_elem(group, first), 0);
    cr_assert_eq(smcr_rmb_get_elem(group, second), 0);
    group->state = SMCR_GROUP_USABLE;
    uint32_t rkey = second->rmb->mr[0]->rkey;
    smcr_rmb_put_elem(second, t.pair->now_ns);
    pair_run_for(t.pair, 50 * PAIR_MS);
    smcr_rmb_put_elem(first, t.pair->now_ns);
    pair_run_for(t.pair, 60 * PAIR_MS);
    played_expect(&t, 0, SMCR_LLC_DELETE_RKEY, false, m);
    cr_assert_eq(get_be32(m + 8), rkey, "the one whose time has come, not the first in the list");
    m[3] |= 0x80;
    played_send(&t, 0, m);
    cr_assert_eq(t.pair->node[0].sent[SMCR_LLC_DELETE_RKEY], 1);
    free(first);
    free(second);
    played_end(&t);
}

/* covers: SMCR-RKY-07 */
Test(rmb, SMCR_RKY_07_the_last_RMB_stays_for_the_next_connection)
{
    struct pair_config config = {
        .ports = {1, 1}, .smcr[0].times.rmb_idle_ns = PAIR_S, .smcr[1].times.rmb_idle_ns = PAIR_S};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_run_for(pair, 5 * PAIR_S);
    for (unsigned node = 0; node < 2; node++) {
        cr_assert_eq(pair->node[node].sent[SMCR_LLC_DELETE_RKEY], 0);
        cr_assert_eq(pair->node[node].smcr->groups->num_rmbs, 1);
        cr_assert_eq(pair->node[node].smcr->groups->rmbs->used, 0);
    }
    cr_assert_not_null(pair_connect(pair, 0));
    cr_assert_null(pair_free(pair));
}

/* Whichever allocation fails, nothing is left of the attempt. */
Test(rmb, a_new_RMB_without_memory_leaves_nothing)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 2);
    struct smcr_group *group = played_group(&t);
    struct test_alloc *allocs[2] = {&t.pair->node[0].alloc, &t.pair->node[0].dev_alloc};
    for (unsigned which = 0; which < 2; which++) {
        for (unsigned call = 1; call < 5; call++) {
            struct smcr_conn *conn = conn_for(1000);
            unsigned live[2] = {allocs[0]->live, allocs[1]->live};
            allocs[which]->calls = 0;
            allocs[which]->fail_at = call;
            group->state = SMCR_GROUP_FIRST_CONTACT;
            int err = smcr_rmb_get_elem(group, conn);
            group->state = SMCR_GROUP_USABLE;
            allocs[which]->fail_at = 0;
            if (err == 0) { /* it did not need so many */
                smcr_rmb_put_elem(conn, t.pair->now_ns);
                free(conn);
                break;
            }
            cr_assert_eq(err, -ENOMEM);
            cr_assert_eq(allocs[0]->live, live[0]);
            cr_assert_eq(allocs[1]->live, live[1]);
            cr_assert_eq(group->num_rmbs, which == 0 ? 1 : 2);
            cr_assert_null(conn->rmb);
            free(conn);
        }
    }
    played_end(&t);
}
