/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/sim/end.h"

#include "rdma/srq.h"
#include "rdma/xrc.h"
#include "test/sim/uc.h"

/* wr_id: the kind, then the index of the request. */
#define WR_RECEIVE (UINT64_C(1) << 63)

static bool is_uc(const struct sim_end *end)
{
    return end->plan->service[end->pair] == NORNIC_QPT_UC;
}

static enum nornic_qp_type type_of(const struct sim_end *end)
{
    return sim_plan_type(end->plan, end->pair, end->node);
}

static bool is_broken(const struct sim_end *end)
{
    return end->failed || end->receive_failed || end->quiet || end->cq_lost;
}

static void create_srqs(struct sim_end *end)
{
    struct rdma_srq_config config = {.max_wr = end->want->caps.max_recv_wr,
                                     .max_sge = end->want->caps.max_recv_sge,
                                     .xrcd = end->xrcd,
                                     .cq = end->recv_cq};
    for (unsigned i = 0; i < SIM_SRQS; i++) {
        int err = rdma_srq_create(end->sim->node[end->node].pd, &config, &end->srq[i]);
        if (err)
            sim_fail(end->sim, "rdma_srq_create returned %d", err);
    }
}

void sim_end_destroy(struct sim_end *end)
{
    if (end->qp)
        roce_qp_destroy(end->qp);
    for (unsigned i = 0; i < SIM_SRQS; i++)
        if (end->srq[i] && rdma_srq_destroy(end->srq[i]) != 0)
            sim_fail(end->sim, "an SRQ is still in use after its QP is gone");
}

/* ROCE-XRC-1: the target has nothing of its own, the initiator receives nothing. */
void sim_end_create(struct sim_end *end)
{
    const struct sim_end_plan *want = end->want;
    struct sim_node *node = &end->sim->node[end->node];
    bool asks = type_of(end) != NORNIC_QPT_XRC_TGT, receives = type_of(end) != NORNIC_QPT_XRC_INI;
    struct roce_qp_config config = {.type = type_of(end),
                                    .pd = asks ? node->pd : NULL,
                                    .send_cq = asks ? end->send_cq : NULL,
                                    .recv_cq = asks && receives ? end->recv_cq : NULL,
                                    .xrcd = asks ? NULL : end->xrcd,
                                    .caps = want->caps,
                                    .sq_sig_all = want->sq_sig_all,
                                    .reorder_pkts = want->reorder_pkts,
                                    .ctx = end};
    if (!asks)
        create_srqs(end);
    int err = roce_qp_create(node->dev, &config, &end->qp);
    if (err)
        return sim_fail(end->sim, "roce_qp_create returned %d", err);
    struct nornic_qp_attr attr = want->attr;
    attr.state = NORNIC_QPS_INIT;
    err = roce_qp_modify(end->qp, &attr,
                         NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS,
                         end->sim->now_ns);
    if (err)
        sim_fail(end->sim, "RESET -> INIT returned %d", err);
}

void sim_end_connect(struct sim_end *end)
{
    struct nornic_qp_attr attr = end->want->attr;
    sim_address(end->sim, end->node, &attr.av);
    attr.dest_qpn = roce_qp_num(end->peer->qp);
    attr.state = NORNIC_QPS_RTR;
    /* ROCE-QP-22, QP-23 */
    bool asks = !is_uc(end) && type_of(end) != NORNIC_QPT_XRC_TGT;
    bool answers = !is_uc(end) && type_of(end) != NORNIC_QPT_XRC_INI;
    uint32_t rtr = answers ? NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER : 0;
    uint32_t rts = asks || answers ? NORNIC_QP_TIMEOUT : 0;
    rts |= asks ? NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_MAX_QP_RD_ATOMIC : 0;
    rtr |= NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN;
    int err = roce_qp_modify(end->qp, &attr, rtr, end->sim->now_ns);
    if (err)
        return sim_fail(end->sim, "INIT -> RTR returned %d", err);
    attr.state = NORNIC_QPS_RTS;
    err = roce_qp_modify(end->qp, &attr, rts | NORNIC_QP_STATE | NORNIC_QP_SQ_PSN, end->sim->now_ns);
    if (err)
        sim_fail(end->sim, "RTR -> RTS returned %d", err);
}

