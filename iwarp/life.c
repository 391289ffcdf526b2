/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a queue pair, from the octets of the set-up to the end of TCP. */
#include "iwarp/qp.h"

#include <errno.h>

#include "base/base.h"
#include "iwarp/answer.h"
#include "iwarp/emit.h"
#include "iwarp/request.h"
#include "iwarp/ring.h"
#include "iwarp/sink.h"
#include "iwarp/wire/size.h"
#include "rdma/access.h"

#define DEFAULT_EMSS_BYTES 536u /* of a TCP that has said nothing */

/* IWARP-VERB-06: a Send with immediate cannot be said. */
#define ALWAYS_SENT                                                                                        \
    (RDMA_SENDS(NORNIC_WR_RDMA_WRITE) | RDMA_SENDS(NORNIC_WR_SEND) | RDMA_SENDS(NORNIC_WR_SEND_WITH_INV) | \
     RDMA_SENDS(NORNIC_WR_RDMA_READ) | RDMA_SENDS(NORNIC_WR_LOCAL_INV) | RDMA_SENDS(NORNIC_WR_BIND_MW) |   \
     RDMA_SENDS(NORNIC_WR_REG_MR))
#define EXTENSIONS                                                                           \
    (RDMA_SENDS(NORNIC_WR_RDMA_WRITE_WITH_IMM) | RDMA_SENDS(NORNIC_WR_IMM) |                 \
     RDMA_SENDS(NORNIC_WR_ATOMIC_CMP_AND_SWP) | RDMA_SENDS(NORNIC_WR_ATOMIC_FETCH_AND_ADD) | \
     RDMA_SENDS(NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP) | RDMA_SENDS(NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD))

/* --- creation --- */

static void on_post(struct rdma_qp *base)
{
    const struct iwarp_qp *qp = iwarp_qp_of(base);
    if (qp->posted)
        qp->posted(base);
}

static bool config_is_valid(const struct iwarp_qp_config *c)
{
    const struct nornic_qp_caps *caps = &c->caps;
    return c->pd && c->send_cq && c->recv_cq && c->max_ird < IWARP_DEPTH_OPEN &&
           c->max_ord < IWARP_DEPTH_OPEN && caps->max_send_wr >= 1 && caps->max_send_wr <= NORNIC_MAX_WR &&
           caps->max_recv_wr <= NORNIC_MAX_WR && caps->max_send_sge <= NORNIC_MAX_SGE &&
           caps->max_recv_sge <= NORNIC_MAX_SGE && caps->max_inline_bytes <= NORNIC_MAX_INLINE_BYTES;
}

static int init_base(struct iwarp_qp *qp, const struct iwarp_qp_config *config)
{
    const struct rdma_qp_parts parts = {
        .ops = &qp->ops,
        .domain = config->domain,
        .sends = ALWAYS_SENT | (config->sends_extensions ? EXTENSIONS : 0),
        .sq_sig_all = config->sq_sig_all,
        .recv_source = config->srq ? RDMA_RECV_SRQ : RDMA_RECV_OWN,
        .pd = config->pd,
        .send_cq = config->send_cq,
        .recv_cq = config->recv_cq,
        .srq = config->srq,
        .caps = config->caps,
        .ctx = config->ctx,
    };
    return rdma_qp_init(&qp->base, &parts);
}

/* All that the data path needs: it allocates nothing. One more of each request, for an RTR READ. */
static int make_room(struct iwarp_qp *qp)
{
    const struct rdma_mem *mem = qp->mem;
    qp->sink.owed_at.size = pow2_up(qp->max_ird + 1u);
    qp->source.asked_at.size = pow2_up(qp->max_ord + 1u);
    qp->sink.owed = mem->alloc(mem->ctx, sizeof *qp->sink.owed * qp->sink.owed_at.size);
    qp->source.asked = mem->alloc(mem->ctx, sizeof *qp->source.asked * qp->source.asked_at.size);
    qp->buffers = mem->alloc(mem->ctx, IWARP_BOUNCE_BYTES + 2 * IWARP_BATCH_BYTES);
    return qp->sink.owed && qp->source.asked && qp->buffers ? 0 : -ENOMEM;
}

