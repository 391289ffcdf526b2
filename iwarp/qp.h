/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair over a TCP stream: MPA set-up and FPDUs, DDP, RDMAP (RFC 5040, RFC 5041) and the extensions
 * of RFC 7306, on the neutral queue pair of rdma/queue/qp.h. No I/O: octets of TCP come in and go out, time
 * is an argument, and what is to become of the TCP connection is asked for. Inside the engine only.
 *
 *     IDLE ---set-up---> RTS ---------- disconnect, FIN -----> CLOSING ---> IDLE
 *                         |---- an error of either side ----> TERMINATE --> ERROR
 *                         |---- TCP is lost --------------------------------^
 *
 * Whatever comes in is one step: a call does what it leads to in this queue pair and returns. One caller at a
 * time, but for posts (rdma/queue/qp.h). */
#ifndef NORNIC_IWARP_QP_H
#define NORNIC_IWARP_QP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iwarp/wire/fpdu_tx.h"
#include "iwarp/wire/setup.h"
#include "iwarp/wire/term.h"
#include "rdma/mem.h"
#include "rdma/queue/qp.h"

/* An initiator that has sent FPDUs and heard none for so long says an empty Write, so often at the most.
 * Linux siw sends its Reply before it listens: FPDUs that come in between it does not see until another
 * segment comes (docs/interop.md). To any other peer an empty Write means nothing (IWARP-DDP-08). */
#define IWARP_NUDGE_NS  UINT64_C(100000000)
#define IWARP_NUDGE_MAX 3

/* How long a closing or terminated stream waits for the peer's FIN, and for the peer to take any of what it
 * is still owed (IWARP-MPA-22). */
#define IWARP_CLOSE_WAIT_NS UINT64_C(2000000000)

enum iwarp_qp_state {
    IWARP_QP_IDLE,      /* before the set-up is done, or after an orderly end */
    IWARP_QP_RTS,       /* FPDUs travel */
    IWARP_QP_CLOSING,   /* an orderly end: what is owed is still sent, then a FIN */
    IWARP_QP_TERMINATE, /* a Terminate goes out, then a FIN; what comes in is discarded */
    IWARP_QP_ERROR,     /* nothing travels */
};

/* What is to become of the TCP connection. */
enum iwarp_tcp {
    IWARP_TCP_OPEN,
    IWARP_TCP_SHUTDOWN, /* end the sending half; go on reading, and handing in what comes */
    IWARP_TCP_CLOSE,
    IWARP_TCP_RESET, /* nothing of it can be used */
};

struct iwarp_qp_config {
    const struct rdma_mem *mem; /* borrowed */
    struct rdma_domain *domain;
    uint32_t qpn; /* of this side alone; windows of type 2 are bound to it */
    struct rdma_pd *pd;
    struct rdma_cq *send_cq, *recv_cq; /* may be one */
    struct rdma_srq *srq;              /* or NULL */
    struct nornic_qp_caps caps;
    bool sq_sig_all;
    uint16_t max_ird, max_ord; /* the most that a set-up may agree on: READs and atomics, below 0x3fff */
    bool no_extensions;        /* RFC 7306: what comes is refused (IWARP-AMB-16) */
    bool sends_extensions;     /* atomics and WRITE with immediate may be posted: the peer knows them */
    void (*posted)(struct rdma_qp *qp); /* any thread: there are fresh posts. NULL: nobody wants to know */
    void *ctx;                          /* the program's: rdma_qp.ctx, also in events */
    void *owner;                        /* the caller's: iwarp_qp.owner */
};

/* A READ or atomic of this side that has no answer yet. */
struct iwarp_asked {
    enum { IWARP_ASKED_READ, IWARP_ASKED_ATOMIC, IWARP_ASKED_RTR } kind;
    uint32_t wqe; /* index in the send queue; of an RTR: none */
    uint32_t msn; /* on queue 1; an atomic's Request Identifier, too */
    uint32_t sink_stag, size;
    uint64_t sink_to;
    uint32_t done_bytes; /* of the answer */
};

