/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/port/impair_fate.h"

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/parse.h"

#define GOLDEN         0x9e3779b97f4a7c15u
#define PPM            1000000u
#define ECN_FIRST_BIT  14 /* of an IPv4 header */
#define ECN6_FIRST_BIT 10 /* of an IPv6 header */
#define CHECKSUM_AT    10

/* The output function of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void net_impair_fates_init(struct net_impair_fates *fates, uint64_t seed, unsigned direction)
{
    uint64_t state = mix(seed + GOLDEN) + direction;
    for (unsigned i = 0; i < NET_DRAW_COUNT; i++)
        fates->key[i] = mix(state += GOLDEN);
    fates->next = 0;
}

/* splitmix64 can be entered anywhere: its n-th output depends on start and n only. */
static uint64_t draw(const struct net_impair_fates *fates, enum net_impair_draw kind)
{
    return mix(fates->key[kind] + (fates->next + 1) * GOLDEN);
}

/* A draw scaled to 0 .. below - 1. */
static uint64_t draw_below(uint64_t value, uint64_t below)
{
    return (uint64_t)((unsigned __int128)value * below >> 64);
}

static bool strikes(const struct net_impair_fates *fates, enum net_impair_draw kind, uint32_t ppm)
{
    return ppm && draw_below(draw(fates, kind), PPM) < ppm;
}

static uint64_t draw_jitter(const struct net_impair_fates *fates, enum net_impair_draw kind,
                            uint64_t jitter_ns)
{
    return jitter_ns ? draw_below(draw(fates, kind), jitter_ns + 1) : 0;
}

struct net_impair_fate net_impair_fate_next(struct net_impair_fates *fates,
                                            const struct net_impair_config *config)
{
    struct net_impair_fate fate = {
        .lost = strikes(fates, NET_DRAW_LOSS, config->loss_ppm),
        .duplicated = strikes(fates, NET_DRAW_DUPLICATE, config->duplicate_ppm),
        .held = strikes(fates, NET_DRAW_REORDER, config->reorder_ppm),
        .corrupted = strikes(fates, NET_DRAW_CORRUPT, config->corrupt_ppm),
        .ecn_marked = strikes(fates, NET_DRAW_ECN, config->ecn_ppm),
        .jitter_ns = draw_jitter(fates, NET_DRAW_JITTER, config->jitter_ns),
        .copy_jitter_ns = draw_jitter(fates, NET_DRAW_JITTER_COPY, config->jitter_ns),
    };
    if (fate.corrupted)
        fate.corrupt_draw = draw(fates, NET_DRAW_CORRUPT_BIT);
    fates->next++;
    return fate;
}

bool net_impair_fate_is_clean(const struct net_impair_fate *fate)
{
    return !(fate->lost || fate->duplicated || fate->held || fate->corrupted || fate->ecn_marked);
}

/* Marks the IPv4 header; a wrong checksum stays wrong. */
static void mark_ce_ipv4(uint8_t *ip)
{
    uint16_t before = get_be16(ip);
    net_bits_put(ip, ECN_FIRST_BIT, 2, NET_ECN_CE);
    put_be16(ip + CHECKSUM_AT, net_checksum_replace(get_be16(ip + CHECKSUM_AT), before, get_be16(ip)));
}

/* Returns whether the frame could be marked and was not CE before. */
static bool mark_ce(uint8_t *frame, uint32_t len_bytes)
{
    struct net_parsed at;
    net_parse(&at, frame, len_bytes);
    uint8_t *ip = frame + at.l3_offset;
    unsigned bit = at.ip_version == 4 ? ECN_FIRST_BIT : ECN6_FIRST_BIT;
    if (at.ip_version == 0 || net_bits_get(ip, bit, 2) == NET_ECN_CE)
        return false;
    if (at.ip_version == 4)
        mark_ce_ipv4(ip);
    else
        net_bits_put(ip, bit, 2, NET_ECN_CE);
    return true;
}

void net_impair_fate_apply(const struct net_impair_fate *fate, uint8_t *frame, uint32_t len_bytes,
                           struct net_impair_counters *counters)
{
    if (fate->ecn_marked && mark_ce(frame, len_bytes))
        counters->ecn_marked++;
    if (fate->corrupted && len_bytes > NET_ETHER_BYTES) {
        uint64_t bit = draw_below(fate->corrupt_draw, (len_bytes - NET_ETHER_BYTES) * 8ull);
        frame[NET_ETHER_BYTES + bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        counters->corrupted++;
    }
}
