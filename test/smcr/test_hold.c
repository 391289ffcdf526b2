/* SPDX-License-Identifier: BSD-2-Clause */
/* smcr_hold() and smcr_release(): CDCs of many connections behind all their writes. */
#include <criterion/criterion.h>
#include <string.h>

#include "smcr/conn/data.h"
#include "test/smcr/crowd.h"
#include "test/smcr/steps.h"
#include "test/smcr_pair/pair.h"

TestSuite(hold, .timeout = 120);

enum { BTH_AT = 14 + 20 + 8, WRITE_ONLY = 0x0a, SEND_ONLY = 0x04, SEND_BYTES = 12 + 44 + 4 };

static struct pair *pair;
static struct pair_conn *conns[80];

/* The requests that left node 0: 'w' an RDMA write, 'c' a CDC, 'l' a message of LLC. */
static char left[1000];

static void on_wire(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t len_bytes)
{
    size_t n = strlen(left);
    (void)ctx;
    if (end || len_bytes < BTH_AT + 13 || n + 1 == sizeof left)
        return;
    if (bytes[BTH_AT] == WRITE_ONLY)
        left[n] = 'w';
    else if (bytes[BTH_AT] == SEND_ONLY && len_bytes == BTH_AT + SEND_BYTES)
        left[n] = bytes[BTH_AT + 12] == SMCR_CDC ? 'c' : 'l';
}

static void connect_all(const struct pair_config *config, unsigned n)
{
    pair = crowd_begin(config, conns, n);
    memset(left, 0, sizeof left);
    pair->on_wire = on_wire;
}

static void end_pair(unsigned n)
{
    crowd_end(pair, conns, n);
}

static void send_on(unsigned n, size_t len_bytes)
{
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(pair_pump(&conns[i]->end[0], len_bytes, SMCR_SEND_NODELAY), (ssize_t)len_bytes);
}

static void all_have(unsigned n, size_t len_bytes)
{
    cr_assert(pair_settle(pair, 10 * PAIR_S), "%s", pair->failure);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(pair_drain(&conns[i]->end[1], 100000), (ssize_t)len_bytes, "connection %u", i);
}

static struct smcr *instance(void)
{
    return pair->node[0].smcr;
}

static struct smcr_link *link_of(unsigned i)
{
    return conns[i]->end[0].conn->link;
}

Test(hold, writes_leave_before_what_tells_of_them)
{
    connect_all(&(struct pair_config){.seed = 1}, 3);
    smcr_hold(instance());
    send_on(3, 64);
    cr_assert_eq(link_of(0)->num_held, 3);
    smcr_release(instance());
    cr_assert_eq(link_of(0)->num_held, 0);
    all_have(3, 64);
    cr_assert(strncmp(left, "wwwccc", 6) == 0, "%s left", left);
    end_pair(3);
}

Test(hold, without_it_each_is_told_of_at_once)
{
    connect_all(&(struct pair_config){.seed = 2}, 3);
    smcr_hold(instance());
    smcr_release(instance());
    send_on(3, 64);
    all_have(3, 64);
    cr_assert(strncmp(left, "wcwcwc", 6) == 0, "%s left", left);
    end_pair(3);
}

/* What waits longest goes when there is no more room, and all of it arrives. */
Test(hold, there_may_be_more_than_are_held_back)
{
    enum { N = SMCR_LINK_HELD + 6 };
    connect_all(&(struct pair_config){.seed = 3, .rcvbuf_bytes = {16384, 16384}}, N);
    smcr_hold(instance());
    send_on(N, 8);
    cr_assert_eq(link_of(0)->num_held, N - SMCR_LINK_HELD);
    smcr_release(instance());
    all_have(N, 8);
    end_pair(N);
}

/* Posts end in the order in which they are listed: so a message of LLC does not overtake what is held. */
Test(hold, a_message_of_LLC_takes_along_what_is_held)
{
    connect_all(&(struct pair_config){.seed = 4}, 2);
    smcr_hold(instance());
    send_on(2, 64);
    step_test_link(link_of(0), pair->now_ns);
    cr_assert_eq(link_of(0)->num_held, 0);
    smcr_release(instance());
    all_have(2, 64);
    cr_assert(strncmp(left, "wwccl", 5) == 0, "%s left", left);
    end_pair(2);
}

/* What is held for a link that dies goes over the other one, as does what was posted. */
Test(hold, nothing_is_lost_with_the_link)
{
    connect_all(&(struct pair_config){.seed = 5, .topology = PAIR_CABLES, .ports = {2, 2}}, 4);
    struct smcr_link *dead = link_of(0);
    smcr_hold(instance());
    send_on(4, 64);
    cr_assert_gt(dead->num_held, 0);
    smcr_link_fail(dead, "by the test", pair->now_ns);
    cr_assert_eq(dead->num_held, 0);
    smcr_settle(instance(), pair->now_ns);
    cr_assert_neq(link_of(0), dead);
    smcr_release(instance());
    all_have(4, 64);
    end_pair(4);
}
