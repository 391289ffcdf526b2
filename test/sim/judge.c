/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/sim/judge.h"

#include <inttypes.h>
#include <string.h>

#include "roce/wire.h"

static const struct roce_dev_counters *counters(const struct sim_run *run, unsigned node)
{
    return roce_dev_counters(run->sim.node[node].dev);
}

/* --- time --- */

static uint64_t longest_timeout_ns(const struct sim_plan *plan)
{
    uint64_t longest = 0;
    for (unsigned i = 0; i < 2 * plan->pairs; i++) {
        uint64_t ns = UINT64_C(4096) << plan->end[i / 2][i % 2].attr.timeout;
        if (ns > longest)
            longest = ns;
    }
    return longest;
}

static uint64_t longest_rnr_ns(const struct sim_plan *plan)
{
    uint64_t longest = 0;
    for (unsigned i = 0; i < 2 * plan->pairs; i++) {
        uint64_t ns = roce_rnr_timer_ns(plan->end[i / 2][i % 2].attr.min_rnr_timer);
        if (ns > longest)
            longest = ns;
    }
    return longest;
}

static bool may_fail(const struct sim_plan *plan)
{
    for (unsigned i = 0; i < 2 * plan->pairs; i++)
        if (plan->end[i / 2][i % 2].may_fail || plan->end[i / 2][i % 2].receive_may_fail)
            return true;
    return false;
}

/* A lost or late frame costs one timeout, at the most 4 Tr (ROCE-RC-41), and a round trip; a NAK a round
 * trip; an RNR NAK its wait and a round trip. Who gives up does so after 1 + retry_cnt timeouts. */
uint64_t sim_judge_bound_ns(const struct sim_run *run)
{
    const struct sim_plan *plan = run->plan;
    uint64_t timeout_ns = 4 * longest_timeout_ns(plan) + plan->rtt_ns;
    uint64_t bound_ns = plan->quiet_ns + plan->quiet_ns / 2 + timeout_ns;
    for (unsigned node = 0; node < 2; node++) {
        const struct sim_link_counters *link = sim_link_counters(run->sim.link[node]);
        const struct roce_counters *c = &counters(run, node)->qps;
        bound_ns += (link->lost + link->corrupted + link->held) * timeout_ns;
        bound_ns += (c->packet_seq_err + c->implied_nak_seq_err) * plan->rtt_ns;
        bound_ns += c->rnr_nak_sent * (2 * longest_rnr_ns(plan) + plan->rtt_ns);
        bound_ns += plan->config.link[node].dark_until_ns - plan->config.link[node].dark_from_ns;
    }
    if (may_fail(plan))
        bound_ns += 8 * timeout_ns;
    return bound_ns + plan->probe_ns;
}

static bool all_done(const struct sim_run *run)
{
    for (unsigned i = 0; i < 2 * run->plan->pairs; i++) {
        const struct sim_end *end = &run->end[i / 2][i % 2];
        if (end->qp && !sim_end_is_done(end))
            return false;
    }
    return true;
}

void sim_judge_time(struct sim_run *run)
{
    uint64_t since_ns = run->sim.now_ns - NS_PER_MS;
    bool waiting = run->next_action < SIM_ACTIONS_MAX && run->actions[run->next_action].act;
    bool done = all_done(run) && !waiting;
    if (done && run->idle_ns == 0)
        run->idle_ns = since_ns;
    if (!done && !waiting && since_ns > sim_judge_bound_ns(run))
        sim_fail(&run->sim,
                 "not done after %" PRIu64 " us: without trouble it takes %" PRIu64 " us at the most",
                 since_ns / 1000, run->plan->quiet_ns / 1000);
    /* stale copies may still be under way, but nobody has a reason to go on for long */
    if (done && since_ns > run->idle_ns + 2 * run->plan->rtt_ns + 10 * NS_PER_MS)
        sim_fail(&run->sim, "everything is done since %" PRIu64 " us, but there is no end to it",
                 (since_ns - run->idle_ns) / 1000);
}

/* --- memory --- */

