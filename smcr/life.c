/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance: defaults, time, and its end. */
#include "base/base.h"
#include "smcr/smcr.h"

#include <assert.h>
#include <errno.h>

#include "net/port.h"
#include "smcr/conn/data.h"
#include "smcr/handshake/handshake.h"
#include "smcr/progress.h"

#define MAX_CONNS     (1u << 24)
#define MAX_GROUPS    (1u << 16)
#define FAREWELL_PART 2 /* of llc_ns */

/* SMCR section 24. */
static const struct smcr_times default_times = {
    .clc_ns = 6 * NS_PER_S,
    .first_contact_ns = 5 * NS_PER_S,
    .llc_ns = 2 * NS_PER_S,
    .test_link_ns = 30 * NS_PER_S,
    .test_answer_ns = 2 * NS_PER_S,
    .redundancy_ns = 10 * NS_PER_S,
    .redundancy_max_ns = 300 * NS_PER_S,
    .add_link_notice_ns = 30 * NS_PER_S,
    .group_idle_ns = 600 * NS_PER_S,
    .rmb_idle_ns = 60 * NS_PER_S,
    .close_guard_ns = 60 * NS_PER_S,
    .abort_guard_ns = 5 * NS_PER_S,
    .stale_cursor_ns = 200 * NS_PER_MS,
    .cork_ns = 5 * NS_PER_MS,
};

static void fill_times(struct smcr_times *times)
{
    uint64_t *t = (uint64_t *)times;
    const uint64_t *d = (const uint64_t *)&default_times;
    _Static_assert(sizeof *times % sizeof *t == 0, "struct smcr_times holds nothing but times");
    for (size_t i = 0; i < sizeof *times / sizeof *t; i++) {
        if (!t[i])
            t[i] = d[i];
    }
}

static void fill_defaults(struct smcr_config *config)
{
    fill_times(&config->times);
    if (!config->mem)
        config->mem = &rdma_mem_libc;
    if (!config->max_conns)
        config->max_conns = 16384;
    if (!config->max_groups)
        config->max_groups = 256;
    if (!config->max_links)
        config->max_links = 2;
    if (!config->elems_per_rmb)
        config->elems_per_rmb = 16;
    if (!config->max_group_conns)
        config->max_group_conns = UINT8_MAX;
}

int smcr_create(const struct smcr_config *config, struct smcr **out)
{
    struct smcr_config c = *config;
    fill_defaults(&c);
    if (!c.random.next || c.max_links < 2 || c.max_links > 8 /* SMCR-ARC-14 */ || c.max_conns > MAX_CONNS ||
        c.max_groups > MAX_GROUPS || c.num_eids > SMCR_MAX_EIDS || (c.only_v2 && c.num_eids == 0) ||
        c.max_group_conns < SMCR_MIN_GROUP_CONNS)
        return -EINVAL;
    struct smcr *smcr = c.mem->alloc(c.mem->ctx, sizeof *smcr);
    if (!smcr)
        return -ENOMEM;
    smcr->mem = *c.mem;
    smcr->buffers = c.buffers ? *c.buffers : *c.mem;
    smcr->keeps_no_free_buffers = c.buffers != NULL;
    smcr->config = c;
    smcr->config.mem = &smcr->mem;
    smcr->config.buffers = &smcr->buffers;
    rdma_numbers_init(&smcr->link_user_ids, &c.random, UINT32_MAX);
    smcr->changed_tail = &smcr->changed_head;
    smcr->effects_tail = &smcr->effects;
    uint32_t timers =
        (c.max_conns + SMCR_SURPLUS_CONNS) * SMCR_CONN_TIMERS + c.max_groups * SMCR_GROUP_TIMERS;
    int err = rdma_timers_init(&smcr->timers, &smcr->mem, timers);
    if (err) {
        c.mem->free(c.mem->ctx, smcr);
        return err;
    }
    *out = smcr;
    return 0;
}

