/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/sim/plan.h"

#include <stdlib.h>

static const uint32_t region_access[SIM_REGION_COUNT] = {
    [SIM_SOURCE] = 0,
    [SIM_SINK] = NORNIC_ACCESS_LOCAL_WRITE,
    [SIM_TARGET] = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ,
    [SIM_EXPORT] = NORNIC_ACCESS_REMOTE_READ,
    [SIM_ATOMIC] = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC,
};

static void end_defaults(struct sim_end_plan *end)
{
    end->send_pace = end->receive_pace = (struct sim_pace){.batch = SIM_MESSAGES_MAX};
    end->chain_max = 4;
    end->caps = (struct nornic_qp_caps){.max_send_wr = SIM_MESSAGES_MAX,
                                        .max_recv_wr = SIM_MESSAGES_MAX,
                                        .max_send_sge = SIM_SGE_MAX,
                                        .max_recv_sge = SIM_SGE_MAX,
                                        .max_inline_bytes = 64};
    end->attr = (struct nornic_qp_attr){
        .access_flags = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC,
        .port = 1,
        .path_mtu = NORNIC_MTU_1024,
        .retry_cnt = 7,
        .rnr_retry = 7,
        .min_rnr_timer = 1,
        .max_rd_atomic = 4,
        .max_dest_rd_atomic = 4,
    };
}

struct sim_plan *sim_plan_create(uint64_t seed)
{
    struct sim_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        abort();
    plan->random.state = seed;
    plan->config.seed = test_random_next(&plan->random);
    plan->config.port_mtu_bytes = 4200;
    plan->pairs = 1;
    for (unsigned pair = 0; pair < SIM_PAIRS_MAX; pair++) {
        plan->service[pair] = NORNIC_QPT_RC;
        for (unsigned node = 0; node < 2; node++)
            end_defaults(&plan->end[pair][node]);
    }
    for (unsigned node = 0; node < 2; node++)
        for (unsigned i = 0; i < SIM_REGION_COUNT; i++)
            plan->region[node][i].access = region_access[i];
    return plan;
}

void sim_plan_free(struct sim_plan *plan)
{
    free(plan);
}

struct sim_gather sim_plan_gather(struct sim_plan *plan, unsigned node, enum sim_region_id region,
                                  uint32_t len_bytes, unsigned sge_max)
{
    if (sge_max > SIM_SGE_MAX)
        sge_max = SIM_SGE_MAX;
    struct sim_gather gather = {.region = region};
    gather.count = len_bytes ? 1 + test_random_below(&plan->random, sge_max)
                             : test_random_below(&plan->random, sge_max + 1);
    for (unsigned i = 0; i < gather.count; i++) {
        bool last = i + 1 == gather.count;
        uint32_t piece = last ? len_bytes : test_random_below(&plan->random, len_bytes + 1);
        len_bytes -= piece;
        gather.pieces[i] = sim_region_take(&plan->region[node][region], &plan->random, piece, false);
    }
    return gather;
}

unsigned sim_plan_word(struct sim_plan *plan, unsigned node, bool shared)
{
    if (plan->word_count[node] == SIM_WORDS_MAX)
        abort();
    unsigned i = plan->word_count[node]++;
    struct sim_word *word = &plan->words[node][i];
    word->area = sim_region_take(&plan->region[node][SIM_ATOMIC], &plan->random, 8, true);
    word->shared = shared;
    word->initial = word->value = test_random_next(&plan->random);
    return i;
}

static void plan_receive(struct sim_plan *plan, unsigned pair, unsigned node, unsigned message,
                         uint32_t room_bytes)
{
    struct sim_end_plan *end = &plan->end[pair][node];
    struct sim_receive *receive = &end->receives[end->receive_count++];
    receive->message = message;
    receive->srq = plan->end[pair][!node].messages[message].srq;
    receive->local = sim_plan_gather(plan, node, SIM_SINK, room_bytes, end->caps.max_recv_sge);
}

void sim_plan_spare_receive(struct sim_plan *plan, unsigned pair, unsigned node, uint32_t room_bytes)
{
    if (plan->end[pair][node].receive_count < SIM_MESSAGES_MAX)
        plan_receive(plan, pair, node, 0, room_bytes);
}

