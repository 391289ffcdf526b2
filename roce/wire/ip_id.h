/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the IPv4 identification of a packet whose IP header was not seen. Inside roce/ only.
 *
 * An ordinary UDP socket hands up payloads. Addresses, ports, lengths, TTL and TOS can be had with them; the
 * identification cannot, and the ICRC covers it (ROCE-FRM-15, ROCE-ICRC-4). But a CRC is linear: the ICRC
 * that a packet bears, and the one computed with another identification, differ (XOR) by the CRC of the
 * difference of the two identifications alone, in a message of zeros. The register after two bytes a, b is
 * that after two zero bytes from the start a | b << 8; each further zero byte multiplies it by x^8 modulo the
 * polynomial. So this residual is
 *
 *     (a | b << 8) * x^(8 * (2 + 22 + n))      22 bytes from the field to the BTH, n from there to the ICRC
 *
 * and as x has an inverse, multiplying by x^-8 as often gives a | b << 8 back: the one identification for
 * which the packet is right, if the upper 16 bits come out as zero. If they do not, there is none.
 *
 * The price is protection. Of the 2^32 residuals that an error may leave, 2^16 look like an identification.
 * What an ICRC proves of a packet with an unknown identification is worth 16 bits instead of 32. Who is known
 * to send few identifications gives most of it back: nornic's udp port sends 0 to 63 (ROCE_OWN_IP_IDS), its
 * place in a train, so that 26 bits remain; soft-RoCE and adapters count through all of them. Therefore each
 * peer is held to what it is seen to do (roce_ip_id_admit()). IPv6 has no identification and loses nothing.
 */
#ifndef NORNIC_ROCE_IP_ID_H
#define NORNIC_ROCE_IP_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"

#define ROCE_OWN_IP_IDS     64 /* identifications that a train of nornic's has: 0 to 63 */
#define ROCE_FOREIGN_IP_IDS 4  /* others from a peer of nornic's kind, until it is taken for another kind */
#define ROCE_IP_ID_PEERS    64 /* a power of two; two that share a slot are each new again after the other */
#define ROCE_IP_ID_LENGTHS  8  /* a power of two */

/* What was seen of the sender at an address. */
struct roce_ip_id_peer {
    struct nornic_addr addr; /* zero: nobody yet */
    uint32_t foreign;        /* identifications of ROCE_OWN_IP_IDS and above; stops at ROCE_FOREIGN_IP_IDS */
};

struct roce_ip_ids {
    /* x^(-8 * (24 + len_bytes)), for the lengths that came last */
    struct {
        uint32_t len_bytes, unwind;
    } lengths[ROCE_IP_ID_LENGTHS];
    struct roce_ip_id_peer peers[ROCE_IP_ID_PEERS];
};

/* `residual`: the ICRC found XOR the one expected with an identification that was assumed; `len_bytes`: from
 * the BTH to the last pad byte. True: `*difference` XOR the assumed identification is the one identification
 * for which the packet is right. False: there is none, the packet is damaged. `ids` begins as zeros. */
bool roce_ip_id_find(struct roce_ip_ids *ids, uint32_t residual, uint32_t len_bytes, uint16_t *difference);

/* Whether a packet from `src` that is right for `id` is taken for right. One of nornic's identifications
 * always is. Another one is if it came as the first from its address, or if so many (ROCE_FOREIGN_IP_IDS)
 * have come from there that damage does not explain them: each needs a damaged packet, and of these one in
 * 2^16 comes by. */
bool roce_ip_id_admit(struct roce_ip_ids *ids, const struct nornic_addr *src, uint16_t id);

#endif