/* --- posting --- */

/* How many requests the pace has allowed until now. */
static unsigned allowed(const struct sim *sim, const struct sim_pace *pace)
{
    uint64_t since_ns = sim->now_ns - NS_PER_MS; /* the clock starts there */
    if (since_ns < pace->start_ns)
        return 0;
    if (pace->gap_ns == 0)
        return SIM_MESSAGES_MAX;
    uint64_t n = (1 + (since_ns - pace->start_ns) / pace->gap_ns) * pace->batch;
    return n < SIM_MESSAGES_MAX ? (unsigned)n : SIM_MESSAGES_MAX;
}

static uint64_t pace_next_ns(const struct sim *sim, const struct sim_pace *pace, unsigned posted,
                             unsigned count)
{
    if (posted >= count)
        return NET_TIME_NONE;
    uint64_t due_ns = NS_PER_MS + pace->start_ns + posted / pace->batch * pace->gap_ns;
    return due_ns > sim->now_ns ? due_ns : NET_TIME_NONE;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* An SGE of no bytes is fine whatever its key: a wrong one is given. */
static unsigned to_sges(const struct sim_end *end, const struct sim_gather *gather, uint32_t bad_lkey,
                        struct nornic_sge *sges)
{
    const struct sim_region *region = &end->plan->region[end->node][gather->region];
    for (unsigned i = 0; i < gather->count; i++) {
        struct sim_area piece = gather->pieces[i];
        uint32_t lkey = piece.len_bytes ? region->lkey ^ bad_lkey : 0xdeadbeef;
        sges[i] = (struct nornic_sge){
            .addr = (uintptr_t)sim_region_at(region, piece), .len_bytes = piece.len_bytes, .lkey = lkey};
    }
    return gather->count;
}

static uint32_t peer_srqn(const struct sim_end *end, const struct sim_message *m)
{
    const struct rdma_srq *srq = end->peer->srq[m->srq];
    return srq ? rdma_srq_number(srq) : 0;
}

static void to_wr(const struct sim_end *end, unsigned index, struct nornic_send_wr *wr,
                  struct nornic_sge *sges)
{
    const struct sim_message *m = &end->want->messages[index];
    *wr = (struct nornic_send_wr){.wr_id = index,
                                  .sg_list = sges,
                                  .num_sge = to_sges(end, &m->local, m->bad_lkey, sges),
                                  .opcode = m->opcode,
                                  .send_flags = m->flags,
                                  .imm_data = m->imm,
                                  .compare_add = m->compare_add,
                                  .swap = m->swap,
                                  .remote_srqn = peer_srqn(end, m),
                                  .compare_mask = m->compare_mask,
                                  .swap_mask = m->swap_mask};
    if (m->flags & NORNIC_SEND_INLINE)
        for (unsigned i = 0; i < wr->num_sge; i++)
            sges[i].lkey = 0xdeadbeef; /* not looked at: ROCE-RC-16 */
    if (sim_is_send(m->opcode))
        return;
    const struct sim_region *region = &end->plan->region[!end->node][m->remote_region];
    wr->remote_addr = region->iova + m->remote.offset + (uint64_t)m->bad_offset;
    wr->rkey = region->rkey ^ m->bad_rkey;
}

/* A content that nobody sends: shows who reads or writes memory that is no longer theirs. */
static void scribble(struct sim_end *end, const struct sim_gather *gather)
{
    struct sim_region *region = &end->plan->region[end->node][gather->region];
    for (unsigned i = 0; i < gather->count; i++)
        sim_region_fill(region, gather->pieces[i], ~(uint64_t)gather->pieces[i].offset, 0);
}

static void after_post(struct sim_end *end, unsigned first, unsigned n)
{
    for (unsigned i = first; i < first + n; i++) {
        const struct sim_message *m = &end->want->messages[i];
        if (m->flags & NORNIC_SEND_INLINE) /* copied by the post */
            scribble(end, &m->local);
    }
}

static bool post_sends(struct sim_end *end)
{
    enum { CHAIN_MAX = 8 };
    struct nornic_send_wr wrs[CHAIN_MAX];
    struct nornic_sge sges[CHAIN_MAX][SIM_SGE_MAX];
    unsigned limit = least(allowed(end->sim, &end->want->send_pace),
                           end->want->message_count - (end->want->hold_last && !end->probing));
    limit = least(limit, end->sends_done + end->want->caps.max_send_wr);
    bool moved = false;
    while (end->sends_posted < limit && !end->sim->failed) {
        unsigned n = least(least(limit - end->sends_posted, end->want->chain_max), CHAIN_MAX);
        for (unsigned i = 0; i < n; i++) {
            to_wr(end, end->sends_posted + i, &wrs[i], sges[i]);
            wrs[i].next = i + 1 < n ? &wrs[i + 1] : NULL;
        }
        int err = roce_post_send(end->qp, wrs, NULL);
        if (err)
            sim_fail(end->sim, "posting message %u of pair %u node %u returned %d", end->sends_posted,
                     end->pair, end->node, err);
        after_post(end, end->sends_posted, n);
        end->sends_posted += n;
        moved = true;
    }
    return moved;
}

static bool post_receives(struct sim_end *end)
{
    unsigned limit = least(allowed(end->sim, &end->want->receive_pace), end->want->receive_count);
    limit = least(limit, end->receives_done + end->want->caps.max_recv_wr);
    bool moved = false;
    for (; end->receives_posted < limit && !end->sim->failed; end->receives_posted++) {
        struct nornic_sge sges[SIM_SGE_MAX];
        const struct sim_receive *receive = &end->want->receives[end->receives_posted];
        struct nornic_recv_wr wr = {.wr_id = WR_RECEIVE | end->receives_posted,
                                    .sg_list = sges,
                                    .num_sge = to_sges(end, &receive->local, 0, sges)};
        struct rdma_srq *srq = end->srq[receive->srq];
        int err = srq ? rdma_srq_post(srq, &wr, NULL) : roce_post_recv(end->qp, &wr, NULL);
        if (err)
            sim_fail(end->sim, "posting receive %u of pair %u node %u returned %d", end->receives_posted,
                     end->pair, end->node, err);
        moved = true;
    }
    return moved;
}

bool sim_end_post(struct sim_end *end)
{
    if (is_broken(end))
        return false;
    bool moved = post_receives(end);
    return post_sends(end) || moved;
}

uint64_t sim_end_next_ns(const struct sim_end *end)
{
    if (is_broken(end))
        return NET_TIME_NONE;
    const struct sim_end_plan *want = end->want;
    uint64_t send_ns = pace_next_ns(end->sim, &want->send_pace, end->sends_posted, want->message_count);
    uint64_t receive_ns =
        pace_next_ns(end->sim, &want->receive_pace, end->receives_posted, want->receive_count);
    return send_ns < receive_ns ? send_ns : receive_ns;
}

/* --- completions --- */

static void complain(struct sim_end *end, unsigned index, const char *queue, const char *what)
{
    const struct sim_message *m = &end->want->messages[index];
    if (*queue == 'r')
        m = &end->peer->want->messages[end->want->receives[index].message];
    sim_fail(end->sim, "pair %u node %u %s %u (opcode %d, %u bytes): %s", end->pair, end->node, queue, index,
             (int)m->opcode, m->len_bytes, what);
}

/* The pieces hold the first `len_bytes` of a content. */
static bool gather_holds(struct sim_end *end, const struct sim_gather *gather, uint64_t key,
                         uint32_t len_bytes)
{
    struct sim_region *region = &end->plan->region[end->node][gather->region];
    uint32_t from = 0;
    bool holds = true;
    for (unsigned i = 0; i < gather->count && from < len_bytes; i++) {
        struct sim_area piece = gather->pieces[i];
        if (piece.len_bytes > len_bytes - from)
            piece.len_bytes = len_bytes - from;
        holds &= sim_region_expect(region, piece, key, from);
        from += piece.len_bytes;
    }
    return holds && from == len_bytes;
}

/* Looks at the peer's memory for every WRITE before message `count`, each once: requests execute in order. */
static void land_writes(struct sim_end *end, unsigned count)
{
    for (; end->landed < count; end->landed++) {
        const struct sim_message *m = &end->want->messages[end->landed];
        struct sim_region *region = &end->plan->region[!end->node][m->remote_region];
        if (!sim_is_write(m->opcode) || m->overwritten || !region->mr)
            continue;
        if (!sim_region_expect(region, m->remote, m->key, 0))
            complain(end, end->landed, "send", "completed, but the target does not hold its bytes");
        if (!m->keep_remote) /* a second copy of this WRITE would undo it */
            sim_region_fill(region, m->remote, ~m->key, 0);
    }
}

static uint64_t gathered_word(const struct sim_end *end, const struct sim_gather *gather)
{
    const struct sim_region *region = &end->plan->region[end->node][gather->region];
    union {
        uint64_t word;
        uint8_t bytes[8];
    } value = {0};
    unsigned n = 0;
    for (unsigned i = 0; i < gather->count; i++)
        for (uint32_t j = 0; j < gather->pieces[i].len_bytes && n < 8; j++)
            value.bytes[n++] = region->bytes[gather->pieces[i].offset + j];
    return value.word;
}

static void accept_gather(struct sim_end *end, const struct sim_gather *gather)
{
    struct sim_region *region = &end->plan->region[end->node][gather->region];
    for (unsigned i = 0; i < gather->count; i++)
        sim_region_accept(region, gather->pieces[i]);
}

static void check_atomic(struct sim_end *end, unsigned index)
{
    const struct sim_message *m = &end->want->messages[index];
    end->originals[index] = gathered_word(end, &m->local);
    if (!end->plan->words[!end->node][m->word].shared && end->originals[index] != m->original)
        complain(end, index, "send", "the atomic did not return what was there");
    accept_gather(end, &m->local);
}

/* Message `index` is known to be done well. */
static void send_done(struct sim_end *end, unsigned index)
{
    const struct sim_message *m = &end->want->messages[index];
    if (!is_uc(end)) /* there it has left, no more */
        land_writes(end, index + 1);
    if (sim_is_atomic(m->opcode))
        check_atomic(end, index);
    else if (m->opcode == NORNIC_WR_RDMA_READ && !gather_holds(end, &m->local, m->key, m->len_bytes))
        complain(end, index, "send", "the READ did not fetch what was there");
    if (!m->keep_local)
        scribble(end, &m->local);
}

static enum nornic_wc_opcode wc_opcode(enum nornic_wr_opcode opcode)
{
    switch (opcode) {
    case NORNIC_WR_RDMA_WRITE:
    case NORNIC_WR_RDMA_WRITE_WITH_IMM:
        return NORNIC_WC_RDMA_WRITE;
    case NORNIC_WR_SEND:
    case NORNIC_WR_SEND_WITH_IMM:
    case NORNIC_WR_SEND_WITH_INV:
    case NORNIC_WR_IMM:
        return NORNIC_WC_SEND;
    case NORNIC_WR_RDMA_READ:
        return NORNIC_WC_RDMA_READ;
    case NORNIC_WR_ATOMIC_CMP_AND_SWP:
        return NORNIC_WC_COMP_SWAP;
    case NORNIC_WR_ATOMIC_FETCH_AND_ADD:
        return NORNIC_WC_FETCH_ADD;
    case NORNIC_WR_LOCAL_INV:
        return NORNIC_WC_LOCAL_INV;
    case NORNIC_WR_BIND_MW:
        return NORNIC_WC_BIND_MW;
    case NORNIC_WR_REG_MR:
        return NORNIC_WC_REG_MR;
    case NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP:
        return NORNIC_WC_MASKED_COMP_SWAP;
    case NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD:
        return NORNIC_WC_MASKED_FETCH_ADD;
    }
    return NORNIC_WC_SEND;
}

static bool is_signalled(const struct sim_end *end, unsigned index)
{
    return end->want->sq_sig_all || end->want->messages[index].flags & NORNIC_SEND_SIGNALED;
}

static void send_error(struct sim_end *end, unsigned index, enum nornic_wc_status status)
{
    if (end->failed) {
        if (status != NORNIC_WC_WR_FLUSH_ERR)
            complain(end, index, "send", nornic_wc_status_name(status));
        else if (index != end->sends_done)
            complain(end, index, "send", "flushed out of order");
        end->sends_done = index + 1;
        return;
    }
    /* when the receive side failed first, the send queue has nothing but flushes to report */
    bool flushed = status == NORNIC_WC_WR_FLUSH_ERR &&
                   (end->receive_failed || end->quiet || end->want->receive_may_fail);
    if (!flushed && !(end->want->may_fail & 1u << status))
        return complain(end, index, "send", nornic_wc_status_name(status));
    for (unsigned i = end->sends_done; i < index; i++) {
        if (is_signalled(end, i))
            complain(end, i, "send", "no completion, but a later request failed");
        send_done(end, i);
    }
    end->failed = true;
    end->failed_at = index;
    end->error = status;
    end->sends_done = index + 1;
}

static void complete_send(struct sim_end *end, const struct nornic_wc *wc)
{
    unsigned index = (unsigned)wc->wr_id;
    if (wc->wr_id >= end->sends_posted || index < end->sends_done)
        return sim_fail(end->sim, "pair %u node %u: a send completion too many, wr_id %#llx", end->pair,
                        end->node, (unsigned long long)wc->wr_id);
    if (wc->status != NORNIC_WC_SUCCESS)
        return send_error(end, index, wc->status);
    const struct sim_message *m = &end->want->messages[index];
    if (end->failed)
        return complain(end, index, "send", "a success after an error");
    if (!is_signalled(end, index))
        return complain(end, index, "send", "not signalled, but completed");
    if (wc->opcode != wc_opcode(m->opcode))
        return complain(end, index, "send", "wrong opcode in the completion");
    bool counts = m->opcode == NORNIC_WR_RDMA_READ || sim_is_atomic(m->opcode);
    if (counts && wc->byte_len != m->len_bytes)
        return complain(end, index, "send", "wrong byte_len in the completion");
    for (unsigned i = end->sends_done; i <= index; i++) {
        if (i < index && is_signalled(end, i))
            complain(end, i, "send", "its completion is missing");
        send_done(end, i);
    }
    end->sends_done = index + 1;
}

static void receive_error(struct sim_end *end, unsigned index, enum nornic_wc_status status)
{
    end->receives_done = index + 1;
    if (status == NORNIC_WC_WR_FLUSH_ERR && (end->failed || end->receive_failed || end->quiet ||
                                             end->want->may_fail || end->want->receive_may_fail)) {
        end->receive_failed = true;
        return;
    }
    if (end->receive_failed || !(end->want->receive_may_fail & 1u << status))
        return complain(end, index, "receive", nornic_wc_status_name(status));
    end->receive_failed = true;
    end->receive_error = status;
}

static void complete_receive(struct sim_end *end, const struct nornic_wc *wc)
{
    unsigned index = (unsigned)(wc->wr_id & ~WR_RECEIVE);
    if (index >= end->receives_posted || index != end->receives_done)
        return sim_fail(end->sim, "pair %u node %u: receive %u completes, expected %u of %u", end->pair,
                        end->node, index, end->receives_done, end->receives_posted);
    if (wc->status != NORNIC_WC_SUCCESS)
        return receive_error(end, index, wc->status);
    const struct sim_receive *receive = &end->want->receives[index];
    if (is_uc(end)) {
        sim_uc_receive(end, index, wc);
        scribble(end, &receive->local);
        end->receives_done = end->receives_good = index + 1;
        return;
    }
    const struct sim_message *m = &end->peer->want->messages[receive->message];
    bool with_imm = m->opcode == NORNIC_WR_SEND_WITH_IMM || m->opcode == NORNIC_WR_RDMA_WRITE_WITH_IMM;
    if (end->receive_failed)
        return complain(end, index, "receive", "a success after an error");
    if (wc->opcode != (sim_is_send(m->opcode) ? NORNIC_WC_RECV : NORNIC_WC_RECV_RDMA_WITH_IMM))
        return complain(end, index, "receive", "wrong opcode in the completion");
    if (wc->byte_len != m->len_bytes)
        return complain(end, index, "receive", "wrong byte_len in the completion");
    if (!(wc->wc_flags & NORNIC_WC_WITH_IMM) != !with_imm || (with_imm && wc->imm_data != m->imm))
        return complain(end, index, "receive", "wrong immediate data in the completion");
    if (sim_is_send(m->opcode) && !gather_holds(end, &receive->local, m->key, m->len_bytes))
        return complain(end, index, "receive", "the buffer does not hold what was sent");
    land_writes(end->peer, receive->message + 1); /* ROCE-RS-61 */
    scribble(end, &receive->local);
    end->receives_done = end->receives_good = index + 1;
}

void sim_end_complete(struct sim_end *end, const struct nornic_wc *wc)
{
    end->done_ns = end->sim->now_ns;
    if (wc->wr_id & WR_RECEIVE)
        complete_receive(end, wc);
    else
        complete_send(end, wc);
}

/* --- the end --- */

bool sim_end_is_done(const struct sim_end *end)
{
    if (end->cq_lost)
        return true;
    if (is_broken(end))
        return end->sends_done == end->sends_posted && end->receives_done == end->receives_posted;
    if (end->sends_done < end->want->message_count)
        return false;
    if (is_uc(end)) /* what was lost stays lost */
        return !end->want->hold_last || end->arrived[end->want->message_count - 1];
    return end->receives_done == end->want->receive_count || is_broken(end->peer);
}

/* A failure leaves undefined what was not completed well: on both sides. */
static void accept_undone(struct sim_end *end)
{
    unsigned good = end->failed ? end->failed_at : end->sends_done;
    for (unsigned i = 0; i < end->sends_posted; i++) {
        const struct sim_message *m = &end->want->messages[i];
        struct sim_region *remote = &end->plan->region[!end->node][m->remote_region];
        bool half_written = sim_is_write(m->opcode) && (i >= end->landed || m->overwritten);
        if (remote->mr && (half_written || sim_is_atomic(m->opcode)))
            sim_region_accept(remote, m->remote);
        if (i >= good && m->local.region == SIM_SINK)
            accept_gather(end, &m->local);
    }
    for (unsigned i = end->receives_good; i < end->receives_posted; i++)
        accept_gather(end, &end->want->receives[i].local);
}

void sim_end_settle(struct sim_end *end)
{
    const struct sim_end_plan *want = end->want;
    if (!end->qp) /* destroyed: no completion comes */
        return accept_undone(end);
    if (!sim_end_is_done(end))
        sim_fail(end->sim, "pair %u node %u stands still with %u of %u sends and %u of %u receives done",
                 end->pair, end->node, end->sends_done, want->message_count, end->receives_done,
                 want->receive_count);
    if (end->receive_failed && !end->failed && !end->quiet && want->receive_may_fail == 0)
        sim_fail(end->sim, "pair %u node %u: receives were flushed, but no send failed", end->pair,
                 end->node);
    if (is_uc(end))
        sim_uc_settle(end);
    else if (is_broken(end) || is_broken(end->peer))
        accept_undone(end);
    enum nornic_qp_state state = roce_qp_state(end->qp);
    /* a fatal NAK to a peer may find both queues of this side empty */
    bool no_flush = state == NORNIC_QPS_ERR && want->may_fail & 1u << NORNIC_WC_WR_FLUSH_ERR;
    if (!end->quiet && !no_flush && state != (is_broken(end) ? NORNIC_QPS_ERR : NORNIC_QPS_RTS))
        sim_fail(end->sim, "pair %u node %u ends in state %s", end->pair, end->node,
                 nornic_qp_state_name(state));
}