/* The same for the masked ones: bit by bit, as their description has it. */
static void plan_masked_atomic(struct sim_plan *plan, struct sim_message *m, struct sim_word *word)
{
    m->compare_add = test_random_next(&plan->random);
    m->swap = test_random_next(&plan->random);
    m->compare_mask = test_random_next(&plan->random);
    m->compare_mask &= test_random_next(&plan->random); /* a quarter of the bits */
    m->swap_mask = test_random_next(&plan->random);
    if (m->opcode == NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD) {
        uint64_t sum = 0, carry = 0;
        for (unsigned i = 0; i < 64; i++) {
            uint64_t n = (word->value >> i & 1) + (m->compare_add >> i & 1) + carry;
            sum |= (n & 1) << i;
            carry = m->compare_mask >> i & 1 ? 0 : n >> 1;
        }
        word->value = sum;
        return;
    }
    bool hit = true;
    if (test_random_chance(&plan->random, 700000)) /* equal where it matters */
        m->compare_add ^= (m->compare_add ^ word->value) & m->compare_mask;
    for (unsigned i = 0; i < 64; i++)
        hit &= !(m->compare_mask >> i & 1) || (m->compare_add >> i & 1) == (word->value >> i & 1);
    for (unsigned i = 0; hit && i < 64; i++)
        if (m->swap_mask >> i & 1)
            word->value = (word->value & ~(UINT64_C(1) << i)) | (m->swap & UINT64_C(1) << i);
}

/* What the atomic does to its word; what it returns is known only where no other QP works on the word. */
static void plan_atomic(struct sim_plan *plan, struct sim_message *m, struct sim_word *word)
{
    m->remote_region = SIM_ATOMIC;
    m->remote = word->area;
    m->original = word->value;
    if (m->opcode == NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP ||
        m->opcode == NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD)
        return plan_masked_atomic(plan, m, word);
    if (m->opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD) {
        m->compare_add =
            word->shared ? 1 + test_random_below(&plan->random, 1000000) : test_random_next(&plan->random);
        word->value += m->compare_add;
        return;
    }
    bool hit = test_random_chance(&plan->random, 700000);
    m->compare_add = hit ? word->value : word->value ^ test_random_next(&plan->random);
    m->swap = test_random_next(&plan->random);
    if (m->compare_add == word->value)
        word->value = m->swap;
}

static struct sim_message *append(struct sim_plan *plan, unsigned pair, unsigned node,
                                  enum nornic_wr_opcode opcode, uint32_t len_bytes)
{
    struct sim_end_plan *end = &plan->end[pair][node];
    if (end->message_count == SIM_MESSAGES_MAX)
        abort();
    struct sim_message *m = &end->messages[end->message_count++];
    *m = (struct sim_message){.opcode = opcode, .flags = NORNIC_SEND_SIGNALED, .len_bytes = len_bytes};
    /* one draw a statement: the order within an initializer is the compiler's choice */
    m->imm = (uint32_t)test_random_next(&plan->random);
    m->key = test_random_next(&plan->random);
    m->srq = (unsigned)(m->key % SIM_SRQS);
    bool sinks = opcode == NORNIC_WR_RDMA_READ || sim_is_atomic(opcode);
    m->local = sim_plan_gather(plan, node, sinks ? SIM_SINK : SIM_SOURCE, len_bytes, end->caps.max_send_sge);
    return m;
}

struct sim_message *sim_plan_atomic(struct sim_plan *plan, unsigned pair, unsigned node,
                                    enum nornic_wr_opcode opcode, unsigned word)
{
    struct sim_message *m = append(plan, pair, node, opcode, 8);
    m->word = word;
    plan_atomic(plan, m, &plan->words[!node][word]);
    return m;
}

struct sim_message *sim_plan_message(struct sim_plan *plan, unsigned pair, unsigned node,
                                     enum nornic_wr_opcode opcode, uint32_t len_bytes)
{
    if (sim_is_atomic(opcode))
        return sim_plan_atomic(plan, pair, node, opcode, sim_plan_word(plan, !node, false));
    struct sim_message *m = append(plan, pair, node, opcode, len_bytes);
    if (!sim_is_send(opcode)) {
        m->remote_region = sim_is_write(opcode) ? SIM_TARGET : SIM_EXPORT;
        m->remote = sim_region_take(&plan->region[!node][m->remote_region], &plan->random, len_bytes, false);
    }
    m->takes_receive = sim_is_send(opcode) || opcode == NORNIC_WR_RDMA_WRITE_WITH_IMM;
    if (m->takes_receive)
        plan_receive(plan, pair, !node, plan->end[pair][node].message_count - 1,
                     (sim_is_send(opcode) ? len_bytes : 0) + test_random_below(&plan->random, 40));
    return m;
}

enum nornic_qp_type sim_plan_type(const struct sim_plan *plan, unsigned pair, unsigned node)
{
    if (plan->service[pair] != NORNIC_QPT_XRC_INI)
        return plan->service[pair];
    return node == pair % 2 ? NORNIC_QPT_XRC_INI : NORNIC_QPT_XRC_TGT;
}

uint32_t sim_plan_mtu(const struct sim_plan *plan, unsigned pair)
{
    return nornic_mtu_bytes(plan->end[pair][0].attr.path_mtu);
}

static uint64_t wire_bytes(const struct sim_end_plan *end, uint32_t mtu_bytes)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < end->message_count; i++)
        bytes += end->messages[i].len_bytes + (end->messages[i].len_bytes / mtu_bytes + 2) * 200u;
    return bytes;
}