static void free_room(struct iwarp_qp *qp)
{
    void *const parts[] = {qp->sink.owed, qp->source.asked, qp->buffers};
    for (size_t i = 0; i < array_len(parts); i++)
        if (parts[i])
            qp->mem->free(qp->mem->ctx, parts[i]);
}

int iwarp_qp_create(const struct iwarp_qp_config *config, struct iwarp_qp **out)
{
    if (!config_is_valid(config))
        return -EINVAL;
    struct iwarp_qp *qp = config->mem->alloc(config->mem->ctx, sizeof *qp);
    if (!qp)
        return -ENOMEM;
    qp->mem = config->mem;
    qp->ops.posted = on_post;
    qp->posted = config->posted;
    qp->owner = config->owner;
    qp->max_ird = config->max_ird;
    qp->max_ord = config->max_ord;
    qp->no_extensions = config->no_extensions;
    qp->emss_bytes = DEFAULT_EMSS_BYTES;
    qp->deadline_ns = qp->setup.deadline_ns = qp->nudge_ns = UINT64_MAX;
    int err = make_room(qp);
    if (!err)
        err = init_base(qp, config);
    if (err) {
        free_room(qp);
        qp->mem->free(qp->mem->ctx, qp);
        return err;
    }
    qp->base.qpn = config->qpn;
    atomic_store(&qp->base.state, NORNIC_QPS_INIT);
    *out = qp;
    return 0;
}

void iwarp_qp_destroy(struct iwarp_qp *qp)
{
    rdma_qp_deinit(&qp->base);
    free_room(qp);
    qp->mem->free(qp->mem->ctx, qp);
}

/* --- the set-up --- */

static bool depths_fit(const struct iwarp_qp *qp, const struct iwarp_setup_config *config)
{
    return qp->state == IWARP_QP_IDLE && rdma_qp_state_now(&qp->base) == NORNIC_QPS_INIT &&
           config->ird <= qp->max_ird && config->max_ird <= qp->max_ird && config->ord <= qp->max_ord;
}

int iwarp_qp_connect(struct iwarp_qp *qp, const struct iwarp_setup_config *config, const void *private_data,
                     size_t private_bytes, uint64_t now_ns)
{
    if (!depths_fit(qp, config))
        return -EINVAL;
    return iwarp_setup_connect(&qp->setup, config, private_data, private_bytes, now_ns);
}

int iwarp_qp_listen(struct iwarp_qp *qp, const struct iwarp_setup_config *config, uint64_t now_ns)
{
    return depths_fit(qp, config) ? iwarp_setup_listen(&qp->setup, config, now_ns) : -EINVAL;
}

int iwarp_qp_adopt(struct iwarp_qp *qp, const struct iwarp_setup *requested)
{
    if (requested->state != IWARP_SETUP_REQUESTED || !depths_fit(qp, &requested->config))
        return -EINVAL;
    qp->setup = *requested;
    return 0;
}

static void size_segments(struct iwarp_qp *qp)
{
    qp->mulpdu_bytes = iwarp_mulpdu_bytes(qp->emss_bytes, qp->session.tx_markers);
}

/* Both directions of FPDUs begin behind the frames (IWARP-MPA-17). */
static void arm(struct iwarp_qp *qp)
{
    qp->session = qp->setup.session;
    const struct iwarp_fpdu_rules rx = {qp->session.rx_markers, qp->session.has_crc};
    const struct iwarp_fpdu_rules tx = {qp->session.tx_markers, qp->session.has_crc};
    iwarp_fpdu_rx_init(&qp->rx, &rx, qp->buffers);
    iwarp_fpdu_tx_init(&qp->tx, &tx, qp->buffers + IWARP_BOUNCE_BYTES,
                       qp->buffers + IWARP_BOUNCE_BYTES + IWARP_BATCH_BYTES);
    size_segments(qp);
}

