/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a TCP connection is lent, and what the end of a loan says of those that come after it. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base.h"
#include "service/inner.h"
#include "sock/addrs.h"

/* A server that hands its connections to a child without the service's user does so at once. */
#define RENOUNCED_SOON_NS (5 * NS_PER_S)

static bool is_tcp(int fd)
{
    struct tcp_info info = {0};
    int protocol = 0;
    socklen_t len = sizeof protocol, info_len = sizeof info;
    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 && protocol == IPPROTO_TCP &&
           getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_len) == 0 &&
           (info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT);
}

static bool is_in(const struct service_peers *p, const struct nornic_addr *addr)
{
    bool is_v4 = nornic_addr_is_v4(&p->addr);
    unsigned bits = p->prefix_len + (is_v4 ? 96u : 0u);
    if (is_v4 != nornic_addr_is_v4(addr) || memcmp(p->addr.b, addr->b, bits / 8) != 0)
        return false;
    return bits % 8 == 0 || !((p->addr.b[bits / 8] ^ addr->b[bits / 8]) >> (8 - bits % 8));
}

static bool is_configured(const struct service *service, const struct nornic_addr *addr)
{
    for (unsigned i = 0; i < service->config.num_peers; i++)
        if (is_in(&service->config.peers[i], addr))
            return true;
    return false;
}

static bool has_seen_option(int tcp_fd)
{
    return smcr_rt.rendezvous && smcr_rendezvous_seen(smcr_rt.rendezvous, tcp_fd);
}

/* --- servers whose children give up the service's user --- */

/* The port of a local address; 0: it has none. */
static uint16_t local_port(int tcp_fd)
{
    struct sockaddr_in6 addr = {0}; /* the port lies where struct sockaddr_in has it */
    socklen_t len = sizeof addr;
    return getsockname(tcp_fd, (struct sockaddr *)&addr, &len) == 0 ? ntohs(addr.sin6_port) : 0;
}

static bool is_of_renouncing_server(const struct service *service, int tcp_fd)
{
    uint16_t port = local_port(tcp_fd);
    return service->tcp_ports[port / 64] >> port % 64 & 1;
}

/* Bytes that programs have moved, in both directions together. */
static uint64_t moved(const struct service_loan *loan)
{
    return atomic_load(&loan->block->head) + atomic_load(&loan->block->consumed);
}

void service_judge_look(struct service_loan *loan)
{
    bool is_soon = smcr_rt.now_ns - loan->begun_ns < RENOUNCED_SOON_NS;
    if (loan->was_renounced || !is_soon || !atomic_load(&loan->block->was_renounced))
        return;
    loan->was_renounced = true;
    loan->renounced_at = moved(loan);
}

void service_judge_end(struct service_loan *loan)
{
    if (!loan->is_server || !loan->was_renounced || moved(loan) != loan->renounced_at)
        return;
    uint16_t port = local_port(loan->sock->tcp_fd);
    loan->service->tcp_ports[port / 64] |= UINT64_C(1) << port % 64;
}

/* --- the judgement --- */

/* Why a connection whose peer waits for SMC-R's messages is declined; NULL: it is not. */
static const char *why_declined(const struct service *service, int tcp_fd, bool is_server, bool is_here)
{
    if (is_here)
        return "both ends are on this host";
    return is_server && is_of_renouncing_server(service, tcp_fd)
               ? "a process of its server gives up the service's user"
               : NULL;
}

int service_judge(const struct service *service, int tcp_fd, bool is_server, enum service_why_not *why_not,
                  const char **declines)
{
    struct nornic_addr peer;
    *declines = NULL;
    *why_not = SERVICE_NOT_TCP;
    if (!is_tcp(tcp_fd) || smcr_sock_peer_addr(tcp_fd, &peer) != 0)
        return 1;
    bool is_here = smcr_addrs_owner(&peer);
    if (has_seen_option(tcp_fd) || (is_configured(service, &peer) && !is_here)) {
        *declines = why_declined(service, tcp_fd, is_server, is_here);
        return 0;
    }
    *why_not = is_here ? SERVICE_LOOPBACK : smcr_rt.rendezvous ? SERVICE_NOT_OFFERED : SERVICE_NO_BPF;
    return 1;
}
