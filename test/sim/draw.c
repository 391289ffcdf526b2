/* SPDX-License-Identifier: BSD-2-Clause */
/* From a seed to a workload. */
#include "base/base.h"
#include "test/sim/plan.h"

static uint32_t below(struct sim_plan *plan, uint32_t bound)
{
    return test_random_below(&plan->random, bound);
}

/* True once in `n` times. */
static bool once_in(struct sim_plan *plan, uint32_t n)
{
    return below(plan, n) == 0;
}

/* A rate up to `most`, the extremes often. */
static uint32_t draw_rate(struct sim_plan *plan, uint32_t most_ppm)
{
    if (most_ppm == 0)
        return 0;
    return once_in(plan, 4) ? most_ppm
                            : (uint32_t)test_random_between(&plan->random, most_ppm / 20, most_ppm);
}

static void draw_link(struct sim_plan *plan, struct sim_link_config *link, const struct sim_profile *profile)
{
    link->delay_ns = once_in(plan, 8) ? 0 : test_random_between(&plan->random, 500, 50 * NS_PER_US);
    if (once_in(plan, 2))
        link->bits_per_s = UINT64_C(1000000000) << below(plan, 8);
    link->loss_ppm = draw_rate(plan, profile->loss_ppm);
    link->duplicate_ppm = draw_rate(plan, profile->duplicate_ppm);
    link->stale_ns = once_in(plan, 2) ? 0 : test_random_between(&plan->random, 1, 4 * NS_PER_MS);
    link->corrupt_ppm = draw_rate(plan, profile->corrupt_ppm);
    link->ecn_ppm = draw_rate(plan, profile->ecn_ppm);
    link->reorder_ppm = draw_rate(plan, profile->reorder_ppm);
    link->hold_ns = test_random_between(&plan->random, 100, 60 * NS_PER_US);
    if (profile->reorder_ppm && once_in(plan, 3))
        link->jitter_ns = test_random_between(&plan->random, 10, 20 * NS_PER_US);
    link->pad = once_in(plan, 2);
}

/* Wild parameters, but no floor so low that a run takes for ever. */
static struct roce_cc_config draw_cc(struct sim_plan *plan)
{
    uint64_t line_bps = UINT64_C(10000000000) << below(plan, 4);
    uint32_t interval_ns = 1000 + below(plan, 60000);
    return (struct roce_cc_config){.on = true,
                                   .line_rate_bps = line_bps,
                                   .cnp_interval_ns = interval_ns,
                                   .gain_1024ths = (uint16_t)(1 + below(plan, 1024)),
                                   .alpha_period_ns = interval_ns + 1 + below(plan, 100000),
                                   .increase_period_ns = 1000 + below(plan, 200000),
                                   .increase_bytes = 1024 + below(plan, 1 << below(plan, 24)),
                                   .recovery_steps = (uint16_t)(1 + below(plan, 10)),
                                   .cnp_ect = once_in(plan, 2),
                                   .min_rate_bps = line_bps / (2 + below(plan, 10))};
}

/* PSNs close to the wrap in half of the cases. */
static uint32_t draw_psn(struct sim_plan *plan)
{
    return once_in(plan, 2) ? 0xffffff - below(plan, 40) : below(plan, 1 << 24);
}

static struct sim_pace draw_pace(struct sim_plan *plan, bool prompt)
{
    struct sim_pace pace = {.batch = SIM_MESSAGES_MAX};
    if (prompt || once_in(plan, 2))
        return pace;
    pace.start_ns = below(plan, 200) * NS_PER_US;
    pace.gap_ns = (1 + below(plan, 100)) * NS_PER_US;
    pace.batch = 1 + below(plan, 8);
    return pace;
}

