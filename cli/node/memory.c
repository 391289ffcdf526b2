/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/error.h"

#define PAGE_BYTES 4096u

int cli_memory_open(struct host_dev *dev, uint64_t len_bytes, uint32_t access, struct cli_memory *out,
                    struct nornic_error *why)
{
    uint64_t whole = (len_bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    *out = (struct cli_memory){.dev = dev, .bytes = aligned_alloc(PAGE_BYTES, whole)};
    if (!out->bytes)
        return net_error_set(why, ENOMEM, "no memory for %" PRIu64 " bytes of messages", len_bytes);
    memset(out->bytes, 0, whole);
    host_dev_lock(dev);
    int err = rdma_pd_create(roce_dev_domain(host_dev_engine(dev)), &out->pd);
    if (!err)
        err = rdma_mr_reg(out->pd, out->bytes, len_bytes, access, &out->mr);
    host_dev_unlock(dev);
    return err ? net_error_set(why, -err, "cannot register %" PRIu64 " bytes: %s", len_bytes, strerror(-err))
               : 0;
}

void cli_memory_close(struct cli_memory *memory)
{
    if (!memory->dev)
        return;
    host_dev_lock(memory->dev);
    if (memory->mr)
        rdma_mr_dereg(memory->mr);
    if (memory->pd)
        rdma_pd_destroy(memory->pd);
    host_dev_unlock(memory->dev);
    free(memory->bytes);
    *memory = (struct cli_memory){.dev = NULL};
}