static void establish(struct iwarp_qp *qp)
{
    arm(qp);
    for (unsigned qn = 0; qn < IWARP_QN_COUNT; qn++)
        qp->sink.msn[qn] = qp->source.msn[qn] = 1; /* IWARP-DDP-04 */
    qp->is_rtr_due = qp->session.is_initiator && qp->session.rtr != IWARP_RTR_NONE;
    qp->state = IWARP_QP_RTS;
    atomic_store(&qp->base.state, NORNIC_QPS_RTS);
}

bool iwarp_qp_may_fall_back(const struct iwarp_qp *qp)
{
    return qp->state == IWARP_QP_IDLE && rdma_qp_state_now(&qp->base) == NORNIC_QPS_INIT &&
           iwarp_setup_may_fall_back(&qp->setup);
}

int iwarp_qp_fall_back(struct iwarp_qp *qp, uint64_t now_ns)
{
    if (!iwarp_qp_may_fall_back(qp))
        return -EINVAL;
    qp->tcp = IWARP_TCP_OPEN;
    qp->has_fin = false;
    return iwarp_setup_fall_back(&qp->setup, now_ns);
}

/* Takes over the result of the set-up. */
static void follow_setup(struct iwarp_qp *qp)
{
    if (rdma_qp_state_now(&qp->base) != NORNIC_QPS_INIT)
        return;
    if (qp->setup.state == IWARP_SETUP_ESTABLISHED) {
        establish(qp);
    } else if (iwarp_qp_may_fall_back(qp)) {
        qp->tcp = IWARP_TCP_CLOSE; /* of this connection */
    } else if (qp->setup.state == IWARP_SETUP_FAILED && qp->setup.term) {
        arm(qp); /* for the Terminate alone */
        iwarp_terminate(qp, qp->setup.term, NULL);
    } else if (qp->setup.state == IWARP_SETUP_FAILED && qp->setup.failure != IWARP_SETUP_REJECTED) {
        iwarp_drop(qp, IWARP_TCP_CLOSE);
    } else if (qp->setup.state == IWARP_SETUP_FAILED) {
        iwarp_drop(qp, IWARP_TCP_OPEN); /* until the Reply is out */
    }
}

int iwarp_qp_accept(struct iwarp_qp *qp, const void *private_data, size_t private_bytes)
{
    int err = iwarp_setup_accept(&qp->setup, private_data, private_bytes);
    follow_setup(qp);
    return err;
}

int iwarp_qp_reject(struct iwarp_qp *qp, const void *private_data, size_t private_bytes)
{
    int err = iwarp_setup_reject(&qp->setup, private_data, private_bytes);
    follow_setup(qp);
    return err;
}

/* --- steps --- */

void iwarp_qp_overflowed(struct iwarp_qp *qp)
{
    if (qp->state == IWARP_QP_RTS)
        iwarp_terminate(qp, IWARP_TERM_RDMAP_LOCAL, NULL);
}

/* Ends the work when a CQ of the queue pair has overflowed (rdma/queue/overrun.c). */
static void settle(struct iwarp_qp *qp)
{
    if (qp->base.is_failing)
        iwarp_qp_overflowed(qp);
    if (rdma_qp_state_now(&qp->base) == NORNIC_QPS_ERR)
        iwarp_stop_work(qp); /* posted since */
}

static void take(struct iwarp_qp *qp, enum iwarp_fpdu_verdict verdict, const struct iwarp_ulpdu *ulpdu)
{
    switch (verdict) {
    case IWARP_FPDU_MORE:
        break;
    case IWARP_FPDU_WHOLE:
        qp->has_heard = true;
        qp->nudge_ns = UINT64_MAX;
        iwarp_take_ulpdu(qp, ulpdu);
        break;
    case IWARP_FPDU_BAD_CRC:
        iwarp_terminate(qp, IWARP_TERM_MPA_CRC, NULL);
        break;
    case IWARP_FPDU_BAD_LEN:
        iwarp_terminate(qp, IWARP_TERM_MPA_MARKER, NULL);
        break;
    }
}