static void draw_pair(struct sim_plan *plan, unsigned pair, const struct sim_profile *profile)
{
    enum nornic_mtu mtu = profile->pmtu ? profile->pmtu : (enum nornic_mtu)(1 + below(plan, 5));
    uint32_t psn[2];
    uint8_t depth[2];
    for (unsigned node = 0; node < 2; node++) {
        psn[node] = draw_psn(plan);
        depth[node] = (uint8_t)(1 + below(plan, once_in(plan, 2) ? 4 : 16));
    }
    for (unsigned node = 0; node < 2; node++) {
        struct sim_end_plan *end = &plan->end[pair][node];
        struct nornic_qp_attr *attr = &end->attr;
        attr->path_mtu = mtu;
        attr->sq_psn = psn[node];
        attr->rq_psn = psn[!node];
        attr->max_rd_atomic = depth[node];
        attr->max_dest_rd_atomic = depth[!node]; /* exactly what the peer uses: ROCE-RS-31 */
        attr->timeout = (uint8_t)below(plan, 3); /* on top of what the wire needs */
        if (profile->far) /* a timer that is shorter than the wait for a probe closes the window of all */
            attr->timeout += 6;
        attr->min_rnr_timer = once_in(plan, 30) ? 0 : (uint8_t)(1 + below(plan, 12));
        end->sq_sig_all = once_in(plan, 4);
        end->reorder_pkts = profile->selective || once_in(plan, 4) ? 1u << below(plan, 8) : 0;
        end->caps.max_send_wr = 1u << below(plan, 7);
        end->caps.max_recv_wr = 1u << below(plan, 7);
        end->caps.max_send_sge = 1 + below(plan, SIM_SGE_MAX);
        end->caps.max_recv_sge = 1 + below(plan, SIM_SGE_MAX);
        end->caps.max_inline_bytes = once_in(plan, 3) ? 0 : below(plan, 400);
        end->chain_max = 1 + below(plan, 6);
        end->send_pace = draw_pace(plan, once_in(plan, 2));
        end->receive_pace = draw_pace(plan, profile->prompt);
    }
}

static uint32_t draw_length(struct sim_plan *plan, uint32_t mtu_bytes)
{
    switch (below(plan, 11)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return 1 + 2 * below(plan, 40);
    case 3:
        return mtu_bytes - 1;
    case 4:
        return mtu_bytes;
    case 5:
        return mtu_bytes + 1;
    case 6:
        return mtu_bytes * (1 + below(plan, 8));
    case 7:
        return once_in(plan, 12) ? mtu_bytes * 80 + below(plan, 40 * mtu_bytes) : below(plan, 12 * mtu_bytes);
    case 8:
        return below(plan, 3 * mtu_bytes);
    default:
        return below(plan, 300);
    }
}

static enum nornic_wr_opcode draw_opcode(struct sim_plan *plan, uint32_t opcodes)
{
    uint32_t all = (2u << NORNIC_WR_ATOMIC_FETCH_AND_ADD) - 1;
    if (opcodes == 0)
        opcodes = all;
    unsigned opcode, bound = NORNIC_WR_ATOMIC_FETCH_AND_ADD + 1;
    while (opcodes >> bound)
        bound++;
    do
        opcode = below(plan, bound);
    while (!(opcodes & 1u << opcode));
    return (enum nornic_wr_opcode)opcode;
}

/* An earlier WRITE of this QP that a later message may use the memory of; NULL: the draw found none. */
static struct sim_message *earlier_write(struct sim_plan *plan, struct sim_end_plan *end, unsigned count)
{
    if (count == 0)
        return NULL;
    struct sim_message *m = &end->messages[below(plan, count)];
    return sim_is_write(m->opcode) && !m->overwritten ? m : NULL;
}

/* READ what an earlier WRITE stored: ROCE-RS-61. Or WRITE where an earlier one did: the later must win. */
static void revisit(struct sim_plan *plan, struct sim_end_plan *end, struct sim_message *m)
{
    unsigned before = (unsigned)(m - end->messages);
    struct sim_message *earlier = earlier_write(plan, end, before);
    if (!earlier || earlier->len_bytes != m->len_bytes)
        return;
    if (m->opcode == NORNIC_WR_RDMA_READ) {
        m->key = earlier->key;
        earlier->keep_remote = true;
    } else if (sim_is_write(m->opcode) && !earlier->keep_remote) {
        earlier->overwritten = true;
    } else {
        return;
    }
    m->remote_region = SIM_TARGET;
    m->remote = earlier->remote;
}

/* Passes on what an earlier READ fetches: the fence makes it wait for that (ROCE-RC-14). */
static void relay(struct sim_plan *plan, struct sim_end_plan *end, struct sim_message *m)
{
    unsigned before = (unsigned)(m - end->messages);
    if (before == 0)
        return;
    struct sim_message *read = &end->messages[below(plan, before)];
    if (read->opcode != NORNIC_WR_RDMA_READ || read->len_bytes != m->len_bytes)
        return;
    m->local = read->local;
    m->key = read->key;
    m->flags |= NORNIC_SEND_FENCE;
    m->keep_local = read->keep_local = true;
}

