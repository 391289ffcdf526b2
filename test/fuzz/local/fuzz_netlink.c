/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers and notifications of rtnetlink and of sock_diag: truncated, out of order, of hostile lengths, with
 * errors of the socket between them. The functions of libmnl that reach the kernel are here: a read takes the
 * next piece of the input, and the bytes after its end are poisoned.
 *
 * Input: a byte for the question, then pieces. A piece is a byte (an errno of the list, or data), the length
 * in two bytes, and the bytes. A sequence number of four 0xff is that of the last request. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sanitizer/asan_interface.h>

#include "net/kernel/diag.h"
#include "net/kernel/evidence.h"
#include "net/kernel/kernel.h"
#include "net/kernel/query.h"
#include "net/kernel/watch.h"
#include "test/fuzz/input.h"

#define IFINDEX    1 /* lo, whose neighbours are asked nothing on a wire */
#define ERRNO_MAX  4095
#define READS      8
#define ADDRS      4
#define SEQ_OF_ASK UINT32_MAX
#define BYTES_MAX  16384

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct mnl_socket {
    int fd; /* -1: none */
};

static struct fuzz_input input;
static uint32_t sequence;
static struct {
    uint8_t *at;
    size_t bytes;
} poisoned;

static void unpoison(void)
{
    ASAN_UNPOISON_MEMORY_REGION(poisoned.at, poisoned.bytes);
    poisoned.bytes = 0;
}

/* Puts the number of the request in the place of the mark, in each message. */
static void set_sequence(uint8_t *bytes, size_t len)
{
    struct nlmsghdr header;
    for (size_t at = 0; at + sizeof header <= len; at += NLMSG_ALIGN(header.nlmsg_len)) {
        memcpy(&header, bytes + at, sizeof header);
        if (header.nlmsg_seq == SEQ_OF_ASK)
            memcpy(bytes + at + offsetof(struct nlmsghdr, nlmsg_seq), &sequence, sizeof sequence);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > len)
            return;
    }
}

/* Takes the next piece of the input: its length, or -1 with errno. */
static ssize_t next_piece(uint8_t *out, size_t room)
{
    static const int errors[] = {EINTR, ENOBUFS, ENOSPC, EAGAIN, EIO};
    uint8_t kind = fuzz_u8(&input);
    if (input.left == 0 || (kind >= 1 && kind <= sizeof errors / sizeof *errors)) {
        errno = input.left == 0 ? EAGAIN : errors[kind - 1];
        return -1;
    }
    size_t len = fuzz_u16(&input);
    len = len < input.left ? len : input.left;
    len = len < room ? len : room;
    memcpy(out, input.p, len);
    input.p += len;
    input.left -= len;
    set_sequence(out, len);
    return (ssize_t)len;
}

/* --- in the place of libmnl --- */

struct mnl_socket *mnl_socket_fdopen(int fd)
{
    struct mnl_socket *socket = calloc(1, sizeof *socket);
    if (socket)
        socket->fd = fd;
    return socket;
}

struct mnl_socket *mnl_socket_open2(int bus, int flags)
{
    (void)bus;
    (void)flags;
    return mnl_socket_fdopen(-1);
}

int mnl_socket_bind(struct mnl_socket *socket, unsigned int groups, pid_t pid)
{
    (void)socket;
    (void)groups;
    (void)pid;
    return 0;
}

int mnl_socket_get_fd(const struct mnl_socket *socket)
{
    return socket->fd;
}

int mnl_socket_close(struct mnl_socket *socket)
{
    unpoison();
    if (socket->fd >= 0)
        close(socket->fd);
    free(socket);
    return 0;
}

ssize_t mnl_socket_sendto(const struct mnl_socket *socket, const void *request, size_t len)
{
    (void)socket;
    FUZZ_REQUIRE(len >= sizeof(struct nlmsghdr) && ((const struct nlmsghdr *)request)->nlmsg_len == len);
    sequence = ((const struct nlmsghdr *)request)->nlmsg_seq;
    return (ssize_t)len;
}

ssize_t mnl_socket_recvfrom(const struct mnl_socket *socket, void *buf, size_t room)
{
    (void)socket;
    unpoison();
    ssize_t len = next_piece(buf, room);
    if (len < 0)
        return len;
    poisoned.at = (uint8_t *)buf + len;
    poisoned.bytes = room - (size_t)len;
    ASAN_POISON_MEMORY_REGION(poisoned.at, poisoned.bytes);
    return len;
}

