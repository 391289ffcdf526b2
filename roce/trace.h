/* SPDX-License-Identifier: BSD-2-Clause */
/* The one hook that sees each packet and each state change with its cause. Ladders, captures and reports are
 * its consumers. */
#ifndef NORNIC_ROCE_TRACE_H
#define NORNIC_ROCE_TRACE_H

#include <stdint.h>

#include "nornic/decls.h"
#include "roce/packet.h"

NORNIC_BEGIN_DECLS

enum roce_trace_kind {
    ROCE_TRACE_PKT_TX,     /* a packet was built */
    ROCE_TRACE_PKT_RX,     /* a packet was judged; one to a multicast group by each of its QPs */
    ROCE_TRACE_QP_STATE,   /* a QP changed its state */
    ROCE_TRACE_RETRANSMIT, /* a requester goes back */
    ROCE_TRACE_RNR_WAIT,   /* a requester waits for a receiver that was not ready */
};

#define ROCE_CAUSES(C)                                 \
    C(MODIFY, "modify")                                \
    C(TIMEOUT, "local ack timeout")                    \
    C(NAK_SEQ, "NAK PSN sequence error")               \
    C(IMPLIED_NAK, "implied NAK")                      \
    C(READ_GAP, "gap in READ responses")               \
    C(SELECTIVE_ACK, "selective acknowledgement")      \
    C(GO_BACK, "peer kept nothing behind the gap")     \
    C(RNR_NAK, "RNR NAK")                              \
    C(NAK_FATAL, "fatal NAK received")                 \
    C(BAD_RESPONSE, "bad response")                    \
    C(RETRY_EXCEEDED, "retries exhausted")             \
    C(RNR_EXCEEDED, "RNR retries exhausted")           \
    C(LOCAL_ERROR, "local protection or length error") \
    C(REQUEST_ERROR, "fatal NAK sent")                 \
    C(CQ_OVERFLOW, "completion queue overflow")

enum roce_cause {
#define ROCE_CAUSE_ENUM_(id, words) ROCE_CAUSE_##id,
    ROCE_CAUSES(ROCE_CAUSE_ENUM_)
#undef ROCE_CAUSE_ENUM_
        ROCE_CAUSE_COUNT
};

/* The words for a cause. */
const char *roce_cause_words(enum roce_cause cause);

/* Valid for the call. For PKT_TX and PKT_RX `pkt` is the packet parsed (PKT_TX: only when the hook asks for
 * it by roce_dev_config.trace_parse_tx; else NULL) and `frame` its bytes. */
struct roce_trace {
    enum roce_trace_kind kind;
    uint64_t now_ns;
    uint32_t qpn; /* local QP, 0 if none was found */
    const uint8_t *frame;
    uint32_t frame_bytes;
    const struct roce_pkt *pkt;
    enum roce_rx_verdict verdict; /* PKT_RX */
    enum roce_cause cause;        /* QP_STATE, RETRANSMIT, RNR_WAIT */
    int from_state, to_state;     /* QP_STATE: enum nornic_qp_state */
    uint32_t psn;                 /* RETRANSMIT, RNR_WAIT: where sending resumes */
    uint64_t wait_ns;             /* RNR_WAIT */
};

typedef void roce_trace_hook(void *ctx, const struct roce_trace *event);

NORNIC_END_DECLS

#endif
