/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest's end of the SMC-R cases: AF_SMC sockets of the kernel.
 *
 *   afsmc eid EID                   gives the kernel an enterprise id; "": takes all of them
 *   afsmc groups                    prints a line for each link group and link that the kernel has
 *   afsmc listen PORT CONNS MODE    serves so many connections, at a time, and ends
 *   afsmc connect ADDR PORT CONNS BYTES
 *
 * echo sends back what comes as it comes; late when all has come. The client sends BYTES on each connection,
 * one connection after the other, while it reads, ends its own direction and expects the same bytes back.
 * Before a connection ends, each prints a line for each link group that the kernel has. Exits with 0 when all
 * went well. Byte i of a connection is i * 7 + (i >> 8). */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/smc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AF_SMC
#define AF_SMC 43
#endif
#define CHUNK_BYTES 16384

static void die(const char *what)
{
    fprintf(stderr, "afsmc: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- generic netlink --- */

static int take_family(const struct nlmsghdr *reply, void *id)
{
    struct nlattr *attr;
    mnl_attr_for_each(attr, reply, sizeof(struct genlmsghdr))
    {
        if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
            *(uint16_t *)id = mnl_attr_get_u16(attr);
    }
    return MNL_CB_OK;
}

static void print_v2(const struct nlattr *nest)
{
    struct nlattr *attr;
    mnl_attr_for_each_nested(attr, nest)
    {
        if (mnl_attr_get_type(attr) == SMC_NLA_LGR_V2_REL)
            printf(" release=%u", mnl_attr_get_u8(attr));
        else if (mnl_attr_get_type(attr) == SMC_NLA_LGR_V2_NEG_EID)
            printf(" eid=%s", mnl_attr_get_str(attr));
    }
}

static int print_group(const struct nlmsghdr *reply, void *unused)
{
    struct nlattr *nest, *attr;
    (void)unused;
    mnl_attr_for_each(nest, reply, sizeof(struct genlmsghdr))
    {
        if (mnl_attr_get_type(nest) != SMC_GEN_LGR_SMCR)
            continue;
        printf("group");
        mnl_attr_for_each_nested(attr, nest)
        {
            if (mnl_attr_get_type(attr) == SMC_NLA_LGR_R_CONNS_NUM)
                printf(" conns=%u", mnl_attr_get_u32(attr));
            else if (mnl_attr_get_type(attr) == SMC_NLA_LGR_R_V2_COMMON)
                print_v2(attr);
        }
        printf("\n");
    }
    return MNL_CB_OK;
}

/* What tells the same link at both ends: the user ids that they exchanged. */
static int print_link(const struct nlmsghdr *reply, void *unused)
{
    struct nlattr *nest, *attr;
    (void)unused;
    mnl_attr_for_each(nest, reply, sizeof(struct genlmsghdr))
    {
        if (mnl_attr_get_type(nest) != SMC_GEN_LINK_SMCR)
            continue;
        printf("link");
        mnl_attr_for_each_nested(attr, nest)
        {
            unsigned type = mnl_attr_get_type(attr);
            if (type == SMC_NLA_LINK_ID)
                printf(" number=%u", mnl_attr_get_u8(attr));
            else if (type == SMC_NLA_LINK_CONN_CNT)
                printf(" conns=%u", mnl_attr_get_u32(attr));
            else if (type == SMC_NLA_LINK_UID || type == SMC_NLA_LINK_PEER_UID)
                printf(" %s=%u", type == SMC_NLA_LINK_UID ? "uid" : "peer_uid",
                       ntohl(mnl_attr_get_u32(attr)));
        }
        printf("\n");
    }
    return MNL_CB_OK;
}

/* Sends a request and takes what comes back, up to the acknowledgement or the end of a dump. */
static void ask(struct mnl_socket *nl, uint16_t family, uint16_t flags, uint8_t command, uint16_t attr,
                const char *text, mnl_cb_t on_reply, void *ctx)
{
    char buf[MNL_SOCKET_BUFFER_SIZE];
    struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
    request->nlmsg_type = family;
    request->nlmsg_flags = NLM_F_REQUEST | flags;
    request->nlmsg_seq = 1;
    struct genlmsghdr *head = mnl_nlmsg_put_extra_header(request, sizeof *head);
    head->cmd = command;
    head->version = 1;
    if (text)
        mnl_attr_put_strz(request, attr, text);
    if (mnl_socket_sendto(nl, request, request->nlmsg_len) < 0)
        die("netlink");
    int more = MNL_CB_OK;
    while (more == MNL_CB_OK) {
        ssize_t n = mnl_socket_recvfrom(nl, buf, sizeof buf);
        more = n < 0 ? MNL_CB_ERROR : mnl_cb_run(buf, (size_t)n, 1, mnl_socket_get_portid(nl), on_reply, ctx);
    }
    if (more == MNL_CB_ERROR && errno != EEXIST) /* it knows the id already */
        die("netlink");
}

static struct mnl_socket *open_netlink(uint16_t *family)
{
    struct mnl_socket *nl = mnl_socket_open(NETLINK_GENERIC);
    if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
        die("netlink");
    ask(nl, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, SMC_GENL_FAMILY_NAME,
        take_family, family);
    return nl;
}

static int add_eid(const char *eid)
{
    uint16_t family = 0;
    char padded[33];
    snprintf(padded, sizeof padded, "%-32.32s", eid);
    struct mnl_socket *nl = open_netlink(&family);
    if (*eid)
        ask(nl, family, NLM_F_ACK, SMC_NETLINK_ADD_UEID, SMC_NLA_EID_TABLE_ENTRY, padded, NULL, NULL);
    else
        ask(nl, family, NLM_F_ACK, SMC_NETLINK_FLUSH_UEID, 0, NULL, NULL, NULL);
    mnl_socket_close(nl);
    return 0;
}

static void print_groups(void)
{
    uint16_t family = 0;
    struct mnl_socket *nl = open_netlink(&family);
    ask(nl, family, NLM_F_DUMP, SMC_NETLINK_GET_LGR_SMCR, 0, NULL, print_group, NULL);
    ask(nl, family, NLM_F_DUMP, SMC_NETLINK_GET_LINK_SMCR, 0, NULL, print_link, NULL);
    mnl_socket_close(nl);
}

/* --- bytes --- */

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + (i >> 8));
}