/* A request of the peer that is not answered yet. */
struct iwarp_owed {
    bool is_atomic, is_executed;
    uint8_t ddp[IWARP_DDP_UNTAGGED_BYTES]; /* as it came: for a Terminate about it */
    union {
        struct iwarp_read_req read;
        struct iwarp_atomic_req atomic;
    };
    uint32_t done_bytes; /* of a READ's data, sent */
    uint64_t original;
};

/* Free-running indexes into a ring of a power of two. */
struct iwarp_ring_place {
    uint32_t head, tail, size;
};

/* The side that takes messages. */
struct iwarp_sink {
    uint32_t msn[IWARP_QN_COUNT]; /* of the next message */
    uint32_t mo;                  /* octets of the message in progress on queue 0 */
    bool is_in_message;
    uint64_t write_bytes; /* of the RDMA Write in progress, or of the last one if nothing came behind it */
    bool is_in_write;
    struct iwarp_owed *owed;
    struct iwarp_ring_place owed_at;
};

/* The side that sends them. */
struct iwarp_source {
    uint32_t msn[IWARP_QN_COUNT];
    uint32_t offset;      /* into the data of the WQE being sent */
    uint32_t sge;         /* of a READ: the next one to ask for */
    bool is_amid_message; /* a Send or Write is out but for its last segment; it stays so if it is flushed */
    bool is_imm_due;      /* the Write of a WRITE with immediate is out */
    bool answers_next;    /* whose turn it is: an answer, or the send queue */
    uint32_t made_bytes;  /* octets of all FPDUs so far, modulo 2^32 */
    uint32_t taken;       /* index in the send queue: of those before it TCP has taken all */
    struct iwarp_asked *asked;
    struct iwarp_ring_place asked_at;
};

/* How a stream ended. */
struct iwarp_end {
    bool has_sent, has_received; /* a Terminate */
    uint16_t
        code; /* enum iwarp_term_code: of the Terminate, as the RFC reads it; MPA_LOST: TCP ended too soon;
                    * 0 and no Terminate: an orderly end, or none */
    bool is_turned; /* it was received, and reads so if it is siw's (IWARP-AMB-02) */
    bool is_mute;   /* it was received, and is too short or too wrong to read a code from, which is 0 */
};

struct iwarp_qp {
    struct rdma_qp base;
    const struct rdma_mem *mem;
    uint16_t max_ird, max_ord;
    bool no_extensions;
    void (*posted)(struct rdma_qp *qp);
    void *owner; /* as configured: for `posted` */
    struct rdma_qp_ops ops;
    enum iwarp_qp_state state;
    enum iwarp_tcp tcp;
    struct iwarp_setup setup;
    struct iwarp_session session;
    uint32_t emss_bytes, mulpdu_bytes;
    bool has_heard;  /* a valid FPDU has come */
    bool is_rtr_due; /* and this side owes it the first */
    bool has_fin;    /* of the peer */
    bool is_nudge_due;
    uint8_t nudges;    /* said so far */
    uint64_t nudge_ns; /* when the next one is due; UINT64_MAX: none is */
    bool is_told;      /* a completion has said what is wrong, so that no event has to */
    uint64_t deadline_ns;
    struct iwarp_end end;
    uint8_t term[IWARP_DDP_UNTAGGED_BYTES + IWARP_TERM_MAX_BYTES]; /* the Terminate that is to be sent */
    uint8_t term_bytes;
    struct iwarp_sink sink;
    struct iwarp_source source;
    struct iwarp_fpdu_rx rx;
    struct iwarp_fpdu_tx tx;
    struct iwarp_piece frame; /* of the set-up, while it is sent */
    uint8_t *buffers;         /* for rx and tx */
};

/* Makes a queue pair in IDLE; receives may be posted. The objects are kept until it is destroyed. 0, -EINVAL
 * or -ENOMEM. */
