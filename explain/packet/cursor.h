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
};

/* What is left ends `bytes` behind `from`, if it does not end before: the lengths in headers say so. */
static inline void explain_end_at(struct explain_cursor *c, uint32_t from, uint32_t bytes)
{
    c->wire_end = min_u32(c->wire_end, from + bytes);
    c->end = min_u32(c->end, c->wire_end);
}

/* Takes the next bytes as a layer of that kind. False: they are not there, or the packet has too many layers.
 */
bool explain_take(struct explain_cursor *c, enum explain_layer_id id);
/* The same for up to `most` equal ones; a message that announces more than it holds shows those that it has.
 */
void explain_take_parts(struct explain_cursor *c, unsigned count, unsigned most, enum explain_layer_id id);
/* A layer inside another one, or inside data, at `offset`: it does not move the cursor. */
void explain_show(struct explain_cursor *c, enum explain_layer_id id, uint32_t offset);

/* --- dissect_smc.c --- */
/* TCP: the option that offers SMC-R, and CLC messages, which say what they are by their eye catcher. */
void explain_take_tcp(struct explain_cursor *c);
/* The data of a SEND that is as long as LLC and CDC messages are, and begins as they do (SMCR-LLC-01). */
void explain_take_smc_message(struct explain_cursor *c);

#endif
