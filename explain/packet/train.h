/* SPDX-License-Identifier: BSD-2-Clause */
/* Trains that had not been cut when they were captured.
 *
 * A sender hands many RoCE packets to its kernel as one UDP datagram (UDP_SEGMENT), which the kernel or the
 * NIC cuts behind the point where tcpdump looks; and a receiver's kernel puts packets together (GRO) before
 * it. A capture then holds one frame whose UDP payload is packet behind packet, each with BTH and ICRC, all
 * of one length but the last, which may be shorter. None of these ICRCs is right for the frame, as each
 * covers the lengths, and the IPv4 identification, of the packet that was on the wire.
 *
 * Where the first packet ends, no header says. It ends where its ICRC is right with its own lengths, and a
 * BTH follows. Who reads captures packet by packet reads them through this cutter: each packet is then as if
 * it had been captured alone, with the number and the time of its frame. */
#ifndef NORNIC_EXPLAIN_PACKET_TRAIN_H
#define NORNIC_EXPLAIN_PACKET_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/packet/packet.h"
#include "net/wire/train.h"

/* A walk over the packets of a record: begin, next until it says no, and end if the walk stops before. */
struct explain_cutter {
    struct net_capture_record record; /* as it was captured */
    uint64_t number;
    uint32_t at, count; /* packets that were given, and in all; 0 before the first */
    /* A train; `whole` is NULL where there is none: */
    struct net_train train;
    uint8_t *whole;       /* an Ethernet header and the datagram; owned */
    uint8_t *packet;      /* the record of the packet that was given last; owned */
    uint32_t l3_offset;   /* of the datagram in `record` */
    uint32_t there_bytes; /* of the datagram, captured */
};

/* Borrows the record's bytes until the walk has ended. `number` is the frame's, as for explain_dissect(). */
void explain_cutter_begin(struct explain_cutter *cutter, const struct net_capture_record *record,
                          uint64_t number);

/* Takes the next packet apart: the record as it is, or the next packet of the train that it holds, with
 * packet->train set. A packet of a train has its own lengths, an IPv4 identification that is the frame's and
 * one more from packet to packet, or else the one with which its ICRC is right (roce/wire/ip_id.h), an IPv4
 * checksum that is right if the frame's is, or is 0, and a UDP checksum of 0: the frame's is that of none of
 * them. Of a train that a snap length cut, packets of which
 * nothing was captured have the headers of the first up to UDP. False: there are no more, and the walk has
 * ended. Pointers of `packet` are valid until the next call. A train for which there is no memory is given as
 * the one frame that it is. */
bool explain_cutter_next(struct explain_cutter *cutter, struct explain_packet *packet);

/* Ends a walk early; after that, and after the last packet, there is nothing to end. */
void explain_cutter_end(struct explain_cutter *cutter);

#endif
