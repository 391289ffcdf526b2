/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying between bytes and the memory that a list of SGEs names. Inside the engine only. */
#ifndef NORNIC_RDMA_SGE_H
#define NORNIC_RDMA_SGE_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/transport.h"

/* Copies `len_bytes` from the memory of the SGEs, whose keys are those of `pd`, from `offset` of the
 * whole on, and into it. False: a key, PD or bounds fault, memory that is gone, or the SGEs end before
 * (ROCE-MR-4, RC-17). */
bool rdma_sge_gather(struct rdma_domain *domain, const struct rdma_pd *pd, const struct nornic_sge *sges,
                     uint32_t num_sge, uint32_t offset, uint8_t *dst, uint32_t len_bytes);
bool rdma_sge_scatter(struct rdma_domain *domain, const struct rdma_pd *pd, const struct nornic_sge *sges,
                      uint32_t num_sge, uint32_t offset, const uint8_t *src, uint32_t len_bytes);

/* The memory at `offset` of the whole, to read from or, with `write`, to write to; `*n_bytes` says how
 * much is wanted and is cut to what lies there in one piece. NULL: a fault, or the SGEs end before. */
uint8_t *rdma_sge_piece(const struct rdma_domain *domain, const struct rdma_pd *pd,
                        const struct nornic_sge *sges, uint32_t num_sge, uint32_t offset, uint32_t *n_bytes,
                        bool write);

#endif
