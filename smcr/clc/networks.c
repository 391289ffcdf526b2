/* SPDX-License-Identifier: BSD-2-Clause */
#include "smcr/clc/networks.h"

#include <string.h>

#include "net/bytes.h"

#define V4_PREFIX_BITS 96 /* of ::ffff:a.b.c.d in front of the IPv4 address */

static bool same_bits(const struct nornic_addr *a, const struct nornic_addr *b, unsigned bits)
{
    if (memcmp(a->b, b->b, bits / 8) != 0)
        return false;
    unsigned rest = bits % 8;
    return rest == 0 || (uint8_t)(a->b[bits / 8] ^ b->b[bits / 8]) >> (8 - rest) == 0;
}

static struct nornic_addr masked(const struct nornic_addr *addr, unsigned bits)
{
    struct nornic_addr out = {{0}};
    memcpy(out.b, addr->b, bits / 8);
    if (bits % 8)
        out.b[bits / 8] = addr->b[bits / 8] & (uint8_t)(0xff << (8 - bits % 8));
    return out;
}

static unsigned significant_bits(const struct smcr_network *network)
{
    return nornic_addr_is_v4(&network->addr) ? V4_PREFIX_BITS + network->prefix_len : network->prefix_len;
}

static uint32_t v4_mask(unsigned len)
{
    return len ? UINT32_MAX << (32 - len) : 0;
}

static uint32_t v4_of(const struct nornic_addr *addr)
{
    return get_be32(addr->b + 12);
}

bool smcr_network_has(const struct smcr_network *network, const struct nornic_addr *addr)
{
    return nornic_addr_is_v4(&network->addr) == nornic_addr_is_v4(addr) &&
           same_bits(&network->addr, addr, significant_bits(network));
}

/* The network that the address is from: where several hold it, the narrowest. */
static const struct smcr_network *own_network(const struct smcr_network *networks, unsigned count,
                                              const struct nornic_addr *local)
{
    const struct smcr_network *best = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (smcr_network_has(&networks[i], local) && (!best || networks[i].prefix_len > best->prefix_len))
            best = &networks[i];
    }
    return best;
}

static bool propose_v4(const struct smcr_network *own, bool literal_mask, struct smcr_clc_proposal *out)
{
    if (!own)
        return false;
    uint32_t mask = v4_mask(own->prefix_len);
    put_be32(out->subnet, literal_mask ? mask : v4_of(&own->addr) & mask);
    out->mask_len = own->prefix_len;
    return true;
}

static void add_prefix(const struct smcr_network *network, struct smcr_clc_proposal *out)
{
    struct nornic_addr prefix = masked(&network->addr, network->prefix_len);
    for (unsigned i = 0; i < out->num_prefixes; i++) {
        if (out->prefixes[i].len == network->prefix_len && nornic_addr_equal(&out->prefixes[i].addr, &prefix))
            return; /* two addresses of one network */
    }
    if (out->num_prefixes == SMCR_CLC_MAX_PREFIX)
        return; /* SMCR-CLC-23 */
    out->prefixes[out->num_prefixes].addr = prefix;
    out->prefixes[out->num_prefixes++].len = network->prefix_len;
}

/* SMCR-CLC-26: every host has the link-local prefix, it says nothing. */
static bool tells_something(const struct smcr_network *network)
{
    return !nornic_addr_is_v4(&network->addr) && !nornic_addr_is_link_local(&network->addr);
}

bool smcr_networks_propose(const struct smcr_network *networks, unsigned count,
                           const struct nornic_addr *local, bool literal_mask, struct smcr_clc_proposal *out)
{
    const struct smcr_network *own = own_network(networks, count, local);
    if (nornic_addr_is_v4(local))
        return propose_v4(own, literal_mask, out);
    if (own && tells_something(own))
        add_prefix(own, out); /* first: it must not be the one that is left out */
    for (unsigned i = 0; i < count; i++) {
        if (tells_something(&networks[i]))
            add_prefix(&networks[i], out);
    }
    return out->num_prefixes > 0;
}

static bool is_v4_network(const struct smcr_network *network, const struct smcr_clc_proposal *proposal,
                          const struct nornic_addr *peer)
{
    uint32_t mask = v4_mask(proposal->mask_len);
    uint32_t number = get_be32(proposal->subnet);
    if (number == mask)
        number = v4_of(peer); /* A1: it is the mask, the address tells the number */
    return nornic_addr_is_v4(&network->addr) && network->prefix_len == proposal->mask_len &&
           ((v4_of(&network->addr) ^ number) & mask) == 0;
}

static bool is_v6_network(const struct smcr_network *network, const struct smcr_clc_proposal *proposal)
{
    if (!tells_something(network))
        return false;
    for (unsigned i = 0; i < proposal->num_prefixes; i++) {
        if (proposal->prefixes[i].len == network->prefix_len &&
            same_bits(&proposal->prefixes[i].addr, &network->addr, network->prefix_len))
            return true;
    }
    return false;
}

bool smcr_networks_match(const struct smcr_network *networks, unsigned count,
                         const struct smcr_clc_proposal *proposal, const struct nornic_addr *peer)
{
    for (unsigned i = 0; i < count; i++) {
        if (nornic_addr_is_v4(peer) ? is_v4_network(&networks[i], proposal, peer)
                                    : is_v6_network(&networks[i], proposal))
            return true;
    }
    return false;
}
