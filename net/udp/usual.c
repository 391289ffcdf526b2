/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/usual.h"

#include "base/base.h"

/* Both, or what the socket has is not known any more. */
static void set(struct net_udp_usual *usual, int fd, bool is_v4)
{
    int tos = usual->next_tos, ttl = usual->next_ttl;
    int level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
    int err = setsockopt(fd, level, is_v4 ? IP_TOS : IPV6_TCLASS, &tos, sizeof tos);
    if (!err)
        err = setsockopt(fd, level, is_v4 ? IP_TTL : IPV6_UNICAST_HOPS, &ttl, sizeof ttl);
    usual->tos = usual->next_tos;
    usual->ttl = err ? 0 : usual->next_ttl;
}

/* Who wants the kernel's TTL gets it from a socket that has none of its own, and this one has none any more.
 * What waits in front of it in the same burst gets it, too, once. */
static void end(struct net_udp_usual *usual, int fd, bool is_v4)
{
    int ttl = -1;
    (void)setsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TTL : IPV6_UNICAST_HOPS, &ttl,
                     sizeof ttl);
    *usual = (struct net_udp_usual){.is_off = true};
}

size_t net_udp_usual_control(struct net_udp_usual *usual, int fd, const struct net_udp_message *m,
                             bool may_set)
{
    if (m->ttl == 0 && !usual->is_off)
        end(usual, fd, m->to.any.sa_family == AF_INET);
    if (usual->is_off || m->is_to_group) /* multicast has a TTL of its own */
        return m->control_bytes;
    if (m->tos != usual->tos || m->ttl != usual->ttl) {
        bool is_same = m->tos == usual->next_tos && m->ttl == usual->next_ttl;
        usual->next_tos = m->tos;
        usual->next_ttl = m->ttl;
        usual->next_times = is_same ? (uint8_t)min_u32(usual->next_times + 1u, NET_UDP_USUAL_AFTER) : 1;
        if (usual->next_times < NET_UDP_USUAL_AFTER || !may_set)
            return m->control_bytes;
        set(usual, fd, m->to.any.sa_family == AF_INET);
        if (usual->ttl == 0)
            return m->control_bytes;
    }
    usual->next_times = 0;
    return m->train_control_bytes;
}
