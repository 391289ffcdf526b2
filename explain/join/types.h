/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of two captures while they are laid together. */
#ifndef NORNIC_EXPLAIN_JOIN_TYPES_H
#define NORNIC_EXPLAIN_JOIN_TYPES_H

#include "explain/analysis.h"
#include "explain/join/values.h"
#include "explain/tcp/segment.h"

#define JOIN_NONE       UINT32_MAX
#define JOIN_IDS_LEAST  8 /* packets from which it is told whether identifications differ */
#define JOIN_KNOWN      (UINT32_C(1) << 31)
#define JOIN_REPEATED   (UINT32_C(1) << 30) /* requests were sent again */
#define JOIN_HASH_EMPTY 1                   /* join_hash_data() of no data */

/* The meaning of the packet `proof`. */
enum join_says { JOIN_SAYS_NOTHING, JOIN_SAYS_COVERS, JOIN_SAYS_ASKS };

/* The word of the analysis about a packet, which it had read up to there. */
enum join_seen { JOIN_SEEN_NEW, JOIN_SEEN_AGAIN, JOIN_SEEN_TWICE }; /* AGAIN: nobody sent it twice */

/* Whether the other capture has packets equal to this one, though not of its time. ALONE: this one did not
 * come, and of those one came from nowhere, so that it may be that. */
enum join_equal { JOIN_EQUAL_NONE, JOIN_EQUAL_THERE, JOIN_EQUAL_ALONE };

/* The role of a packet in its stream. */
enum join_role {
    JOIN_OTHER,
    JOIN_REQUEST,
    JOIN_ANSWER,
    JOIN_SEGMENT, /* of TCP that bears iWARP: data, an acknowledgement, or both */
};

/* Whether a packet with that role is of a connected queue pair of RoCE. */
static inline bool join_is_of_qp(enum join_role role)
{
    return role == JOIN_REQUEST || role == JOIN_ANSWER;
}

/* A segment of TCP, beyond a packet. */
struct join_tcp {
    uint32_t end;        /* one past the last byte; equal to `psn`: no data */
    uint32_t ack;        /* with has_ack: its sender has all before this */
    uint32_t part_bytes; /* so many bytes are there, of one that is not there as a whole */
    bool has_ack;
    bool is_changed; /* the same bytes left with other data */
};

/* How its own capture has a packet. */
struct join_captured {
    bool is_cut;     /* its ICRC, or of TCP all of its data, was not captured */
    bool is_damaged; /* the ICRC or a header is wrong */
    bool is_twice;   /* the capture has it before, and saw it once more: it is left out */
};

/* The match of a packet in the other capture. */
struct join_match {
    uint32_t other;  /* its number, or that of the original of a copy; JOIN_NONE */
    uint8_t equal;   /* enum join_equal */
    bool is_copy;    /* `other` is the packet that it is a copy of */
    bool is_doubted; /* equal packets, or one that came damaged, leave it open whether it is this one */
    bool is_open;    /* equal packets that left and came at that time cannot be told apart */
};

/* The fate of a packet. */
struct join_fate {
    uint32_t proof; /* the packet that shows it, in the capture at the receiver; JOIN_NONE */
    uint8_t kind, sure, says;
    uint8_t or_kind;   /* sure UNKNOWN: the other candidate */
    bool may_be_equal; /* or one of the equal packets that both captures have */
    bool is_overtaken;
};

struct join_packet {
    uint64_t time_ns;
    uint64_t key;    /* of all that is the same at both ends, but for the ICRC */
    uint32_t icrc;   /* as it stands in the packet, of TCP join_hash_data() of its data; 0: not captured */
    uint32_t record; /* in its file, from 1 */
    uint32_t lane;   /* which address to which */
    /* 2 * flow in the analysis of its capture + direction; 0, 1: none. Of TCP 2 * connection + direction,
     * and from join_keep_iwarp() on so many behind join_side.tcp_streams */
    uint32_t stream;
    uint32_t psn; /* of TCP the sequence number of the first byte */
    struct join_tcp tcp;
    struct join_match match;
    struct join_fate fate;
    uint16_t bytes; /* of the datagram, ICRC included */
    uint16_t ip_id;
    uint8_t role, opcode, syndrome, seen;
    uint8_t train_packet; /* as in struct explain_train */
    struct join_captured captured;
    bool is_again; /* it was sent before */
};

/* All packets from one address to another. */
struct join_lane {
    struct nornic_addr src, dst;
    uint64_t key; /* a hash of these, and of is_tcp */
    bool is_tcp;
    uint32_t back; /* the lane of the other direction; JOIN_NONE: there is none */
    uint32_t packets[2], ids[2],
        zeros[2]; /* by capture: identifications that are not that of the packet before, and 0 */
    uint16_t newest_id[2];
    uint64_t last_ns[2]; /* by capture, and its clock: the latest packet */
    bool has_qps[2];     /* by capture: it has packets of connected queue pairs */
    uint32_t matches;    /* packets of which it is certain which is which */
    uint32_t told;       /* of so many packets */
    double sum_ns;       /* capture 1 is later by this in all, with the clocks aligned */
    int from;            /* the capture at the end that it comes from; -1: not known */
    bool is_guessed;     /* clocks explain either end */
};

