/* SPDX-License-Identifier: BSD-2-Clause */
/* The statements about packets: the meaning of each, findings about it, and the sums of flows, connections
 * and link groups of SMC-R, and connections of iWARP. Values only: they are filled by explain/flow/,
 * explain/smc/ and explain/iwarp/, and read by all above. */
#ifndef NORNIC_EXPLAIN_MEANING_MEANING_H
#define NORNIC_EXPLAIN_MEANING_MEANING_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/meaning/why.h"
#include "explain/packet/packet.h"
#include "nornic/addr.h"

/* Kinds of findings: id in JSON, severity (0 note, 1 warning, 2 violation), words. One place names them all;
 * each has a capture that shows it and one that must not. */
#define EXPLAIN_FINDINGS(X)                                                                   \
    X(PSN_GAP, "psn_gap", 1, "PSNs are missing")                                              \
    X(RETRANSMISSION, "retransmission", 1, "a request was sent again")                        \
    X(DUPLICATE, "duplicate", 0, "the same packet twice on the wire")                         \
    X(CAPTURED_TWICE, "captured_twice", 0, "the capture sees packets twice")                  \
    X(REORDERED, "reordered", 0, "packets overtook each other")                               \
    X(NAK_SEQUENCE, "nak_sequence", 1, "NAK: PSN sequence error")                             \
    X(SELECTIVE_ACK, "selective_ack", 1, "a selective acknowledgement: packets had not come") \
    X(PROBE, "probe", 0, "a sender asks what has come")                                       \
    X(NAK_FATAL, "nak_fatal", 2, "NAK that ends the connection")                              \
    X(RNR, "rnr", 1, "the receiver was not ready")                                            \
    X(TIMEOUT, "timeout", 1, "sent again after an ack timeout")                               \
    X(READ_REPLAY, "read_replay", 1, "a READ was asked for again")                            \
    X(MISSING_ACK, "missing_ack", 1, "an answer that was asked for never came")               \
    X(GHOST_ACK, "ghost_ack", 1, "an answer to something that was not asked")                 \
    X(CAPTURE_GAP, "capture_gap", 1, "packets arrived that the capture missed")               \
    X(ICRC, "icrc", 2, "bad ICRC")                                                            \
    X(MALFORMED, "malformed", 2, "malformed packet")                                          \
    X(VIOLATION, "violation", 2, "breaks a rule of the standard")                             \
    X(ECN_MARK, "ecn_mark", 0, "congestion experienced")                                      \
    X(CNP, "cnp", 0, "congestion notification")                                               \
    X(PAUSE, "pause", 0, "a link or a class of it was stopped")                               \
    X(PAUSED, "paused", 1, "a flow stood still for a pause")                                  \
    X(DCBX, "dcbx", 1, "DCBX settings that do not fit RoCE")                                  \
    X(CM_REJECT, "cm_reject", 1, "a connection was rejected")                                 \
    X(CM_RETRY, "cm_retry", 1, "a connection message was sent again")                         \
    X(CLOCKS, "clocks", 1, "answers stand before what they answer")                           \
    X(CUT, "cut", 0, "the capture does not hold the whole packet")                            \
    X(SMC_DECLINE, "smc_decline", 1, "SMC-R was declined: TCP goes on alone")                 \
    X(SMC_HANDSHAKE, "smc_handshake", 2, "a CLC message that is wrong here")                  \
    X(SMC_MESSAGE, "smc_message", 2, "no LLC or CDC message, where only those are sent")      \
    X(SMC_LINK, "smc_link", 2, "a link is not what was announced")                            \
    X(SMC_LINK_GONE, "smc_link_gone", 1, "a link was deleted")                                \
    X(SMC_REFUSED, "smc_refused", 1, "an LLC request was refused")                            \
    X(SMC_UNASKED, "smc_unasked", 2, "an LLC response without a request")                     \
    X(SMC_UNANSWERED, "smc_unanswered", 1, "an LLC request without a response")               \
    X(SMC_TOKEN, "smc_token", 2, "a CDC message for no connection")                           \
    X(SMC_SEQUENCE, "smc_sequence", 2, "a CDC message out of sequence")                       \
    X(SMC_CURSOR, "smc_cursor", 2, "a cursor that cannot be")                                 \
    X(SMC_WRITE, "smc_write", 2, "a write where none is allowed")                             \
    X(SMC_AFTER_CLOSE, "smc_after_close", 2, "data after the end of sending")                 \
    X(SMC_MOVED, "smc_moved", 1, "a connection moved to another link")                        \
    X(SMC_LOST, "smc_lost", 2, "data was lost in a failover")                                 \
    X(SMC_ABORT, "smc_abort", 1, "a connection was aborted")                                  \
    X(SMC_BLOCKED, "smc_blocked", 0, "a writer waits for window")                             \
    X(SMC_URGENT, "smc_urgent", 0, "urgent data")                                             \
    X(IWARP_SETUP, "iwarp_setup", 2, "an MPA set-up frame that is wrong here")                \
    X(IWARP_REFUSED, "iwarp_refused", 1, "an iWARP connection was refused")                   \
    X(IWARP_EARLY, "iwarp_early", 1, "an FPDU before its sender may send one")                \
    X(IWARP_CRC, "iwarp_crc", 2, "bad CRC of an FPDU")                                        \
    X(IWARP_FRAMING, "iwarp_framing", 2, "an FPDU that cannot be")                            \
    X(IWARP_SEQUENCE, "iwarp_sequence", 2, "MSN, MO or TO out of sequence")                   \
    X(IWARP_OPCODE, "iwarp_opcode", 2, "a segment that its opcode forbids")                   \
    X(IWARP_RESPONSE, "iwarp_response", 2, "a response to nothing, or another")               \
    X(IWARP_LIMIT, "iwarp_limit", 2, "more Reads at once than was agreed")                    \
    X(IWARP_TERMINATE, "iwarp_terminate", 1, "an iWARP stream was terminated")                \
    X(IWARP_AFTER_END, "iwarp_after_end", 2, "data behind the last message")                  \
    X(IWARP_CUT_OFF, "iwarp_cut_off", 1, "an iWARP stream ended half-way")                    \
    X(IWARP_UNANSWERED, "iwarp_unanswered", 1, "a Read or atomic has no answer")              \
    X(IWARP_GAP, "iwarp_gap", 1, "bytes of a stream are not in this capture")                 \
    X(IWARP_OLDER, "iwarp_older", 0, "an iWARP stream older than the capture")                \
    X(TCP_AGAIN, "tcp_again", 1, "TCP sent bytes again")                                      \
    X(TCP_AHEAD, "tcp_ahead", 0, "TCP segments overtook each other")                          \
    /* of two captures */                                                                     \
    X(LOST_ON_WAY, "lost_on_way", 1, "left one end and never came to the other")              \
    X(DAMAGED_ON_WAY, "damaged_on_way", 1, "was damaged between the ends")

