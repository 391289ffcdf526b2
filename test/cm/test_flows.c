/* SPDX-License-Identifier: BSD-2-Clause */
/* Applications of three hosts that connect, refuse, think, vanish and hang up at random, over a wire that
 * loses, repeats and reorders. Whatever happens: it comes to rest in bounded time, both ends of what was up
 * agree, and nothing leaks. NORNIC_SEED=N runs one seed, NORNIC_SEEDS=N so many. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/cm/net.h"

#define SEEDS    1500
#define ENDS_MAX 128
#define MAX_IDS  48
#define LIMIT_NS (UINT64_C(3600) * NS_PER_S)

/* What the application knows of an id. */
struct end {
    struct roce_cm_id *id; /* NULL: given back */
    unsigned node;
    bool active, up, was_up, down, failed, own_qp, datagrams;
    int peer; /* index of the other end, or -1 */
    struct roce_qp *qp;
    uint64_t act_ns; /* when it does something of its own accord; NET_TIME_NONE: never */
};

struct world {
    struct cm_net *net;
    struct end end[ENDS_MAX];
    unsigned ends;
    struct roce_cm_id *listener[CM_NET_NODES][2];
    uint32_t hang_up_ppm, refuse_ppm, vanish_ppm, ponder_ppm;
    bool quiet; /* time to go: whoever is up stays up */
};

static struct test_random *dice(struct world *w)
{
    return &w->net->random;
}

static struct end *end_new(struct world *w, unsigned node)
{
    cr_assert_lt(w->ends, ENDS_MAX);
    struct end *e = &w->end[w->ends++];
    *e = (struct end){.node = node, .peer = -1, .act_ns = NET_TIME_NONE};
    return e;
}

static int end_index(const struct world *w, const struct end *e)
{
    return (int)(e - w->end);
}

static struct end *end_of(struct world *w, const struct roce_cm_id *id)
{
    for (unsigned i = 0; i < w->ends; i++)
        if (w->end[i].id == id)
            return &w->end[i];
    cr_assert_fail("an event of an id that was given back");
    return NULL;
}

static uint64_t soon(struct world *w)
{
    uint64_t scale_ns = UINT64_C(1000) << test_random_below(dice(w), 27); /* up to 67 s */
    return w->net->now_ns + test_random_next(dice(w)) % scale_ns;
}

static void vanish(struct world *w, struct end *e)
{
    cr_assert_eq(roce_cm_id_destroy(e->id, w->net->now_ns), 0);
    e->id = NULL;
    e->up = false;
    e->act_ns = NET_TIME_NONE;
}

static void start(struct world *w)
{
    unsigned from = test_random_below(dice(w), CM_NET_NODES);
    unsigned to = (from + test_random_below(dice(w), CM_NET_NODES)) % CM_NET_NODES;
    struct end *e = end_new(w, from);
    e->datagrams = test_random_chance(dice(w), 200000);
    e->own_qp = test_random_chance(dice(w), 300000);
    e->active = true;
    uint8_t tag = (uint8_t)end_index(w, e);
    struct roce_cm_route route =
        cm_net_route(w->net, from, to, test_random_chance(dice(w), 50000) ? 9 : 7471);
    e->qp = e->datagrams ? NULL : cm_net_qp(w->net, from);
    struct nornic_conn_param param = {.private_data = &tag,
                                      .private_data_len = 1,
                                      .responder_resources = 1,
                                      .initiator_depth = 1,
                                      .qp_num = e->qp ? roce_qp_num(e->qp) : 0};
    e->id = cm_net_id(w->net, from, e->datagrams ? NORNIC_PS_UDP : NORNIC_PS_TCP);
    cr_assert_eq(roce_cm_connect(e->id, &route, e->own_qp ? NULL : e->qp, &param, w->net->now_ns), 0);
    if (test_random_chance(dice(w), w->vanish_ppm))
        e->act_ns = soon(w);
}

