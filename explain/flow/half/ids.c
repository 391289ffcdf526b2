/* SPDX-License-Identifier: BSD-2-Clause */
/* Two packets with the same PSN look alike whether the network made a copy of one, or delivered one late, or
 * the sender sent it twice. The identification in the IPv4 header tells, where the sender counts in it: Linux
 * does (ROCE-INT-2), over all its packets to that address, with leaps after a rest. Others do not: a datagram
 * that must not be fragmented may have any identification (RFC 6864), so some send 0, some number the packets
 * of a train from 0, some draw it. So that it counts is learned before anything is concluded from it: a
 * counter rises by one a packet or more, whatever the network does to their order, and no number comes twice.
 */
#include "explain/flow/half/ids.h"

#include "explain/packet/sender.h"
#include "net/wire/train.h"

#define LEAP_MAX   8192 /* between two packets of a flow; a half of all numbers is what can be told at most */
#define LEAP_TAKEN 64   /* so much of it counts as rise */
#define COUNT_MAX  32768
#define COUNT_SURE 4
#define BEHIND_MAX 10 /* packets that one overtakes, and that keep their order */

static int32_t step(const struct explain_ids *ids, uint16_t id)
{
    return (int16_t)(uint16_t)(id - ids->newest);
}

/* The identification is not above the newest. */
static void learn_behind(struct explain_ids *ids, uint16_t id)
{
    bool is_rising = ids->behind && (int16_t)(uint16_t)(id - ids->before) > 0;
    ids->behind = is_rising ? (uint8_t)(ids->behind + 1) : 1;
    ids->before = id;
    if (ids->behind > BEHIND_MAX)
        *ids = (struct explain_ids){.newest = id, .count = 1, .is_above_trains = ids->is_above_trains};
}

void explain_ids_learn(struct explain_ids *ids, uint16_t id)
{
    int32_t up = step(ids, id);
    /* packets of a train are numbered from 0 anew: who has been above that numbers no trains */
    ids->is_above_trains |= id >= NET_TRAIN_MAX_PKTS;
    if (ids->count == COUNT_MAX) {
        ids->count /= 2;
        ids->rise /= 2;
        ids->odd /= 2;
    }
    if (ids->count++ == 0) {
        ids->newest = id;
        return;
    }
    if (up == 0 || up > LEAP_MAX || up < -LEAP_MAX)
        ids->odd++;
    if (up <= 0 && up >= -LEAP_MAX) {
        learn_behind(ids, id);
        return;
    }
    ids->behind = 0;
    ids->newest = id;
    if (up > 0 && up <= LEAP_MAX && ids->rise < COUNT_MAX)
        ids->rise += (uint16_t)(up < LEAP_TAKEN ? up : LEAP_TAKEN);
}

enum explain_sure explain_ids_count(const struct explain_ids *ids)
{
    if (ids->count < 2 || ids->odd * 16 > ids->count || !ids->is_above_trains ||
        ids->rise * 4 < (ids->count - 1) * 3)
        return EXPLAIN_SURE_UNKNOWN;
    return ids->count >= COUNT_SURE ? EXPLAIN_SURE_SHOWN : EXPLAIN_SURE_LIKELY;
}

enum explain_order explain_ids_order(const struct explain_ids *ids, uint16_t id)
{
    int32_t up = step(ids, id);
    if (explain_ids_count(ids) == EXPLAIN_SURE_UNKNOWN || up == 0 || up > LEAP_MAX || up < -LEAP_MAX)
        return EXPLAIN_ORDER_UNKNOWN;
    return up > 0 ? EXPLAIN_ORDER_LATER : EXPLAIN_ORDER_EARLIER;
}

bool explain_ids_is_next(const struct explain_ids *ids, const struct explain_packet *packet)
{
    return packet->roce.l3_kind == ROCE_L3_IPV4 && explain_ids_count(ids) != EXPLAIN_SURE_UNKNOWN &&
           (uint16_t)(explain_ip_id(packet) - ids->newest) == 1;
}
