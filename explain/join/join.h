/* SPDX-License-Identifier: BSD-2-Clause */
/* Two captures of the same traffic, one taken at (or near) each end, laid together: which packet of the
 * one is which of the other, how the two clocks stand to each other, how long each packet took, and what
 * became of those that only one capture has.
 *
 * Both are read twice: once packet by packet into explain_join_take(), once in the order that
 * explain_join_step() gives, when everything is known. Memory: EXPLAIN_JOIN_PACKET_BYTES a packet that is
 * kept, and what pairs of addresses and connections take; frames are not kept. */
#ifndef NORNIC_EXPLAIN_JOIN_JOIN_H
#define NORNIC_EXPLAIN_JOIN_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/analysis.h"
#include "explain/join/clock.h"
#include "net/error.h"

/* Of memory at the most, with room to grow: for a packet of either capture, for an address that sends to
 * another (and once more where it sends TCP), for a TCP connection. */
#define EXPLAIN_JOIN_PACKET_BYTES 192
#define EXPLAIN_JOIN_LANE_BYTES   320
#define EXPLAIN_JOIN_CONN_BYTES   256

/* What became of a packet: id, name in JSON, words. Sender and receiver are the ends that it left and was
 * for. */
#define EXPLAIN_FATES(X)                                                                           \
    X(ARRIVED, "arrived", "it arrived")                                                            \
    X(DAMAGED, "damaged", "it was damaged on the way")                                             \
    X(LOST, "lost", "it was lost on the way")                                                      \
    X(COPY, "copy", "the network made a copy")                                                     \
    X(MISSED_THERE, "missed_at_receiver", "it arrived, and the capture at the receiver misses it") \
    X(MISSED_HERE, "missed_at_sender", "it was sent, and the capture at the sender misses it")     \
    X(OUTSIDE, "outside", "the other capture had not begun, or was over")                          \
    X(UNRELATED, "unrelated", "nothing between these addresses is in the other capture")

enum explain_fate {
#define EXPLAIN_FATE_ENUM_(id, key, words) EXPLAIN_FATE_##id,
    EXPLAIN_FATES(EXPLAIN_FATE_ENUM_)
#undef EXPLAIN_FATE_ENUM_
        EXPLAIN_FATE_COUNT
};

const char *explain_fate_key(enum explain_fate fate);
const char *explain_fate_words(enum explain_fate fate);

/* Where one packet was seen. Capture 0 is the first, A; capture 1 the second, B. */
struct explain_join_place {
    uint64_t number; /* in the joined order, from 1 */
    unsigned side;   /* the capture whose record it is shown by */
    unsigned from;   /* the capture at the end that it left: 0 or 1; of UNRELATED: the one that has it */
    enum explain_fate fate;
    enum explain_sure sure;    /* UNKNOWN: `fate` or */
    enum explain_fate or_fate; /* this one, which the captures do not decide; else of no meaning. Of equal
                                  packets that left and came it is then not known which is which */
    bool may_have_arrived;     /* UNKNOWN: nor whether it is one of those: ARRIVED is a third candidate */
    bool is_overtaken;         /* a packet of its queue pair that left later came before it */
    uint64_t record[2];        /* its frame's number in either capture, from 1; 0: not there */
    uint32_t train_packet[2];  /* and which it is of the train that the frame holds; 0: it is alone there */
    uint64_t own_ns[2];        /* when, by the capture's own clock; where it is there */
    uint64_t time_ns[2];       /* the same by the clock of capture 0 */
    int64_t delay_ns;          /* ARRIVED, DAMAGED, COPY: from its leaving to its coming */
    uint32_t part_bytes;       /* LOST or MISSED_THERE, of TCP: the capture there has so many bytes of it */
    uint64_t related;     /* number of the packet that shows its fate, or that it is a copy of; 0: none */
    const char *evidence; /* what that packet tells; "" where there is none */
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
    bool
        is_either_way; /* either capture may be the one at the end that the first packets left: clocks explain
                           both, and what is told of ends and delays is the better guess */
};

struct explain_join;

/* `max_bytes` of memory at the most; 0: 1 GiB. NULL: no memory. */
struct explain_join *explain_join_create(uint64_t max_bytes);
void explain_join_destroy(struct explain_join *join);

/* The next packet of capture `side`, in the order of its file; its number is its frame's place there. 0;
 * -ENOMEM; -EFBIG: it would take more memory than is allowed. */
int explain_join_take(struct explain_join *join, unsigned side, struct explain_packet *packet);

/* Both captures are read: lays them together. 0; -ENOMEM; -ENODATA where they have nothing in common, or
 * nothing of which it can be told which is which, with what differs in `why`, to stand behind the files'
 * names. */
int explain_join_finish(struct explain_join *join, struct nornic_error *why);

/* The next packet of the joined order: it is the record place->record[place->side] of that capture, which
 * always lies behind those that were given of that capture before. False: that was all. */
bool explain_join_step(struct explain_join *join, struct explain_join_place *place);

/* What became of a packet by its number. False: there is none. */
bool explain_join_fate(const struct explain_join *join, uint64_t number, enum explain_fate *fate,
                       enum explain_sure *sure);

/* Behind explain_join_finish(). */
const struct explain_join_summary *explain_join_summary(const struct explain_join *join);

#endif
