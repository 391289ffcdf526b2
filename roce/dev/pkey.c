/* SPDX-License-Identifier: BSD-2-Clause */
/* The P_Key table of a device, and whose packets a key admits: ROCE-HDR-5, ROCE-LIM-4. */
#include <errno.h>

#include "roce/dev/inner.h"

/* ROCE-HDR-5: one of the two is a full member. */
bool roce_pkeys_match(uint16_t a, uint16_t b)
{
    return (a & ROCE_PKEY_BASE) == (b & ROCE_PKEY_BASE) && a & ROCE_PKEY_BASE && (a | b) & ~ROCE_PKEY_BASE;
}

int roce_pkey_index(const struct roce_dev *dev, uint16_t pkey)
{
    int found = -1;
    for (int i = 0; i < dev->config.num_pkeys; i++) {
        if (!roce_pkeys_match(dev->pkeys[i], pkey))
            continue;
        if (dev->pkeys[i] == pkey)
            return i;
        found = found < 0 ? i : found;
    }
    return found;
}

uint16_t roce_qp_pkey(const struct roce_qp *qp)
{
    return qp->dev->pkeys[qp->attr.pkey_index];
}

int roce_dev_pkey_set(struct roce_dev *dev, unsigned index, uint16_t pkey)
{
    if (index >= dev->config.num_pkeys || (pkey && !(pkey & ROCE_PKEY_BASE)))
        return -EINVAL;
    if (dev->pkeys[index] == pkey)
        return 0;
    dev->pkeys[index] = pkey;
    for (uint32_t i = 0; i < dev->config.max_qp; i++) /* what waited for a valid key goes on */
        if (dev->qps[i] && dev->qps[i]->attr.pkey_index == index)
            roce_dev_ready(dev, dev->qps[i]);
    if (dev->gsi)
        roce_dev_ready(dev, dev->gsi);
    roce_dev_event(dev, NORNIC_EVENT_PKEY_CHANGE);
    return 0;
}

uint16_t roce_dev_pkey_get(const struct roce_dev *dev, unsigned index)
{
    return index < dev->config.num_pkeys ? dev->pkeys[index] : 0;
}