static void judge_memory(struct sim_run *run)
{
    static const char *names[SIM_REGION_COUNT] = {"source", "sink", "target", "export", "atomic"};
    for (unsigned node = 0; node < 2; node++) {
        for (unsigned i = 0; i < SIM_REGION_COUNT; i++) {
            int64_t at = sim_region_check(&run->plan->region[node][i]);
            if (at >= 0)
                sim_fail(&run->sim,
                         "node %u: byte %" PRId64 " of the %s region was changed by nobody's order", node, at,
                         names[i]);
        }
    }
}

static uint64_t word_now(const struct sim_region *region, struct sim_area area)
{
    uint64_t value;
    memcpy(&value, sim_region_at(region, area), sizeof value);
    return value;
}

/* The addition to the shared word of `node` that found `value` there. */
static const struct sim_message *find_addition(const struct sim_run *run, unsigned node, uint64_t value)
{
    for (unsigned pair = 0; pair < run->plan->pairs; pair++) {
        const struct sim_end *end = &run->end[pair][!node];
        for (unsigned i = 0; i < end->want->message_count; i++) {
            const struct sim_message *m = &end->want->messages[i];
            if (sim_is_atomic(m->opcode) && run->plan->words[node][m->word].shared &&
                end->originals[i] == value)
                return m;
        }
    }
    return NULL;
}

/* The values that additions returned are those of some serial order: each found what the one before it left.
 * All addends are positive and small, so that no value comes twice. */
static void judge_shared(struct sim_run *run, unsigned node, const struct sim_word *word)
{
    uint64_t value = word->initial;
    while (value != word->value) {
        const struct sim_message *m = find_addition(run, node, value);
        if (!m)
            return sim_fail(&run->sim,
                            "node %u: the results of additions to a shared word fit no serial order", node);
        value += m->compare_add;
    }
}

static bool any_broken(const struct sim_run *run)
{
    for (unsigned i = 0; i < 2 * run->plan->pairs; i++) {
        const struct sim_end *end = &run->end[i / 2][i % 2];
        if (end->failed || end->receive_failed || end->quiet || end->cq_lost)
            return true;
    }
    return false;
}

static void judge_words(struct sim_run *run)
{
    for (unsigned node = 0; node < 2; node++) {
        struct sim_region *region = &run->plan->region[node][SIM_ATOMIC];
        for (unsigned i = 0; i < run->plan->word_count[node]; i++) {
            const struct sim_word *word = &run->plan->words[node][i];
            if (!any_broken(run) && word_now(region, word->area) != word->value)
                sim_fail(&run->sim, "node %u: word %u is %#" PRIx64 ", expected %#" PRIx64, node, i,
                         word_now(region, word->area), word->value);
            if (!any_broken(run) && word->shared)
                judge_shared(run, node, word);
            sim_region_accept(region, word->area);
        }
    }
}

/* --- counters --- */

/* Every frame that the wire delivered was judged once, and every frame that was built went to the wire. */
static void judge_accounts(struct sim_run *run, unsigned node)
{
    const struct roce_dev_counters *c = counters(run, node);
    const struct sim_link_counters *in = sim_link_counters(run->sim.link[!node]);
    const struct sim_link_counters *out = sim_link_counters(run->sim.link[node]);
    uint64_t judged = 0, unfit = 0;
    for (unsigned i = 0; i < ROCE_RX_VERDICT_COUNT; i++) {
        judged += c->verdicts[i];
        if (i < ROCE_RX_DROP_NO_QP && i != ROCE_RX_TAKEN)
            unfit += c->verdicts[i];
    }
    uint64_t came = in->delivered - run->sim.node[node].kernel_drops;
    if (judged != came)
        sim_fail(&run->sim, "node %u: %" PRIu64 " frames came, %" PRIu64 " were judged", node, came, judged);
    if (run->sim.node[node].kernel_drops > in->delivered_corrupted)
        sim_fail(&run->sim, "node %u: %" PRIu64 " frames did not come up, only %" PRIu64 " were damaged",
                 node, run->sim.node[node].kernel_drops, in->delivered_corrupted);
    if (unfit > in->delivered_corrupted)
        sim_fail(&run->sim, "node %u: %" PRIu64 " frames were found damaged, only %" PRIu64 " were", node,
                 unfit, in->delivered_corrupted);
    if (c->qps.tx_pkts != out->sent)
        sim_fail(&run->sim, "node %u: tx_pkts is %" PRIu64 ", %" PRIu64 " frames were built", node,
                 c->qps.tx_pkts, out->sent);
    if (in->corrupted == 0 && in->marked == 0 && c->qps.np_ecn_marked != 0)
        sim_fail(&run->sim, "node %u: np_ecn_marked without a mark", node);
    uint64_t allowed = run->sim.config.cc[node].on ? c->qps.np_ecn_marked : 0; /* ROCE-CC-1, CC-3 */
    if (c->qps.np_cnp_sent > allowed)
        sim_fail(&run->sim, "node %u: %" PRIu64 " CNPs, %" PRIu64 " marked packets", node, c->qps.np_cnp_sent,
                 c->qps.np_ecn_marked);
}

