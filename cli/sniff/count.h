/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of a capture. Each packet counts as often as the interface showed it: an equal packet before
 * it, and the time between both, change no number. Kinds and `sound` come from the packet's own bytes,
 * as the numbers of `nornic verify` do; `findings` and `resent` come from the analysis of explain/. */
#ifndef NORNIC_CLI_SNIFF_COUNT_H
#define NORNIC_CLI_SNIFF_COUNT_H

#include <json-c/json.h>
#include <stdio.h>

#include "explain/analysis.h"
#include "explain/packet/soundness.h"

/* Kinds of packets: id, name in JSON, words. Each packet is of one. */
#define SNIFF_KINDS(X)                                 \
    X(SEND, "send", "SEND")                            \
    X(WRITE, "write", "RDMA WRITE")                    \
    X(READ, "read", "RDMA READ request")               \
    X(READ_RESPONSE, "read_response", "READ response") \
    X(ATOMIC, "atomic", "atomic request")              \
    X(ATOMIC_ACK, "atomic_ack", "atomic response")     \
    X(ACK, "ack", "ACK")                               \
    X(NAK, "nak", "NAK")                               \
    X(RNR_NAK, "rnr_nak", "RNR NAK")                   \
    X(SELECTIVE_ACK, "selective_ack", "selective ACK") \
    X(DATAGRAM, "datagram", "UD datagram")             \
    X(CNP, "cnp", "CNP")                               \
    X(CM, "cm", "CM message")                          \
    X(SMC, "smc", "SMC-R handshake")                   \
    X(BAD, "bad", "bad packet")                        \
    X(CUT, "cut", "packet cut within its headers")     \
    X(OTHER, "other", "other RoCE packet")

enum sniff_kind {
#define SNIFF_KIND_ENUM_(id, key, words) SNIFF_##id,
    SNIFF_KINDS(SNIFF_KIND_ENUM_)
#undef SNIFF_KIND_ENUM_
        SNIFF_KIND_COUNT
};

struct sniff_count {
    uint64_t packets, bytes;          /* on the wire */
    uint64_t kinds[SNIFF_KIND_COUNT]; /* BAD: those of `sound` that are neither good nor cut */
    struct explain_sound_count sound;
    uint64_t findings[EXPLAIN_FINDING_COUNT]; /* remarks of the analysis */
    uint64_t resent;                          /* packets that were sent again, for whatever cause */
};

enum sniff_kind sniff_kind_of(const struct explain_packet *packet);

/* Counts one packet and what the analysis said of it. */
void sniff_count_add(struct sniff_count *count, const struct explain_packet *packet,
                     const struct explain_meaning *meaning);

/* One line without a newline, for a terminal of `columns`: cut where it is too long. */
void sniff_count_line(const struct sniff_count *count, char *line, size_t size, unsigned columns);

/* A paragraph: a line a kind that was seen, then a line a kind of finding. */
void sniff_count_print(const struct sniff_count *count, FILE *to);

/* Adds packets, bytes, kinds{}, retransmissions, naks, rnr_naks, roce, icrc_ok, icrc_bad, malformed,
 * cut, udp_checksum_bad and findings{} to `object`. */
void sniff_count_json(const struct sniff_count *count, struct json_object *object);

#endif
