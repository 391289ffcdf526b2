/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of rdma-core after version 44 that nornic has not: each says so. */
#include "verbs/abi/newer.h"

#include <errno.h>
#include <string.h>

#include "verbs/verbs.h"

void *verbs_alloc_dmah(struct ibv_context *context, void *attr)
{
    (void)context;
    (void)attr;
    return verbs_fail_null(EOPNOTSUPP, "alloc_dmah: no device here takes hints for DMA");
}

int verbs_dealloc_dmah(void *dmah)
{
    return verbs_fail(EOPNOTSUPP, "dealloc_dmah: there is no DMA handle %p", dmah);
}

int verbs_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
    verbs_fail(EOPNOTSUPP, "dm_export_dmabuf_fd: device memory %p has no dma-buf", (void *)dm);
    return -1;
}

/* --- completion counters --- */

int verbs_query_comp_cntr_caps(struct ibv_context *context, void *caps, size_t caps_bytes)
{
    (void)context;
    memset(caps, 0, caps_bytes);
    return verbs_fail(EOPNOTSUPP, "query_comp_cntr_caps: there are no completion counters");
}

void *verbs_create_comp_cntr(struct ibv_context *context, void *attr)
{
    (void)context;
    (void)attr;
    return verbs_fail_null(EOPNOTSUPP, "create_comp_cntr: there are no completion counters");
}

static int refuse(const char *call, const void *counter)
{
    return verbs_fail(EOPNOTSUPP, "%s: there is no completion counter %p", call, counter);
}

int verbs_destroy_comp_cntr(void *counter)
{
    return refuse("destroy_comp_cntr", counter);
}

int verbs_set_comp_cntr(void *counter, uint64_t value)
{
    (void)value;
    return refuse("set_comp_cntr", counter);
}

int verbs_set_err_comp_cntr(void *counter, uint64_t value)
{
    (void)value;
    return refuse("set_err_comp_cntr", counter);
}

int verbs_inc_comp_cntr(void *counter, uint64_t amount)
{
    (void)amount;
    return refuse("inc_comp_cntr", counter);
}

int verbs_inc_err_comp_cntr(void *counter, uint64_t amount)
{
    (void)amount;
    return refuse("inc_err_comp_cntr", counter);
}

int verbs_read_comp_cntr(void *counter, uint64_t *value)
{
    (void)value;
    return refuse("read_comp_cntr", counter);
}

int verbs_read_err_comp_cntr(void *counter, uint64_t *value)
{
    (void)value;
    return refuse("read_err_comp_cntr", counter);
}

int verbs_qp_attach_comp_cntr(struct ibv_qp *qp, void *counter, void *attr)
{
    (void)qp;
    (void)attr;
    return refuse("qp_attach_comp_cntr", counter);
}
