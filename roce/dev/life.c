/* SPDX-License-Identifier: BSD-2-Clause */
/* The device: creation, its GID table, the devices that it is linked to, its timers. */
#include "roce/dev/inner.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "roce/dev/av.h"
#include "roce/cc/dcqcn.h"
#include "roce/dev/path.h"
#include "roce/qp/transport.h"

#define DEFAULT_MAX_MR 65536

/* For queue pairs on a lossy path, all together: tables, packets that each covers, packets that are kept. */
#define SPARE_TABLES     256
#define SPARE_TABLE_PKTS 2048
#define SPARE_PKTS       4096

static void free_tables(struct roce_dev *dev)
{
    rdma_timers_deinit(&dev->timers, &dev->mem);
    roce_spare_deinit(&dev->spare, dev);
    roce_free(dev, dev->qps);
    roce_free(dev, dev->free_slots);
    roce_free(dev, dev->pkeys);
}

/* QPNs are below the multicast QPN. */
static bool qpns_fit(const struct roce_dev_config *c)
{
    uint32_t first = c->first_qpn ? c->first_qpn : ROCE_FIRST_QPN,
             slots = c->max_qp ? c->max_qp : ROCE_DEFAULT_MAX_QP, n = c->num_qpns ? c->num_qpns : slots;
    return first >= ROCE_FIRST_QPN && first < ROCE_MULTICAST_QPN && n <= ROCE_MULTICAST_QPN - first &&
           n >= slots;
}

/* Draws the QPNs, or has them count up from the first. */
static void draw_qpns(struct roce_dev *dev)
{
    const struct roce_dev_config *c = &dev->config;
    if (c->num_qpns) {
        rdma_slot_numbers_init(&dev->qpns, &c->random, c->max_qp, c->first_qpn, c->num_qpns);
        return;
    }
    dev->config.num_qpns = c->max_qp;
    rdma_slot_numbers_plain(&dev->qpns, c->max_qp, c->first_qpn);
}

uint32_t roce_draw_first_qpn(const struct rdma_random *random, uint32_t max_qp, uint32_t from, uint32_t count)
{
    uint32_t first = max_u32(from, ROCE_FIRST_QPN);
    uint32_t end = count ? min_u32(from + count, ROCE_MULTICAST_QPN) : ROCE_MULTICAST_QPN;
    uint32_t needed = max_qp ? max_qp : ROCE_DEFAULT_MAX_QP;
    if (end - first <= needed)
        return first;
    return first + (uint32_t)(random->next(random->ctx) % (end - first - needed));
}

static void fill_defaults(struct roce_dev_config *c)
{
    if (!c->max_qp)
        c->max_qp = ROCE_DEFAULT_MAX_QP;
    if (!c->max_mr)
        c->max_mr = DEFAULT_MAX_MR;
    if (!c->window_pkts)
        c->window_pkts = ROCE_DEFAULT_WINDOW_PKTS;
    if (!c->first_qpn)
        c->first_qpn = ROCE_FIRST_QPN;
    if (!c->num_pkeys)
        c->num_pkeys = 1;
    if (c->roce_v1)
        c->parse_flags |= ROCE_PARSE_V1;
}

/* Writes the table of the config, which is borrowed, or the default one. */
static void fill_pkeys(struct roce_dev *dev)
{
    dev->pkeys[0] = NORNIC_PKEY_DEFAULT; /* ROCE-VB-6 */
    if (dev->config.pkeys)
        memcpy(dev->pkeys, dev->config.pkeys, sizeof *dev->pkeys * dev->config.num_pkeys);
    dev->config.pkeys = NULL;
}

