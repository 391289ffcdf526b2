/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of librdmacm since rdma-core 44. verbs/abi/newer.h says why they have names of nornic. All fail with -1
 * and errno EOPNOTSUPP. Internal to verbs/cm/. */
#ifndef NORNIC_VERBS_CM_NEWER_H
#define NORNIC_VERBS_CM_NEWER_H

#include <rdma/rdma_cma.h>

#include "verbs/abi/newer.h"

/* --- since rdma-core 60: RDMACM_1.4 --- */

int cma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
                         const struct rdma_addrinfo *hints) VERBS_NAMED(rdma_resolve_addrinfo);
int cma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info) VERBS_NAMED(rdma_query_addrinfo);
int cma_write_event(struct rdma_cm_id *id, int event, int status, uint64_t arg)
    VERBS_NAMED(rdma_write_cm_event);

/* --- since rdma-core 65: RDMACM_1.5; `event` and `events` are of <sys/epoll.h> --- */

int rs_epoll_create(int flags) VERBS_NAMED(repoll_create);
int rs_epoll_ctl(int epfd, int op, int fd, void *event) VERBS_NAMED(repoll_ctl);
int rs_epoll_wait(int epfd, void *events, int max_events, int timeout_ms) VERBS_NAMED(repoll_wait);

#endif
