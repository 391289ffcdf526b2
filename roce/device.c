/* SPDX-License-Identifier: BSD-2-Clause */
/* The device: creation, QP numbers, the GID table, and the lists of QPs that want attention. */
#include "roce/device.h"

#include <errno.h>

#define DEFAULT_MAX_QP      16384
#define DEFAULT_MAX_MR      65536
#define DEFAULT_WINDOW_PKTS 512 /* ROCE-RC-4 */

static void free_tables(struct roce_dev *dev)
{
    roce_timers_deinit(&dev->timers, &dev->mem);
    roce_free(dev, dev->qps);
    roce_free(dev, dev->free_slots);
}

int roce_dev_create(const struct roce_dev_config *config, struct roce_dev **out)
{
    if (!config->random.next || !config->port_mtu_bytes || config->max_qp > ROCE_PSN_MASK - ROCE_FIRST_QPN ||
        config->window_pkts >= 1u << 23)
        return -EINVAL;
    const struct rdma_mem *mem = config->mem ? config->mem : &rdma_mem_libc;
    struct roce_dev *dev = mem->alloc(mem->ctx, sizeof *dev);
    if (!dev)
        return -ENOMEM;
    dev->config = *config;
    dev->mem = *mem;
    dev->config.mem = &dev->mem;
    if (!dev->config.max_qp)
        dev->config.max_qp = DEFAULT_MAX_QP;
    if (!dev->config.max_mr)
        dev->config.max_mr = DEFAULT_MAX_MR;
    if (!dev->config.window_pkts)
        dev->config.window_pkts = DEFAULT_WINDOW_PKTS;
    dev->ip_id = (uint16_t)dev->config.random.next(dev->config.random.ctx);

    int err = roce_timers_init(&dev->timers, &dev->mem, dev->config.max_qp);
    dev->qps = roce_alloc(dev, sizeof *dev->qps * dev->config.max_qp);
    dev->free_slots = roce_alloc(dev, sizeof *dev->free_slots * dev->config.max_qp);
    if (!err && (!dev->qps || !dev->free_slots))
        err = -ENOMEM;
    if (!err)
        err = rdma_domain_create(&dev->mem, &dev->config.random, dev->config.max_mr, &dev->domain);
    if (err) {
        free_tables(dev);
        mem->free(mem->ctx, dev);
        return err;
    }
    for (uint32_t i = 0; i < dev->config.max_qp; i++)
        dev->free_slots[i] = i;
    dev->free_count = dev->config.max_qp;
    *out = dev;
    return 0;
}

int roce_dev_destroy(struct roce_dev *dev)
{
    if (dev->free_count != dev->config.max_qp)
        return -EBUSY;
    int err = rdma_domain_destroy(dev->domain);
    if (err)
        return err;
    free_tables(dev);
    struct rdma_mem mem = dev->mem;
    mem.free(mem.ctx, dev);
    return 0;
}

struct rdma_domain *roce_dev_domain(const struct roce_dev *dev)
{
    return dev->domain;
}

const struct roce_dev_counters *roce_dev_counters(const struct roce_dev *dev)
{
    return &dev->counters;
}

void roce_trace_emit(struct roce_dev *dev, const struct roce_trace *event)
{
    if (dev->config.trace)
        dev->config.trace(dev->config.ctx, event);
}

/* --- QP numbers --- */

struct roce_qp *roce_dev_find_qp(const struct roce_dev *dev, uint32_t qpn)
{
    uint32_t slot = qpn - ROCE_FIRST_QPN;
    return slot < dev->config.max_qp ? dev->qps[slot] : NULL;
}

int roce_dev_add_qp(struct roce_dev *dev, struct roce_qp *qp)
{
    if (!dev->free_count)
        return -ENOSPC;
    uint32_t slot = dev->free_slots[dev->free_head];
    dev->free_head = (dev->free_head + 1) % dev->config.max_qp;
    dev->free_count--;
    dev->qps[slot] = qp;
    qp->qpn = slot + ROCE_FIRST_QPN;
    return 0;
}

void roce_dev_remove_qp(struct roce_dev *dev, struct roce_qp *qp)
{
    uint32_t slot = qp->qpn - ROCE_FIRST_QPN;
    roce_dev_collect_posted(dev);
    if (qp->ready) {
        *(qp->ready_prev ? &qp->ready_prev->ready_next : &dev->ready_first) = qp->ready_next;
        *(qp->ready_next ? &qp->ready_next->ready_prev : &dev->ready_last) = qp->ready_prev;
    }
    dev->qps[slot] = NULL;
    dev->free_slots[(dev->free_head + dev->free_count) % dev->config.max_qp] = slot;
    dev->free_count++;
}

