/* SPDX-License-Identifier: BSD-2-Clause */
/* Two captures of the same traffic, one taken at (or near) each end, laid together: which packet of the
 * one is which of the other, how the two clocks stand to each other, how long each packet took, and the
 * fate of those that only one capture has.
 *
 * Both are read twice: once packet by packet into explain_join_take(), once in the order that
 * explain_join_step() gives, when everything is known. Memory: EXPLAIN_JOIN_PACKET_BYTES a packet that is
 * kept, and the memory of pairs of addresses and connections; frames are not kept. */
#ifndef NORNIC_EXPLAIN_JOIN_JOIN_H
#define NORNIC_EXPLAIN_JOIN_JOIN_H

#include "explain/join/values.h"
#include "explain/packet/packet.h"
#include "net/error.h"

struct explain_join;

const char *explain_fate_key(enum explain_fate fate);
/* `max_bytes` of memory at the most; 0: 1 GiB. NULL: no memory. */
struct explain_join *explain_join_create(uint64_t max_bytes);
void explain_join_destroy(struct explain_join *join);
/* The next packet of capture `side`, in the order of its file; its number is its frame's place there. 0;
 * -ENOMEM; -EFBIG: it would take more memory than is allowed. */
int explain_join_take(struct explain_join *join, unsigned side, struct explain_packet *packet);
/* Lays both captures together, after they are read. 0; -ENOMEM; -ENODATA if they have nothing in common, or
 * nothing of which it can be told which is which, with the difference in `why`, to stand behind the files'
 * names. */
int explain_join_finish(struct explain_join *join, struct nornic_error *why);
/* The next packet of the joined order: it is the record place->record[place->side] of that capture, which
 * always lies behind those that were given of that capture before. False: that was all. */
bool explain_join_step(struct explain_join *join, struct explain_join_place *place);
/* Returns the fate of a packet by its number. False: there is none. */
bool explain_join_fate(const struct explain_join *join, uint64_t number, enum explain_fate *fate,
                       enum explain_sure *sure);
/* Behind explain_join_finish(). */
const struct explain_join_summary *explain_join_summary(const struct explain_join *join);

#endif
