/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <linux/xdp_diag.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/kernel/netlink.h"

#ifndef UDIAG_SHOW_UID
#define UDIAG_SHOW_UID 0x00000040 /* Linux 5.3 */
#endif
#define UNIX_DIAG_UID_IS 7 /* UNIX_DIAG_UID, an enumerator that older headers do not have */
#define NOT_CONNECTED    7 /* TCP_CLOSE, the state of such a datagram socket */
#define ANSWER_S         2
#define ANSWER_BYTES     (32 * 1024)

int net_diag_open(void)
{
    const struct timeval limit = {.tv_sec = ANSWER_S};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd < 0 ? -errno : fd;
}

/* Asks for all sockets of a family. `request` follows the header. Returns 0 or -errno. */
static int dump(int fd, const void *request, size_t bytes, net_netlink_each *each, void *ctx)
{
    static atomic_uint sequence; /* tells an answer from the rest of an earlier one */
    uint8_t question[NLMSG_HDRLEN + 64] = {0}, answer[ANSWER_BYTES] __attribute__((aligned(8)));
    struct nlmsghdr *header = mnl_nlmsg_put_header(question);
    bool is_interrupted = false; /* sockets come and go: the answer is good for those that stay */
    header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    header->nlmsg_seq = atomic_fetch_add(&sequence, 1) + 1;
    memcpy(mnl_nlmsg_put_extra_header(header, bytes), request, bytes);
    if (send(fd, question, header->nlmsg_len, MSG_DONTWAIT) < 0)
        return -errno;
    for (;;) {
        ssize_t got = recv(fd, answer, sizeof answer, 0);
        if (got < 0 && errno != EINTR)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        int more = got < 0 ? 1
                           : net_netlink_read_answer(answer, (size_t)got, header->nlmsg_seq, &is_interrupted,
                                                     each, ctx);
        if (more <= 0)
            return more;
    }
}

/* --- UNIX sockets --- */

struct unix_visit {
    net_diag_each_unix *each;
    void *ctx;
};

static void on_unix(const struct nlmsghdr *message, void *ctx)
{
    const struct unix_visit *visit = ctx;
    const struct unix_diag_msg *body = net_netlink_head(message, SOCK_DIAG_BY_FAMILY, sizeof *body);
    const struct nlattr *attribute;
    if (!body)
        return;
    struct net_diag_unix found = {.uid = NET_DIAG_NO_UID, .inode = body->udiag_ino};
    mnl_attr_for_each(attribute, message, sizeof *body)
    {
        const uint16_t bytes = mnl_attr_get_payload_len(attribute);
        const char *payload = mnl_attr_get_payload(attribute);
        if (mnl_attr_get_type(attribute) == UNIX_DIAG_NAME && bytes > 1 && payload[0] == '\0') {
            found.name = payload + 1;
            found.name_bytes = bytes - 1u;
        } else if (mnl_attr_get_type(attribute) == UNIX_DIAG_UID_IS && bytes == sizeof found.uid) {
            found.uid = mnl_attr_get_u32(attribute);
        }
    }
    if (found.name)
        visit->each(visit->ctx, &found);
}

/* "Num: RefCount Protocol Flags Type St Inode Path"; the path of an abstract name begins with @. */
static int read_proc(net_diag_each_unix *each, void *ctx)
{
    char line[512];
    FILE *from = fopen("/proc/thread-self/net/unix", "re");
    if (!from)
        return -errno;
    while (fgets(line, sizeof line, from)) {
        struct net_diag_unix found = {.uid = NET_DIAG_NO_UID};
        const char *at = strchr(line, '@');
        if (!at || sscanf(line, "%*s %*s %*s %*s %*s %*s %u", &found.inode) != 1)
            continue;
        found.name = at + 1;
        found.name_bytes = strcspn(at + 1, "\n");
        each(ctx, &found);
    }
    fclose(from);
    return 0;
}

int net_diag_unix(int fd, net_diag_each_unix *each, void *ctx)
{
    const struct unix_diag_req request = {.sdiag_family = AF_UNIX,
                                          .udiag_states = 1u << NOT_CONNECTED,
                                          .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID};
    struct unix_visit visit = {each, ctx};
    int err = dump(fd, &request, sizeof request, on_unix, &visit);
    return err == -ENOENT || err == -EINVAL ? read_proc(each, ctx) : err;
}

/* --- AF_XDP sockets --- */

struct xdp_visit {
    unsigned ifindex;
    uint32_t uid;
    bool is_found;
};

static void on_xdp(const struct nlmsghdr *message, void *ctx)
{
    struct xdp_visit *visit = ctx;
    const struct nlattr *attribute;
    struct xdp_diag_info info = {.ifindex = 0};
    uint32_t uid = NET_DIAG_NO_UID;
    if (!net_netlink_head(message, SOCK_DIAG_BY_FAMILY, sizeof(struct xdp_diag_msg)))
        return;
    mnl_attr_for_each(attribute, message, sizeof(struct xdp_diag_msg))
    {
        const uint16_t bytes = mnl_attr_get_payload_len(attribute);
        if (mnl_attr_get_type(attribute) == XDP_DIAG_INFO && bytes >= sizeof info)
            memcpy(&info, mnl_attr_get_payload(attribute), sizeof info);
        else if (mnl_attr_get_type(attribute) == XDP_DIAG_UID && bytes == sizeof uid)
            uid = mnl_attr_get_u32(attribute);
    }
    visit->is_found |= info.ifindex == visit->ifindex && uid == visit->uid;
}

bool net_diag_has_xdp_socket(int fd, unsigned ifindex, uint32_t uid)
{
    const struct xdp_diag_req request = {.sdiag_family = AF_XDP, .xdiag_show = XDP_SHOW_INFO};
    struct xdp_visit visit = {.ifindex = ifindex, .uid = uid};
    int err = dump(fd, &request, sizeof request, on_xdp, &visit);
    return err != 0 || visit.is_found;
}
