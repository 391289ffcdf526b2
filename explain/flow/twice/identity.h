/* SPDX-License-Identifier: BSD-2-Clause */
/* The identity of a packet, and the place on its way at which it was captured. */
#ifndef NORNIC_EXPLAIN_FLOW_TWICE_IDENTITY_H
#define NORNIC_EXPLAIN_FLOW_TWICE_IDENTITY_H

#include "explain/packet/packet.h"

#define EXPLAIN_NO_VLAN UINT16_MAX

/* The place at which a packet was captured. */
struct explain_view {
    uint32_t hash; /* of all of it */
    uint32_t interface;
    uint16_t vlan; /* the outermost tag; EXPLAIN_NO_VLAN: none */
    uint8_t link, hops_left;
};

/* The identity of a packet, at whatever place it was captured. */
struct explain_identity {
    uint64_t digest;
    uint64_t way, back; /* keys */
    /* by which to look for it: close to that of the packet sent before it, where that shows */
    uint32_t place;
    uint16_t ip_id;
    bool has_ip_id;
};

/* Of a packet of RoCE, or of a handshake of SMC-R over TCP. False: it is neither, or its addresses are not
 * there. */
bool explain_identify(const struct explain_packet *packet, struct explain_identity *identity);
/* Of a packet that explain_identify() returned true for. */
struct explain_view explain_view_of(const struct explain_packet *packet);

#endif
