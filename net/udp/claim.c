/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/claim.h"

#include <errno.h>
#include <unistd.h>

#include "net/kernel/claim.h"

/* Who comes says so first and then looks, so that of two that come at once one sees the other; where both
 * do, a packet port waits for this one to yield. */
int net_udp_claim(const struct net_interface *interface, struct nornic_error *why)
{
    int fd = net_claim_take_any("udp", interface->index, NET_CLAIM_PACKETS), asker = net_claim_asker();
    bool is_steered = net_claim_is_taken(asker, "xdp", interface->index, 0);
    bool is_seen = net_claim_count(asker, "packet", interface->index, NET_CLAIM_PACKETS) > 0;
    net_claim_tell_strangers(asker, "xdp", interface->index, 1);
    net_claim_tell_strangers(asker, "packet", interface->index, NET_CLAIM_PACKETS);
    if (asker >= 0)
        close(asker);
    if (!is_steered && !is_seen)
        return fd < 0 ? -1 : fd;
    if (fd >= 0)
        close(fd);
    return net_error_set(why, EBUSY, "another running nornic takes the RoCE packets of %s by its %s: %s",
                         interface->name, is_steered ? "XDP program" : "packet port",
                         "end it first, or use another interface");
}
