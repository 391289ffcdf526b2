/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a device: its own, and those of the objects in its domain (ROCE section 12.2). */
#include "roce/dev/inner.h"

static void tell(struct roce_dev *dev, const struct roce_event *event)
{
    if (dev->config.event)
        dev->config.event(dev->config.ctx, event);
}

void roce_dev_event(struct roce_dev *dev, enum nornic_event_type type)
{
    tell(dev, &(struct roce_event){.type = type});
}

void roce_dev_on_event(void *ctx, const struct rdma_event *event)
{
    tell(ctx, &(struct roce_event){
                  .type = event->type,
                  .qp = event->qp ? roce_qp_of(event->qp) : NULL,
                  .cq = event->cq,
                  .srq = event->srq,
              });
}