/* Without a lost, late or doubled frame nothing may look like one. */
static void judge_calm(struct sim_run *run, unsigned node)
{
    const struct roce_counters *c = &counters(run, node)->qps;
    const struct {
        const char *name;
        uint64_t value;
    } must_be_0[] = {
        {"duplicate_request", c->duplicate_request},
        {"out_of_sequence without RNR", c->rnr_nak_sent ? 0 : c->out_of_sequence},
        {"packet_seq_err", c->packet_seq_err},
        {"implied_nak_seq_err", c->implied_nak_seq_err},
        {"local_ack_timeout", c->local_ack_timeout},
        {"nak_seq_sent", c->nak_seq_sent},
        {"read_replays", c->read_replays},
        {"atomic_replays", c->atomic_replays},
        {"retransmitted_pkts without RNR", c->rnr_nak_received ? 0 : c->retransmitted_pkts},
    };
    for (unsigned i = 0; i < sizeof must_be_0 / sizeof *must_be_0; i++)
        if (must_be_0[i].value != 0)
            sim_fail(&run->sim, "node %u: %s is %" PRIu64 " on a calm wire", node, must_be_0[i].name,
                     must_be_0[i].value);
}

static bool is_calm(const struct sim_run *run)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct sim_link_counters *c = sim_link_counters(run->sim.link[i]);
        if (c->lost + c->corrupted + c->held + c->duplicated > 0 || run->plan->config.link[i].jitter_ns > 0)
            return false;
    }
    return true;
}

/* Who goes back does so once for a lost frame, by a window at the most. */
static void judge_effort(struct sim_run *run, unsigned node)
{
    const struct roce_counters *c = &counters(run, node)->qps;
    uint64_t window = run->plan->config.window_pkts ? run->plan->config.window_pkts : 512;
    uint64_t causes =
        c->packet_seq_err + c->implied_nak_seq_err + c->local_ack_timeout + c->rnr_nak_received +
        c->out_of_sequence + sim_link_counters(run->sim.link[!node])->lost +
        sim_link_counters(run->sim.link[!node])->corrupted + sim_link_counters(run->sim.link[!node])->held +
        sim_link_counters(run->sim.link[!node])->sent * (run->plan->config.link[!node].jitter_ns > 0);
    causes += c->sack_received;
    if (c->retransmitted_pkts > causes * window)
        sim_fail(&run->sim, "node %u: %" PRIu64 " packets were sent again for %" PRIu64 " reasons", node,
                 c->retransmitted_pkts, causes);
}

void sim_judge(struct sim_run *run)
{
    for (unsigned i = 0; i < 2 * run->plan->pairs; i++)
        sim_end_settle(&run->end[i / 2][i % 2]);
    for (unsigned node = 0; node < 2; node++) {
        judge_accounts(run, node);
        judge_effort(run, node);
        if (is_calm(run) && !any_broken(run))
            judge_calm(run, node);
    }
    judge_words(run);
    judge_memory(run);
}
