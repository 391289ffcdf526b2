/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups, how they are told apart (SMCR section 2), and their statistics. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "smcr/stat.h"
#include "test/smcr/played.h"
#include "test/smcr/steps.h"

static unsigned count_groups(const struct pair *pair, unsigned node)
{
    unsigned count = 0;
    for (const struct smcr_group *group = pair->node[node].smcr->groups; group; group = group->next)
        count++;
    return count;
}

/* covers: SMCR-ARC-05, SMCR-SEC-01 */
Test(group, SMCR_ARC_05_the_VLAN_is_part_of_what_a_group_is)
{
    struct pair_config config = {.vlan_id = 7, .ports = {1, 1}};
    struct pair *pair = pair_new(&config);
    cr_assert_not_null(pair_connect(pair, 0));
    struct smcr *smcr = pair->node[0].smcr;
    struct smcr_peer_id peer_id = pair->node[1].smcr->peer_id;
    cr_assert_eq(smcr->groups->vlan_id, 7);
    const struct smcr_link *link = &smcr->groups->links[0];
    struct smcr_conn conn = {.smcr = smcr, .config = smcr->conns->config};
    cr_assert_eq(smcr_link_find(&conn, &peer_id, &link->peer), link);
    conn.config.vlan_id = 8;
    cr_assert_null(smcr_link_find(&conn, &peer_id, &link->peer));
    conn.config.vlan_id = 0;
    cr_assert_null(smcr_link_find(&conn, &peer_id, &link->peer));
    conn.config.vlan_id = 7;
    peer_id.b[1] ^= 1; /* another process on the same RNIC */
    cr_assert_null(smcr_link_find(&conn, &peer_id, &link->peer));
    struct smcr_port port = *smcr->ports;
    cr_assert(smcr_group_may_use(smcr->groups, &port));
    port.vlan_id = 8;
    cr_assert_not(smcr_group_may_use(smcr->groups, &port), "nor does it take ports of another");
    port.vlan_id = 7;
    strcpy(port.config.pnetid, "OTHER");
    cr_assert_not(smcr_group_may_use(smcr->groups, &port));
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-ARC-08, SMCR-ARC-09, SMCR-CDC-06 */
Test(group, SMCR_ARC_09_the_other_direction_has_a_group_of_its_own)
{
    struct pair_config config = {.ports = {2, 2}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *a = pair_connect(pair, 0), *b = pair_connect(pair, 1);
    cr_assert(a && b);
    for (unsigned node = 0; node < 2; node++) {
        cr_assert_eq(count_groups(pair, node), 2);
        const struct smcr_group *one = pair->node[node].smcr->groups, *two = one->next;
        cr_assert_neq(one->role, two->role);
        for (unsigned i = 0; i < 2; i++)
            for (unsigned k = 0; k < 2; k++) {
                cr_assert(one->links[i].port != two->links[k].port ||
                          one->links[i].local.qpn != two->links[k].local.qpn);
                cr_assert_neq(one->links[i].user_id, two->links[k].user_id, "SMCR-ARC-20");
            }
        cr_assert_neq(one->rmbs, two->rmbs, "memory is not shared: SMCR-ARC-12");
    }
    cr_assert(pair_transfer(pair, &a->end[1], 10000, PAIR_S));
    cr_assert(pair_transfer(pair, &b->end[1], 10000, PAIR_S));
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-ARC-21, SMCR-ARC-22, SMCR-ARC-23 */
Test(group, SMCR_ARC_21_the_peer_id_is_instance_and_MAC_and_nothing_else_names_the_peer)
{
    struct pair_config config = {.ports = {2, 2}, .smcr[0].instance_id = 0x1234};
    struct pair *pair = pair_new(&config);
    const struct pair_node *node = &pair->node[0];
    cr_assert_eq(node->smcr->peer_id.b[0], 0x12);
    cr_assert_eq(node->smcr->peer_id.b[1], 0x34);
    cr_assert_arr_eq(node->smcr->peer_id.b + 2, node->port[0].mac.b, 6);
    cr_assert_not_null(pair_connect(pair, 0));
    pair_remove_port(pair, 0); /* the peer id stays */
    cr_assert_arr_eq(node->smcr->peer_id.b + 2, node->port[0].mac.b, 6);
    cr_assert_arr_eq(pair->node[1].smcr->groups->peer_id.b, node->smcr->peer_id.b, 8);
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-ARC-06, SMCR-ARC-07, SMCR-ARC-18, SMCR-SC-04 */
Test(group, SMCR_ARC_06_many_connections_share_a_link)
{
    struct pair_config config = {.ports = {1, 1}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c[10];
    for (unsigned i = 0; i < 10; i++)
        cr_assert_not_null(c[i] = pair_connect(pair, 0));
    cr_assert_eq(count_groups(pair, 0), 1);
    cr_assert_eq(pair->node[0].smcr->groups->num_conns, 10);
    cr_assert_eq(pair->node[0].smcr->groups->links[0].conns, 10);
    cr_assert_eq(pair->node[1].sent[SMCR_LLC_CONFIRM_LINK], 1, "once for all of them");
    for (unsigned i = 0; i < 10; i++)
        cr_assert(pair_transfer(pair, &c[i]->end[i % 2], 3000, PAIR_S));
    cr_assert_null(pair_free(pair));
}

/* covers: SMCR-FC-05, SMCR-FC-06 */
Test(group, SMCR_FC_05_a_link_is_found_by_all_of_its_key)
{
    struct played t;
    played_begin(&t, SMCR_CLIENT, 1);
    struct smcr_group *group = played_group(&t);
    const struct smcr_link *link = &group->links[0];
    struct smcr_conn conn = {.smcr = group->smcr, .config = group->conns->config};
    struct smcr_link_end key = link->peer;
    cr_assert_eq(smcr_link_find(&conn, &group->peer_id, &key), link);
    key.psn ^= 1;
    key.mtu ^= 1;
    cr_assert_eq(smcr_link_find(&conn, &group->peer_id, &key), link, "no part of it");
    group->role = SMCR_SERVER; /* of the connections that go the other way */
    cr_assert_null(smcr_link_find(&conn, &group->peer_id, &key));
    group->role = SMCR_CLIENT;
    key.qpn ^= 1;
    cr_assert_null(smcr_link_find(&conn, &group->peer_id, &key));
    key = link->peer;
    key.mac.b[5] ^= 1;
    cr_assert_null(smcr_link_find(&conn, &group->peer_id, &key));
    key = link->peer;
    key.gid.b[15] ^= 1;
    cr_assert_null(smcr_link_find(&conn, &group->peer_id, &key));
    key = link->peer;
    group->state = SMCR_GROUP_FIRST_CONTACT; /* SMCR-FC-21 */
    cr_assert_null(smcr_link_find(&conn, &group->peer_id, &key));
    group->state = SMCR_GROUP_USABLE;
    played_end(&t);
}

Test(group, max_groups_bounds_what_peers_can_make)
{
    struct pair_config config = {.ports = {1, 1}, .smcr[1].max_groups = 2};
    struct pair *pair = pair_new(&config);
    struct smcr *smcr = pair->node[1].smcr;
    struct smcr_peer_id id = {{1}};
    struct smcr_group *a = smcr_group_create(smcr, SMCR_SERVER, &id, 0, "");
    struct smcr_group *b = smcr_group_create(smcr, SMCR_SERVER, &id, 0, "");
    cr_assert(a && b);
    cr_assert_null(smcr_group_create(smcr, SMCR_SERVER, &id, 0, ""));
    smcr_group_free(a, pair->now_ns);
    a = smcr_group_create(smcr, SMCR_SERVER, &id, 0, "");
    cr_assert_not_null(a);
    smcr_group_free(a, pair->now_ns);
    smcr_group_free(b, pair->now_ns);
    cr_assert_null(pair_free(pair));
}

/* --- ports --- */

static unsigned wakes, locked, lock_depth;

static void wake(void *ctx)
{
    (void)ctx;
    wakes++;
}

static void lock(void *ctx)
{
    (void)ctx;
    locked++;
    lock_depth++;
}

static void unlock(void *ctx)
{
    (void)ctx;
    lock_depth--;
}

/* Completions that wait are announced: those that come after the instance has looked, each time. */
Test(group, a_port_wakes_for_completions_and_locks_around_control_calls)
{
    struct played t;
    uint8_t m[SMCR_MSG_BYTES];
    played_begin(&t, SMCR_SERVER, 1);
    struct pair_node *node = &t.pair->node[1];
    struct smcr *smcr = node->smcr;
    node->port[0].port->config.wake = wake;
    node->port[0].port->config.lock = lock;
    node->port[0].port->config.unlock = unlock;
    for (unsigned i = 1; i <= 5; i++) {
        node->smcr = NULL; /* asleep */
        played_test_link(m, 1);
        played_send(&t, 0, m);
        cr_assert_eq(wakes, i, "once for all of them");
        played_send(&t, 0, m);
        cr_assert_eq(wakes, i);
        node->smcr = smcr;
        pair_now(t.pair);
        wakes = i;
    }
    struct smcr_link *link;
    cr_assert_eq(smcr_link_create(played_group(&t), node->port[0].port, 9, &link), 0);
    cr_assert_gt(locked, 2);
    cr_assert_eq(lock_depth, 0);
    locked = 0;
    step_link_free(link, t.pair->now_ns);
    cr_assert_gt(locked, 2);
    cr_assert_eq(lock_depth, 0);
    played_end(&t);
}

Test(group, the_completion_queue_of_a_port_grows_with_its_links)
{
    struct played t;
    played_begin(&t, SMCR_SERVER, 1);
    struct smcr_group *group = played_group(&t);
    struct smcr_port *port = t.pair->node[1].port[0].port;
    struct smcr_link *links[8];
    for (unsigned i = 0; i < 8; i++) {
        cr_assert_eq(smcr_link_create(group, port, (uint8_t)(10 + i), &links[i]), 0);
        cr_assert_geq(rdma_cq_capacity(port->cq), (i + 2) * (SMCR_LINK_SENDS + SMCR_LINK_RECVS));
        cr_assert_geq(port->inbox.capacity, (i + 2) * (SMCR_LINK_SENDS + SMCR_LINK_RECVS));
        cr_assert_eq(port->table[links[i]->port_index], links[i]);
    }
    struct smcr_link *one_more;
    cr_assert_eq(smcr_link_create(group, port, 99, &one_more), -ENOSPC, "SMCR-ARC-14, ARC-16");
    for (unsigned i = 0; i < 8; i++)
        step_link_free(links[i], t.pair->now_ns);
    pair_run_for(t.pair, PAIR_MS);
    cr_assert_eq(port->num_links, 1);
    cr_assert_eq(played_state(&t, 1), SMCR_LINK_ACTIVE, "their flushed receives concern nobody");
    played_end(&t);
}

Test(group, a_port_needs_a_device_a_GID_and_an_MTU)
{
    struct pair_config config = {.ports = {1, 1}};
    struct pair *pair = pair_new(&config);
    struct smcr_port *out;
    struct smcr_port_config good = pair->node[0].port[0].port->config, bad = good;
    bad.dev = NULL;
    cr_assert_eq(smcr_port_add(pair->node[0].smcr, &bad, pair->now_ns, &out), -EINVAL);
    bad = good;
    bad.sgid_index = 63;
    cr_assert_eq(smcr_port_add(pair->node[0].smcr, &bad, pair->now_ns, &out), -EINVAL);
    bad = good;
    bad.path_mtu = (enum nornic_mtu)6;
    cr_assert_eq(smcr_port_add(pair->node[0].smcr, &bad, pair->now_ns, &out), -EINVAL);
    bad = good;
    bad.num_networks = SMCR_MAX_NETWORKS + 1;
    cr_assert_eq(smcr_port_add(pair->node[0].smcr, &bad, pair->now_ns, &out), -EINVAL);
    for (unsigned call = 1; call <= 3; call++) {
        struct test_alloc *alloc = &pair->node[0].alloc;
        unsigned live = alloc->live;
        alloc->calls = 0;
        alloc->fail_at = call;
        cr_assert_eq(smcr_port_add(pair->node[0].smcr, &good, pair->now_ns, &out), -ENOMEM);
        alloc->fail_at = 0;
        cr_assert_eq(alloc->live, live);
    }
    cr_assert_null(pair_free(pair));
}

/* --- statistics --- */

struct seen {
    unsigned groups, links, rmbs, conns;
    const struct pair *pair;
};

static void see_group(void *ctx, const struct smcr_group_stat *g)
{
    struct seen *seen = ctx;
    seen->groups++;
    cr_assert(g->server);
    cr_assert_str_eq(g->redundancy, "SYMMETRIC");
    cr_assert_eq(g->max_links, 2);
    cr_assert_arr_eq(g->peer_id, seen->pair->node[0].smcr->peer_id.b, 8);
}

static void see_link(void *ctx, const struct smcr_group_stat *g, const struct smcr_link_stat *l)
{
    struct seen *seen = ctx;
    seen->links++;
    cr_assert_not_null(g);
    cr_assert_str_eq(l->state, "ACTIVE");
    const struct smcr_link *link = smcr_group_link(seen->pair->node[1].smcr->groups, l->number);
    cr_assert_not_null(link);
    cr_assert_eq(l->qpn, link->local.qpn);
    cr_assert_eq(l->peer_qpn, link->peer.qpn);
    cr_assert_eq(l->path_mtu_bytes, 1024);
    cr_assert_eq(l->user_id, link->user_id);
    cr_assert_eq(l->peer_user_id, link->peer_user_id); /* SMCR-ARC-20 */
    cr_assert_eq(strncmp(l->port, "p1.", 3), 0);
}

static void see_rmb(void *ctx, const struct smcr_group_stat *g, const struct smcr_rmb_stat *r)
{
    struct seen *seen = ctx;
    seen->rmbs++;
    cr_assert_not_null(g);
    cr_assert_eq(r->elem_bytes, 131072);
    cr_assert_eq(r->elems, 16);
    cr_assert_eq(r->used, 2);
}

static void see_conn(void *ctx, const struct smcr_group_stat *g, const struct smcr_conn_stat *c)
{
    struct seen *seen = ctx;
    seen->conns++;
    if (!g) {
        cr_assert_str_eq(c->state, "waits for Proposal");
        return;
    }
    cr_assert_str_eq(c->state, "ACTIVE");
    cr_assert_neq(c->link, 0);
    cr_assert_neq(c->alert_token, c->peer_alert_token);
}

/* covers: SMCR-ARC-20 */
Test(group, statistics_name_all_there_is)
{
    struct pair_config config = {.ports = {2, 2}, .rcvbuf_bytes = {0, 100000}};
    struct pair *pair = pair_new(&config);
    cr_assert(pair_connect(pair, 0) && pair_connect(pair, 0));
    struct pair_conn *third = pair_open(pair, 0);
    third->end[1].held = true;
    struct seen seen = {.pair = pair};
    struct smcr_stat_visitor visitor = {
        .group = see_group, .link = see_link, .rmb = see_rmb, .conn = see_conn, .ctx = &seen};
    smcr_stat_visit(pair->node[1].smcr, &visitor);
    cr_assert_eq(seen.groups, 1);
    cr_assert_eq(seen.links, 2);
    cr_assert_eq(seen.rmbs, 1);
    cr_assert_eq(seen.conns, 3);
    smcr_stat_visit(pair->node[1].smcr, &(struct smcr_stat_visitor){0}); /* each may be missing */
    cr_assert_null(pair_free(pair));
}