void iwarp_qp_input(struct iwarp_qp *qp, const uint8_t *bytes, size_t len_bytes)
{
    size_t taken = 0;
    if (qp->state == IWARP_QP_IDLE) {
        taken = iwarp_setup_input(&qp->setup, bytes, len_bytes);
        follow_setup(qp);
    }
    /* IWARP-DDP-28, IWARP-MPA-22: octets that come in another state are discarded. */
    while (qp->state == IWARP_QP_RTS && taken < len_bytes) {
        struct iwarp_ulpdu ulpdu = {0};
        size_t n;
        enum iwarp_fpdu_verdict verdict =
            iwarp_fpdu_rx_take(&qp->rx, bytes + taken, len_bytes - taken, &n, &ulpdu);
        taken += n;
        take(qp, verdict, &ulpdu);
    }
    settle(qp);
}

/* IWARP-MPA-03: whether FPDUs of this side may travel. */
static bool may_speak(const struct iwarp_qp *qp)
{
    return qp->session.is_initiator || qp->has_heard;
}

/* Whether segments of a Read Response are out, and its last one is not. */
static bool is_amid_answer(struct iwarp_qp *qp)
{
    return iwarp_ring_count(&qp->sink.owed_at) != 0 && iwarp_owed_oldest(&qp->sink)->done_bytes != 0;
}

static bool emit_request(struct iwarp_qp *qp)
{
    return qp->state == IWARP_QP_RTS && iwarp_request_emit(qp);
}

/* IWARP-FLOW-05: answers and the send queue take turns, message by message. IWARP-DDP-09: none begins
 * while another is half out, of whatever kind; siw ends the stream over it (docs/interop.md). Nor does
 * one begin behind a message that a close has cut. */
static bool emit_in_turn(struct iwarp_qp *qp)
{
    if (qp->source.is_amid_message || is_amid_answer(qp))
        return qp->source.is_amid_message ? emit_request(qp) : iwarp_answer_emit(qp);
    for (int i = 0; i < 2; i++) {
        qp->source.answers_next = !qp->source.answers_next;
        if (qp->source.answers_next ? iwarp_answer_emit(qp) : emit_request(qp))
            return true;
    }
    return false;
}

/* An empty Write is a message as others are: between a Write and its Immediate Data the peer would count
 * its length (IWARP-VERB-07). */
static bool may_nudge(struct iwarp_qp *qp)
{
    return qp->is_nudge_due && !qp->has_heard && !qp->source.is_amid_message && !qp->source.is_imm_due &&
           !is_amid_answer(qp);
}

/* Makes one FPDU. False: there is none to make now. */
static bool emit_one(struct iwarp_qp *qp)
{
    if (qp->state == IWARP_QP_TERMINATE && qp->term_bytes) {
        iwarp_emit(qp, qp->term, qp->term + qp->term_bytes, NULL, 0);
        qp->term_bytes = 0;
        return true;
    }
    if ((qp->state != IWARP_QP_RTS && qp->state != IWARP_QP_CLOSING) || !may_speak(qp))
        return false;
    if (qp->is_rtr_due)
        iwarp_rtr_emit(qp);
    else if (may_nudge(qp))
        iwarp_nudge_emit(qp);
    else
        return emit_in_turn(qp);
    return true;
}

/* A Terminate or a refusal that cannot go out, or answers that are owed and that the peer does not read,
 * must not keep the queue pair for ever (IWARP-MPA-22). In ERROR TCP is open for a refusal alone. */
static bool has_no_limit(const struct iwarp_qp *qp)
{
    bool is_ending =
        qp->state == IWARP_QP_TERMINATE || qp->state == IWARP_QP_CLOSING || qp->state == IWARP_QP_ERROR;
    return is_ending && qp->tcp == IWARP_TCP_OPEN && qp->deadline_ns == UINT64_MAX;
}