int roce_dev_create(const struct roce_dev_config *config, struct roce_dev **out)
{
    struct roce_cc_config cc = config->cc;
    if (cc.on && roce_cc_config_complete(&cc) != 0)
        return -EINVAL;
    if (!config->random.next || !config->port_mtu_bytes || !qpns_fit(config) ||
        config->window_pkts >= 1u << 23 || config->num_pkeys > NORNIC_PKEY_MAX)
        return -EINVAL;
    const struct rdma_mem *mem = config->mem ? config->mem : &rdma_mem_libc;
    struct roce_dev *dev = mem->alloc(mem->ctx, sizeof *dev);
    if (!dev)
        return -ENOMEM;
    dev->config = *config;
    dev->port_mtu_bytes = config->port_mtu_bytes;
    dev->mem = *mem;
    dev->config.mem = &dev->mem;
    dev->config.cc = cc;
    fill_defaults(&dev->config);
    dev->linked = dev;
    dev->gid_epoch = 1;
    dev->is_port_up = true;
    dev->ip_id = (uint16_t)dev->config.random.next(dev->config.random.ctx);

    int err = rdma_timers_init(&dev->timers, &dev->mem, dev->config.max_qp * ROCE_TIMERS_PER_QP);
    dev->qps = roce_alloc(dev, sizeof *dev->qps * dev->config.max_qp);
    dev->free_slots = roce_alloc(dev, sizeof *dev->free_slots * dev->config.max_qp);
    dev->pkeys = roce_alloc(dev, sizeof *dev->pkeys * dev->config.num_pkeys);
    if (!err && (!dev->qps || !dev->free_slots || !dev->pkeys))
        err = -ENOMEM;
    if (!err && dev->config.selective)
        err = roce_spare_init(&dev->spare, dev, SPARE_TABLES, SPARE_TABLE_PKTS, SPARE_PKTS,
                              ROCE_PMTU_MAX_BYTES + ROCE_FRAME_OVERHEAD_BYTES);
    if (!err)
        err = rdma_domain_create(&dev->mem, &dev->config.random, dev->config.max_mr, &dev->domain);
    if (err) {
        free_tables(dev);
        mem->free(mem->ctx, dev);
        return err;
    }
    draw_qpns(dev);
    for (uint32_t i = 0; i < dev->config.max_qp; i++)
        dev->free_slots[i].slot = i;
    dev->free_count = dev->config.max_qp;
    rdma_domain_on_event(dev->domain, roce_dev_on_event, dev);
    fill_pkeys(dev);
    *out = dev;
    return 0;
}

static void unlink_from_ring(struct roce_dev *dev)
{
    struct roce_dev *before = dev;
    while (before->linked != dev)
        before = before->linked;
    before->linked = dev->linked;
    dev->linked = dev;
    roce_dev_reroute(before);
}

void roce_dev_use(const struct roce_dev *dev, struct roce_dev_use *out)
{
    *out = (struct roce_dev_use){.qps = dev->config.max_qp - dev->free_count + (dev->gsi != NULL),
                                 .pds = rdma_domain_pds(dev->domain),
                                 .xrcds = rdma_domain_xrcds(dev->domain)};
}

