/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets as a ladder: a lifeline an address, an arrow a packet, in words what it means. Streams: a lifeline
 * appears when its address is first seen, and the names are written again. */
#ifndef NORNIC_EXPLAIN_SHOW_LADDER_H
#define NORNIC_EXPLAIN_SHOW_LADDER_H

#include "explain/show/line.h"

#define EXPLAIN_LADDER_LANES 8 /* addresses; packets of further ones are told of without an arrow */

struct explain_ladder {
    struct nornic_addr lanes[EXPLAIN_LADDER_LANES];
    unsigned lane_count;
    unsigned columns; /* of the whole picture, at least 72 */
    bool has_begun;
    uint64_t last_ns;
};

/* All zero but `columns`: an empty one. */

/* Appends the row of a packet, with the names above it where a lifeline is new, and a row for each remark
 * that is more than a note. Arrows: --> the first time, ==> sent again, ~~> an answer that says no (NAK,
 * RNR NAK), xx> a packet that is bad. Where time passed without packets (10 ms and more), it says so. */
void explain_ladder(struct explain_text *out, struct explain_ladder *ladder,
                    const struct explain_packet *packet, const struct explain_meaning *meaning,
                    const struct explain_line_style *style);

#endif