const struct iwarp_piece *iwarp_qp_output(struct iwarp_qp *qp, uint32_t *piece_count, uint64_t now_ns)
{
    size_t frame_bytes;
    const uint8_t *frame = iwarp_setup_output(&qp->setup, &frame_bytes);
    *piece_count = 0;
    if (frame) {
        qp->frame = (struct iwarp_piece){frame, (uint32_t)frame_bytes};
        *piece_count = 1;
        return &qp->frame;
    }
    if (!qp->mulpdu_bytes || qp->state == IWARP_QP_ERROR)
        return &qp->frame; /* no FPDU yet, or none any more */
    while (iwarp_has_room(qp) && (emit_one(qp) || qp->term_bytes))
        ;
    if (has_no_limit(qp))
        qp->deadline_ns = now_ns + IWARP_CLOSE_WAIT_NS;
    return iwarp_fpdu_tx_pieces(&qp->tx, piece_count);
}

/* Nothing of this side is to be sent any more: its half of TCP ends. */
static void end_sending(struct iwarp_qp *qp, uint64_t now_ns)
{
    qp->tcp = IWARP_TCP_SHUTDOWN;
    qp->deadline_ns = now_ns + IWARP_CLOSE_WAIT_NS;
    if (qp->has_fin) {
        qp->tcp = IWARP_TCP_CLOSE;
        qp->deadline_ns = UINT64_MAX;
        qp->state = qp->state == IWARP_QP_CLOSING ? IWARP_QP_IDLE : IWARP_QP_ERROR;
    }
}

/* Whether a state that ends the stream has said all that it has to say. */
static bool has_said_all(const struct iwarp_qp *qp)
{
    if (iwarp_fpdu_tx_left(&qp->tx) || qp->tcp != IWARP_TCP_OPEN)
        return false;
    if (qp->state == IWARP_QP_CLOSING)
        return iwarp_ring_count(&qp->sink.owed_at) == 0 || !may_speak(qp) || qp->source.is_amid_message;
    return qp->state == IWARP_QP_TERMINATE && !qp->term_bytes;
}

/* FPDUs went out, and the peer may not have seen the first. */
static void expect_word(struct iwarp_qp *qp, size_t len_bytes, uint64_t now_ns)
{
    if (len_bytes && qp->session.is_initiator && !qp->has_heard && qp->nudges < IWARP_NUDGE_MAX)
        qp->nudge_ns = now_ns + IWARP_NUDGE_NS;
}

void iwarp_qp_sent(struct iwarp_qp *qp, size_t len_bytes, uint64_t now_ns)
{
    size_t frame_bytes;
    if (iwarp_setup_output(&qp->setup, &frame_bytes)) {
        iwarp_setup_sent(&qp->setup, len_bytes);
        if (len_bytes == frame_bytes && qp->setup.failure == IWARP_SETUP_REJECTED)
            iwarp_drop(qp, IWARP_TCP_CLOSE); /* IWARP-MPA-08 */
        return;
    }
    if (!qp->mulpdu_bytes || qp->state == IWARP_QP_ERROR)
        return;
    if (!iwarp_fpdu_tx_sent(&qp->tx, len_bytes)) {
        iwarp_qp_unreadable(qp);
        return;
    }
    expect_word(qp, len_bytes, now_ns);
    if (qp->state == IWARP_QP_CLOSING && len_bytes)
        qp->deadline_ns = now_ns + IWARP_CLOSE_WAIT_NS; /* it moves */
    iwarp_complete_ready(qp);
    settle(qp);
    if (has_said_all(qp))
        end_sending(qp, now_ns);
}

/* --- the end --- */

void iwarp_qp_lost(struct iwarp_qp *qp)
{
    bool was_open = qp->state == IWARP_QP_RTS;
    iwarp_setup_closed(&qp->setup);
    if (iwarp_qp_may_fall_back(qp)) {
        qp->tcp = IWARP_TCP_CLOSE;
        return;
    }
    if (was_open)
        qp->end.code = IWARP_TERM_MPA_LOST;
    iwarp_drop(qp, IWARP_TCP_RESET);
    if (was_open)
        rdma_qp_event(&qp->base, NORNIC_EVENT_QP_FATAL);
}

