/* SPDX-License-Identifier: BSD-2-Clause */
/* QP numbers: how a device finds a QP, and gives numbers and takes them back. */
#include <errno.h>

#include "roce/dev/inner.h"

struct roce_qp *roce_dev_find_qp(const struct roce_dev *dev, uint32_t qpn)
{
    uint32_t slot = qpn - dev->config.first_qpn;
    if (qpn == ROCE_GSI_QPN)
        return dev->gsi;
    return slot < dev->config.max_qp ? dev->qps[slot] : NULL;
}

bool roce_dev_has_qpn(const struct roce_dev *dev, uint32_t qpn)
{
    return qpn - dev->config.first_qpn < dev->config.max_qp;
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
    uint32_t slot = dev->free_slots[dev->free_head];
    dev->free_head = (dev->free_head + 1) % dev->config.max_qp;
    dev->free_count--;
    dev->qps[slot] = qp;
    qp->base.qpn = slot + dev->config.first_qpn;
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
    uint32_t slot = qp->base.qpn - dev->config.first_qpn;
    dev->qps[slot] = NULL;
    dev->free_slots[(dev->free_head + dev->free_count) % dev->config.max_qp] = slot;
    dev->free_count++;
}
