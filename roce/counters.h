/* SPDX-License-Identifier: BSD-2-Clause */
/* Named counters of a device and of each QP (ROCE-LIM-6). Drops by reason are in ROCE_RX_VERDICTS. */
#ifndef NORNIC_ROCE_COUNTERS_H
#define NORNIC_ROCE_COUNTERS_H

#include <stdint.h>

#include "nornic/decls.h"
#include "roce/packet.h"

NORNIC_BEGIN_DECLS

#define ROCE_COUNTERS(C)                                                                           \
    C(tx_pkts)  /* packets built */                                                                \
    C(tx_bytes) /* frame bytes built */                                                            \
    C(rx_pkts)  /* RoCE packets taken by a QP */                                                   \
    C(rx_bytes)                                                                                    \
    C(retransmitted_pkts)  /* request packets sent again */                                        \
    C(duplicate_request)   /* request packets seen before */                                       \
    C(out_of_sequence)     /* request packets after the expected PSN */                            \
    C(packet_seq_err)      /* NAK PSN sequence error received */                                   \
    C(implied_nak_seq_err) /* ROCE-RC-34 */                                                        \
    C(local_ack_timeout)   /* the ack timer fired */                                               \
    C(retry_exceeded)                                                                              \
    C(rnr_retry_exceeded)                                                                          \
    C(acks_sent)                                                                                   \
    C(acks_received)                                                                               \
    C(nak_seq_sent)                                                                                \
    C(nak_inv_req_sent)                                                                            \
    C(nak_rem_acc_sent)                                                                            \
    C(nak_rem_op_sent)                                                                             \
    C(rnr_nak_sent)                                                                                \
    C(rnr_nak_received)                                                                            \
    C(nak_fatal_received) /* invalid request, remote access, remote operational */                 \
    C(sack_sent)          /* selective acknowledgements, probes and offers among them */           \
    C(sack_received)                                                                               \
    C(probe_sent)         /* to ask a silent peer what it has */                                   \
    C(kept_pkts)          /* request packets kept behind a gap */                                  \
    C(read_replays)       /* duplicate READ requests answered again */                             \
    C(atomic_replays)     /* duplicate atomics answered from the saved result */                   \
    C(messages_abandoned) /* UC: begun, but never completed (ROCE-UC-2..5) */                      \
    C(np_ecn_marked)      /* packets that arrived with congestion experienced */                   \
    C(np_cnp_sent)                                                                                 \
    C(rp_cnp_handled)   /* CNPs received that slowed a QP down */                                  \
    C(rp_cnp_ignored)   /* without congestion management, or not for a QP of ours that can send */ \
    C(rx_ip_id_foreign) /* over a UDP socket, with an identification not of nornic's: docs/ports.md */

struct roce_counters {
#define ROCE_COUNTER_MEMBER_(name) uint64_t name;
    ROCE_COUNTERS(ROCE_COUNTER_MEMBER_)
#undef ROCE_COUNTER_MEMBER_
};

struct roce_dev_counters {
    struct roce_counters qps;                 /* the sum over all QPs that are or were */
    uint64_t verdicts[ROCE_RX_VERDICT_COUNT]; /* frames by outcome */
};

/* Name of the i-th member of struct roce_counters, in its order; NULL past the end. */
const char *roce_counter_name(unsigned i);
/* Counter name of a verdict ("rx_icrc_error"). */
const char *roce_verdict_counter_name(enum roce_rx_verdict verdict);

NORNIC_END_DECLS

#endif
