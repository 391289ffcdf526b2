/* SPDX-License-Identifier: BSD-2-Clause */
/* What SMC-R asks of the engine below it, and what an added link is used for: SMCR sections 2.3 and 3. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "roce/opcode.h"
#include "roce/packet.h"
#include "smcr/conn/conn.h"
#include "test/smcr/finish.h"
#include "test/smcr_pair/raw.h"
#include "test/smcr/steps.h"

/* --- SMCR-ENG-01 --- */

struct seen {
    unsigned sends, writes, acks, others;
    uint8_t other_opcode;
};

static void see(void *ctx, const struct pair_end *end, const uint8_t *frame, size_t len_bytes)
{
    struct seen *seen = ctx;
    struct roce_pkt pkt;
    if (end) /* CLC */
        return;
    cr_assert_eq(roce_pkt_parse(&pkt, frame, len_bytes, 0), ROCE_RX_TAKEN);
    uint32_t flags = pkt.op->flags;
    bool is_plain_rc = pkt.bth.opcode >> 5 == 0 && !(flags & (ROCE_PKT_IMMDT | ROCE_PKT_IETH));
    if (is_plain_rc && flags & ROCE_PKT_SEND)
        seen->sends++;
    else if (is_plain_rc && flags & ROCE_PKT_WRITE)
        seen->writes++;
    else if (is_plain_rc && pkt.bth.opcode == ROCE_OP_ACK)
        seen->acks++;
    else {
        seen->others++;
        seen->other_opcode = pkt.bth.opcode;
    }
}

/* A life with everything in it: two links, data both ways over wires that lose, a failover, the repair. */
/* covers: SMCR-ENG-01 */
Test(pair_engine, SMCR_ENG_01_RC_with_SEND_and_WRITE_is_all_that_is_used)
{
    struct seen seen = {0};
    struct pair_config config = {.seed = 5, .topology = PAIR_CABLES, .ports = {2, 2}, .wire.loss_ppm = 2000};
    struct pair *pair = pair_new(&config);
    pair->on_wire = see;
    pair->wire_ctx = &seen;
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[0], 300000, 10 * PAIR_S), "%s", pair->failure);
    cr_assert(pair_transfer(pair, &c->end[1], 300000, 10 * PAIR_S), "%s", pair->failure);
    pair_cut(pair, 0, c->end[0].conn->link->port == pair->node[0].port[0].port ? 0 : 1, true);
    cr_assert(pair_transfer(pair, &c->end[0], 100000, 10 * PAIR_S), "%s", pair->failure);
    pair_restore(pair, 0, 0);
    pair_restore(pair, 0, 1);
    pair_run_for(pair, 10 * PAIR_S);
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_run_for(pair, 20 * PAIR_S);
    cr_assert_geq(seen.sends, 20);
    cr_assert_geq(seen.writes, 700000 / 1024);
    cr_assert_gt(seen.acks, 0);
    cr_assert_eq(seen.others, 0, "opcode 0x%02x", seen.other_opcode);
    finish(pair);
}

/* --- SMCR-ENG-02 --- */

#define ROUNDS      400
#define IN_FLIGHT   8
#define WRITE_BYTES 4096 /* four packets */

struct ordered {
    struct raw_link *from, *to;
    uint8_t *memory;
    unsigned sent, come;
};

/* What WRITE `i` brings differs in each byte from what its place held before. */
static uint8_t fill_of(unsigned i)
{
    return (uint8_t)(i / IN_FLIGHT + 1);
}

static uint8_t *place_of(const struct ordered *o, unsigned i)
{
    return o->memory + (size_t)(i % IN_FLIGHT) * WRITE_BYTES;
}

static void send_next(struct ordered *o)
{
    uint8_t bytes[WRITE_BYTES], message[44] = {0};
    memset(bytes, fill_of(o->sent), sizeof bytes);
    memcpy(message, &o->sent, sizeof o->sent);
    raw_write(o->from, bytes, sizeof bytes, (uintptr_t)place_of(o, o->sent), o->to->rmb_mr->rkey);
    raw_send(o->from, message, sizeof message);
    o->sent++;
}

/* Asked after each single event. */
static bool all_came(void *ctx, struct pair *pair)
{
    struct ordered *o = ctx;
    struct raw_message m;
    (void)pair;
    while (raw_take(o->to, &m)) {
        unsigned number;
        memcpy(&number, m.bytes, sizeof number);
        cr_assert_eq(number, o->come);
        for (unsigned i = 0; i < WRITE_BYTES; i++)
            cr_assert_eq(place_of(o, number)[i], fill_of(number), "byte %u of WRITE %u came after the SEND",
                         i, number);
        o->come++;
        if (o->sent < ROUNDS)
            send_next(o);
    }
    return o->come == ROUNDS;
}

