/* SPDX-License-Identifier: BSD-2-Clause */
/* The requester: for each request packet that the recorded endpoint sent, the engine is asked for one. */
#include "explain/replay/requester.h"

#include <errno.h>
#include <stdlib.h>

#include "explain/replay/diff.h"
#include "explain/replay/half.h"
#include "explain/replay/outcome.h"
#include "roce/psn.h"

#define CROSSING_NS \
    UINT64_C(2000000) /* how long after an answer packets may still leave that it makes unneeded */
#define RESYNC_TRIES 64

static bool fetches(const struct explain_message *m)
{
    return m->wr.opcode >= NORNIC_WR_RDMA_READ && m->wr.opcode != NORNIC_WR_SEND_WITH_INV;
}

static int post(struct replay_qp *q, const struct explain_message *m)
{
    struct replay_half *h = &q->requester;
    struct nornic_send_wr wr = m->wr;
    struct nornic_sge sge = {
        .addr = (uintptr_t)h->scratch + (fetches(m) ? q->learned->data_bytes : m->data_offset),
        .len_bytes = m->len_bytes,
        .lkey = h->mrs[h->mr_count - 1]->lkey,
    };
    wr.sg_list = &sge;
    wr.num_sge = m->len_bytes ? 1 : 0;
    if (h->ahs) {
        int err = roce_ah_create(h->dev, h->pd, &m->av, &h->ahs[q->posted]);
        if (err)
            return err;
        wr.ud.ah = h->ahs[q->posted];
    }
    return roce_post_send(h->qp, &wr, NULL);
}

/* Posts the messages up to the one that the PSN is of. */
static int post_until(struct replay *r, struct replay_qp *q, uint32_t psn)
{
    while (q->posted < q->learned->message_count) {
        const struct explain_message *m = &q->learned->messages[q->posted];
        if (roce_psn_diff(psn, m->first_psn) < 0)
            return 0;
        int err = post(q, m);
        if (err == -EINVAL || err == -ENOMEM) /* it is in error: the comparison will tell */
            return 0;
        if (err)
            return err;
        q->posted++;
        r->result->work_requests++;
    }
    return 0;
}

/* Lets the timer fire that the engine waits for: the recorded endpoint's did. */
static bool jump(struct replay *r, struct replay_half *h)
{
    uint64_t deadline_ns = roce_dev_deadline_ns(h->dev);
    if (deadline_ns == NET_TIME_NONE)
        return false;
    if (deadline_ns > r->now_ns) {
        r->skew_ns += deadline_ns - r->now_ns;
        r->now_ns = deadline_ns;
    }
    roce_dev_expire(h->dev, r->now_ns);
    return true;
}

static uint32_t held_psn(const struct replay_qp *q)
{
    struct explain_packet p;
    explain_replay_frame_packet(q->held, &p);
    return p.roce.bth.psn;
}

static bool pull(struct replay *r, struct replay_qp *q)
{
    if (!q->held)
        q->held = explain_replay_half_pull(r, &q->requester);
    return q->held;
}

static void drop(struct replay_qp *q)
{
    free(q->held);
    q->held = NULL;
}

static void compare_held(struct replay *r, struct replay_qp *q, const struct explain_packet *p)
{
    struct explain_packet engine;
    struct explain_compared c = {0};
    explain_replay_frame_packet(q->held, &engine);
    c.diff_count = explain_replay_diff(p, &engine, c.diffs);
    explain_replay_tell(r, q, c.diff_count ? EXPLAIN_REPLAY_DIFFERENT : EXPLAIN_REPLAY_EQUAL, p, q->held, &c);
    drop(q);
}

/* The recorded endpoint sent something while the answer was on its way that made it unneeded: it is
 * acknowledged, or was NAKed, so that the engine goes back already. */