enum explain_finding_kind {
#define EXPLAIN_FINDING_ENUM_(id, key, severity, words) EXPLAIN_FIND_##id,
    EXPLAIN_FINDINGS(EXPLAIN_FINDING_ENUM_)
#undef EXPLAIN_FINDING_ENUM_
        EXPLAIN_FINDING_COUNT
};

struct explain_finding {
    enum explain_finding_kind kind;
    char rule[24];    /* requirement id ("ROCE-RS-10"), or empty */
    uint64_t number;  /* of the packet that shows it */
    uint64_t related; /* of the packet that it is about (the lost one's first copy, ...); 0: none */
    uint32_t packets; /* PSN_GAP: so many are missing */
    char words[256];  /* a sentence */
    struct explain_why why;
};

#define EXPLAIN_REMARKS_MAX 6

/* The meaning of a packet for SMC-R; all 0: nothing. Positions count the bytes of one direction of a
 * connection. */
struct explain_smc_meaning {
    uint32_t group, conn; /* ids from 1; 0: none */
    uint8_t link;         /* number; 0: not known */
    uint8_t side;         /* of the sender: 0 client, 1 server */
    bool is_data;         /* an RDMA WRITE of bytes from..to - 1 */
    bool is_cdc;          /* a CDC message: its sender wrote `to` bytes and read `from` bytes so far */
    uint64_t from, to;
};

