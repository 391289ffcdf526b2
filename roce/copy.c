/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "roce/device.h"

/* Finds the piece of SGE i that begins at `offset` of the message. NULL: a fault. `*n` is cut to what is
 * there. */
static uint8_t *sge_piece(const struct roce_dev *dev, const struct rdma_pd *pd, const struct nornic_sge *sge,
                          uint32_t offset, uint32_t *n, bool write)
{
    uint8_t *base = rdma_sge_local(dev->domain, pd, sge, write);
    if (!base)
        return NULL;
    if (*n > sge->len_bytes - offset)
        *n = sge->len_bytes - offset;
    return base + offset;
}

/* One walk for both directions: `write` scatters from `bytes`, otherwise gathers into them. */
static bool walk(const struct roce_dev *dev, const struct rdma_pd *pd, const struct nornic_sge *sges,
                 uint32_t num_sge, uint32_t offset, uint8_t *gather_into, const uint8_t *scatter_from,
                 uint32_t len_bytes)
{
    for (uint32_t i = 0; i < num_sge && len_bytes > 0; i++) {
        if (offset >= sges[i].len_bytes) {
            offset -= sges[i].len_bytes;
            continue;
        }
        uint32_t n = len_bytes;
        uint8_t *piece = sge_piece(dev, pd, &sges[i], offset, &n, scatter_from != NULL);
        if (!piece)
            return false;
        if (scatter_from) {
            memcpy(piece, scatter_from, n);
            scatter_from += n;
        } else {
            memcpy(gather_into, piece, n);
            gather_into += n;
        }
        offset = 0;
        len_bytes -= n;
    }
    return len_bytes == 0;
}

bool roce_gather(const struct roce_qp *qp, uint32_t index, uint32_t offset, uint8_t *dst, uint32_t len_bytes)
{
    const struct roce_send_wqe *w = roce_send_wqe(qp, index);
    if (w->send_flags & NORNIC_SEND_INLINE) {
        memcpy(dst, roce_send_inline(qp, index) + offset, len_bytes);
        return true;
    }
    return walk(qp->dev, qp->pd, roce_send_sges(qp, index), w->num_sge, offset, dst, NULL, len_bytes);
}

bool roce_scatter(const struct roce_dev *dev, const struct rdma_pd *pd, const struct nornic_sge *sges,
                  uint32_t num_sge, uint32_t offset, const uint8_t *src, uint32_t len_bytes)
{
    return walk(dev, pd, sges, num_sge, offset, NULL, src, len_bytes);
}
