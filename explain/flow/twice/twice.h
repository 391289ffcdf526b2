/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that a capture holds more than once. Some are there twice as the network made a copy; most, as the
 * capture sees each packet at two places of its way (all interfaces of a host, a mirror of two ports, both
 * sides of a router, both ends of a link in one file), or as a capture was merged with itself. Those have no
 * meaning of their own: they are counted once. */
#ifndef NORNIC_EXPLAIN_FLOW_TWICE_TWICE_H
#define NORNIC_EXPLAIN_FLOW_TWICE_TWICE_H

#include <stddef.h>

#include "explain/meaning/meaning.h"
#include "explain/packet/packet.h"

struct explain_twice;

/* The way to recognise a packet that the capture holds twice. */
enum explain_copies {
    EXPLAIN_COPIES_BY_TIME,  /* by its bytes, its place, and how soon it comes */
    EXPLAIN_COPIES_BY_BYTES, /* by its bytes and its place, at whatever time it comes */
    /* No packet is: one interface was captured, which shows a packet as often as it passes. An equal
     * packet was sent again. */
    EXPLAIN_COPIES_NONE,
};

/* NULL: no memory. It takes 6 MiB at the most: 65536 packets back a repeated one is known. */
struct explain_twice *explain_twice_create(enum explain_copies copies);
/* `twice` may be NULL. */
void explain_twice_destroy(struct explain_twice *twice);

/* Takes the next packet of the capture, of any kind. True: it was seen before, and `meaning` (cleared by the
 * caller) says so; nothing else is to be concluded from it. False: it is new, or sent again, or a copy that
 * the network made: the caller finds out, and says by explain_twice_learn() what flow it is of. */
bool explain_twice_take(struct explain_twice *twice, const struct explain_packet *packet,
                        struct explain_meaning *meaning);
/* Learns the outcome of the packet for which explain_twice_take() has just returned false. */
void explain_twice_learn(struct explain_twice *twice, const struct explain_meaning *meaning);

/* Returns the sums so far; valid until `twice` is destroyed. */
const struct explain_seen_twice *explain_twice_sum(const struct explain_twice *twice);

#endif