int roce_dev_destroy(struct roce_dev *dev)
{
    struct roce_dev_use use;
    roce_dev_use(dev, &use);
    if (use.qps > 0)
        return -EBUSY;
    int err = rdma_domain_destroy(dev->domain);
    if (err)
        return err;
    unlink_from_ring(dev);
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

/* --- GIDs --- */

static bool qpns_overlap(const struct roce_dev *a, const struct roce_dev *b)
{
    return a->config.first_qpn < b->config.first_qpn + b->config.num_qpns &&
           b->config.first_qpn < a->config.first_qpn + a->config.num_qpns;
}

/* Who would get a packet to the address could not be told: roce_dev_link(). */
static bool is_ambiguous(const struct roce_dev *dev, const struct nornic_addr *addr)
{
    for (const struct roce_dev *d = dev->linked; d != dev; d = d->linked)
        if (qpns_overlap(d, dev) && roce_dev_owns(d, addr))
            return true;
    return false;
}

int roce_dev_gid_add(struct roce_dev *dev, const struct nornic_gid *gid)
{
    if (gid->type == NORNIC_GID_V1 && !dev->config.roce_v1)
        return -EINVAL; /* ROCE-FRM-55 */
    if (is_ambiguous(dev, &gid->addr))
        return -EINVAL;
    int index = roce_gid_add(&dev->gids, gid);
    if (index < 0)
        return index;
    roce_dev_reroute(dev);
    roce_dev_event(dev, NORNIC_EVENT_GID_CHANGE);
    return index;
}

int roce_dev_gid_remove(struct roce_dev *dev, unsigned index, uint64_t now_ns)
{
    int err = roce_gid_remove(&dev->gids, index);
    if (err)
        return err;
    roce_dev_reroute(dev);
    for (uint32_t i = 0; i < dev->config.max_qp; i++) {
        struct roce_qp *qp = dev->qps[i];
        if (!qp || !qp->transport->is_connected || qp->attr.av.sgid_index != index ||
            roce_qp_state_now(qp) < NORNIC_QPS_RTR || roce_qp_state_now(qp) == NORNIC_QPS_ERR ||
            roce_path_migrate(qp))
            continue;
        roce_qp_enter_error(qp, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        rdma_qp_event(&qp->base, NORNIC_EVENT_QP_FATAL);
    }
    roce_dev_event(dev, NORNIC_EVENT_GID_CHANGE);
    return 0;
}

int roce_dev_gid_set_mac(struct roce_dev *dev, unsigned index, const struct nornic_mac *mac)
{
    if (!roce_gid_get(&dev->gids, index))
        return -ENOENT;
    dev->gids.entries[index].mac = *mac;
    roce_dev_event(dev, NORNIC_EVENT_GID_CHANGE);
    return 0;
}

const struct nornic_gid *roce_dev_gid_get(const struct roce_dev *dev, unsigned index)
{
    return roce_gid_get(&dev->gids, index);
}

int roce_dev_gid_find(const struct roce_dev *dev, const struct nornic_addr *addr,
                      const enum nornic_gid_type *type, const uint16_t *vlan_id)
{
    return roce_gid_search(&dev->gids, addr, type, vlan_id);
}

/* --- linked devices, port --- */

static bool share_an_address(const struct roce_dev *a, const struct roce_dev *b)
{
    for (unsigned i = 0; i < a->gids.end; i++) {
        const struct nornic_gid *e = roce_gid_get(&a->gids, i);
        if (e && roce_dev_owns(b, &e->addr))
            return true;
    }
    return false;
}

int roce_dev_link(struct roce_dev *a, struct roce_dev *b)
{
    struct roce_dev *x = a, *y = b;
    do {
        do {
            if (x == y || (share_an_address(x, y) && qpns_overlap(x, y)))
                return -EINVAL;
            y = y->linked;
        } while (y != b);
        x = x->linked;
    } while (x != a);
    struct roce_dev *after = a->linked; /* two rings become one */
    a->linked = b->linked;
    b->linked = after;
    roce_dev_reroute(a);
    return 0;
}

void roce_dev_set_port_mtu(struct roce_dev *dev, uint32_t mtu_bytes)
{
    dev->port_mtu_bytes = min_u32(mtu_bytes, dev->config.port_mtu_bytes);
}

uint32_t roce_dev_port_mtu(const struct roce_dev *dev)
{
    return dev->port_mtu_bytes;
}

void roce_dev_port_state(struct roce_dev *dev, bool up)
{
    if (dev->is_port_up == up)
        return;
    dev->is_port_up = up;
    roce_dev_event(dev, up ? NORNIC_EVENT_PORT_ACTIVE : NORNIC_EVENT_PORT_ERR);
}

uint64_t roce_dev_deadline_ns(const struct roce_dev *dev)
{
    return rdma_timers_next_ns(&dev->timers);
}

void roce_dev_expire(struct roce_dev *dev, uint64_t now_ns)
{
    struct rdma_timer *t;
    while ((t = rdma_timers_pop(&dev->timers, now_ns)))
        t->fire(t, now_ns);
    roce_dev_settle(dev, now_ns);
}
