/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

void *net_netlink_begin(struct net_netlink_request *request, uint16_t type, uint16_t flags,
                        size_t extra_bytes)
{
    memset(request, 0, sizeof *request);
    mnl_nlmsg_put_header(request->bytes);
    request->header.nlmsg_type = type;
    request->header.nlmsg_flags = NLM_F_REQUEST | flags;
    /* A dump ends with NLMSG_DONE; anything else ends with the acknowledgement asked for here. */
    if ((flags & NLM_F_DUMP) == 0)
        request->header.nlmsg_flags |= NLM_F_ACK;
    return mnl_nlmsg_put_extra_header(&request->header, extra_bytes);
}

uint8_t net_netlink_family(const struct net_addr *addr)
{
    return net_addr_is_v4(addr) ? AF_INET : AF_INET6;
}

void net_netlink_put_addr(struct net_netlink_request *request, uint16_t attribute,
                          const struct net_addr *addr)
{
    if (net_addr_is_v4(addr))
        mnl_attr_put(&request->header, attribute, 4, addr->b + 12);
    else
        mnl_attr_put(&request->header, attribute, sizeof addr->b, addr->b);
}

bool net_netlink_get_addr(const struct nlattr *attribute, struct net_addr *out)
{
    const uint8_t *bytes = mnl_attr_get_payload(attribute);
    uint16_t len_bytes = mnl_attr_get_payload_len(attribute);
    if (len_bytes == 4)
        *out = net_addr_from_v4(bytes);
    else if (len_bytes == sizeof out->b)
        memcpy(out->b, bytes, sizeof out->b);
    else
        return false;
    return true;
}

static int receive_answer(struct mnl_socket *socket, mnl_cb_t each, void *ctx)
{
    uint8_t answer[16 * 1024];
    unsigned port = mnl_socket_get_portid(socket);
    for (;;) {
        ssize_t len = mnl_socket_recvfrom(socket, answer, sizeof answer);
        if (len < 0)
            return -errno;
        int more = mnl_cb_run(answer, (size_t)len, 0, port, each, ctx);
        if (more < 0)
            return -errno;
        if (more == MNL_CB_STOP)
            return 0;
    }
}

int net_netlink_ask(struct net_netlink_request *request, mnl_cb_t each, void *ctx, struct net_error *err)
{
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    if (!socket)
        return net_error_set(err, errno, "cannot ask the kernel about the network (netlink): %s",
                             strerror(errno));
    int result;
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_sendto(socket, request, request->header.nlmsg_len) < 0)
        result = net_error_set(err, errno, "cannot ask the kernel about the network (netlink): %s",
                               strerror(errno));
    else
        result = receive_answer(socket, each, ctx);
    mnl_socket_close(socket);
    return result;
}
