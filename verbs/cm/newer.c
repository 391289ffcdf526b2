/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of librdmacm since rdma-core 44 that nornic has not: each says so. */
#include "verbs/cm/newer.h"

#include <errno.h>

#include "verbs/cm/cma.h"

int cma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
                         const struct rdma_addrinfo *hints)
{
    (void)id;
    (void)hints;
    return cma_fail(EOPNOTSUPP, "resolve_addrinfo: %s, %s: use rdma_getaddrinfo()", node ? node : "no node",
                    service ? service : "no service");
}

int cma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
    (void)info;
    return cma_fail(EOPNOTSUPP, "query_addrinfo: id %p has resolved none: use rdma_getaddrinfo()",
                    (void *)id);
}

int cma_write_event(struct rdma_cm_id *id, int event, int status, uint64_t arg)
{
    (void)arg;
    return cma_fail(EOPNOTSUPP, "write_cm_event: id %p takes no event %d (status %d) of a program",
                    (void *)id, event, status);
}

/* --- rsockets in an epoll set --- */

int rs_epoll_create(int flags)
{
    return cma_fail(EOPNOTSUPP, "repoll_create: flags 0x%x: wait for rsockets with rpoll()", (unsigned)flags);
}

int rs_epoll_ctl(int epfd, int op, int fd, void *event)
{
    (void)op;
    (void)event;
    return cma_fail(EOPNOTSUPP, "repoll_ctl: set %d, rsocket %d: wait for rsockets with rpoll()", epfd, fd);
}

int rs_epoll_wait(int epfd, void *events, int max_events, int timeout_ms)
{
    (void)events;
    (void)max_events;
    (void)timeout_ms;
    return cma_fail(EOPNOTSUPP, "repoll_wait: set %d: wait for rsockets with rpoll()", epfd);
}