/* --- the questions --- */

static void require_errno(int err)
{
    FUZZ_REQUIRE(err <= 0 && err >= -ERRNO_MAX);
}

static void require_interface(const struct net_interface *interface)
{
    FUZZ_REQUIRE(memchr(interface->name, '\0', sizeof interface->name) != NULL);
}

static void ask_interface(void)
{
    struct nornic_error why;
    struct net_interface interface;
    int err = net_interface_get("lo", &interface, &why);
    require_errno(err);
    require_interface(&interface);
}

static void ask_addrs(void)
{
    struct nornic_error why;
    struct nornic_addr addrs[ADDRS];
    int count = net_interface_addrs(IFINDEX, addrs, ADDRS, &why);
    FUZZ_REQUIRE(count <= ADDRS && count >= -ERRNO_MAX);
}

static void ask_route(bool is_v4)
{
    static const uint8_t v4[4] = {127, 0, 0, 9};
    struct nornic_addr dst = {.b = {0xfd, 0x77, [15] = 9}};
    struct nornic_error why;
    struct net_route route;
    if (is_v4)
        dst = nornic_addr_from_v4(v4);
    require_errno(net_route_get(IFINDEX, &dst, &route, &why));
}

static void ask_neighbour(void)
{
    static const uint8_t v4[4] = {127, 0, 0, 9};
    const struct nornic_addr hop = nornic_addr_from_v4(v4);
    struct net_neighbour_query *query;
    struct nornic_mac mac;
    struct nornic_error why;
    int err = net_neighbour_ask(IFINDEX, &hop, &query, &why);
    require_errno(err);
    if (err)
        return;
    for (unsigned i = 0; i < READS; i++)
        require_errno(net_neighbour_answer(query, &mac, &why));
    net_neighbour_close(query);
}

static void on_change(void *ctx, const struct net_watch_change *change)
{
    (void)ctx;
    require_interface(&change->interface);
}

static void watch(void)
{
    struct net_watch *watch;
    struct nornic_error why;
    unsigned count;
    if (net_watch_open(IFINDEX, &watch, &why) != 0)
        return;
    for (unsigned i = 0; i < READS; i++) {
        require_errno(net_watch_read(watch, on_change, NULL));
        const struct net_watch_addr *addrs = net_watch_addrs(watch, &count);
        for (unsigned a = 0; a < count; a++)
            FUZZ_REQUIRE(addrs[a].ifindex != 0 || addrs[a].vlan_id <= 4094);
    }
    net_watch_close(watch);
}

static void on_unix(void *ctx, const struct net_diag_unix *found)
{
    uint8_t *sum = ctx;
    for (size_t i = 0; i < found->name_bytes; i++)
        *sum ^= (uint8_t)found->name[i];
}

/* The number of a request is known before: diag counts them. All pieces are in the socket when it asks. */
static void ask_diag(bool is_unix)
{
    static uint32_t asked;
    static uint8_t bytes[BYTES_MAX];
    uint8_t sum = 0;
    int fds[2];
    FUZZ_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    sequence = ++asked;
    for (unsigned i = 0; i < READS; i++) {
        ssize_t len = next_piece(bytes, sizeof bytes);
        if (len > 0)
            (void)!send(fds[1], bytes, (size_t)len, MSG_DONTWAIT);
    }
    if (is_unix)
        (void)net_diag_unix(fds[0], on_unix, &sum);
    else
        (void)net_diag_has_xdp_socket(fds[0], IFINDEX, 0);
    close(fds[0]);
    close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = (struct fuzz_input){data, size};
    switch (fuzz_u8(&input) % 8) {
    case 0:
        ask_interface();
        break;
    case 1:
        ask_addrs();
        break;
    case 2:
        ask_route(true);
        break;
    case 3:
        ask_route(false);
        break;
    case 4:
        ask_neighbour();
        break;
    case 5:
        watch();
        break;
    case 6:
        (void)net_evidence_of_xdp(IFINDEX);
        break;
    default:
        ask_diag(fuzz_u8(&input) & 1);
        break;
    }
    unpoison();
    return 0;
}
