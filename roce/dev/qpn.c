/* SPDX-License-Identifier: BSD-2-Clause */
/* QP numbers: how a device finds a QP, and gives numbers and takes them back. */
#include <errno.h>

#include "roce/dev/inner.h"

static struct roce_qp *qp_at(const struct roce_dev *dev, uint32_t slot, uint32_t qpn)
{
    struct roce_qp *qp = slot < dev->config.max_qp ? dev->qps[slot] : NULL;
    return qp && qp->base.qpn == qpn ? qp : NULL;
}

/* Finds a QP that was not found lately. Apart, as its call would slow down the path of each packet. */
static __attribute__((noinline)) struct roce_qp *find_anew(const struct roce_dev *dev, uint32_t qpn)
{
    return qp_at(dev, rdma_number_slot_anew(&dev->qpns, qpn), qpn);
}

struct roce_qp *roce_dev_find_qp(const struct roce_dev *dev, uint32_t qpn)
{
    if (qpn == ROCE_GSI_QPN)
        return dev->gsi;
    uint32_t slot = rdma_number_slot_recent(&dev->qpns, qpn);
    return slot != UINT32_MAX ? qp_at(dev, slot, qpn) : find_anew(dev, qpn);
}

bool roce_dev_has_qpn(const struct roce_dev *dev, uint32_t qpn)
{
    return qpn - dev->config.first_qpn < dev->config.num_qpns;
}

int roce_dev_add_qp(struct roce_dev *dev, struct roce_qp *qp)
{
    if (qp->type == NORNIC_QPT_GSI) {
        if (dev->gsi)
            return -EBUSY; /* ROCE-GSI-1 */
        dev->gsi = qp;
        qp->base.qpn = ROCE_GSI_QPN;
        return 0;
    }
    if (!dev->free_count)
        return -ENOSPC;
    struct roce_free_slot *free = &dev->free_slots[dev->free_head];
    uint32_t slot = free->slot;
    dev->free_head = (dev->free_head + 1) % dev->config.max_qp;
    dev->free_count--;
    dev->qps[slot] = qp;
    qp->slot = slot;
    qp->base.qpn = rdma_slot_number(&dev->qpns, slot, free->uses);
    qp->slot_uses = free->uses + 1;
    return 0;
}

void roce_dev_remove_qp(struct roce_dev *dev, struct roce_qp *qp)
{
    roce_dev_collect_posted(dev);
    roce_dev_unready(dev, qp);
    if (qp == dev->gsi) {
        dev->gsi = NULL;
        return;
    }
    dev->qps[qp->slot] = NULL;
    dev->free_slots[(dev->free_head + dev->free_count) % dev->config.max_qp] =
        (struct roce_free_slot){.slot = qp->slot, .uses = qp->slot_uses};
    dev->free_count++;
}
