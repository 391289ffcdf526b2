/* SPDX-License-Identifier: BSD-2-Clause */
/* Other processes answer from the same addresses. Those on packet ports of one interface get every management
 * datagram, all of them. Each answers for its own ids. A service id is claimed by its listener
 * (net/kernel/claim.h). For ids without a claim one process, the first, says that nobody listens. A message
 * of a connection that this CM does not know may belong to another process. It is left unanswered unless this
 * process is alone. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "host/cm/inner.h"
#include "host/dev/dev.h"
#include "net/kernel/claim.h"
#include "net/share/share.h"

/* How long an answer to "are we alone" is good for: a stranger's datagrams do not make us ask each time. */
#define ALONE_NS (100 * NS_PER_MS)
/* The least time between questions about claims of services. The kernel lists all UNIX sockets for each. A
 * request
 * that comes sooner stays unanswered, and its sender repeats it. */
#define CLAIMS_NS (NS_PER_MS / 2)

struct host_cm_lease {
    uint64_t service_id;
    unsigned holders; /* ids of this CM, at several addresses */
    int fd;           /* -1: names cannot be had here */
    struct host_cm_lease *next;
};

static struct host_cm_lease **find(struct host_cm *cm, uint64_t service_id)
{
    struct host_cm_lease **at = &cm->leases;
    while (*at && (*at)->service_id != service_id)
        at = &(*at)->next;
    return at;
}

int host_cm_lease(struct host_cm *cm, uint64_t service_id)
{
    struct host_cm_lease **at = find(cm, service_id);
    host_dev_assert_held(cm->dev);
    if (*at) {
        (*at)->holders++;
        return 0;
    }
    struct host_cm_lease *lease = calloc(1, sizeof *lease);
    if (!lease)
        return -ENOMEM;
    struct net_share *share = net_port_share(cm->dev->port);
    int fd = cm->dev->claims_fd >= 0 ? net_claim_take("service", cm->dev->ifindex, service_id) : -1;
    int err = share ? net_share_serve(share, service_id) : fd == -EADDRINUSE ? fd : 0;
    if (err) {
        if (fd >= 0)
            close(fd);
        free(lease);
        return err;
    }
    *lease = (struct host_cm_lease){.service_id = service_id, .holders = 1, .fd = fd < 0 ? -1 : fd};
    *at = lease;
    return 0;
}

void host_cm_release(struct host_cm *cm, uint64_t service_id)
{
    struct host_cm_lease **at = find(cm, service_id), *lease = *at;
    host_dev_assert_held(cm->dev);
    if (!lease || --lease->holders > 0)
        return;
    *at = lease->next;
    if (lease->fd >= 0)
        close(lease->fd);
    if (net_port_share(cm->dev->port))
        net_share_unserve(net_port_share(cm->dev->port), service_id);
    free(lease);
}

/* Its own packet port is one of those that are counted. */
static bool is_alone(struct host_cm *cm)
{
    uint64_t now_ns = host_now_ns();
    if (now_ns >= cm->alone_end_ns) {
        cm->is_alone =
            net_claim_count(cm->dev->claims_fd, "packet", cm->dev->ifindex, NET_CLAIM_PACKETS) <= 1;
        cm->alone_end_ns = now_ns + ALONE_NS;
    }
    return cm->is_alone;
}

/* roce_cm_config.may_refuse; `ctx` is the CM. */
static bool may_refuse(void *ctx, uint64_t service_id)
{
    struct host_cm *cm = ctx;
    unsigned ifindex = cm->dev->ifindex;
    if (service_id == 0)
        return is_alone(cm);
    if (*find(cm, service_id))
        return true;
    const uint64_t now_ns = host_now_ns();
    if (now_ns - cm->claims_read_ns < CLAIMS_NS)
        return false;
    cm->claims_read_ns = now_ns;
    if (net_claim_is_taken(cm->dev->claims_fd, "service", ifindex, service_id))
        return false;
    /* The first process may have gone. */
    if (cm->qp1_fd < 0)
        cm->qp1_fd = net_claim_take("qp1", ifindex, 0);
    return cm->qp1_fd != -EADDRINUSE;
}

/* The same at addresses that udp ports share: only one of them is asked. */
static bool may_refuse_shared(void *ctx, uint64_t service_id)
{
    struct host_cm *cm = ctx;
    return service_id == 0 || service_id == ROCE_CM_NO_SERVICE || *find(cm, service_id) ||
           !net_share_is_served(net_port_share(cm->dev->port), service_id);
}

void host_cm_share(struct host_cm *cm, struct roce_cm_config *config)
{
    const struct net_share *lease = net_port_lease(cm->dev->port);
    config->may_refuse_ctx = cm;
    if (lease) {
        config->first_comm_id = (uint32_t)net_share_id_prefix(lease) << NET_SHARE_ID_BITS;
        config->comm_id_bits = NET_SHARE_ID_BITS;
    }
    if (net_port_share(cm->dev->port)) {
        config->may_refuse = may_refuse_shared;
    } else if (cm->dev->claims_fd >= 0) {
        config->may_refuse = may_refuse;
    }
}

void host_cm_share_deinit(struct host_cm *cm)
{
    if (cm->qp1_fd >= 0)
        close(cm->qp1_fd);
}
