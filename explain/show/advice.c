/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/advice.h"

#include "base/base.h"

#define LOSS                                                                          \
    "Look for drops on the way: queues of switches without priority flow control, a " \
    "receiver that is too slow, a bad cable. ECN with congestion control keeps queues short."

static const char *const by_cause[EXPLAIN_CAUSE_COUNT] = {
    [EXPLAIN_CAUSE_TIMEOUT] =
        "Nothing told the sender of the loss, so it waited for its whole timeout. A smaller "
        "timeout at connection shortens the wait; losing fewer packets avoids it.",
    [EXPLAIN_CAUSE_NAK_SEQUENCE] = LOSS,
    [EXPLAIN_CAUSE_SELECTIVE_ACK] = LOSS,
    [EXPLAIN_CAUSE_RNR] =
        "The receiving program posts its receives too late, or too few of them: post more and "
        "earlier, or use a shared receive queue. A smaller RNR timer shortens the wait.",
    [EXPLAIN_CAUSE_IMPLIED_NAK] = LOSS,
    [EXPLAIN_CAUSE_RESTART] =
        "Go back N repeats everything behind a loss. Fewer packets under way, or adapters "
        "with selective retransmission, make a loss cheaper.",
    [EXPLAIN_CAUSE_LOST_BEFORE] = LOSS,
    [EXPLAIN_CAUSE_LOST_AFTER] = LOSS,
    [EXPLAIN_CAUSE_ANSWER_LOST] = LOSS,
    [EXPLAIN_CAUSE_OVERTAKEN] =
        "Packets of one flow take several paths, which RoCE takes for loss. Switches have "
        "to hash by flow, not by packet; the UDP source port must stay the same.",
    [EXPLAIN_CAUSE_COPIED] =
        "Something on the way copies packets: a mirror port that captures both directions, "
        "a bridge loop. Copies do no harm to RoCE.",
    [EXPLAIN_CAUSE_CAPTURE_DROPPED] =
        "The capture lost packets, the network did not: give the capturing program a "
        "larger buffer (tcpdump -B) or a snap length (-s 128).",
    [EXPLAIN_CAUSE_BEFORE_CAPTURE] = "Begin to capture before the connection is set up.",
    [EXPLAIN_CAUSE_NO_RECEIVE] = "The receiving program posts its receives too late, or too few of them.",
    [EXPLAIN_CAUSE_PEER_GONE] =
        "Look at the other end: did its program or its link go? Its retry count times its "
        "timeout is how long the sender goes on.",
    [EXPLAIN_CAUSE_UNKNOWN] =
        "A capture at the other end, too, would tell (nornic explain A.pcap B.pcap --join).",
};

static const char *const by_kind[EXPLAIN_FINDING_COUNT] = {
    [EXPLAIN_FIND_NAK_FATAL] =
        ("The request was wrong, and the connection has ended: look at the key, address and "
         "length in it, and at the rights of the memory region."),
    [EXPLAIN_FIND_ICRC] =
        ("The packet was changed on the way, or its sender computes the ICRC wrongly: a NAT, a "
         "device that rewrites headers, broken memory."),
    [EXPLAIN_FIND_MALFORMED] =
        "Its sender does not keep to the format; the receiver drops it without an answer.",
    [EXPLAIN_FIND_VIOLATION] = "Its sender does not keep to the rule.",
    [EXPLAIN_FIND_ECN_MARK] = "A switch has a long queue. With congestion control the sender slows down.",
    [EXPLAIN_FIND_CNP] =
        ("The receiver asks the sender to slow down. If loss follows all the same, the marking "
         "threshold of the switch is too high."),
    [EXPLAIN_FIND_PAUSED] =
        ("A receiver or a switch had no room: find the slow receiver at the end of the chain of "
         "pauses; congestion control (ECN, CNP) should act before."),
    [EXPLAIN_FIND_DCBX] = "Give RoCE the priority that PFC protects, at switch and host alike.",
    [EXPLAIN_FIND_CM_REJECT] =
        ("The reason says why: whether a program listens on that service, and whether both "
         "ends agree on the path MTU and on resources."),
    [EXPLAIN_FIND_CM_RETRY] =
        "No answer came in time: is the other end there, and does nothing filter UDP port 4791?",
    [EXPLAIN_FIND_MISSING_ACK] = "A capture at the other end, too, would tell whether the answer was sent.",
    [EXPLAIN_FIND_SMC_DECLINE] =
        ("The diagnosis says why. Both ends need an adapter in a common subnet (version 1) or "
         "a common EID (version 2)."),
    [EXPLAIN_FIND_SMC_BLOCKED] =
        "The reader is slower than the writer; a larger receive buffer helps against bursts.",
    [EXPLAIN_FIND_SMC_MOVED] =
        "A link failed, and its connections went on over another: find out why it failed.",
    [EXPLAIN_FIND_SMC_ABORT] =
        "One end broke the connection off: its program closed with unread data, or failed.",
    [EXPLAIN_FIND_IWARP_CRC] =
        ("The FPDU was changed behind its CRC: broken memory, something that rewrites TCP data, or a program "
         "that changed a buffer before it had left."),
    [EXPLAIN_FIND_IWARP_TERMINATE] =
        ("The other end refused a message, and the connection has ended: look at the STag, offset "
         "and length in "
         "it, at the rights of the region, and at posted receives."),
    [EXPLAIN_FIND_IWARP_REFUSED] =
        ("The program at the other end did not want it, or MPA could not agree: markers, CRC, revision, "
         "IRD and ORD."),
    [EXPLAIN_FIND_IWARP_GAP] =
        ("The capture lost packets that the other end acknowledged: give the capturing program a larger "
         "buffer (tcpdump -B)."),
    [EXPLAIN_FIND_TCP_AGAIN] =
        ("TCP repaired a loss, at the cost of time: look for drops on the way. Messages of RDMAP are not "
         "repeated by it."),
};

const char *explain_advice(enum explain_finding_kind kind, enum explain_cause cause)
{
    const char *advice = by_cause[cause];
    return advice ? advice : by_kind[kind];
}