/* Whether a connection of iWARP uses CRCs. */
enum explain_crc_use { EXPLAIN_CRCS_UNKNOWN, EXPLAIN_CRCS_UNUSED, EXPLAIN_CRCS_USED };

enum explain_crc { EXPLAIN_CRC_GOOD, EXPLAIN_CRC_BAD, EXPLAIN_CRC_OFF, EXPLAIN_CRC_UNSEEN };

/* An FPDU of iWARP that a packet completed. CRC OFF: both ends agreed to do without; UNSEEN: it cannot be
 * checked, as the capture cut the FPDU, or does not tell whether there is one. */
struct explain_iwarp_fpdu {
    uint64_t at;        /* position of its first byte in its direction; 0 is the first behind the SYN */
    uint64_t message;   /* number in its direction, from 1; 0: of none */
    uint32_t ulpdu_len; /* as it says */
    uint32_t msn;       /* of an untagged one */
    uint8_t opcode;     /* 0xff: not known */
    uint8_t crc;        /* enum explain_crc */
    bool is_tagged, is_last;
};

#define EXPLAIN_IWARP_FPDUS_MAX 16 /* of a packet, that are listed */

/* The meaning of a packet for an iWARP connection; all 0: nothing. */
struct explain_iwarp_meaning {
    uint32_t conn;           /* id from 1; 0: none */
    uint8_t sender;          /* 0: the end that asked for the connection, 1: the other */
    uint32_t fpdus, crcs[4]; /* FPDUs that it completes, and of these by enum explain_crc */
    uint32_t again;          /* bytes of it that TCP sent before */
    uint64_t from;           /* position of its first byte */
    uint32_t done;           /* messages that it ended, of a connection that may have nothing else in it */
};

/* A message of iWARP that a packet ended: a Read or an atomic by the last of its answer, any other as TCP
 * acknowledged its last byte. */
struct explain_iwarp_done {
    uint32_t conn;
    uint8_t side; /* its sender: 0 the end that asked for the connection, 1 the other */
    uint8_t opcode;
    bool is_with_later; /* TCP acknowledged more than it: an acknowledgement of its own may be missing */
    uint32_t fpdus;     /* that it was sent in */
    uint64_t message;   /* number in its direction, from 1 */
    uint64_t bytes;     /* of data, of a Read those that it asked for */
    uint64_t first_number, begin_ns; /* of the packet with its first byte */
};

#define EXPLAIN_IWARP_DONE_MAX \
    32 /* of a packet, that are listed; further ones are of explain_iwarp_conn.untimed */

/* Answers show which directions belong together: direction way[i] of flow[i] so far is that of the other one,
 * and always was. */
struct explain_exchange {
    uint32_t flow[2]; /* 0: nothing was exchanged */
    unsigned way[2];
};