/* A TCP connection of either capture, or of both. */
struct join_conn {
    struct nornic_addr addr[2]; /* in the order of their bytes, */
    uint16_t port[2];           /* and then of these */
    bool is_iwarp;              /* as the analysis of one of the captures found */
    bool has_end[2];            /* while a capture is learned: data were seen in that direction, */
    uint32_t end[2];            /* one past the newest of which is this */
    uint64_t blind_ns
        [2]; /* by capture, and its clock: segments before were let go of, if there were any; 0: none */
};

/* Packets with the same key: in each capture a chain in the order of the file. */
struct join_group {
    uint64_t key;
    uint32_t first[2], last[2], count[2]; /* first, last: JOIN_NONE if count is 0 */
};

struct join_side {
    struct join_packet *packets;
    uint32_t count, cap;
    uint32_t *next; /* by packet: the next one of its group; made by explain_join_finish() */
    uint64_t records, first_ns, last_ns;
    uint64_t blind_ns; /* all TCP that did not show iWARP before was let go of; 0: none */
    uint32_t twice;    /* packets that the capture holds once more, and that are left out */
    struct explain_analysis *analysis;
    /* by stream: one past the newest, with JOIN_KNOWN, and JOIN_REPEATED; 0: none yet */
    uint32_t *newest_psn;
    uint32_t stream_cap;
    uint32_t tcp_streams; /* behind join_keep_iwarp(): those of connection 0 are this and the next */
    uint32_t at;          /* explain_join_step(): the next one to show */
};

struct explain_join {
    uint64_t max_bytes;
    struct join_side side[2];
    struct join_lane *lanes;
    uint32_t lane_count, lane_cap;
    uint32_t *lane_table; /* of lane_cap * 2 */
    struct join_conn *conns;
    uint32_t conn_count, conn_cap;
    uint32_t *conn_table; /* of conn_cap * 2 */
    struct join_group *groups;
    uint32_t group_count;
    bool is_blind;         /* nothing tells which end is which */
    bool has_no_single;    /* no group has one packet in each capture */
    int64_t usual_ns[2];   /* by sender: most packets take less */
    int64_t least_ns[2];   /* by sender: hardly any takes less; of few packets 0 */
    int64_t longest_ns[2]; /* by sender: the longest time that a packet was under way */
    /* by sender: a packet that came within this time may be one that left; later, it is not */
    int64_t patience_ns[2];
    uint64_t numbers; /* explain_join_step(): given so far */
    uint32_t *number[2];
    uint8_t *fates, *sures; /* by number - 1 */
    uint32_t last_number;
    struct explain_join_summary summary;
};

struct join_neighbours;

/* Returns the time by the clock of capture 0 when that of capture `side` shows `time_ns`; with the clocks
 * aligned. */
static inline uint64_t join_time_ns(const struct explain_join *j, unsigned side, uint64_t time_ns)
{
    return side ? explain_clock_to_first(&j->summary.clock, time_ns) : time_ns;
}

/* How long a packet was under way from the end of capture `sender`, which shows it at `from_ns`, to the
 * other, which shows it at `to_ns`, each by its own clock; with the clocks aligned. */
static inline int64_t join_delay_ns(const struct explain_join *j, unsigned sender, uint64_t from_ns,
                                    uint64_t to_ns)
{
    return (int64_t)(join_time_ns(j, !sender, to_ns) - join_time_ns(j, sender, from_ns));
}

/* Whether packets of its kind are told apart by their ICRC, or their data. */
static inline bool join_has_content(const struct explain_join *j, const struct join_packet *p)
{
    return j->lanes[p->lane].is_tcp ? j->summary.has_data : j->summary.has_icrc;
}

/* Whether a packet that is sent again differs from the one before, by its identification: then equal ones
 * are copies. */
static inline bool join_has_ids(const struct join_lane *l, unsigned side)
{
    return (uint64_t)l->ids[side] * 16 >= (uint64_t)l->packets[side] * 15 &&
           l->zeros[side] <= l->packets[side] / 64 && l->packets[side] >= JOIN_IDS_LEAST;
}

/* The captures do not decide. */
static inline void join_leave_open(struct join_packet *p, enum explain_fate one, enum explain_fate other)
{
    p->fate.kind = (uint8_t)one;
    p->fate.or_kind = (uint8_t)other;
    p->fate.sure = EXPLAIN_SURE_UNKNOWN;
}

/* Whether the walk shows the packet by this capture: that at its sender's end, or else the only one that
 * has it. */
static inline bool join_is_shown_by(const struct explain_join *j, unsigned side, const struct join_packet *p)
{
    int from = j->lanes[p->lane].from;
    return from < 0 || from == (int)side || p->match.other == JOIN_NONE || p->match.is_copy;
}

#endif