/* Nobody has a connection any more, no peer is told, no post outlives this. */
void smcr_destroy(struct smcr *smcr, uint64_t now_ns)
{
    struct rdma_mem mem = smcr->mem;
    for (struct smcr_conn *conn = smcr->conns; conn; conn = conn->all_next) {
        smcr_conn_let_go(conn, false);
        if (conn->state == SMCR_CONN_HANDSHAKE)
            smcr_handshake_abandon(conn, "the instance ends", now_ns);
        else
            smcr_end_kill(conn, -ECONNABORTED, "the instance ends", now_ns);
    }
    for (struct smcr_group *group = smcr->groups; group; group = group->next) {
        smcr_group_end(group, false, "the instance ends", now_ns);
        group->llc.delete_all = SMCR_DELETE_ALL_NOT; /* one that was still telling its peer too */
        smcr_group_effect(group, SMCR_GROUP_FINISH);
    }
    smcr_settle(smcr, now_ns);
    assert(!smcr->conns && !smcr->groups);
    while (smcr->ports)
        smcr_port_remove(smcr->ports, now_ns);
    rdma_timers_deinit(&smcr->timers, &mem);
    mem.free(mem.ctx, smcr);
}

void smcr_retire(struct smcr *smcr, uint64_t now_ns)
{
    smcr->is_retiring = true;
    smcr->farewell_end_ns = now_ns + smcr->config.times.llc_ns / FAREWELL_PART;
    for (struct smcr_group *group = smcr->groups; group; group = group->next)
        if (group->num_conns == 0)
            smcr_group_end(group, true, "the instance retires", now_ns);
    smcr_settle(smcr, now_ns);
}

static bool has_unheard_conn(const struct smcr_group *group)
{
    struct smcr_conn_status status;
    for (const struct smcr_conn *conn = group->conns; conn; conn = conn->group_next) {
        smcr_conn_status(conn, &status);
        if (!status.has_said_all)
            return true;
    }
    return false;
}

bool smcr_retire_unheard(struct smcr *smcr, uint64_t now_ns)
{
    bool any = false;
    for (struct smcr_group *group = smcr->groups; group; group = group->next) {
        if (!has_unheard_conn(group))
            continue;
        smcr_group_end_for(group, SMCR_DELETE_OPERATOR, "the instance retires", now_ns);
        any = true;
    }
    smcr_settle(smcr, now_ns);
    return any;
}

/* Version 2 waits for all answers, because Linux waits without end for an acknowledgement. */
static bool waits_for_conns(const struct smcr_group *group, uint64_t now_ns)
{
    const struct smcr *smcr = group->smcr;
    return smcr->is_retiring && (group->version == 2 || now_ns < smcr->farewell_end_ns);
}

bool smcr_lingers(const struct smcr *smcr, uint64_t now_ns)
{
    for (const struct smcr_group *group = smcr->groups; group; group = group->next)
        if (group->state == SMCR_GROUP_ENDING || waits_for_conns(group, now_ns))
            return true;
    return false;
}

void smcr_give_back(struct smcr *smcr, uint32_t rkey, uint64_t now_ns)
{
    for (struct smcr_group *group = smcr->groups; group; group = group->next)
        smcr_rmb_give_back(group, rkey);
    smcr_settle(smcr, now_ns);
}

uint64_t smcr_deadline_ns(const struct smcr *smcr)
{
    return rdma_timers_next_ns(&smcr->timers);
}

void smcr_expire(struct smcr *smcr, uint64_t now_ns)
{
    struct rdma_timer *timer;
    while ((timer = rdma_timers_pop(&smcr->timers, now_ns))) {
        timer->fire(timer, now_ns);
        smcr_settle(smcr, now_ns);
    }
}

const struct smcr_counters *smcr_counters(const struct smcr *smcr)
{
    return &smcr->counters;
}
