/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port that moves trains is given: writes of one packet each, so that they and their CDC are one. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "smcr/conn/data.h"
#include "smcr/group.h"
#include "test/smcr_pair/pair.h"

TestSuite(trains, .timeout = 120);

enum { BTH_AT = 14 + 20 + 8, BTH_BYTES = 12, RETH_BYTES = 16, ICRC_BYTES = 4, CONNS = 40 };
enum { WRITE_FIRST = 0x06, WRITE_ONLY = 0x0a, SEND_ONLY = 0x04 };

static struct pair *pair;
static struct pair_conn *conns[CONNS];

/* What left node 0. */
static struct {
    unsigned firsts, onlys, cdcs;
    uint32_t onlys_bytes;              /* since the last CDC */
    uint32_t most_bytes, onlys_unlike; /* before a CDC; shorter than the one before, and not the last */
    uint32_t last_bytes;
} left;

static void on_wire(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t len_bytes)
{
    (void)ctx;
    if (end || len_bytes < BTH_AT + BTH_BYTES + ICRC_BYTES || bytes[BTH_AT - 8 - 20 + 15] != 1)
        return;
    uint8_t opcode = bytes[BTH_AT];
    uint32_t payload = (uint32_t)len_bytes - BTH_AT - BTH_BYTES - ICRC_BYTES;
    left.firsts += opcode == WRITE_FIRST;
    if (opcode == WRITE_ONLY) {
        payload -= RETH_BYTES + (bytes[BTH_AT + 1] >> 4 & 3);
        left.onlys++;
        left.onlys_bytes += payload;
        left.onlys_unlike += left.last_bytes != 0 && left.last_bytes < payload;
        left.last_bytes = payload;
    } else if (opcode == SEND_ONLY && payload == SMCR_MSG_BYTES) {
        left.cdcs++;
        left.most_bytes = max_u32(left.most_bytes, left.onlys_bytes);
        left.onlys_bytes = left.last_bytes = 0;
    }
}

static void begin(const struct pair_config *config, unsigned n)
{
    pair = pair_new(config);
    for (unsigned i = 0; i < n; i++) {
        conns[i] = pair_connect(pair, 0);
        cr_assert_not_null(conns[i], "%s", pair->failure);
    }
    cr_assert(pair_settle(pair, 10 * PAIR_S), "%s", pair->failure);
    memset(&left, 0, sizeof left);
    pair->on_wire = on_wire;
}

static void end(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        pair_close(&conns[i]->end[0]);
        pair_close(&conns[i]->end[1]);
    }
    cr_assert(pair_settle(pair, 30 * PAIR_S), "%s", pair->failure);
    const char *failure = pair_free(pair);
    cr_assert_null(failure, "%s", failure);
}

static struct pair_config config_of(enum nornic_mtu mtu, bool moves_trains)
{
    return (struct pair_config){.seed = 1, .path_mtu = {mtu, mtu}, .moves_trains = moves_trains};
}

static void send_and_drain(size_t len_bytes)
{
    cr_assert_eq(pair_pump(&conns[0]->end[0], len_bytes, SMCR_SEND_NODELAY), (ssize_t)len_bytes);
    cr_assert(pair_settle(pair, 10 * PAIR_S), "%s", pair->failure);
    cr_assert_eq(pair_drain(&conns[0]->end[1], len_bytes), (ssize_t)len_bytes);
}

Test(trains, a_stretch_and_its_CDC_are_packets_of_one_length_and_a_shorter_one)
{
    static const struct {
        enum nornic_mtu mtu;
        unsigned packets;
    } rows[] = {{NORNIC_MTU_1024, 15}, {NORNIC_MTU_2048, 8}, {NORNIC_MTU_4096, 4}};
    for (unsigned i = 0; i < 3; i++) {
        struct pair_config config = config_of(rows[i].mtu, true);
        begin(&config, 1);
        send_and_drain(15001);
        cr_assert_eq(left.firsts, 0);
        cr_assert_eq(left.onlys, rows[i].packets, "%u", left.onlys);
        cr_assert_eq(left.onlys_unlike, 0);
        cr_assert_eq(left.most_bytes, 15001, "one CDC tells of all: %u", left.most_bytes);
        end(1);
    }
}

Test(trains, other_ports_are_given_one_write)
{
    struct pair_config config = config_of(NORNIC_MTU_1024, false);
    begin(&config, 1);
    send_and_drain(15001);
    cr_assert_eq(left.firsts, 1);
    cr_assert_eq(left.onlys, 0);
    end(1);
}

/* More packets than a train should have, where they are small. */
Test(trains, a_path_MTU_of_256_is_not_cut)
{
    struct pair_config config = config_of(NORNIC_MTU_256, true);
    begin(&config, 1);
    send_and_drain(15001);
    cr_assert_eq(left.firsts, 1);
    cr_assert_eq(left.onlys, 0);
    end(1);
}

Test(trains, no_stretch_is_longer_than_a_train)
{
    struct pair_config config = config_of(NORNIC_MTU_4096, true);
    config.rcvbuf_bytes[1] = config.sndbuf_bytes[0] = 400000;
    begin(&config, 1);
    send_and_drain(150000);
    cr_assert_eq(left.firsts, 0);
    cr_assert_eq(left.most_bytes, 32768, "%u", left.most_bytes);
    end(1);
}

/* Forty times fifteen packets do not fit: the last ones are whole writes, which always do. */
Test(trains, a_send_queue_that_is_nearly_full_is_given_one_write)
{
    struct pair_config config = config_of(NORNIC_MTU_1024, true);
    begin(&config, CONNS);
    struct smcr_link *link = conns[0]->end[0].conn->link;
    smcr_hold(pair->node[0].smcr);
    for (unsigned i = 0; i < CONNS; i++)
        cr_assert_eq(pair_pump(&conns[i]->end[0], 15000, SMCR_SEND_NODELAY), 15000);
    cr_assert_geq(link->sends_left, SMCR_LLC_SENDS);
    smcr_release(pair->node[0].smcr);
    cr_assert(pair_settle(pair, 10 * PAIR_S), "%s", pair->failure);
    for (unsigned i = 0; i < CONNS; i++)
        cr_assert_eq(pair_drain(&conns[i]->end[1], 15000), 15000, "connection %u", i);
    cr_assert_gt(left.firsts, 0);
    cr_assert_gt(left.onlys, 100);
    end(CONNS);
}