static uint64_t pace_ns(const struct sim_pace *pace, unsigned count)
{
    return pace->start_ns + pace->gap_ns * (count / pace->batch + 1);
}

/* The requests behind the first that long READs are cut into where the answers have little room: each may be
 * for half of it (struct roce_dev_config, answer_bytes), in whole packets. The peer may allow but one at a
 * time, so that each is a round trip of its own, whatever the window is. */
static uint64_t further_reads(const struct sim_plan *plan, const struct sim_end_plan *end, uint32_t mtu_bytes)
{
    uint32_t room_bytes = sim_answer_bytes(&plan->config);
    uint32_t piece_bytes = max_u32(room_bytes / 2 / mtu_bytes, 1) * mtu_bytes;
    uint64_t further = 0;
    for (unsigned i = 0; room_bytes && i < end->message_count; i++)
        if (end->messages[i].opcode == NORNIC_WR_RDMA_READ && end->messages[i].len_bytes)
            further += (end->messages[i].len_bytes - 1) / piece_bytes;
    return further;
}

/* Per QP: everything it sends one after the other, a round trip each. */
static uint64_t end_quiet_ns(const struct sim_plan *plan, const struct sim_end_plan *end, uint32_t mtu_bytes)
{
    uint32_t window = plan->config.window_pkts ? plan->config.window_pkts : 512;
    uint64_t trips = end->message_count + further_reads(plan, end, mtu_bytes) +
                     wire_bytes(end, mtu_bytes) / mtu_bytes / window + 2;
    return pace_ns(&end->send_pace, end->message_count) + pace_ns(&end->receive_pace, end->receive_count) +
           trips * plan->rtt_ns;
}

static uint64_t serialisation_ns(const struct sim_plan *plan)
{
    uint64_t slowest = 0, bytes = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t rate = plan->config.link[i].bits_per_s;
        if (rate && (slowest == 0 || rate < slowest))
            slowest = rate;
    }
    for (unsigned pair = 0; pair < plan->pairs; pair++)
        for (unsigned node = 0; node < 2; node++)
            bytes += wire_bytes(&plan->end[pair][node], sim_plan_mtu(plan, pair));
    return slowest ? bytes * 8 * NS_PER_S / slowest : 0;
}

/* How long everything takes through rings that are short, ACKs included. */
static uint64_t ring_ns(const struct sim_plan *plan)
{
    uint64_t frames = 0;
    if (plan->config.port_frames == 0)
        return 0;
    for (unsigned pair = 0; pair < plan->pairs; pair++) {
        uint32_t mtu_bytes = sim_plan_mtu(plan, pair);
        for (unsigned node = 0; node < 2; node++)
            frames += 2 * plan->end[pair][node].message_count +
                      wire_bytes(&plan->end[pair][node], mtu_bytes) / mtu_bytes;
    }
    return (frames / plan->config.port_frames + 1) * plan->config.port_gap_ns;
}

/* How long a few of the largest packets take at the lowest rate. */
static uint64_t pacing_ns(const struct roce_cc_config *cc)
{
    return cc->on ? 4 * 4200 * 8 * NS_PER_S / cc->min_rate_bps : 0;
}

void sim_plan_time(struct sim_plan *plan)
{
    uint64_t queue_ns = serialisation_ns(plan);
    plan->rtt_ns = 2 * queue_ns + ring_ns(plan);
    for (unsigned i = 0; i < 2; i++)
        plan->rtt_ns += pacing_ns(&plan->config.cc[i]);
    for (unsigned i = 0; i < 2; i++) {
        struct sim_link_config *link = &plan->config.link[i];
        link->queue_ns = queue_ns;
        plan->rtt_ns += link->delay_ns + link->jitter_ns + (link->reorder_ppm ? link->hold_ns : 0);
    }
    uint8_t timeout = 1;
    while ((UINT64_C(4096) << timeout) <= plan->rtt_ns + plan->rtt_ns / 2)
        timeout++;
    plan->quiet_ns = 0;
    for (unsigned pair = 0; pair < plan->pairs; pair++) {
        for (unsigned node = 0; node < 2; node++) {
            struct sim_end_plan *end = &plan->end[pair][node];
            end->attr.timeout = (uint8_t)(end->attr.timeout + timeout);
            uint64_t quiet_ns = end_quiet_ns(plan, end, sim_plan_mtu(plan, pair));
            if (quiet_ns > plan->quiet_ns)
                plan->quiet_ns = quiet_ns;
            if (end->hold_last)
                plan->probe_ns = 1;
        }
    }
    if (plan->probe_ns) /* no stale copy is under way any more */
        plan->probe_ns = 2 * plan->quiet_ns + 50 * NS_PER_MS;
}
