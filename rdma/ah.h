/* SPDX-License-Identifier: BSD-2-Clause */
/* What every transport's address handle begins with. Inside the engine only. */
#ifndef NORNIC_RDMA_AH_H
#define NORNIC_RDMA_AH_H

#include <stdatomic.h>
#include <stdint.h>

struct rdma_pd;

/* Embedded in the transport's own handle, which says where datagrams go and keeps it alive while it has
 * users. */
struct nornic_ah {
    struct rdma_pd *pd;     /* of the QPs that may use it */
    _Atomic uint32_t users; /* posted WQEs that name it: ROCE-AH-3 */
};

#endif
