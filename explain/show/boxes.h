/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers drawn as the standards draw them: rows of 32 bits, fields boxed and named. */
#ifndef NORNIC_EXPLAIN_SHOW_BOXES_H
#define NORNIC_EXPLAIN_SHOW_BOXES_H

#include "explain/packet/packet.h"
#include "explain/show/text.h"

/* Appends a box of `header` without values: for the guide. */
void explain_box(struct explain_text *out, const struct net_header *header);

/* Appends every layer of a packet: its bytes in hex, its box, and a line a field with value and rule. A field
 * that makes the packet bad is marked with "<--". */
void explain_boxes_packet(struct explain_text *out, const struct explain_packet *packet);

#endif