/* covers: SMCR-ENG-02 */
Test(pair_engine, SMCR_ENG_02_a_SEND_is_not_seen_before_the_WRITE_ahead_of_it)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct pair_config config = {.seed = seed,
                                     .scripted = {true, true},
                                     .wire = {.delay_ns = 5 * PAIR_US,
                                              .jitter_ns = 2 * PAIR_US,
                                              .loss_ppm = 10000,
                                              .duplicate_ppm = 20000,
                                              .reorder_ppm = 50000,
                                              .stale_ns = 50 * PAIR_US,
                                              .hold_ns = 20 * PAIR_US}};
        struct pair *pair = pair_new(&config);
        struct ordered o = {.memory = calloc(IN_FLIGHT, WRITE_BYTES)};
        cr_assert_not_null(o.memory);
        o.from = raw_new(&pair->node[0].port[0], NULL, 0);
        o.to = raw_new(&pair->node[1].port[0], o.memory, (size_t)IN_FLIGHT * WRITE_BYTES);
        cr_assert_eq(raw_ready(o.to, &o.from->local), 0);
        cr_assert_eq(raw_ready(o.from, &o.to->local), 0);
        while (o.sent < IN_FLIGHT)
            send_next(&o);
        cr_assert(pair_run_until(pair, all_came, &o, 100 * PAIR_S), "%u came, %u failed", o.come,
                  o.from->failed);
        raw_free(o.from);
        raw_free(o.to);
        free(o.memory);
        finish(pair);
    }
}

/* --- SMCR-ARC-27 --- */

static const struct smcr_link *link_of(const struct pair *pair, unsigned node, unsigned slot)
{
    return &pair->node[node].smcr->groups->links[slot];
}

/* Our choice of the two that there are: who lives stays where it is, who comes evens it out. */
/* covers: SMCR-ARC-27, SMCR-ARC-26 */
Test(pair_engine, SMCR_ARC_27_an_added_link_is_for_new_connections)
{
    struct pair_config config = {.seed = 3};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c[8];
    for (unsigned i = 0; i < 4; i++)
        cr_assert_not_null(c[i] = pair_connect(pair, 0), "%s", pair->failure);
    pair_add_port(pair, 0);
    pair_add_port(pair, 1);
    pair_run_for(pair, 10 * PAIR_MS);
    for (unsigned node = 0; node < 2; node++) {
        cr_assert_eq(link_of(pair, node, 1)->state, SMCR_LINK_ACTIVE);
        cr_assert_eq(link_of(pair, node, 0)->conns, 4);
        cr_assert_eq(link_of(pair, node, 1)->conns, 0);
    }
    for (unsigned i = 4; i < 8; i++)
        cr_assert_not_null(c[i] = pair_connect(pair, 0), "%s", pair->failure);
    for (unsigned node = 0; node < 2; node++) {
        cr_assert_eq(link_of(pair, node, 1)->conns, 4, "of node %u", node);
        cr_assert_eq(link_of(pair, node, 0)->conns, 4);
    }
    finish(pair);
}

/* The other choice is a peer's right: each direction moves by itself, and no link has failed. */
/* covers: SMCR-ARC-27, SMCR-FOV-15 */
Test(pair_engine, SMCR_ARC_27_a_peer_may_move_a_connection_without_a_failure)
{
    struct pair_config config = {.seed = 4, .topology = PAIR_CABLES, .ports = {2, 2}};
    struct pair *pair = pair_new(&config);
    struct pair_conn *c = pair_connect(pair, 0);
    cr_assert_not_null(c, "%s", pair->failure);
    pair_run_for(pair, PAIR_MS);
    for (unsigned i = 0; i < 4; i++) {
        struct smcr_conn *conn = c->end[i % 2].conn, *other = c->end[!(i % 2)].conn;
        uint8_t from = conn->link->slot, others = other->link->slot;
        cr_assert_gt(pair_pump(&c->end[i % 2], 20000, 0), 0); /* in the middle of something */
        step_move(conn, &conn->group->links[!from], pair->now_ns);
        pair_run_for(pair, PAIR_MS);
        cr_assert_eq(conn->link->slot, !from);
        cr_assert_eq(other->link->slot, others, "the other direction stays");
        while (pair_drain(pair_other(&c->end[i % 2]), 50000) > 0)
            ;
        cr_assert(pair_transfer(pair, &c->end[0], 100000, PAIR_S), "%s", pair->failure);
        cr_assert(pair_transfer(pair, &c->end[1], 100000, PAIR_S), "%s", pair->failure);
    }
    for (unsigned node = 0; node < 2; node++) {
        cr_assert_eq(smcr_counters(pair->node[node].smcr)->links_failed, 0);
        cr_assert_eq(smcr_counters(pair->node[node].smcr)->conns_reset, 0);
        cr_assert_eq(link_of(pair, node, 0)->state, SMCR_LINK_ACTIVE);
        cr_assert_eq(link_of(pair, node, 1)->state, SMCR_LINK_ACTIVE);
    }
    finish(pair);
}