/* The meaning of one packet. */
struct explain_meaning {
    uint32_t flow;      /* index of the QP pair from 1; 0: none */
    unsigned direction; /* 0: from the end that spoke first, 1: to it */
    uint64_t message;   /* number of the message in its direction, from 1; 0: belongs to none, */
    bool is_uncounted;  /* or the number is not known: the capture cuts headers off */
    uint32_t piece;     /* which packet of the message, from 1 */
    uint32_t pieces;    /* packets of the message; 0: not known yet */
    uint64_t bytes_done, bytes_total; /* of the message with this packet; total 0: not known yet */
    struct explain_smc_meaning smc;
    struct explain_iwarp_meaning iwarp;
    int32_t more_messages; /* so many more lie before PSN `more_psn` of the requests than was thought, */
    uint32_t more_psn;     /* which count on from there */
    uint32_t new_bytes;    /* of its payload, if that is in this capture for the first time */
    bool is_copy;          /* the network made it, or the capture: its sender sent it once */
    bool is_recapture;     /* the capture made it: the network bore it once too */
    bool is_early;         /* an answer to a request that was not sent so far: it completes nothing */
    uint64_t answers;      /* number of the packet that this one answers, or repeats; 0: none */
    struct explain_exchange exchanged; /* before this packet was taken */
    unsigned remark_count;
    char words[240]; /* the line: "RDMA WRITE middle 3/16 of message 7, 4096 of 65536 bytes" */
    struct explain_finding remarks[EXPLAIN_REMARKS_MAX];      /* behind remark_count: not initialised */
    struct explain_iwarp_fpdu fpdus[EXPLAIN_IWARP_FPDUS_MAX]; /* behind iwarp.fpdus: not initialised */
    struct explain_iwarp_done done[EXPLAIN_IWARP_DONE_MAX];   /* behind iwarp.done: not initialised */
};

/* The place of a capture: at the end that sends in direction 0, or at the other, or between them. */
enum explain_place {
    EXPLAIN_PLACE_UNKNOWN,
    EXPLAIN_PLACE_END_0,
    EXPLAIN_PLACE_END_1,
    EXPLAIN_PLACE_NOT_END_0, /* at the other end, or between */
    EXPLAIN_PLACE_NOT_END_1,
    EXPLAIN_PLACE_BETWEEN,
};

/* A QP pair, both directions. [d]: of the end that sends in direction d. */
struct explain_flow {
    struct nornic_addr addr[2];
    struct explain_network network;
    uint32_t qpn[2];     /* 0: not known (it has not been answered) */
    uint8_t service;     /* enum roce_service */
    uint32_t pmtu_bytes; /* the largest piece seen, as a path MTU; 0: unknown */
    uint32_t earlier;    /* the flow that had its QPN before; 0: none */
    uint64_t first_number, last_number, first_ns, last_ns;
    uint64_t packets[2], bytes[2], messages[2], retransmissions[2], naks[2], rnr_naks[2], cnps[2], marks[2];
    uint64_t selective_acks[2], probes[2]; /* the latter are among the former */
    uint64_t requests[2];                  /* packets with which the end asked, those sent again among them */
    uint64_t carried_bytes[2];        /* of messages and of the READs that the end asked for, each once */
    uint64_t pauses[2], paused_ns[2]; /* how often and how long it stood still, as far as frames tell */
    /* at the end of the capture: */
    enum explain_place place;    /* as far as it shows */
    bool is_begun_before;        /* the connection is older than the capture, */
    uint32_t messages_before[2]; /* by so many messages, as the MSNs say; 0: not known */
    uint64_t rtt_ns[2];          /* the shortest time from a request to its answer; 0: not known */
    uint64_t skew_ns;            /* the clocks of its directions differ by so much at least; 0: not known */
    uint64_t timeout_ns[2];      /* the ack timeout of the sender, as it was measured; 0: not known */
    uint32_t timeout_samples[2]; /* from so many silences */
};

/* Flows that were forgotten, as there was no room for all: their later packets count as a new flow. */
struct explain_forgotten {
    uint32_t count, first, last;                                 /* indexes of the lowest and the highest */
    uint64_t messages, carried_bytes, requests, retransmissions; /* of all these, in both directions */
};

/* Packets that the capture holds more than once. */
struct explain_seen_twice {
    uint64_t packets;   /* that are there again, and are not counted: */
    uint64_t elsewhere; /* seen at another place of their way: other link, tags, hops, or interface */
    uint64_t repeated;  /* of a stretch of the capture that comes again as a whole */
    uint64_t first, of; /* number of the first one, and of the packet that it is again */
};

