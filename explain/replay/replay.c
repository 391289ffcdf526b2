/* SPDX-License-Identifier: BSD-2-Clause */
/* The replay as a whole: the tape is played to the rebuilt endpoint. */
#include "explain/replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/half.h"
#include "explain/replay/outcome.h"
#include "explain/replay/requester.h"
#include "explain/replay/responder.h"
#include "explain/replay/tape.h"
#include "net/ipv4.h"

#define COPIES_SEEN 64 /* how far back the network's copy of a packet is looked for */

const struct explain_outcome *explain_replay_outcome_of(enum explain_replay_outcome outcome)
{
    static const struct explain_outcome outcomes[] = {
#define ROW(id, key, fails, words) {key, words, fails},
        EXPLAIN_REPLAY_OUTCOMES(ROW)
#undef ROW
    };
    return &outcomes[outcome];
}

/* The same frame with the same IPv4 identification, not long ago: the network made it. Whoever sends
 * again gives a new one. */
static bool is_copy(const struct replay *r, size_t i, const struct explain_packet *p)
{
    struct net_ipv4 ip;
    if (p->roce.l3_kind != ROCE_L3_IPV4)
        return false;
    net_ipv4_get(&ip, p->roce.l3);
    if (ip.id == 0)
        return false;
    for (size_t j = i; j > 0 && i - j < COPIES_SEEN; j--) {
        const struct explain_taped *t = &r->tape->packets[j - 1];
        if (t->len_bytes == p->len_bytes && memcmp(t->bytes, p->frame, p->len_bytes) == 0)
            return true;
    }
    return false;
}

/* One half failed: so has the queue pair. */
static void share_state(struct replay *r, struct replay_qp *q)
{
    struct roce_qp *a = q->requester.qp, *b = q->responder.qp;
    struct nornic_qp_attr err = {.state = NORNIC_QPS_ERR};
    if (!a || !b)
        return;
    if (roce_qp_state(a) == NORNIC_QPS_ERR && roce_qp_state(b) != NORNIC_QPS_ERR)
        roce_qp_modify(b, &err, NORNIC_QP_STATE, r->now_ns);
    if (roce_qp_state(b) == NORNIC_QPS_ERR && roce_qp_state(a) != NORNIC_QPS_ERR)
        roce_qp_modify(a, &err, NORNIC_QP_STATE, r->now_ns);
}

/* The recorded endpoint sent the packet: what the engine sends in its place is compared with it. */
static int play_sent(struct replay *r, struct replay_qp *q, size_t i, const struct explain_packet *p)
{
    bool is_response = r->endpoint->part[i] == EXPLAIN_PART_SENT_RESPONSE;
    if (is_copy(r, i, p)) {
        explain_replay_tell(r, q, EXPLAIN_REPLAY_NETWORK_COPY, p, NULL, NULL);
        q->answer_at += is_response;
        return 0;
    }
    if (!is_response)
        return explain_replay_request_sent(r, q, p);
    explain_replay_response_sent(r, q, p);
    return 0;
}

/* The endpoint got the packet: so does the half of the engine that it is for, if that was rebuilt. */
static int play_got(struct replay *r, struct replay_qp *q, size_t i, const struct explain_packet *p)
{
    r->cause = p->number;
    r->result->fed++;
    if (r->endpoint->part[i] == EXPLAIN_PART_GOT_REQUEST)
        return q->responder.qp ? explain_replay_request_got(r, q, i, p) : 0;
    if (q->requester.qp)
        explain_replay_response_got(r, q, p);
    return 0;
}

static int play(struct replay *r, size_t i)
{
    const struct explain_endpoint *e = r->endpoint;
    struct explain_packet p;
    if (!e->qp_of[i])
        return 0;
    struct replay_qp *q = &r->qps[e->qp_of[i] - 1];
    bool is_sent = e->part[i] == EXPLAIN_PART_SENT_REQUEST || e->part[i] == EXPLAIN_PART_SENT_RESPONSE;
    explain_tape_packet(r->tape, i, &p);
    r->now_ns = max_u64(r->now_ns, p.time_ns + r->skew_ns);
    int err = is_sent ? play_sent(r, q, i, &p) : play_got(r, q, i, &p);
    share_state(r, q);
    return err;
}

static int open_qp(struct replay *r, struct replay_qp *q)
{
    const struct explain_learned *l = q->learned;
    int err = 0;
    q->last = &q->first;
    q->una_psn = l->sq_psn;
    q->expected_psn = q->acked_psn = q->recorded_psn = l->rq_psn;
    if (l->is_requester)
        err = explain_replay_half_open(r, q, &q->requester, false);
    /* One that answers nothing of what asks for it was gone. */
    bool gone = l->service == ROCE_SERVICE_RC && l->is_silent;
    if (!err && l->is_responder && !gone)
        err = explain_replay_half_open(r, q, &q->responder, true);
    r->result->silent_qps += l->is_responder && gone;
    r->result->qps++;
    return err;
}

static void close_qps(struct replay *r)
{
    for (uint32_t i = 0; r->qps && i < r->endpoint->qp_count; i++) {
        struct replay_qp *q = &r->qps[i];
        while (q->first) {
            struct replay_frame *f = q->first;
            q->first = f->next;
            free(f);
        }
        free(q->held);
        explain_replay_half_close(&q->requester);
        explain_replay_half_close(&q->responder);
    }
    free(r->qps);
}

int explain_replay(const struct explain_tape *tape, const struct explain_endpoint *endpoint,
                   const struct explain_replay_config *config, struct explain_replay_result *result,
                   struct nornic_error *why)
{
    struct replay r = {.tape = tape, .endpoint = endpoint, .config = config, .result = result};
    int err = 0;
    *result = (struct explain_replay_result){0};
    r.now_ns = tape->count ? tape->packets[0].time_ns : 0;
    r.qps = calloc(endpoint->qp_count, sizeof *r.qps);
    if (!r.qps)
        return net_error_set(why, ENOMEM, "no memory for %u queue pairs", endpoint->qp_count);
    for (uint32_t i = 0; i < endpoint->qp_count && !err; i++) {
        r.qps[i].learned = &endpoint->qps[i];
        err = open_qp(&r, &r.qps[i]);
        if (err)
            net_error_set(why, -err, "QP 0x%06x of the capture cannot be rebuilt: %s", endpoint->qps[i].qpn,
                          strerror(-err));
    }
    for (size_t i = 0; i < tape->count && !err; i++) {
        err = play(&r, i);
        if (err)
            net_error_set(why, -err, "packet %zu cannot be replayed: %s", i + 1, strerror(-err));
    }
    for (uint32_t i = 0; i < endpoint->qp_count && !err; i++)
        explain_replay_responder_end(&r, &r.qps[i]);
    close_qps(&r);
    return err;
}
