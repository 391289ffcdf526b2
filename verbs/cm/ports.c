/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports that ids are bound to: nobody else's in this process, as a kernel's rdma_cm has it for all of its
 * processes. Among several of these it is seen where one listens, or where TCP says so (iWARP). */
#include <errno.h>
#include <sys/random.h>

#include "verbs/cm/cma.h"

#define PORT_FIRST 32768 /* ports that are drawn, as those of sockets are */
#define PORT_COUNT 28000

/* Those of a parent stay taken in a child, until the child gives them back, too. Under the lock. */
static LIST_HEAD(cma_bound_list, cma_id) all_bound = LIST_HEAD_INITIALIZER(all_bound);

/* What keeps `id` from having a port, of its port space, at an address: 0; EADDRINUSE: somebody is bound to
 * both; or EADDRNOTAVAIL: one of the two means all addresses. IPv4 and IPv6 are apart. */
static int obstacle(const struct cma_id *id, const struct nornic_addr *addr, uint16_t port, bool shares)
{
    const struct cma_id *other;
    for (other = LIST_FIRST(&all_bound); other; other = LIST_NEXT(other, of_bound)) {
        if (other == id || other->bound_port != port || other->bound_ps != id->base.ps ||
            (shares && other->shares_port) ||
            nornic_addr_is_v4(&other->bound_addr) != nornic_addr_is_v4(addr))
            continue;
        if (cma_is_any(addr) || cma_is_any(&other->bound_addr))
            return EADDRNOTAVAIL;
        if (nornic_addr_equal(addr, &other->bound_addr))
            return EADDRINUSE;
    }
    return 0;
}

/* One that nobody has, not even at another address: who binds to no port in particular may ask which it is
 * before listening (qperf does). In the rare case that another process listens on it meanwhile, or has it for
 * TCP, rdma_listen() or rdma_connect() fails. 0: there is none, or no random number, with errno. */
static uint16_t draw(const struct cma_id *id)
{
    static const struct nornic_addr any[] = {{{0}}, {{[10] = 0xff, [11] = 0xff}}};
    uint16_t drawn;
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
        return 0;
    for (unsigned i = 0; i < PORT_COUNT; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + (drawn + i) % PORT_COUNT);
        if (!obstacle(id, &any[0], port, false) && !obstacle(id, &any[1], port, false))
            return port;
    }
    errno = EADDRNOTAVAIL;
    return 0;
}

int cma_port_take(struct cma_id *id, const struct nornic_addr *addr, uint16_t *port)
{
    int err = 0;
    cma_lock();
    if (!*port && !(*port = draw(id)))
        err = errno;
    if (!err)
        err = obstacle(id, addr, *port, id->shares_port);
    if (!err) {
        id->bound_addr = *addr;
        id->bound_port = *port;
        id->bound_ps = id->base.ps;
        LIST_INSERT_HEAD(&all_bound, id, of_bound);
    }
    cma_unlock();
    return err;
}

int cma_port_share(struct cma_id *id, bool shares)
{
    if (id->num_listeners || (id->bound_port && !shares))
        return EINVAL;
    cma_lock();
    id->shares_port = shares;
    cma_unlock();
    return 0;
}

int cma_port_own(struct cma_id *id)
{
    cma_lock();
    int err = id->bound_port ? obstacle(id, &id->bound_addr, id->bound_port, false) : 0;
    if (!err)
        id->shares_port = false;
    cma_unlock();
    return err;
}

void cma_port_give_back(struct cma_id *id)
{
    cma_lock();
    if (id->bound_port)
        LIST_REMOVE(id, of_bound);
    id->bound_port = 0;
    cma_unlock();
}
