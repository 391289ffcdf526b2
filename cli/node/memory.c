/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/error.h"

#define PAGE_BYTES 4096u

int cli_memory_open(struct nornic_dev *dev, uint64_t len_bytes, uint32_t access, struct cli_memory *out,
                    struct nornic_error *why)
{
    uint64_t whole = (len_bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    *out = (struct cli_memory){.bytes = aligned_alloc(PAGE_BYTES, whole)};
    if (!out->bytes)
        return net_error_set(why, ENOMEM, "no memory for %" PRIu64 " bytes of messages", len_bytes);
    memset(out->bytes, 0, whole);
    int err = nornic_pd_create(dev, &out->pd);
    if (!err)
        err = nornic_mr_reg(out->pd, out->bytes, len_bytes, access, &out->mr);
    if (err)
        return net_error_set(why, -err, "cannot register %" PRIu64 " bytes: %s", len_bytes, strerror(-err));
    out->lkey = nornic_mr_lkey(out->mr);
    out->rkey = nornic_mr_rkey(out->mr);
    out->remote_addr = nornic_mr_remote_addr(out->mr);
    return 0;
}

void cli_memory_close(struct cli_memory *memory)
{
    if (memory->mr)
        nornic_mr_dereg(memory->mr);
    if (memory->pd)
        nornic_pd_destroy(memory->pd);
    free(memory->bytes);
    *memory = (struct cli_memory){.pd = NULL};
}
