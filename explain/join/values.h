/* SPDX-License-Identifier: BSD-2-Clause */
/* The statements about two captures that are laid together. */
#ifndef NORNIC_EXPLAIN_JOIN_VALUES_H
#define NORNIC_EXPLAIN_JOIN_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/join/clock.h"
#include "explain/meaning/why.h"

/* Of memory at the most, with room to grow: for a packet of either capture, for an address that sends to
 * another (and once more if it sends TCP), for a TCP connection. */
#define EXPLAIN_JOIN_PACKET_BYTES 192
#define EXPLAIN_JOIN_LANE_BYTES   320
#define EXPLAIN_JOIN_CONN_BYTES   256

/* The fate of a packet: id, name in JSON. Sender and receiver are the ends that it left and was for. */
#define EXPLAIN_FATES(X)                                                                              \
    X(ARRIVED, "arrived")                                                                             \
    X(DAMAGED, "damaged")                 /* on the way */                                            \
    X(LOST, "lost")                       /* on the way */                                            \
    X(COPY, "copy")                       /* that the network made */                                 \
    X(MISSED_THERE, "missed_at_receiver") /* it arrived, and the capture at the receiver misses it */ \
    X(MISSED_HERE, "missed_at_sender")    /* it was sent, and the capture at the sender misses it */  \
    X(OUTSIDE, "outside")                 /* the other capture had not begun, or was over */          \
    X(UNRELATED, "unrelated")             /* nothing between these addresses is in the other capture */

enum explain_fate {
#define EXPLAIN_FATE_ENUM_(id, key) EXPLAIN_FATE_##id,
    EXPLAIN_FATES(EXPLAIN_FATE_ENUM_)
#undef EXPLAIN_FATE_ENUM_
        EXPLAIN_FATE_COUNT
};

/* The places at which one packet was seen. Capture 0 is the first, A; capture 1 the second, B. */
struct explain_join_place {
    uint64_t number; /* in the joined order, from 1 */
    unsigned side;   /* the capture that has the record by which it is shown */
    unsigned from;   /* the capture at the end that it left: 0 or 1; of UNRELATED: the one that has it */
    enum explain_fate fate;
    enum explain_sure sure;    /* UNKNOWN: `fate` or */
    enum explain_fate or_fate; /* this one, which the captures do not decide; else of no meaning. Of equal
                                  packets that left and came it is then not known which is which */
    bool may_have_arrived;     /* UNKNOWN: nor whether it is one of those: ARRIVED is a third candidate */
    bool is_overtaken;         /* a packet of its queue pair that left later came before it */
    uint64_t record[2];        /* its frame's number in either capture, from 1; 0: not there */
    uint32_t train_packet[2];  /* and which it is of the train that the frame holds; 0: it is alone there */
    uint64_t own_ns[2];        /* its time by the capture's own clock, if it is there */
    uint64_t time_ns[2];       /* the same by the clock of capture 0 */
    int64_t delay_ns;          /* ARRIVED, DAMAGED, COPY: from its leaving to its coming */
    uint32_t part_bytes;       /* LOST or MISSED_THERE, of TCP: the capture there has so many bytes of it */
    uint64_t related;     /* number of the packet that shows its fate, or that it is a copy of; 0: none */
    const char *evidence; /* the evidence of that packet; "" without one */
};

/* One way through the network. */
struct explain_join_way {
    uint64_t packets;                   /* that left, or came without having been seen to leave */
    uint64_t fates[EXPLAIN_FATE_COUNT]; /* likely or shown */
    uint64_t unknown;
    uint64_t overtaken;
    uint64_t measured; /* so many delays are behind these: */
    int64_t min_ns, median_ns, p99_ns, max_ns;
};

struct explain_join_summary {
    uint64_t packets[2]; /* RoCE, CM, handshakes of SMC-R, and TCP of iWARP in either capture */
    uint64_t records[2]; /* all */
    uint64_t twice[2];   /* that either capture holds once more: they are left out */
    uint64_t unrelated[2];
    struct explain_join_way way[2]; /* by the capture at the end that sends */
    struct explain_clock clock;
    bool has_icrc; /* packets of RoCE were told apart by it too; false: some are cut */
    bool has_data; /* and segments of TCP by theirs */
    /* either capture may be the one at the end that the first packets left: clocks explain both, and ends and
     * delays are the better guess */
    bool is_either_way;
};

#endif