static bool has_crossed(const struct replay *r, const struct replay_qp *q, uint32_t psn)
{
    if (!q->has_sent)
        return false;
    if (roce_psn_diff(psn, q->una_psn) < 0)
        return true;
    return q->held && roce_psn_diff(psn, held_psn(q)) > 0 && q->nak_ns && r->now_ns - q->nak_ns < CROSSING_NS;
}

/* Finds the engine's packet at `psn` where the one it would send first is another. */
static void seek(struct replay *r, struct replay_qp *q, uint32_t psn)
{
    if (q->held && roce_psn_diff(psn, held_psn(q)) < 0 && q->learned->service == ROCE_SERVICE_RC) {
        /* It goes back, for which the engine has no reason yet but its timer. What was built goes again
         * later. */
        drop(q);
        if (!jump(r, &q->requester))
            return;
    } else if (!q->held && !jump(r, &q->requester)) {
        return;
    }
    pull(r, q);
}

int explain_replay_request_sent(struct replay *r, struct replay_qp *q, const struct explain_packet *p)
{
    uint32_t psn = p->roce.bth.psn;
    const struct explain_learned *l = q->learned;
    if (roce_psn_diff(psn, l->sq_psn) < 0 || roce_psn_diff(psn, l->end_psn) >= 0) {
        explain_replay_tell(r, q, EXPLAIN_REPLAY_UNKNOWN, p, NULL, NULL);
        return 0;
    }
    int err = post_until(r, q, psn);
    if (err)
        return err;
    pull(r, q);
    if (!q->held || held_psn(q) != psn) {
        if (has_crossed(r, q, psn)) {
            explain_replay_tell(r, q, EXPLAIN_REPLAY_CROSSED, p, NULL, NULL);
            return 0;
        }
        seek(r, q, psn);
    }
    for (unsigned i = 0; q->held && roce_psn_diff(held_psn(q), psn) < 0 && i < RESYNC_TRIES; i++) {
        explain_replay_tell(r, q, EXPLAIN_REPLAY_ONLY_ENGINE, NULL, q->held, NULL);
        drop(q);
        pull(r, q);
    }
    q->has_sent = true;
    if (q->held && held_psn(q) == psn)
        compare_held(r, q, p);
    else
        explain_replay_tell(r, q, EXPLAIN_REPLAY_ONLY_RECORD, p, NULL, NULL);
    return 0;
}

/* Everything before `psn` is acknowledged; false: but for a READ or an atomic without its answer, which
 * was lost (ROCE-RC-34). */
static bool acknowledge(struct replay_qp *q, uint32_t psn)
{
    while (roce_psn_diff(psn, q->una_psn) > 0) {
        if (q->oldest == q->learned->message_count) {
            q->una_psn = psn;
            break;
        }
        const struct explain_message *m = &q->learned->messages[q->oldest];
        uint32_t end = roce_psn_add(m->first_psn, m->psn_count);
        bool done = roce_psn_diff(q->una_psn, end) >= 0;
        if (!done && fetches(m))
            return false;
        if (!done)
            q->una_psn = roce_psn_diff(psn, end) < 0 ? psn : end;
        q->oldest += done || q->una_psn == end;
    }
    return true;
}

void explain_replay_response_got(struct replay *r, struct replay_qp *q, const struct explain_packet *p)
{
    const struct roce_pkt *pkt = &p->roce;
    uint32_t flags = pkt->op->flags, psn = pkt->bth.psn;
    bool good = !(flags & ROCE_PKT_AETH) || roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK;
    bool data = flags & (ROCE_PKT_READ_RESP | ROCE_PKT_ATOMICACKETH);
    bool whole = true;
    if (flags & ROCE_PKT_RESPONSE)
        whole = acknowledge(q, good && !data ? roce_psn_add(psn, 1) : psn);
    if (data && whole && psn == q->una_psn)
        q->una_psn = roce_psn_add(psn, 1);
    if (!good || !whole)
        q->nak_ns = r->now_ns;
    explain_replay_half_feed(r, &q->requester, (uint8_t *)p->frame, p->len_bytes);
}