static void draw_flags(struct sim_plan *plan, struct sim_end_plan *end, struct sim_message *m)
{
    if (once_in(plan, 3))
        m->flags &= ~(uint32_t)NORNIC_SEND_SIGNALED;
    if (once_in(plan, 3))
        m->flags |= NORNIC_SEND_SOLICITED;
    if (once_in(plan, 8))
        m->flags |= NORNIC_SEND_FENCE;
    bool carries = sim_is_send(m->opcode) || sim_is_write(m->opcode);
    if (carries && m->local.region == SIM_SOURCE && m->len_bytes <= end->caps.max_inline_bytes &&
        once_in(plan, 2))
        m->flags |= NORNIC_SEND_INLINE;
}

#define UC_OPCODES                                                                             \
    (1u << NORNIC_WR_RDMA_WRITE | 1u << NORNIC_WR_RDMA_WRITE_WITH_IMM | 1u << NORNIC_WR_SEND | \
     1u << NORNIC_WR_SEND_WITH_IMM)

/* The length that lets the message use the memory of an earlier one, or a fresh one. */
static uint32_t draw_related_length(struct sim_plan *plan, const struct sim_end_plan *end, uint32_t mtu_bytes,
                                    bool far)
{
    if (end->message_count > 0 && once_in(plan, 3))
        return end->messages[below(plan, end->message_count)].len_bytes;
    if (far && once_in(plan, 6))
        return mtu_bytes * (500 + below(plan, 2500)) + below(plan, mtu_bytes);
    return draw_length(plan, mtu_bytes);
}

static void draw_message(struct sim_plan *plan, unsigned pair, unsigned node,
                         const struct sim_profile *profile)
{
    uint32_t opcodes = profile->opcodes;
    struct sim_end_plan *end = &plan->end[pair][node];
    bool uc = plan->service[pair] == NORNIC_QPT_UC;
    if (uc)
        opcodes = UC_OPCODES & (opcodes ? opcodes : UC_OPCODES);
    enum nornic_wr_opcode opcode = draw_opcode(plan, opcodes);
    struct sim_message *m;
    if (sim_is_atomic(opcode)) {
        /* words of the peer: 0 is shared and only added to, the next two of every pair are its own */
        bool shared = opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD && once_in(plan, 2);
        m = sim_plan_atomic(plan, pair, node, opcode, shared ? 0 : 1 + 2 * pair + below(plan, 2));
    } else {
        m = sim_plan_message(plan, pair, node, opcode,
                             draw_related_length(plan, end, sim_plan_mtu(plan, pair), profile->far));
        /* on UC nobody can know which of two WRITEs to one place came last */
        if (!uc && !sim_is_send(opcode) && once_in(plan, 2))
            revisit(plan, end, m);
        if (!uc && opcode != NORNIC_WR_RDMA_READ && once_in(plan, 2))
            relay(plan, end, m);
    }
    draw_flags(plan, end, m);
}

/* The slots of unsignalled requests are freed by a later completion only (ROCE-RC-60), so that one has to
 * come before the queue is full. */
static void signal_often(struct sim_end_plan *end)
{
    unsigned silent = 0;
    for (unsigned i = 0; i < end->message_count; i++) {
        struct sim_message *m = &end->messages[i];
        if (++silent == end->caps.max_send_wr || i + 1 == end->message_count)
            m->flags |= NORNIC_SEND_SIGNALED;
        if (m->flags & NORNIC_SEND_SIGNALED)
            silent = 0;
    }
}

/* The probe, which any receive does for; and receives enough for every message and a copy of each. */
static void end_uc_traffic(struct sim_plan *plan, unsigned pair, unsigned node)
{
    struct sim_end_plan *end = &plan->end[pair][node];
    sim_plan_message(plan, pair, node, NORNIC_WR_RDMA_WRITE_WITH_IMM, 3 * sim_plan_mtu(plan, pair));
    end->hold_last = true;
    for (unsigned i = 0; i <= end->message_count; i++)
        sim_plan_spare_receive(plan, pair, !node, draw_length(plan, sim_plan_mtu(plan, pair)));
}

