/* SPDX-License-Identifier: BSD-2-Clause */
/* Building packets into a buffer of the port: one, or a run of them that leaves as a train (net/port.h).
 * Inside roce/ only.
 *
 * A sender (requester, responder, datagrams) decides on one packet after the other, with all that belongs
 * to it: sequence, window, pacing, when an acknowledgement is asked for. It then offers the packet to the
 * run, which takes it if it continues the packets there: the same flow to the same queue pair, as long as
 * the first (a shorter one is the last), and room for it. A packet that is not taken changes nothing, and
 * is the first packet of the next run. So the packets of a run are those that would have left one by one,
 * in that order. In the middle of a long message nothing is left to decide for a while: more packets are
 * then added at once (roce_run_count_on()). */
#ifndef NORNIC_ROCE_RUN_H
#define NORNIC_ROCE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "net/port.h"
#include "roce/wire/frame.h"

struct rdma_domain;

/* The way of a packet: a port does not loop back, so a packet for an address of this device stays inside.
 */
enum roce_route { ROCE_ROUTE_PORT, ROCE_ROUTE_LOOP, ROCE_ROUTE_BOTH };

/* The destination of a packet. */
struct roce_dest {
    enum roce_route route;
    const struct nornic_addr *dgid; /* of the QP, address handle or CNP slot that it was built from */
    uint32_t qpn;
};

/* A run under construction. Readers need the first part. */
struct roce_run {
    struct net_frame *frame; /* the buffer: whole after every packet, without a packet that was begun only */
    uint32_t pkts;           /* in it */
    uint32_t pkt_bytes;      /* the newest of them, as a frame of its own */
    struct roce_dest dest;   /* of all */
    bool is_response;        /* the newest is the responder's: only an ACK may follow requests */
    /* --- */
    uint32_t max_pkts;
    uint16_t *ip_id; /* identification of the next packet, counted on with each */
    const struct roce_frame_template *tmpl;
    uint32_t transport_bytes; /* of the first, without ICRC */
    uint32_t next_bytes;      /* of the packet that was begun */
    uint32_t icrc_below;      /* the first's CRC below the BTH */
    uint16_t first_id;
    bool is_closed; /* the newest is shorter than the first */
};

/* An empty run in `frame` of at most `max_pkts` packets (at least 1, which always fits) and
 * frame->cap_bytes. `ip_id` counts the IPv4 identification. */
void roce_run_init(struct roce_run *run, struct net_frame *frame, uint32_t max_pkts, uint16_t *ip_id);

/* Offers a packet of the flow `tmpl` to `dest`, with `transport_bytes` of BTH, extended headers, payload
 * and pad. Returns their place, or NULL: the packet does not continue the run, nothing has changed. To an
 * empty run every packet is welcome. Both pointers are kept while the run is built. A packet that was
 * begun is sealed, or forgotten. */
uint8_t *roce_run_begin(struct roce_run *run, const struct roce_frame_template *tmpl,
                        const struct roce_dest *dest, uint32_t transport_bytes);

/* The result of building a packet. */
enum roce_built {
    ROCE_BUILT,      /* it is in the run */
    ROCE_RUN_ENDS,   /* it does not continue the run, and is as if it had not been asked for */
    ROCE_UNREADABLE, /* its data cannot be read (ROCE-RC-17), and nothing has changed */
};

/* Computes the ICRC of the packet that was begun, and makes it one of the run. */
void roce_run_seal(struct roce_run *run);

/* How many packets as long as the newest, which is as long as the first, still fit; of an empty run 0. */
uint32_t roce_run_room(const struct roce_run *run);

/* Adds `n` packets, for which there is room, that differ from the newest by their PSN, each one higher,
 * and their payload: that of the first begins at `data`, memory of a region of `domain`, the others'
 * follow one another. The newest has no extended headers and no pad. Returns how many were added: fewer
 * when the memory cannot be read. */
uint32_t roce_run_count_on(struct roce_run *run, struct rdma_domain *domain, uint32_t n, const uint8_t *data);

#endif
