/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/netlink.h"

#include <errno.h>
#include <stdatomic.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_ERRNO 4095 /* of the kernel's calls */

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

uint8_t net_netlink_family(const struct nornic_addr *addr)
{
    return nornic_addr_is_v4(addr) ? AF_INET : AF_INET6;
}

void net_netlink_put_addr(struct net_netlink_request *request, uint16_t attribute,
                          const struct nornic_addr *addr)
{
    if (nornic_addr_is_v4(addr))
        mnl_attr_put(&request->header, attribute, 4, addr->b + 12);
    else
        mnl_attr_put(&request->header, attribute, sizeof addr->b, addr->b);
}

bool net_netlink_get_addr(const struct nlattr *attribute, struct nornic_addr *out)
{
    const uint8_t *bytes = mnl_attr_get_payload(attribute);
    uint16_t len_bytes = mnl_attr_get_payload_len(attribute);
    if (len_bytes == 4)
        *out = nornic_addr_from_v4(bytes);
    else if (len_bytes == sizeof out->b)
        memcpy(out->b, bytes, sizeof out->b);
    else
        return false;
    return true;
}

bool net_netlink_has(const struct nlmsghdr *message, int left)
{
    return left >= (int)sizeof *message && message->nlmsg_len >= sizeof *message &&
           message->nlmsg_len <= (unsigned)left;
}

const void *net_netlink_head(const struct nlmsghdr *message, uint16_t type, size_t bytes)
{
    return message->nlmsg_type == type && message->nlmsg_len >= mnl_nlmsg_size(bytes)
               ? mnl_nlmsg_get_payload(message)
               : NULL;
}

void net_netlink_get_str(const struct nlattr *attribute, char *out, size_t room)
{
    size_t bytes = strnlen(mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute));
    bytes = bytes < room ? bytes : room - 1;
    memcpy(out, mnl_attr_get_payload(attribute), bytes);
    out[bytes] = '\0';
}

/* Returns the errno of an answer's last message, 0 or negative. An acknowledgement has one; the end of a dump
 * has one if the dump failed. */
static int read_verdict(const struct nlmsghdr *message)
{
    const bool is_done = message->nlmsg_type == NLMSG_DONE;
    int error = 0;
    if (message->nlmsg_len >= mnl_nlmsg_size(is_done ? sizeof error : sizeof(struct nlmsgerr)))
        memcpy(&error, mnl_nlmsg_get_payload(message), sizeof error);
    else if (!is_done)
        return -EBADMSG;
    return is_done && error > 0 ? 0 : error <= 0 && error >= -MAX_ERRNO ? error : -EBADMSG;
}

int net_netlink_read_answer(const uint8_t *answer, size_t len, uint32_t sequence, bool *is_interrupted,
                            net_netlink_each *each, void *ctx)
{
    const struct nlmsghdr *message = (const struct nlmsghdr *)answer;
    int left = (int)len;
    for (; net_netlink_has(message, left); message = mnl_nlmsg_next(message, &left)) {
        if (message->nlmsg_seq != sequence)
            continue;
        *is_interrupted |= (message->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR)
            return read_verdict(message);
        if (message->nlmsg_type == NLMSG_OVERRUN)
            return -ENOBUFS;
        if (message->nlmsg_type >= NLMSG_MIN_TYPE)
            each(message, ctx);
    }
    return 1;
}

/* Reads all of an answer, also of a dump under which the table changed: nothing of it waits in the socket
 * for the next question. */
static int receive_answer(struct mnl_socket *socket, uint32_t sequence, net_netlink_each *each, void *ctx)
{
    uint8_t answer[16 * 1024] __attribute__((aligned(8)));
    bool interrupted = false;
    for (;;) {
        ssize_t len = mnl_socket_recvfrom(socket, answer, sizeof answer);
        if (len < 0 && errno != EINTR)
            return -errno;
        int more =
            len < 0 ? 1 : net_netlink_read_answer(answer, (size_t)len, sequence, &interrupted, each, ctx);
        if (more <= 0)
            return more == 0 && interrupted ? -EINTR : more;
    }
}

int net_netlink_ask_on(struct mnl_socket *socket, struct net_netlink_request *request, net_netlink_each *each,
                       void *ctx)
{
    static atomic_uint sequence; /* tells an answer from the rest of one that was given up */
    request->header.nlmsg_seq = atomic_fetch_add(&sequence, 1) + 1;
    if (mnl_socket_sendto(socket, request, request->header.nlmsg_len) < 0)
        return -errno;
    return receive_answer(socket, request->header.nlmsg_seq, each, ctx);
}

struct mnl_socket *net_netlink_open(struct nornic_error *why)
{
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    if (socket && mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) == 0)
        return socket;
    int error = errno;
    net_error_set(why, error, "cannot ask the kernel about the network (netlink): %s", strerror(error));
    if (socket)
        mnl_socket_close(socket);
    errno = error;
    return NULL;
}

int net_netlink_ask(struct net_netlink_request *request, net_netlink_each *each, void *ctx,
                    struct nornic_error *why)
{
    struct mnl_socket *socket = net_netlink_open(why);
    if (!socket)
        return -errno; /* as net_netlink_open() left it */
    int err = net_netlink_ask_on(socket, request, each, ctx);
    mnl_socket_close(socket);
    return err;
}
