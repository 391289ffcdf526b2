/* SPDX-License-Identifier: BSD-2-Clause */
/* What a domain and a PD are made of. Inside rdma/ only. */
#ifndef NORNIC_RDMA_DOMAIN_H
#define NORNIC_RDMA_DOMAIN_H

#include "rdma/key_table.h"
#include "rdma/mr.h"

struct rdma_domain {
    struct rdma_mem mem;
    struct rdma_key_table keys; /* of struct rdma_mr */
    uint32_t pd_count;
};

struct rdma_pd {
    struct rdma_domain *domain;
    uint32_t dependents; /* regions and QPs (ROCE-PD-2) */
};

#endif
