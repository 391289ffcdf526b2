/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers drawn as the standards draw them: rows of 32 bits, fields boxed and named. */
#ifndef NORNIC_EXPLAIN_BOXES_H
#define NORNIC_EXPLAIN_BOXES_H

#include "explain/packet.h"
#include "explain/text.h"

/* Appends a box of `header` without values: for the guide. */
void explain_box(struct explain_text *out, const struct net_header *header);

/* Appends every layer of a packet: its bytes in hex, its box, and a line a field with value and rule. A field
 * that makes the packet bad is marked with "<--". */
void explain_boxes_packet(struct explain_text *out, const struct explain_packet *packet);

/* True of the fields that the parser's verdict on a packet is about. */
bool explain_field_offends(enum roce_rx_verdict verdict, const char *layer_key, const char *field_name);

#endif