/* A connection of SMC-R. [s]: of side s, its sender (0 client, 1 server). */
struct explain_smc_conn {
    uint32_t id, group;
    struct nornic_addr addr[2]; /* of its TCP connection */
    uint16_t port[2];
    uint32_t token[2], buffer_bytes[2]; /* of the side's own element */
    uint64_t bytes[2], messages[2], writes[2], wraps[2], blocked[2], urgent[2], moves[2];
    uint64_t replayed_bytes[2];         /* written again after a move */
    uint8_t moved_from[2], moved_to[2]; /* links, by number, of the newest move */
    bool is_done[2], is_closed[2], is_aborted[2];
    uint64_t first_number, last_number, first_ns, last_ns;
};

/* A link group of SMC-R. */
struct explain_smc_group {
    uint32_t id;
    uint8_t version;
    uint8_t peer_id[2][8];
    struct nornic_addr gid[2]; /* of its first link */
    uint8_t max_links;         /* 0: not known */
    uint32_t links, links_active, links_gone, rmbs[2], conns, moves;
    bool has_ended; /* DELETE LINK of all links was seen */
    uint64_t first_number, last_number;
};

/* The MPA frame of a side. */
struct explain_iwarp_frame {
    bool is_there; /* it was seen, and says: */
    bool wants_markers, wants_crc, is_enhanced;
    uint8_t rev;
    uint16_t ird, ord; /* of an enhanced one */
};

/* How a side ended its stream. */
struct explain_iwarp_end {
    bool has_terminate, has_fin, has_rst;
};

/* An iWARP connection. [s]: of side s, its sender; side 0 asked for the connection. */
struct explain_iwarp_conn {
    uint32_t id;
    struct nornic_addr addr[2];
    uint16_t port[2];
    struct explain_network network;
    struct explain_iwarp_frame frame[2];
    struct explain_iwarp_end end[2];
    bool is_older; /* than the capture: its set-up was not seen */
    bool is_refused;
    bool has_rtr; /* a message of the ready-to-receive kind was seen */
    enum explain_crc_use crc_use;
    uint64_t fpdus[2], bytes[2];                                                    /* payload of the ULP */
    uint64_t messages[2], sends[2], writes[2], reads[2], atomics[2], immediates[2]; /* reads: asked for */
    uint64_t crcs[2][4];                    /* FPDUs by enum explain_crc */
    uint64_t again_bytes[2], lost_bytes[2]; /* sent again by TCP; not in the capture */
    uint64_t untimed[2];    /* messages of which the capture does not tell how long they took */
    uint64_t most_bytes[2]; /* of TCP outstanding at once; 0: no acknowledgement was seen */
    uint64_t first_number, last_number, first_ns, last_ns;
};

const char *explain_crc_key(enum explain_crc crc); /* "good", "bad", "off", "unseen" */

const char *explain_finding_key(enum explain_finding_kind kind);
const char *explain_finding_words(enum explain_finding_kind kind);
int explain_finding_severity(enum explain_finding_kind kind);

const char *explain_place_key(enum explain_place place);

/* Empties it. */
void explain_meaning_clear(struct explain_meaning *m);

/* The number of a message when `by` more lie before it than was thought, or fewer. It is 1 at the least:
 * if packets are out of order, more may be taken away than was counted. */
uint64_t explain_message_moved(uint64_t message, int32_t by);

/* Adds a remark, without a cause; NULL: there are EXPLAIN_REMARKS_MAX already. */
struct explain_finding *explain_remark(struct explain_meaning *m, enum explain_finding_kind kind,
                                       const char *rule, uint64_t number, uint64_t related,
                                       const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Adds the cause; of a gap, a NAK or a missing answer with an unknown cause the words name the candidates.
 * `f` may be NULL. */
void explain_because(struct explain_finding *f, const struct explain_why *why);

#endif
