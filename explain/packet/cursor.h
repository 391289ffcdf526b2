/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a frame is taken apart. Only explain/packet/ includes this. */
#ifndef NORNIC_EXPLAIN_PACKET_CURSOR_H
#define NORNIC_EXPLAIN_PACKET_CURSOR_H

#include "base/base.h"
#include "explain/packet/packet.h"

/* `at` is the next byte, `end` one past the last that counts and is there, `wire_end` one past the last that
 * counts: beyond `end` where the capture has cut the frame. */
struct explain_cursor {
    struct explain_packet *packet;
    uint32_t at, end, wire_end;
    bool takes_cut; /* layers that the capture cut are taken as far as they are there */
    /* of the Ethernet frame that it is in, innermost: where its header is, and its innermost tag */
    bool has_ether;
    uint32_t ether_at;
    int32_t vlan_tci; /* -1: none */
};

/* What is left ends `bytes` behind `from`, if it does not end before: the lengths in headers say so. */
static inline void explain_end_at(struct explain_cursor *c, uint32_t from, uint32_t bytes)
{
    c->wire_end = min_u32(c->wire_end, from + bytes);
    c->end = min_u32(c->end, c->wire_end);
}

/* Takes the next bytes as a layer of that kind. False: they are not all there, or the packet has too many
 * layers. Where `takes_cut` is set, and the layer was on the wire whole, those bytes of it that are there are
 * a layer then, behind which nothing is left. */
bool explain_take(struct explain_cursor *c, enum explain_layer_id id);
/* The same for up to `most` equal ones; a message that announces more than it holds shows those that it has.
 */
void explain_take_parts(struct explain_cursor *c, unsigned count, unsigned most, enum explain_layer_id id);
/* A layer inside another one, or inside data, at `offset`: it does not move the cursor. */
void explain_show(struct explain_cursor *c, enum explain_layer_id id, uint32_t offset);

/* --- below.c: each takes a header or some, and returns the EtherType of what comes next; 0: nothing that is
 * read any further. NET_ETHERTYPE_TEB is an Ethernet frame. --- */
/* What a record of that link type begins with. */
uint16_t explain_take_link(struct explain_cursor *c, enum net_link link);
uint16_t explain_take_ether(struct explain_cursor *c);
uint16_t explain_take_vlan(struct explain_cursor *c);
/* Behind a UDP header with that destination port. */
uint16_t explain_take_udp_tunnel(struct explain_cursor *c, uint16_t port);
/* IP protocol 47; the frames of ERSPAN with it. */
uint16_t explain_take_gre(struct explain_cursor *c);

/* --- link_control.c: frames that never leave a link --- */
void explain_take_mac_control(struct explain_cursor *c);
void explain_take_lldp(struct explain_cursor *c);

/* --- dissect_smc.c --- */
/* TCP: the option that offers SMC-R, and CLC messages, which say what they are by their eye catcher. */
void explain_take_tcp(struct explain_cursor *c);
/* The data of a SEND that is as long as LLC and CDC messages are, and begins as they do (SMCR-LLC-01); its
 * first bytes are enough. */
void explain_take_smc_message(struct explain_cursor *c);

#endif