void iwarp_qp_unreadable(struct iwarp_qp *qp)
{
    rdma_note_fault(qp->base.domain);
    if (qp->state == IWARP_QP_RTS && (qp->source.taken != qp->base.sq.cur || qp->source.offset))
        iwarp_fail_untaken(qp, NORNIC_WC_LOC_PROT_ERR);
    iwarp_qp_lost(qp);
}

/* Nothing is asked of the peer that it could no longer answer, and nothing that it said is half. */
static bool is_quiet(const struct iwarp_qp *qp)
{
    return iwarp_ring_count(&qp->source.asked_at) == 0 && iwarp_fpdu_rx_is_between(&qp->rx) &&
           !qp->sink.is_in_message && !qp->sink.is_in_write;
}

/* An orderly end: work is flushed, answers are still given. */
static void begin_closing(struct iwarp_qp *qp, uint64_t now_ns)
{
    qp->state = IWARP_QP_CLOSING;
    iwarp_stop_work(qp);
    if (has_said_all(qp))
        end_sending(qp, now_ns);
}

void iwarp_qp_fin(struct iwarp_qp *qp, uint64_t now_ns)
{
    qp->has_fin = true;
    switch (qp->state) {
    case IWARP_QP_IDLE:
        iwarp_setup_closed(&qp->setup);
        follow_setup(qp);
        break;
    case IWARP_QP_RTS: /* IWARP-MPA-20, -21, IWARP-CONN-03 */
        if (is_quiet(qp)) {
            begin_closing(qp, now_ns);
        } else {
            qp->end.code = IWARP_TERM_MPA_LOST;
            iwarp_drop(qp, IWARP_TCP_CLOSE);
            rdma_qp_event(&qp->base, NORNIC_EVENT_QP_FATAL);
        }
        break;
    case IWARP_QP_CLOSING:
    case IWARP_QP_TERMINATE:
        if (qp->tcp == IWARP_TCP_SHUTDOWN)
            end_sending(qp, now_ns);
        break;
    case IWARP_QP_ERROR:
        break;
    }
}

void iwarp_qp_disconnect(struct iwarp_qp *qp, uint64_t now_ns)
{
    if (qp->state == IWARP_QP_RTS)
        begin_closing(qp, now_ns);
    else if (qp->state == IWARP_QP_IDLE)
        iwarp_drop(qp, IWARP_TCP_CLOSE);
}

void iwarp_qp_abort(struct iwarp_qp *qp)
{
    iwarp_drop(qp, IWARP_TCP_RESET);
}

void iwarp_qp_set_emss(struct iwarp_qp *qp, uint32_t emss_bytes)
{
    qp->emss_bytes = emss_bytes;
    if (qp->mulpdu_bytes)
        size_segments(qp);
}

uint64_t iwarp_qp_deadline_ns(const struct iwarp_qp *qp)
{
    if ((qp->base.is_failing && qp->state == IWARP_QP_RTS) || has_no_limit(qp))
        return 0;
    if (qp->state == IWARP_QP_RTS)
        return qp->nudge_ns;
    return qp->state == IWARP_QP_IDLE && !qp->has_fin ? qp->setup.deadline_ns : qp->deadline_ns;
}

void iwarp_qp_advance(struct iwarp_qp *qp, uint64_t now_ns)
{
    if (qp->state == IWARP_QP_IDLE) {
        iwarp_setup_advance(&qp->setup, now_ns);
        follow_setup(qp);
    } else if (qp->state == IWARP_QP_RTS && now_ns >= qp->nudge_ns) {
        qp->nudge_ns = UINT64_MAX;
        qp->is_nudge_due = true;
        qp->nudges++;
    } else if (has_no_limit(qp)) {
        qp->deadline_ns =
            now_ns + IWARP_CLOSE_WAIT_NS; /* TCP may take nothing, and nothing be asked of this side */
    } else if (now_ns >= qp->deadline_ns) {
        iwarp_drop(qp, IWARP_TCP_RESET); /* the peer's FIN does not come */
    }
    settle(qp);
}
