/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow control of links: the pauses that stations asked for, and the flows that stood still for them. */
#ifndef NORNIC_EXPLAIN_FLOW_LINK_PAUSE_H
#define NORNIC_EXPLAIN_FLOW_LINK_PAUSE_H

#include "explain/meaning/meaning.h"
#include "nornic/addr.h"

#define EXPLAIN_PAUSES_MAX 64

/* The newest pause that a station asked for, of one class. */
struct explain_pause {
    uint64_t number; /* of the frame that began it; 0: the slot is free */
    struct nornic_mac station;
    uint8_t class; /* NET_PFC_CLASSES: of the whole link */
    bool is_over;  /* a frame ended it, at `end_ns` */
    bool is_known; /* the station sends or gets packets of flows: it is one of their ends, and no switch */
    uint64_t begin_ns, end_ns; /* not over: when its time is up, at the speed that is assumed */
};

struct explain_pauses {
    uint64_t link_bps; /* 0: not known */
    struct explain_pause pauses[EXPLAIN_PAUSES_MAX];
    unsigned count, next;
};

/* A PAUSE or PFC frame: fills the meaning. */
void explain_pause_take(struct explain_pauses *pauses, const struct explain_packet *packet,
                        struct explain_meaning *m);
/* Takes a packet of a flow. The newest packet of its direction before it was sent at `before_ns`. Returns for
 * how long of the time since it had to stand still, and remarks it; 0: not at all. */
uint64_t explain_pause_stood(struct explain_pauses *pauses, const struct explain_packet *packet,
                             uint64_t before_ns, struct explain_meaning *m);

#endif