static void move_qp(struct world *w, struct end *e)
{
    static const enum nornic_qp_state steps[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    for (unsigned i = 0; i < 3; i++) {
        struct nornic_qp_attr attr;
        uint32_t mask;
        cr_assert_eq(roce_cm_qp_attr(e->id, steps[i], &attr, &mask), 0);
        cr_assert_eq(roce_qp_modify(e->qp, &attr, mask, w->net->now_ns), 0);
    }
}

/* Whether an answer can still be given. */
static bool is_open(const struct end *e)
{
    enum roce_cm_state s = roce_cm_id_state(e->id);
    return s == ROCE_CM_REQ_RCVD_STATE || s == ROCE_CM_MRA_REQ_SENT_STATE ||
           s == ROCE_CM_SIDR_REQ_RCVD_STATE || s == ROCE_CM_REP_RCVD_STATE || s == ROCE_CM_MRA_REP_SENT_STATE;
}

/* The answer to a request or a response, now. */
static void answer(struct world *w, struct end *e)
{
    uint64_t now_ns = w->net->now_ns;
    e->act_ns = NET_TIME_NONE;
    if (!is_open(e))
        return; /* the peer has given up meanwhile */
    if (test_random_chance(dice(w), w->vanish_ppm))
        return vanish(w, e);
    if (test_random_chance(dice(w), w->refuse_ppm)) {
        cr_assert_eq(roce_cm_reject(e->id, 0, "no", 2, now_ns), 0);
        e->failed = true;
    } else if (e->active) {
        move_qp(w, e);
        cr_assert_eq(roce_cm_establish(e->id, NULL, 0, now_ns), 0);
        e->up = e->was_up = true;
    } else if (e->datagrams) {
        struct nornic_conn_param param = {.qp_num = 0x4711};
        cr_assert_eq(roce_cm_accept(e->id, NULL, &param, now_ns), 0);
    } else {
        struct nornic_conn_param param = {.qp_num = roce_qp_num(e->qp)};
        if (e->own_qp)
            move_qp(w, e);
        cr_assert_eq(roce_cm_accept(e->id, e->own_qp ? NULL : e->qp, &param, now_ns), 0);
    }
}

static void ponder(struct world *w, struct end *e)
{
    if (!test_random_chance(dice(w), w->ponder_ppm))
        return answer(w, e);
    e->act_ns = soon(w);
    if (!e->datagrams && is_open(e) && test_random_chance(dice(w), 300000))
        cr_assert_eq(roce_cm_mra(e->id, (uint8_t)test_random_below(dice(w), 24), NULL, 0, w->net->now_ns), 0);
}

static void on_request(struct world *w, unsigned node, const struct roce_cm_event *event)
{
    struct end *e = end_new(w, node);
    e->id = event->id;
    e->datagrams = event->listen_id == w->listener[node][1];
    e->own_qp = test_random_chance(dice(w), 300000);
    e->qp = e->datagrams ? NULL : cm_net_qp(w->net, node);
    /* a REQ that is late may be shown although its sender has gone, and has come again as another */
    e->peer = event->private_data[0];
    cr_assert_lt(e->peer, (int)w->ends);
    cr_assert(w->end[e->peer].active);
    ponder(w, e);
}

static void on_event(struct world *w, unsigned node, const struct roce_cm_event *event)
{
    if (event->type == NORNIC_CM_EVENT_CONNECT_REQUEST)
        return on_request(w, node, event);
    struct end *e = end_of(w, event->id);
    switch (event->type) {
    case NORNIC_CM_EVENT_CONNECT_RESPONSE:
        cr_assert(e->active && e->own_qp && !e->up);
        return ponder(w, e);
    case NORNIC_CM_EVENT_ESTABLISHED:
        cr_assert(!e->up && !e->down && !e->failed, "up twice, or after the end");
        e->up = e->was_up = true;
        if (!e->datagrams)
            cr_expect_eq(roce_qp_state(e->qp), NORNIC_QPS_RTS);
        if (test_random_chance(dice(w), w->hang_up_ppm))
            e->act_ns = soon(w);
        return;
    case NORNIC_CM_EVENT_DISCONNECTED:
        cr_assert(!e->down && !e->failed);
        e->up = false;
        e->down = true;
        if (roce_cm_id_state(e->id) == ROCE_CM_DREQ_RCVD_STATE)
            cr_assert_eq(roce_cm_disconnect(e->id, NULL, 0, w->net->now_ns), 0);
        return;
    case NORNIC_CM_EVENT_REJECTED:
    case NORNIC_CM_EVENT_UNREACHABLE:
    case NORNIC_CM_EVENT_CONNECT_ERROR:
        cr_assert(!e->up && !e->down && !e->failed);
        e->failed = true;
        return;
    case NORNIC_CM_EVENT_TIMEWAIT_EXIT:
        cr_expect_eq(roce_cm_id_state(e->id), ROCE_CM_IDLE_STATE);
        return;
    default:
        cr_assert_fail("%s", nornic_cm_event_name(event->type));
    }
}

static void act(struct world *w, struct end *e)
{
    e->act_ns = NET_TIME_NONE;
    if (e->up && !e->datagrams && !test_random_chance(dice(w), w->vanish_ppm)) {
        roce_cm_disconnect(e->id, NULL, 0, w->net->now_ns);
        return;
    }
    if (is_open(e))
        return answer(w, e);
    vanish(w, e);
}

static void events(struct world *w)
{
    struct roce_cm_event event;
    for (unsigned node = 0; node < CM_NET_NODES; node++)
        while (cm_net_event(w->net, node, &event))
            on_event(w, node, &event);
}

/* Until nothing happens any more. */
static void run(struct world *w)
{
    uint64_t begin_ns = w->net->now_ns;
    for (;;) {
        uint64_t next_ns = cm_net_next_ns(w->net);
        struct end *next = NULL;
        for (unsigned i = 0; i < w->ends; i++)
            if (w->end[i].act_ns < next_ns) {
                next_ns = w->end[i].act_ns;
                next = &w->end[i];
            }
        if (next_ns == NET_TIME_NONE)
            break;
        cr_assert_lt(next_ns - begin_ns, LIMIT_NS, "it does not come to rest");
        if (next) {
            w->net->now_ns = next_ns > w->net->now_ns ? next_ns : w->net->now_ns;
            act(w, next);
        } else {
            cm_net_run(w->net, next_ns);
        }
        events(w);
    }
}

/* At rest, nobody waits for anybody; and who is up has a peer who is up, or who has left while nothing got
 * through for 16 tries. */
static void check(struct world *w, bool lossless)
{
    for (unsigned i = 0; i < w->ends; i++) {
        const struct end *e = &w->end[i];
        if (!e->id)
            continue;
        enum roce_cm_state s = roce_cm_id_state(e->id);
        cr_expect(s == ROCE_CM_IDLE_STATE || s == ROCE_CM_ESTABLISHED_STATE, "end %u rests in %s", i,
                  roce_cm_state_name(s));
        cr_expect_eq(s == ROCE_CM_ESTABLISHED_STATE, e->up && !e->datagrams, "end %u: %s, up %d", i,
                     roce_cm_state_name(s), e->up);
        if (!e->active && e->up && lossless)
            cr_assert(w->end[e->peer].up, "end %u is up, its peer %d is not", i, e->peer);
        if (e->active && !e->datagrams)
            cr_expect(e->up || e->down || e->failed, "end %u was never told anything", i);
        if (e->qp && !e->own_qp && (e->down || (e->failed && e->active)))
            cr_expect_neq(roce_qp_state(e->qp), NORNIC_QPS_RTS, "end %u", i);
    }
}

/* Every id can be had again. */
static void expect_empty(struct cm_net *net, unsigned node)
{
    struct roce_cm_id *ids[MAX_IDS], *more;
    for (unsigned i = 0; i < MAX_IDS; i++)
        cr_assert_eq(roce_cm_id_create(net->node[node].cm, NORNIC_PS_TCP, NULL, &ids[i]), 0, "%u ids leaked",
                     MAX_IDS - i);
    cr_assert_eq(roce_cm_id_create(net->node[node].cm, NORNIC_PS_TCP, NULL, &more), -ENOSPC);
    for (unsigned i = 0; i < MAX_IDS; i++)
        cm_net_drop(net, ids[i]);
}

static void live(uint64_t seed)
{
    struct test_random draw = {.state = seed * 77};
    static const uint32_t losses[] = {0, 0, 50000, 200000, 500000};
    struct cm_net_config config = {
        .seed = seed,
        .ipv6 = seed % 3 == 0,
        .loss_ppm = losses[test_random_below(&draw, 5)],
        .duplicate_ppm = test_random_below(&draw, 3) * 100000,
        .jitter_ns = test_random_chance(&draw, 500000) ? UINT64_C(1000) << test_random_below(&draw, 24) : 0,
        .cm = {.max_ids = MAX_IDS, .no_mra = test_random_chance(&draw, 300000)},
    };
    struct world *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    w->net = cm_net_create(&config);
    w->hang_up_ppm = test_random_below(&draw, 3) * 400000;
    w->refuse_ppm = test_random_below(&draw, 3) * 200000;
    w->vanish_ppm = test_random_below(&draw, 3) * 150000;
    w->ponder_ppm = test_random_below(&draw, 3) * 300000;
    for (unsigned node = 0; node < CM_NET_NODES; node++)
        for (unsigned i = 0; i < 2; i++) {
            w->listener[node][i] = cm_net_id(w->net, node, i ? NORNIC_PS_UDP : NORNIC_PS_TCP);
            cr_assert_eq(roce_cm_listen(w->listener[node][i], NULL, 7471, 1 + test_random_below(&draw, 8)),
                         0);
        }
    unsigned count = 1 + test_random_below(&draw, 10);
    for (unsigned i = 0; i < count; i++)
        start(w);
    run(w);
    check(w, config.loss_ppm == 0);
    for (unsigned i = 0; i < w->ends; i++)
        if (w->end[i].id)
            vanish(w, &w->end[i]);
    for (unsigned node = 0; node < CM_NET_NODES; node++)
        for (unsigned i = 0; i < 2; i++)
            cm_net_drop(w->net, w->listener[node][i]);
    cm_net_run(w->net, NET_TIME_NONE);
    for (unsigned node = 0; node < CM_NET_NODES; node++)
        expect_empty(w->net, node);
    cm_net_destroy(w->net);
    free(w);
}

static uint64_t running; /* 0: none */

static void tell_seed(void)
{
    if (running)
        fprintf(stderr, "rerun: NORNIC_SEED=%" PRIu64 " build/test/cm/run --filter 'flows/*'\n", running);
}

TestSuite(flows, .fini = tell_seed);

static void seeds(uint64_t first, uint64_t count)
{
    const char *one = getenv("NORNIC_SEED"), *many = getenv("NORNIC_SEEDS");
    if (one) {
        first = strtoull(one, NULL, 0);
        count = 1;
    } else if (many) {
        count = strtoull(many, NULL, 0);
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        running = seed;
        live(seed);
    }
    running = 0;
}

/* covers: ROCE-CM-34, ROCE-CM-50, ROCE-CM-52, ROCE-CM-53, ROCE-CM-64, ROCE-GEN-7 */
Test(flows, whatever_applications_and_network_do_comes_to_rest)
{
    seeds(1, SEEDS);
}

Test(flows, whatever_applications_and_network_do_comes_to_rest_2)
{
    seeds(100001, SEEDS);
}
