/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port that moves trains is given: writes of one packet each, none shorter than a CDC, so that they
 * and their CDC are one. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "smcr/conn/data.h"
#include "smcr/group/group.h"
#include "test/smcr/crowd.h"

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
    uint32_t last_bytes, least_bytes;  /* of a write; the shortest since the beginning */
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
        left.least_bytes = min_u32(left.least_bytes, payload);
    } else if (opcode == SEND_ONLY && payload == SMCR_MSG_BYTES) {
        left.cdcs++;
        left.most_bytes = max_u32(left.most_bytes, left.onlys_bytes);
        left.onlys_bytes = left.last_bytes = 0;
    }
}

static void begin(const struct pair_config *config, unsigned n)
{
    pair = crowd_begin(config, conns, n);
    memset(&left, 0, sizeof left);
    left.least_bytes = UINT32_MAX;
    pair->on_wire = on_wire;
}

static void end(unsigned n)
{
    crowd_end(pair, conns, n);
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

/* Nor is a train made of more packets than it should have, where they are small. */
Test(trains, other_ports_are_given_one_write)
{
    const struct pair_config rows[] = {config_of(NORNIC_MTU_1024, false), config_of(NORNIC_MTU_256, true)};
    for (unsigned i = 0; i < 2; i++) {
        begin(&rows[i], 1);
        send_and_drain(15001);
        cr_assert_eq(left.firsts, 1, "row %u", i);
        cr_assert_eq(left.onlys, 0, "row %u", i);
        end(1);
    }
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

/* --- a few bytes --- */

enum { AS_A_MESSAGE = SMCR_MSG_BYTES - RETH_BYTES };

Test(trains, a_few_bytes_are_as_long_as_their_CDC)
{
    struct pair_config config = config_of(NORNIC_MTU_1024, true);
    begin(&config, 1);
    for (uint32_t len = 1; len <= AS_A_MESSAGE; len++)
        send_and_drain(len);
    cr_assert_eq(left.least_bytes, AS_A_MESSAGE, "%u", left.least_bytes);
    send_and_drain(AS_A_MESSAGE + 1);
    cr_assert_eq(left.most_bytes, AS_A_MESSAGE + 1);
    end(1);
}

Test(trains, a_few_bytes_are_not_filled_up_for_other_ports)
{
    struct pair_config config = config_of(NORNIC_MTU_1024, false);
    begin(&config, 1);
    send_and_drain(3);
    cr_assert_eq(left.least_bytes, 3, "%u", left.least_bytes);
    end(1);
}

/* What comes late over a link that is given up would stand over newer bytes that came over the other one. */
Test(trains, a_few_bytes_are_not_filled_up_beside_another_link)
{
    struct pair_config config = config_of(NORNIC_MTU_1024, true);
    config.topology = PAIR_CABLES;
    config.ports[0] = config.ports[1] = 2;
    begin(&config, 1);
    send_and_drain(3);
    cr_assert_eq(left.least_bytes, 3, "%u", left.least_bytes);
    end(1);
}

/* Full of what nobody has read, the element ends in the middle: what stands behind the last few bytes would
 * be over the oldest. And where it begins anew, behind its end, are the bytes of the next element.
 * pair_drain() looks at each byte. */
Test(trains, what_stands_behind_a_few_bytes_is_never_read)
{
    enum { ELEMENT = 16384, ROOM = ELEMENT - SMCR_CURSOR_START };
    struct pair_config config = config_of(NORNIC_MTU_1024, true);
    config.rcvbuf_bytes[1] = 8000; /* both are of one RMB */
    begin(&config, 2);
    cr_assert_eq(pair_pump(&conns[1]->end[0], 100, SMCR_SEND_NODELAY), 100);
    for (unsigned round = 0; round < 3; round++) {
        send_and_drain(1 +
                       997 * (round > 0)); /* by one, the last few bytes end one before the element does */
        unsigned sent = 0;
        for (unsigned i = 0; sent < ROOM; i++) {
            unsigned len_bytes = min_u32(1 + i % (AS_A_MESSAGE + 3), ROOM - sent);
            cr_assert_eq(pair_pump(&conns[0]->end[0], len_bytes, SMCR_SEND_NODELAY), (ssize_t)len_bytes);
            cr_assert(pair_settle(pair, 10 * PAIR_S), "%s", pair->failure);
            sent += len_bytes;
        }
        cr_assert_eq(pair_drain(&conns[0]->end[1], 100000), ROOM, "%s", pair->failure);
        cr_assert(pair_settle(pair, 10 * PAIR_S), "%s", pair->failure);
    }
    cr_assert_eq(pair_drain(&conns[1]->end[1], 100000), 100, "%s", pair->failure);
    end(2);
}
