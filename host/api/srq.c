/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues and XRC domains of programs: nornic/srq.h. */
#include <errno.h>

#include "host/api/api.h"
#include "host/api/config.h"
#include "host/event/events.h"

int nornic_srq_create(struct nornic_pd *pd, const struct nornic_srq_config *config, struct nornic_srq **out)
{
    struct nornic_srq_config own;
    int err = host_config_take(&own, sizeof own, config);
    if (err)
        return err;
    if ((own.xrcd && own.xrcd->dev != pd->dev) || (own.cq && own.cq->dev != pd->dev))
        return -EINVAL;
    struct nornic_srq *srq = host_api_new(pd->dev, HOST_API_SRQ, sizeof *srq);
    if (!srq)
        return -ENOMEM;
    srq->dev = pd->dev;
    srq->ctx = own.ctx;
    struct rdma_srq_config engine = {.max_wr = own.max_wr,
                                     .max_sge = own.max_sge,
                                     .ctx = srq,
                                     .xrcd = own.xrcd ? own.xrcd->engine : NULL,
                                     .cq = own.cq ? own.cq->engine : NULL};
    host_dev_lock(pd->dev->host);
    err = rdma_srq_create(pd->engine, &engine, &srq->engine);
    host_dev_unlock(pd->dev->host);
    if (err) {
        host_api_free(pd->dev, HOST_API_SRQ, srq);
        return err;
    }
    pthread_mutex_init(&srq->lock, NULL);
    *out = srq;
    return 0;
}

int nornic_srq_destroy(struct nornic_srq *srq)
{
    int err = host_srq_destroy(srq->dev->host, srq->engine);
    if (err)
        return err;
    pthread_mutex_destroy(&srq->lock);
    host_api_free(srq->dev, HOST_API_SRQ, srq);
    return 0;
}

int nornic_srq_post_recv(struct nornic_srq *srq, const struct nornic_recv_wr *wr,
                         const struct nornic_recv_wr **bad)
{
    pthread_mutex_lock(&srq->lock);
    int err = rdma_srq_post(srq->engine, wr, bad);
    pthread_mutex_unlock(&srq->lock);
    return err;
}

int nornic_srq_set_limit(struct nornic_srq *srq, uint32_t limit)
{
    host_dev_lock(srq->dev->host);
    int err = rdma_srq_set_limit(srq->engine, limit);
    host_dev_unlock(srq->dev->host);
    return err;
}

int nornic_srq_resize(struct nornic_srq *srq, uint32_t max_wr)
{
    pthread_mutex_lock(&srq->lock);
    host_dev_lock(srq->dev->host);
    int err = rdma_srq_resize(srq->engine, max_wr);
    host_dev_unlock(srq->dev->host);
    pthread_mutex_unlock(&srq->lock);
    return err;
}

void nornic_srq_query(struct nornic_srq *srq, uint32_t *max_wr, uint32_t *limit, uint32_t *waiting)
{
    host_dev_lock(srq->dev->host);
    if (max_wr)
        *max_wr = rdma_srq_capacity(srq->engine);
    if (limit)
        *limit = rdma_srq_limit(srq->engine);
    if (waiting)
        *waiting = rdma_srq_count(srq->engine);
    host_dev_unlock(srq->dev->host);
}

uint32_t nornic_srq_number(const struct nornic_srq *srq)
{
    return rdma_srq_number(srq->engine);
}

void *nornic_srq_ctx(const struct nornic_srq *srq)
{
    return srq->ctx;
}

/* --- XRC domains --- */

int nornic_xrcd_create(struct nornic_dev *dev, struct nornic_xrcd **out)
{
    if (!dev->transport->has_xrc)
        return -EOPNOTSUPP;
    struct nornic_xrcd *xrcd = host_api_new(dev, HOST_API_XRCD, sizeof *xrcd);
    if (!xrcd)
        return -ENOMEM;
    xrcd->dev = dev;
    host_dev_lock(dev->host);
    int err = rdma_xrcd_create(host_api_domain(dev), &xrcd->engine);
    host_dev_unlock(dev->host);
    if (err) {
        host_api_free(dev, HOST_API_XRCD, xrcd);
        return err;
    }
    *out = xrcd;
    return 0;
}

int nornic_xrcd_destroy(struct nornic_xrcd *xrcd)
{
    host_dev_lock(xrcd->dev->host);
    int err = rdma_xrcd_destroy(xrcd->engine);
    host_dev_unlock(xrcd->dev->host);
    if (!err)
        host_api_free(xrcd->dev, HOST_API_XRCD, xrcd);
    return err;
}