static void draw_traffic(struct sim_plan *plan, unsigned pair, unsigned node,
                         const struct sim_profile *profile)
{
    struct sim_end_plan *end = &plan->end[pair][node];
    /* of many QPs each has less to say */
    unsigned most = plan->pairs > SIM_PAIRS_USUAL ? 6 : once_in(plan, 4) ? SIM_MESSAGES_MAX : 24;
    unsigned count = once_in(plan, 6) ? 0 : 1 + below(plan, most);
    bool uc = plan->service[pair] == NORNIC_QPT_UC;
    if (uc)
        count = count > SIM_MESSAGES_MAX / 2 - 4 ? SIM_MESSAGES_MAX / 2 - 4 : count;
    for (unsigned i = 0; i < count; i++)
        draw_message(plan, pair, node, profile);
    if (uc)
        end_uc_traffic(plan, pair, node);
    signal_often(end);
}

static void draw_device(struct sim_plan *plan, const struct sim_profile *profile)
{
    static const uint32_t windows[] = {0, 0, 0, 2, 3, 8, 16, 64};
    struct sim_config *config = &plan->config;
    config->ipv6 = once_in(plan, 2);
    config->vlan_id = once_in(plan, 6) ? (uint16_t)(1 + below(plan, 4094)) : 0;
    config->window_pkts = windows[below(plan, sizeof windows / sizeof *windows)];
    if (profile->far)
        config->window_pkts = 1024u << below(plan, 3);
    if (once_in(plan, 3)) {
        config->port_frames = 1 + below(plan, 8);
        config->port_gap_ns = 100 + below(plan, 2000);
    }
    if (profile->pmtu && once_in(plan, 3)) /* the smallest port that this path MTU fits: ROCE-INT-25 */
        config->port_mtu_bytes = nornic_mtu_bytes(profile->pmtu) + 96;
    for (unsigned node = 0; node < 2; node++) {
        plan->region[node][SIM_TARGET].access |= once_in(plan, 4) ? NORNIC_ACCESS_ZERO_BASED : 0;
        plan->region[node][SIM_EXPORT].access |= once_in(plan, 4) ? NORNIC_ACCESS_ZERO_BASED : 0;
    }
}

/* From here on eight failures in a row are not astonishing. */
#define EXHAUSTION_PPM 100000

static enum nornic_qp_type draw_service(struct sim_plan *plan, uint32_t services)
{
    static const enum nornic_qp_type all[] = {NORNIC_QPT_RC, NORNIC_QPT_UC, NORNIC_QPT_XRC_INI};
    enum nornic_qp_type service = NORNIC_QPT_RC;
    if (services == 0)
        return service;
    do
        service = all[below(plan, sizeof all / sizeof *all)];
    while (!(services & 1u << service));
    return service;
}

static unsigned draw_pairs(struct sim_plan *plan, const struct sim_profile *profile)
{
    unsigned least = profile->pairs_min ? profile->pairs_min : 1;
    unsigned most = profile->pairs_max ? profile->pairs_max : SIM_PAIRS_USUAL;
    return (unsigned)test_random_between(&plan->random, least, most);
}

struct sim_plan *sim_plan_draw(uint64_t seed, const struct sim_profile *profile)
{
    struct sim_plan *plan = sim_plan_create(seed);
    plan->pairs = draw_pairs(plan, profile);
    plan->shared_cq = once_in(plan, 2);
    for (unsigned node = 0; node < 2 && profile->cc; node++)
        plan->config.cc[node] = draw_cc(plan);
    for (unsigned node = 0; node < 2 && profile->far; node++)
        plan->config.selective[node] = SIM_ON;
    draw_device(plan, profile);
    for (unsigned i = 0; i < 2; i++)
        draw_link(plan, &plan->config.link[i], profile);
    for (unsigned node = 0; node < 2; node++)
        for (unsigned i = 0; i < 1 + 2 * plan->pairs; i++)
            sim_plan_word(plan, node, i == 0);
    for (unsigned pair = 0; pair < plan->pairs; pair++) {
        draw_pair(plan, pair, profile);
        plan->service[pair] = draw_service(plan, profile->services);
        for (unsigned node = 0; node < 2; node++) {
            if (sim_plan_type(plan, pair, node) != NORNIC_QPT_XRC_TGT)
                draw_traffic(plan, pair, node, profile);
            if (profile->loss_ppm + profile->corrupt_ppm >= EXHAUSTION_PPM)
                plan->end[pair][node].may_fail = 1u << NORNIC_WC_RETRY_EXC_ERR;
        }
    }
    sim_plan_time(plan);
    return plan;
}