static void write_all(int fd, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, bytes, n);
        if (put <= 0)
            die("write");
        bytes += put;
        n -= (size_t)put;
    }
}

static void echo(int fd)
{
    uint8_t bytes[CHUNK_BYTES];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        write_all(fd, bytes, (size_t)n);
    if (n < 0)
        die("read");
}

static void answer_late(int fd)
{
    size_t size = 0, room = 0;
    uint8_t *all = NULL;
    ssize_t n;
    do {
        if (size == room && !(all = realloc(all, room += 1 << 20)))
            die("memory");
        n = read(fd, all + size, room - size);
        size += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    if (n < 0)
        die("read");
    write_all(fd, all, size);
    free(all);
}

static bool children_are_well(unsigned count)
{
    bool are = true;
    for (int status; count > 0 && wait(&status) > 0; count--)
        are &= status == 0;
    return are;
}

static int serve(int port, unsigned conns, bool is_late)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_SMC, SOCK_STREAM, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || listen(fd, 64) != 0)
        die("listen");
    for (unsigned i = 0; i < conns; i++) {
        int conn = accept(fd, NULL, NULL);
        if (conn < 0)
            die("accept");
        pid_t child = fork();
        if (child == 0) {
            close(fd);
            (is_late ? answer_late : echo)(conn);
            print_groups();
            close(conn);
            exit(0);
        }
        close(conn);
    }
    close(fd);
    return children_are_well(conns) ? 0 : 1;
}

/* The next bytes of the pattern, as far as the socket takes them. */
static size_t send_some(int fd, size_t from, size_t size)
{
    uint8_t bytes[CHUNK_BYTES];
    size_t n = size - from < sizeof bytes ? size - from : sizeof bytes;
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(from + i);
    ssize_t put = send(fd, bytes, n, MSG_DONTWAIT);
    if (put < 0 && errno != EAGAIN)
        die("send");
    return put > 0 ? (size_t)put : 0;
}

/* What has come; false: the end. */
static bool take_some(int fd, size_t *taken)
{
    uint8_t bytes[CHUNK_BYTES];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN)
        die("recv");
    for (ssize_t i = 0; i < n; i++) {
        if (bytes[i] != byte_at(*taken + (size_t)i)) {
            fprintf(stderr, "afsmc: byte %zu is wrong\n", *taken + (size_t)i);
            exit(1);
        }
    }
    *taken += n > 0 ? (size_t)n : 0;
    return n != 0;
}

static void talk(int fd, size_t size)
{
    size_t sent = 0, taken = 0;
    bool is_open = true, has_ended = size == 0;
    if (has_ended)
        shutdown(fd, SHUT_WR);
    while (is_open || sent < size) {
        struct pollfd p = {.fd = fd, .events = (short)((is_open ? POLLIN : 0) | (sent < size ? POLLOUT : 0))};
        if (poll(&p, 1, 30000) <= 0)
            die("nothing moves");
        if (p.revents & POLLOUT && sent < size)
            sent += send_some(fd, sent, size);
        if (is_open && p.revents & (POLLIN | POLLHUP | POLLERR))
            is_open = take_some(fd, &taken);
        if (sent == size && !has_ended) {
            print_groups();
            shutdown(fd, SHUT_WR);
            has_ended = true;
        }
    }
    if (taken != size) {
        fprintf(stderr, "afsmc: %zu bytes came back of %zu\n", taken, size);
        exit(1);
    }
}

static int connect_to(const char *host, int port, unsigned conns, size_t size)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &addr.sin_addr) != 1)
        die(host);
    for (unsigned i = 0; i < conns; i++) {
        int fd = socket(AF_SMC, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
            die("connect");
        talk(fd, size);
        close(fd);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "eid") == 0 && argc == 3)
        return add_eid(argv[2]);
    if (strcmp(what, "groups") == 0 && argc == 2) {
        print_groups();
        return 0;
    }
    if (strcmp(what, "listen") == 0 && argc == 5)
        return serve(atoi(argv[2]), (unsigned)atoi(argv[3]), strcmp(argv[4], "late") == 0);
    if (strcmp(what, "connect") == 0 && argc == 6)
        return connect_to(argv[2], atoi(argv[3]), (unsigned)atoi(argv[4]), strtoul(argv[5], NULL, 10));
    fprintf(stderr,
            "usage: afsmc eid EID | groups | listen PORT CONNS echo|late | connect ADDR PORT CONNS BYTES\n");
    return 2;
}
