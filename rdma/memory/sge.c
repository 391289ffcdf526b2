/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/memory/sge.h"

#include "rdma/access.h"

/* Finds the piece of an SGE that begins at `offset` of it. NULL: a fault. `*n` is cut to what is there.
 */
static uint8_t *piece_of(const struct rdma_domain *domain, const struct rdma_pd *pd,
                         const struct nornic_sge *sge, uint32_t offset, uint32_t *n, bool write)
{
    uint8_t *base = rdma_sge_local(domain, pd, sge, write);
    if (!base)
        return NULL;
    if (*n > sge->len_bytes - offset)
        *n = sge->len_bytes - offset;
    return base + offset;
}

uint8_t *rdma_sge_piece(const struct rdma_domain *domain, const struct rdma_pd *pd,
                        const struct nornic_sge *sges, uint32_t num_sge, uint32_t offset, uint32_t *n_bytes,
                        bool write)
{
    for (uint32_t i = 0; i < num_sge; i++) {
        if (offset < sges[i].len_bytes)
            return piece_of(domain, pd, &sges[i], offset, n_bytes, write);
        offset -= sges[i].len_bytes;
    }
    return NULL;
}

/* One walk for both directions: scatters from `scatter_from`, or gathers into `gather_into`. */
static bool walk(struct rdma_domain *domain, const struct rdma_pd *pd, const struct nornic_sge *sges,
                 uint32_t num_sge, uint32_t offset, uint8_t *gather_into, const uint8_t *scatter_from,
                 uint32_t len_bytes)
{
    for (uint32_t i = 0; i < num_sge && len_bytes > 0; i++) {
        if (offset >= sges[i].len_bytes) {
            offset -= sges[i].len_bytes;
            continue;
        }
        uint32_t n = len_bytes;
        uint8_t *piece = piece_of(domain, pd, &sges[i], offset, &n, scatter_from != NULL);
        if (!piece || !(scatter_from ? rdma_store(domain, piece, scatter_from, n)
                                     : rdma_load(domain, gather_into, piece, n)))
            return false;
        if (scatter_from)
            scatter_from += n;
        else
            gather_into += n;
        offset = 0;
        len_bytes -= n;
    }
    return len_bytes == 0;
}

bool rdma_sge_gather(struct rdma_domain *domain, const struct rdma_pd *pd, const struct nornic_sge *sges,
                     uint32_t num_sge, uint32_t offset, uint8_t *dst, uint32_t len_bytes)
{
    return walk(domain, pd, sges, num_sge, offset, dst, NULL, len_bytes);
}

bool rdma_sge_scatter(struct rdma_domain *domain, const struct rdma_pd *pd, const struct nornic_sge *sges,
                      uint32_t num_sge, uint32_t offset, const uint8_t *src, uint32_t len_bytes)
{
    return walk(domain, pd, sges, num_sge, offset, NULL, src, len_bytes);
}
