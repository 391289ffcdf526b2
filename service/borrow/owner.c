/* SPDX-License-Identifier: BSD-2-Clause */
/* The service's user, and the peers that the service names, as this process knows them. Both
 * outlive the service, and the process's part in it. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <string.h>

#include "service/borrow/inner.h"

static _Atomic bool has_renounced;
static struct {
    _Atomic bool is_known;
    uid_t uid;
    uint32_t num_named;
    struct service_named named[SERVICE_NAMED];
} last; /* of the service that was open last */

bool borrow_note_renounced(void)
{
    return !atomic_exchange(&has_renounced, true);
}

bool borrow_has_renounced(void)
{
    return atomic_load_explicit(&has_renounced, memory_order_acquire);
}

void borrow_note_service(const struct borrow_service *service)
{
    const struct service_head *head = service->memory;
    last.uid = service->uid;
    last.num_named = head->num_named < SERVICE_NAMED ? head->num_named : SERVICE_NAMED;
    memcpy(last.named, head->named, sizeof last.named);
    last.is_known = true;
}

bool borrow_owner(uid_t *uid)
{
    if (last.is_known)
        *uid = last.uid;
    return last.is_known;
}

/* --- the peers that it has named --- */

static bool is_in(const struct service_named *named, const uint8_t addr[16])
{
    unsigned bits = named->bits < 128 ? named->bits : 128, rest = bits % 8;
    if (memcmp(named->addr, addr, bits / 8) != 0)
        return false;
    return rest == 0 || !((named->addr[bits / 8] ^ addr[bits / 8]) >> (8 - rest));
}

bool borrow_is_named(const struct sockaddr *peer)
{
    uint8_t addr[16] = {[10] = 0xff, [11] = 0xff};
    if (peer->sa_family == AF_INET)
        memcpy(addr + 12, &((const struct sockaddr_in *)peer)->sin_addr, 4);
    else if (peer->sa_family == AF_INET6)
        memcpy(addr, &((const struct sockaddr_in6 *)peer)->sin6_addr, 16);
    else
        return false;
    for (unsigned i = 0; last.is_known && i < last.num_named; i++)
        if (is_in(&last.named[i], addr))
            return true;
    return false;
}