/* --- GIDs --- */

int roce_dev_gid_add(struct roce_dev *dev, const struct net_addr *gid, const struct net_mac *mac,
                     uint16_t vlan_id)
{
    return roce_gid_add(&dev->gids, gid, mac, vlan_id);
}

int roce_dev_gid_remove(struct roce_dev *dev, unsigned index, uint64_t now_ns)
{
    int err = roce_gid_remove(&dev->gids, index);
    for (uint32_t i = 0; !err && i < dev->config.max_qp; i++) {
        struct roce_qp *qp = dev->qps[i];
        if (!qp || qp->attr.av.sgid_index != index || roce_qp_state_now(qp) < ROCE_QPS_RTR ||
            roce_qp_state_now(qp) == ROCE_QPS_ERR)
            continue;
        roce_qp_enter_error(qp, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        roce_qp_event(qp, ROCE_EVENT_QP_FATAL);
    }
    return err;
}

int roce_dev_gid_get(const struct roce_dev *dev, unsigned index, struct net_addr *gid, struct net_mac *mac,
                     uint16_t *vlan_id)
{
    const struct roce_gid_entry *e = roce_gid_get(&dev->gids, index);
    if (!e)
        return -ENOENT;
    if (gid)
        *gid = e->gid;
    if (mac)
        *mac = e->mac;
    if (vlan_id)
        *vlan_id = e->vlan_id;
    return 0;
}

/* --- QPs that want attention --- */

void roce_dev_ready(struct roce_dev *dev, struct roce_qp *qp)
{
    if (qp->ready)
        return;
    qp->ready = true;
    qp->ready_next = NULL;
    qp->ready_prev = dev->ready_last;
    *(dev->ready_last ? &dev->ready_last->ready_next : &dev->ready_first) = qp;
    dev->ready_last = qp;
}

void roce_dev_posted(struct roce_qp *qp)
{
    struct roce_dev *dev = qp->dev;
    if (atomic_exchange(&qp->posted, true))
        return;
    struct roce_qp *head = atomic_load(&dev->posted);
    do
        qp->posted_next = head;
    while (!atomic_compare_exchange_weak(&dev->posted, &head, qp));
    if (!head && dev->config.doorbell)
        dev->config.doorbell(dev->config.ctx);
}

void roce_dev_collect_posted(struct roce_dev *dev)
{
    if (!atomic_load_explicit(&dev->posted, memory_order_relaxed))
        return;
    struct roce_qp *qp = atomic_exchange(&dev->posted, NULL);
    while (qp) {
        struct roce_qp *next = qp->posted_next;
        /* Cleared before its queues are looked at: a post that comes later rings again. An exchange, because
         * it acquires what every poster wrote that found the mark set and left; a store would not. */
        atomic_exchange(&qp->posted, false);
        if (roce_qp_state_now(qp) == ROCE_QPS_ERR) {
            roce_flush_send(qp);
            roce_flush_recv(qp);
        } else {
            roce_dev_ready(dev, qp);
        }
        qp = next;
    }
}

bool roce_dev_tx_pending(const struct roce_dev *dev)
{
    return dev->ready_first || atomic_load_explicit(&dev->posted, memory_order_relaxed);
}

void roce_dev_settle(struct roce_dev *dev, uint64_t now_ns)
{
    while (dev->cq_overflowed) {
        dev->cq_overflowed = false;
        for (uint32_t i = 0; i < dev->config.max_qp; i++) {
            struct roce_qp *qp = dev->qps[i];
            if (qp && roce_qp_state_now(qp) != ROCE_QPS_RESET && roce_qp_state_now(qp) != ROCE_QPS_ERR &&
                (rdma_cq_in_error(qp->send_cq) || rdma_cq_in_error(qp->recv_cq)))
                roce_qp_enter_error(qp, ROCE_CAUSE_CQ_OVERFLOW, now_ns);
        }
    }
}

uint64_t roce_dev_deadline_ns(const struct roce_dev *dev)
{
    return roce_timers_next_ns(&dev->timers);
}

void roce_dev_expire(struct roce_dev *dev, uint64_t now_ns)
{
    struct roce_timer *t;
    while ((t = roce_timers_pop(&dev->timers, now_ns)))
        roce_requester_expire((struct roce_qp *)((char *)t - offsetof(struct roce_qp, req.timer)), now_ns);
    roce_dev_settle(dev, now_ns);
}