int iwarp_qp_create(const struct iwarp_qp_config *config, struct iwarp_qp **out);
/* Work that is not complete is dropped. */
void iwarp_qp_destroy(struct iwarp_qp *qp);

/* The TCP connection is up, and this side begins with the Request, or waits for it. 0, or -EINVAL: not in
 * IDLE, depths beyond those of the queue pair, or what iwarp_setup_connect() refuses. */
int iwarp_qp_connect(struct iwarp_qp *qp, const struct iwarp_setup_config *config, const void *private_data,
                     size_t private_bytes, uint64_t now_ns);
int iwarp_qp_listen(struct iwarp_qp *qp, const struct iwarp_setup_config *config, uint64_t now_ns);
/* A responder whose Request came before there was a queue pair for it: `requested` is copied, and goes on
 * here. 0, or -EINVAL: not in IDLE, no Request, depths beyond those of the queue pair. */
int iwarp_qp_adopt(struct iwarp_qp *qp, const struct iwarp_setup *requested);
/* When qp->setup.state is REQUESTED. 0 or -EINVAL. */
int iwarp_qp_accept(struct iwarp_qp *qp, const void *private_data, size_t private_bytes);
int iwarp_qp_reject(struct iwarp_qp *qp, const void *private_data, size_t private_bytes);

/* The peer ended TCP instead of a Reply of revision 2, and the config has `falls_back`: the queue pair is
 * still in IDLE and keeps its receives. On another connection iwarp_qp_fall_back() begins with revision 1; or
 * iwarp_qp_abort() gives up. 0, or -EINVAL: it may not. */
bool iwarp_qp_may_fall_back(const struct iwarp_qp *qp);
int iwarp_qp_fall_back(struct iwarp_qp *qp, uint64_t now_ns);

/* Octets came. */
void iwarp_qp_input(struct iwarp_qp *qp, const uint8_t *bytes, size_t len_bytes);
/* What is to be written, in order; `*piece_count` 0: nothing now. A call of iwarp_qp_sent() follows each,
 * before any other call about this queue pair or its memory: the pieces are no longer good then. */
const struct iwarp_piece *iwarp_qp_output(struct iwarp_qp *qp, uint32_t *piece_count, uint64_t now_ns);
/* TCP took the first `len_bytes` of that, perhaps 0. */
void iwarp_qp_sent(struct iwarp_qp *qp, size_t len_bytes, uint64_t now_ns);

/* The peer's FIN came, behind all octets that were handed in; or TCP is gone. */
void iwarp_qp_fin(struct iwarp_qp *qp, uint64_t now_ns);
void iwarp_qp_lost(struct iwarp_qp *qp);
/* Memory that the octets to be written refer to cannot be read. The stream ends without a word, since an FPDU
 * may be half out; the request that is being sent fails with LOC_PROT_ERR. */
void iwarp_qp_unreadable(struct iwarp_qp *qp);

/* The program ends the stream in good order (IWARP-CONN-02). Posted work that is not complete is flushed. */
void iwarp_qp_disconnect(struct iwarp_qp *qp, uint64_t now_ns);

/* The program ends the stream at once: posted work is flushed, TCP is reset, the peer is not told why. */
void iwarp_qp_abort(struct iwarp_qp *qp);

/* One of its CQs has overflowed: it was taken off the domain's list of those (rdma_domain_take_failing()). */
void iwarp_qp_overflowed(struct iwarp_qp *qp);

/* The effective maximum segment size of TCP, from its set-up on and whenever it changes (IWARP-FPDU-05). */
void iwarp_qp_set_emss(struct iwarp_qp *qp, uint32_t emss_bytes);

/* When iwarp_qp_advance() is wanted next; UINT64_MAX: never. */
uint64_t iwarp_qp_deadline_ns(const struct iwarp_qp *qp);
void iwarp_qp_advance(struct iwarp_qp *qp, uint64_t now_ns);

static inline struct iwarp_qp *iwarp_qp_of(struct rdma_qp *base)
{
    return (struct iwarp_qp *)base; /* its first member */
}

#endif
